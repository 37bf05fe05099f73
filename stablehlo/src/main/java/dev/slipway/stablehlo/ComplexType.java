// SPDX-License-Identifier: Apache-2.0
package dev.slipway.stablehlo;

/**
 * A complex number of two elements.
 *
 * @param element the type of the real and of the imaginary part
 */
public record ComplexType(ElementType element) implements ElementType {
    @Override
    public String toString() {
        return "complex<" + element + ">";
    }
}
