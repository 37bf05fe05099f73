// SPDX-License-Identifier: Apache-2.0
package dev.slipway.runtime.internal.hlo;

import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.List;
import java.util.Locale;
import java.util.Optional;
import java.util.function.LongFunction;
import java.util.stream.Collectors;

/** What stands behind an instruction's operands, in XLA's order. */
final class Attributes {

    private static final List<String> APPLYING = List.of(
            "call",
            "map",
            "reduce-window",
            "reduce",
            "all-reduce",
            "reduce-scatter",
            "all-reduce-start",
            "scatter",
            "topk",
            "sort");

    private final List<String> parts = new ArrayList<>();
    private final LongFunction<String> computationNames;

    Attributes(LongFunction<String> computationNames) {
        this.computationNames = computationNames;
    }

    /** Each with a comma before it. */
    String text() {
        return parts.stream().map(part -> ", " + part).collect(Collectors.joining());
    }

    void add(String name, Object value) {
        parts.add(name + "=" + value);
    }

    private void flag(String name, boolean on) {
        if (on) {
            add(name, true);
        }
    }

    private static String braces(List<Long> numbers) {
        return "{" + Shapes.join(numbers) + "}";
    }

    private void numbers(String name, List<Long> numbers) {
        add(name, braces(numbers));
    }

    private void numbersIfAny(String name, List<Long> numbers) {
        if (!numbers.isEmpty()) {
            numbers(name, numbers);
        }
    }

    /** What is the operation's own, and what it calls. */
    void ofInstruction(ProtoReader instruction) {
        ofOperation(instruction);
        ofCalls(instruction);
    }

    /** What any instruction may have. */
    void ofAll(ProtoReader i) {
        i.message(40).ifPresent(sharding -> add("sharding", Shardings.text(sharding)));
        i.message(68)
                .map(Attributes::frontend)
                .filter(text -> !text.isEmpty())
                .ifPresent(text -> add("frontend_attributes", text));
    }

    void ofCalls(ProtoReader i) {
        List<String> called =
                i.numbers(38).stream().map(id -> computationNames.apply(id)).toList();
        if (called.isEmpty()) {
            return;
        }
        String opcode = i.text(2);
        switch (opcode) {
            case "while" -> {
                // The body comes first in the proto.
                add("condition", called.get(1));
                add("body", called.get(0));
            }
            case "select-and-scatter" -> {
                add("select", called.get(0));
                add("scatter", called.get(1));
            }
            case "conditional" -> add("branch_computations", "{" + String.join(", ", called) + "}");
            case "custom-call" -> add("called_computations", "{" + String.join(", ", called) + "}");
            default -> add(APPLYING.contains(opcode) ? "to_apply" : "calls", String.join(", ", called));
        }
        if (opcode.equals("call")) {
            flag("is_composite", i.flag(89));
        }
    }

    void ofOperation(ProtoReader i) {
        switch (i.text(2)) {
            case "broadcast",
                    "transpose",
                    "concatenate",
                    "reverse",
                    "map",
                    "reduce",
                    "get-dimension-size",
                    "set-dimension-size" -> numbers("dimensions", i.numbers(14));
            case "iota" -> add("iota_dimension", i.numbers(14).getFirst());
            case "sort" -> {
                numbers("dimensions", i.numbers(14));
                flag("is_stable", i.flag(60));
            }
            case "slice" ->
                add(
                        "slice",
                        i.messages(17).stream()
                                .map(d -> "[" + d.number(1) + ":" + d.number(2)
                                        + (d.number(3) == 1 ? "" : ":" + d.number(3)) + "]")
                                .collect(Collectors.joining(", ", "{", "}")));
            case "dynamic-slice" -> numbers("dynamic_slice_sizes", i.numbers(20));
            case "get-tuple-element" -> add("index", i.number(13));
            case "parameter" ->
                i.message(61)
                        .filter(replication -> !replication.numbers(1).isEmpty())
                        .ifPresent(replication -> add(
                                "parameter_replication",
                                replication.numbers(1).stream()
                                        .map(leaf -> String.valueOf(leaf != 0))
                                        .collect(Collectors.joining(",", "{", "}"))));
            case "compare" -> {
                add("direction", i.text(63));
                // XLA names the type only where it is not the operands' usual one: total order of floats.
                if (i.text(72).equals("TOTALORDER")) {
                    add("type", i.text(72));
                }
            }
            case "dot" -> {
                i.message(30).ifPresent(this::dot);
                precision(i);
            }
            case "ragged-dot" -> {
                i.message(90).ifPresent(ragged -> {
                    ragged.message(1).ifPresent(this::dot);
                    numbers("lhs_ragged_dims", ragged.numbers(2));
                    numbersIfAny("rhs_group_dims", ragged.numbers(3));
                });
                precision(i);
            }
            case "convolution" -> {
                window(i);
                convolution(i);
                precision(i);
            }
            case "reduce-window", "select-and-scatter" -> window(i);
            case "pad" -> padding(i.message(21).orElseThrow().messages(1));
            case "reduce-precision" -> {
                add("exponent_bits", i.number(18));
                add("mantissa_bits", i.number(19));
            }
            case "rng" -> add("distribution", i.number(23) == 2 ? "rng_normal" : "rng_uniform");
            case "rng-bit-generator" ->
                add(
                        "algorithm",
                        switch ((int) i.number(70)) {
                            case 1 -> "rng_three_fry";
                            case 2 -> "rng_philox";
                            default -> "rng_default";
                        });
            case "rng-get-and-update-state" -> add("delta", i.number(66));
            case "fft" -> {
                add("fft_type", List.of("FFT", "IFFT", "RFFT", "IRFFT").get((int) i.number(31)));
                numbers("fft_length", i.numbers(32));
            }
            case "triangular-solve" -> triangularSolve(i.message(59).orElseThrow());
            case "cholesky" -> i.message(62).ifPresent(options -> flag("lower", options.flag(1)));
            case "batch-norm-training", "batch-norm-inference", "batch-norm-grad" -> {
                add("epsilon", i.real(24));
                add("feature_index", i.number(25));
            }
            case "gather" -> gather(i);
            case "scatter" -> scatter(i);
            case "all-gather", "all-gather-start" -> {
                collective(i);
                numbers("dimensions", i.numbers(14));
                flag("use_global_device_ids", i.flag(71));
            }
            case "all-reduce", "all-reduce-start" -> {
                collective(i);
                flag("use_global_device_ids", i.flag(71));
            }
            case "reduce-scatter" -> {
                collective(i);
                flag("use_global_device_ids", i.flag(71));
                numbers("dimensions", i.numbers(14));
            }
            case "all-to-all", "ragged-all-to-all", "collective-broadcast" -> {
                collective(i);
                numbersIfAny("dimensions", i.numbers(14));
            }
            case "collective-permute", "collective-permute-start" -> {
                channel(i);
                add(
                        "source_target_pairs",
                        i.messages(52).stream()
                                .map(pair -> "{" + pair.number(1) + "," + pair.number(2) + "}")
                                .collect(Collectors.joining(",", "{", "}")));
            }
            case "send", "recv", "send-done", "recv-done" -> {
                channel(i);
                flag("is_host_transfer", i.flag(47));
            }
            case "infeed" -> textIfAny("infeed_config", i.bytes(27));
            case "outfeed" -> {
                i.message(29).ifPresent(shape -> add("outfeed_shape", Shapes.text(shape, true)));
                textIfAny("outfeed_config", i.bytes(22));
            }
            case "custom-call" -> customCall(i);
            case "fusion" -> {
                add("kind", i.text(11));
                outputAliases(i);
            }
            case "topk" -> {
                add("k", i.number(81));
                add("largest", i.flag(85));
            }
            case "copy-start" -> {
                if (i.has(80)) {
                    add("cross_program_prefetch_index", i.number(80));
                }
            }
            default -> {}
        }
        i.message(91)
                .map(Attributes::accuracy)
                .filter(text -> !text.isEmpty())
                .ifPresent(text -> add("result_accuracy", text));
    }

    private void textIfAny(String name, byte[] bytes) {
        if (bytes.length > 0) {
            add(name, "\"" + escape(bytes) + "\"");
        }
    }

    private static String accuracy(ProtoReader accuracy) {
        if (accuracy.has(2)) {
            ProtoReader tolerance = accuracy.message(2).orElseThrow();
            return tolerance.has(3) ? "{tolerance={ulps=" + tolerance.number(3) + "}}" : "";
        }
        return accuracy.number(1) == 1 ? "{mode=highest}" : "";
    }

    private void dot(ProtoReader dot) {
        numbersIfAny("lhs_batch_dims", dot.numbers(3));
        numbers("lhs_contracting_dims", dot.numbers(1));
        numbersIfAny("rhs_batch_dims", dot.numbers(4));
        numbers("rhs_contracting_dims", dot.numbers(2));
    }

    private void precision(ProtoReader i) {
        i.message(51).ifPresent(precision -> {
            List<Long> operands = precision.numbers(1);
            if (operands.stream().anyMatch(p -> p != 0)) {
                add(
                        "operand_precision",
                        operands.stream()
                                .map(p -> List.of("default", "high", "highest", "packed_nibble")
                                        .get(p.intValue()))
                                .collect(Collectors.joining(",", "{", "}")));
            }
            if (precision.number(2) != 0) {
                add("algorithm", algorithm((int) precision.number(2)));
            }
        });
    }

    private static String algorithm(int number) {
        List<String> names = List.of(
                "unset",
                "dot_any_f8_any_f8_f32",
                "dot_any_f8_any_f8_f32_fast_accum",
                "dot_f16_f16_f16",
                "dot_f16_f16_f32",
                "dot_bf16_bf16_bf16",
                "dot_bf16_bf16_f32",
                "dot_bf16_bf16_f32_x3",
                "dot_bf16_bf16_f32_x6",
                "dot_tf32_tf32_f32",
                "dot_tf32_tf32_f32_x3",
                "dot_f32_f32_f32",
                "dot_f64_f64_f64",
                "dot_bf16_bf16_f32_x9");
        return number < names.size() ? names.get(number) : String.valueOf(number);
    }

    private void window(ProtoReader i) {
        List<ProtoReader> d = i.message(15).map(window -> window.messages(1)).orElse(List.of());
        if (d.isEmpty()) {
            return;
        }
        StringBuilder text = new StringBuilder("{size=").append(by(d, 1));
        if (d.stream().anyMatch(x -> x.number(2) != 1)) {
            text.append(" stride=").append(by(d, 2));
        }
        if (d.stream().anyMatch(x -> x.number(3) != 0 || x.number(4) != 0)) {
            text.append(" pad=")
                    .append(d.stream().map(x -> x.number(3) + "_" + x.number(4)).collect(Collectors.joining("x")));
        }
        if (d.stream().anyMatch(x -> x.number(6) != 1)) {
            text.append(" lhs_dilate=").append(by(d, 6));
        }
        if (d.stream().anyMatch(x -> x.number(5) != 1)) {
            text.append(" rhs_dilate=").append(by(d, 5));
        }
        if (d.stream().anyMatch(x -> x.flag(7))) {
            text.append(" rhs_reversal=").append(by(d, 7));
        }
        add("window", text.append('}'));
    }

    private static String by(List<ProtoReader> dimensions, int field) {
        return dimensions.stream().map(d -> String.valueOf(d.number(field))).collect(Collectors.joining("x"));
    }

    private void convolution(ProtoReader i) {
        i.message(16)
                .ifPresent(c -> add(
                        "dim_labels",
                        labels(c.number(7), c.number(8), c.numbers(11), "bf") + "_"
                                + labels(c.number(4), c.number(3), c.numbers(6), "oi") + "->"
                                + labels(c.number(9), c.number(10), c.numbers(12), "bf")));
        if (i.number(50) > 1) {
            add("feature_group_count", i.number(50));
        }
        if (i.number(58) > 1) {
            add("batch_group_count", i.number(58));
        }
    }

    private static String labels(long first, long second, List<Long> spatial, String letters) {
        char[] text = new char[spatial.size() + 2];
        text[(int) first] = letters.charAt(0);
        text[(int) second] = letters.charAt(1);
        for (int s = 0; s < spatial.size(); s++) {
            text[spatial.get(s).intValue()] = (char) ('0' + s);
        }
        return new String(text);
    }

    private void padding(List<ProtoReader> dimensions) {
        boolean interior = dimensions.stream().anyMatch(d -> d.number(3) != 0);
        add(
                "padding",
                dimensions.stream()
                        .map(d -> d.number(1) + "_" + d.number(2) + (interior ? "_" + d.number(3) : ""))
                        .collect(Collectors.joining("x")));
    }

    private void triangularSolve(ProtoReader options) {
        flag("left_side", options.flag(1));
        flag("lower", options.flag(2));
        flag("unit_diagonal", options.flag(3));
        add(
                "transpose_a",
                List.of("TRANSPOSE_INVALID", "NO_TRANSPOSE", "TRANSPOSE", "ADJOINT")
                        .get((int) options.number(4)));
    }

    private void gather(ProtoReader i) {
        i.message(33).ifPresent(g -> {
            numbers("offset_dims", g.numbers(1));
            numbers("collapsed_slice_dims", g.numbers(2));
            numbers("start_index_map", g.numbers(3));
            numbersIfAny("operand_batching_dims", g.numbers(5));
            numbersIfAny("start_indices_batching_dims", g.numbers(6));
            add("index_vector_dim", g.number(4));
        });
        numbers("slice_sizes", i.numbers(34));
        flag("indices_are_sorted", i.flag(67));
    }

    private void scatter(ProtoReader i) {
        i.message(48).ifPresent(s -> {
            numbers("update_window_dims", s.numbers(1));
            numbers("inserted_window_dims", s.numbers(2));
            numbers("scatter_dims_to_operand_dims", s.numbers(3));
            numbersIfAny("input_batching_dims", s.numbers(5));
            numbersIfAny("scatter_indices_batching_dims", s.numbers(6));
            add("index_vector_dim", s.number(4));
        });
        flag("indices_are_sorted", i.flag(67));
        flag("unique_indices", i.flag(69));
    }

    private void channel(ProtoReader i) {
        if (i.number(26) > 0) {
            add("channel_id", i.number(26));
        }
    }

    private void collective(ProtoReader i) {
        channel(i);
        add("replica_groups", groups(i));
        flag("constrain_layout", i.flag(56));
    }

    /** The groups of devices: listed, or as parts of a range of numbers, or along axes of a mesh. */
    private static String groups(ProtoReader i) {
        Optional<ProtoReader> iota = i.message(92).or(() -> i.message(87).flatMap(list -> list.message(2)));
        if (iota.isPresent()) {
            ProtoReader range = iota.get();
            return "[" + range.number(1) + "," + range.number(2) + "]<="
                    + Shardings.iota(range.numbers(3), range.numbers(4));
        }
        if (i.has(93)) {
            return i.message(93).map(Shardings::axes).orElse("{}");
        }
        return i
                .message(87)
                .map(list -> list.messages(1))
                .filter(list -> !list.isEmpty())
                .orElse(i.messages(49))
                .stream()
                .map(group -> braces(group.numbers(1)))
                .collect(Collectors.joining(",", "{", "}"));
    }

    private void outputAliases(ProtoReader i) {
        if (!i.messages(74).isEmpty()) {
            add(
                    "output_to_operand_aliasing",
                    i.messages(74).stream()
                            .map(a -> index(a.numbers(1)) + ": (" + a.number(2) + ", " + index(a.numbers(3)) + ")")
                            .collect(Collectors.joining(", ", "{", "}")));
        }
    }

    private static String index(List<Long> index) {
        return braces(index);
    }

    private void customCall(ProtoReader i) {
        window(i);
        convolution(i);
        precision(i);
        add("custom_call_target", "\"" + escape(i.text(28).getBytes(StandardCharsets.UTF_8)) + "\"");
        if (i.flag(56)) {
            add(
                    "operand_layout_constraints",
                    i.messages(57).stream().map(s -> Shapes.text(s, true)).collect(Collectors.joining(", ", "{", "}")));
        }
        flag("custom_call_has_side_effect", i.flag(65));
        i.message(8)
                .ifPresent(literal -> add(
                        "literal", Shapes.text(literal.message(1).orElseThrow(), true) + " " + Literals.text(literal)));
        outputAliases(i);
        if (i.number(76) != 0) {
            add("schedule", i.number(76) == 1 ? "SCHEDULE_LATEST" : "SCHEDULE_EARLIEST");
        }
        if (i.number(77) > 1) {
            add(
                    "api_version",
                    switch ((int) i.number(77)) {
                        case 2 -> "API_VERSION_STATUS_RETURNING";
                        case 3 -> "API_VERSION_STATUS_RETURNING_UNIFIED";
                        default -> "API_VERSION_TYPED_FFI";
                    });
        }
    }

    /** The module's aliases between arguments and results. */
    static String aliases(ProtoReader aliases) {
        return aliases.messages(1).stream()
                .map(a -> index(a.numbers(1)) + ": (" + a.number(2) + ", " + index(a.numbers(3)) + ", "
                        + (a.number(4) == 2 ? "must-alias" : "may-alias") + ")")
                .collect(Collectors.collectingAndThen(Collectors.joining(", "), Attributes::spaced));
    }

    /** The arguments that the module gives up. */
    static String donors(ProtoReader donors) {
        return donors.messages(1).stream()
                .map(d -> "(" + d.number(1) + ", " + index(d.numbers(2)) + ")")
                .collect(Collectors.collectingAndThen(Collectors.joining(", "), Attributes::spaced));
    }

    private static String spaced(String list) {
        return list.isEmpty() ? "" : "{ " + list + " }";
    }

    /** Attributes of a framework's own. */
    static String frontend(ProtoReader attributes) {
        return attributes.messages(1).stream()
                .map(entry -> entry.text(1) + "=" + quotedUnlessJson(entry.bytes(2)))
                .sorted()
                .collect(Collectors.collectingAndThen(
                        Collectors.joining(","), text -> text.isEmpty() ? "" : "{" + text + "}"));
    }

    /** JSON objects stand as they are; all else in quotes. */
    static String quotedUnlessJson(byte[] bytes) {
        String text = new String(bytes, StandardCharsets.UTF_8);
        return Json.isObject(text) ? text : "\"" + escape(bytes) + "\"";
    }

    /** C's escapes. */
    private static String escape(byte[] bytes) {
        StringBuilder text = new StringBuilder();
        for (byte b : bytes) {
            switch (b) {
                case '\n' -> text.append("\\n");
                case '\r' -> text.append("\\r");
                case '\t' -> text.append("\\t");
                case '"' -> text.append("\\\"");
                case '\'' -> text.append("\\'");
                case '\\' -> text.append("\\\\");
                default -> {
                    if (b >= 0x20 && b < 0x7f) {
                        text.append((char) b);
                    } else {
                        text.append(String.format(Locale.ROOT, "\\%03o", b & 0xff));
                    }
                }
            }
        }
        return text.toString();
    }

    /** How XLA tells an object of JSON from other text: braces balance outside strings, and end with the text. */
    private static final class Json {
        static boolean isObject(String text) {
            if (!text.startsWith("{")) {
                return false;
            }
            int depth = 0;
            boolean quoted = false;
            for (int i = 0; i < text.length(); i++) {
                char c = text.charAt(i);
                if (quoted) {
                    if (c == '\\') {
                        i++;
                    } else if (c == '"') {
                        quoted = false;
                    }
                } else if (c == '"') {
                    quoted = true;
                } else if (c == '{') {
                    depth++;
                } else if (c == '}' && --depth == 0) {
                    return i == text.length() - 1;
                }
            }
            return false;
        }
    }
}
