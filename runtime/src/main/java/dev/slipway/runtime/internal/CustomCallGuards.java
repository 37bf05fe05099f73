// SPDX-License-Identifier: Apache-2.0
package dev.slipway.runtime.internal;

import dev.slipway.runtime.UsageException;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import org.jspecify.annotations.Nullable;

/** Custom calls that XLA takes for its own, in forms on which it ends the process. */
final class CustomCallGuards {

    /** A call in either of MLIR's forms: target, operands, attributes and types of operands, types of results. */
    private static final Pattern CALL = Pattern.compile(
            "\\bcustom_call(?:\"| @\"?(?<target>[\\w.$]+)\"?)\\((?<operands>[^)]*)\\)(?<rest>.*?)->(?<results>[^\\n]*)",
            Pattern.DOTALL);

    private static final Pattern GENERIC_TARGET = Pattern.compile("call_target_name = \"([^\"]*)\"");
    private static final Pattern SIZES = Pattern.compile("tensor<([\\d?x]*)");

    private CustomCallGuards() {}

    /**
     * Refuses such calls in a program's text.
     *
     * @throws UsageException.BadArgument with the target and the remedy
     */
    static void check(String text) {
        Matcher call = CALL.matcher(text);
        while (call.find()) {
            String target = call.group("target") == null ? genericTarget(call.group("rest")) : call.group("target");
            String remedy = remedy(target, call);
            if (remedy != null) {
                throw new UsageException.BadArgument(
                        "the program has the custom call @" + target + ", at which plugins abort as it is: " + remedy);
            }
        }
    }

    private static String genericTarget(String attributes) {
        Matcher target = GENERIC_TARGET.matcher(attributes);
        return target.find() ? target.group(1) : "";
    }

    private static @Nullable String remedy(String target, Matcher call) {
        String attributes = call.group("rest");
        // The partitioner of calls that are cut along their batches asks for the layouts.
        if (attributes.contains("num_batch_dims") && !attributes.contains("operand_layouts")) {
            return "with num_batch_dims give it operand_layouts and result_layouts";
        }
        String operandText = call.group("operands").strip();
        int operands = operandText.isEmpty() ? 0 : operandText.split(",", -1).length;
        String results = call.group("results").strip();
        return switch (target) {
            case "TopK" ->
                results.startsWith("(") || results.startsWith("tuple") ? null : "it has two results, values and places";
            case "Sharding", "SPMDFullToShardShape", "SPMDShardToFullShape" ->
                operands == 1 ? null : "it takes one operand, not " + operands;
            case "SliceToDynamic" -> {
                Matcher sizes = SIZES.matcher(results);
                int rank = sizes.find()
                        ? (int) sizes.group(1).chars().filter(c -> c == 'x').count()
                        : 0;
                yield operands == 1 + rank
                        ? null
                        : "it takes the array and a size for each of the " + rank + " dimensions of the result";
            }
            case "xla.sdy.FuncResultSharding" ->
                attributes.contains("mhlo.frontend_attributes")
                        ? null
                        : "it has its sharding in mhlo.frontend_attributes; write sdy.sharding on the result of the function";
            case "NopReturnToken" -> results.startsWith("!stablehlo.token") ? null : "its result is a token";
            case "PartialReduce" -> attributes.contains("backend_config") ? null : "it needs a backend_config";
            case "ProductOfElementaryHouseholderReflectors" ->
                operands == 2 ? null : "it takes the reflectors and their factors, two operands";
            default -> null;
        };
    }
}
