// SPDX-License-Identifier: Apache-2.0
package dev.slipway.stablehlo.internal;

import com.google.common.primitives.ImmutableLongArray;
import dev.slipway.stablehlo.Operation;
import java.util.Set;

/** The pretty form of {@code chlo.scan}. */
final class ScanForm {
    private ScanForm() {}

    static boolean isPrintable(Operation operation) {
        ImmutableLongArray operands = Attrs.segments(operation, "operand");
        ImmutableLongArray results = Attrs.segments(operation, "result");
        return operands != null
                && results != null
                && operands.length() == 2
                && results.length() == 2
                && operands.get(1) == results.get(1)
                && operands.get(0) + operands.get(1) == operation.operands().size()
                && results.get(0) + results.get(1) == operation.results().size();
    }

    static void print(Operation operation, Printer printer) {
        StringBuilder out = printer.out();
        ImmutableLongArray segments = Attrs.segments(operation, "operand");
        int inputs = segments == null ? 0 : Math.toIntExact(segments.get(0));
        out.append('(');
        printer.operands(operation.operands().subList(0, inputs));
        out.append(") inits (");
        printer.operands(
                operation.operands().subList(inputs, operation.operands().size()));
        out.append(") dimension=")
                .append(Attrs.readLong(operation, "dimension"))
                .append(' ');
        printer.attributeDictionary(
                operation, Set.of("dimension", "operandSegmentSizes", "resultSegmentSizes"), " attributes");
        out.append(' ');
        printer.region(operation, operation.region(0), true);
        out.append(" : ");
        printer.functionType(operation);
    }
}
