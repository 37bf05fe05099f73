// SPDX-License-Identifier: Apache-2.0
package dev.slipway.stablehlo;

import com.google.common.primitives.ImmutableLongArray;
import dev.slipway.stablehlo.internal.AttributePrinter;

/**
 * Says that a custom call writes an output over an operand.
 *
 * @param outputTupleIndices the way into the output, where it is a tuple
 * @param operandIndex the operand
 * @param operandTupleIndices the way into the operand, where it is a tuple
 */
public record OutputOperandAlias(
        ImmutableLongArray outputTupleIndices, long operandIndex, ImmutableLongArray operandTupleIndices)
        implements StructAttribute {
    @Override
    public String toString() {
        return AttributePrinter.toText(this);
    }
}
