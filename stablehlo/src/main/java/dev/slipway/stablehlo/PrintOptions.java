// SPDX-License-Identifier: Apache-2.0
package dev.slipway.stablehlo;

/**
 * How a module is printed.
 *
 * @param generic the generic form instead of the pretty one
 * @param locations whether locations are printed
 * @param elideElementsAbove constants of more elements than this are left out, and the text is not a module any more
 */
public record PrintOptions(boolean generic, boolean locations, long elideElementsAbove) {

    /** The pretty form, whole, without locations. */
    public static PrintOptions pretty() {
        return new PrintOptions(false, false, Long.MAX_VALUE);
    }

    /** The generic form, whole, without locations. */
    public static PrintOptions genericForm() {
        return new PrintOptions(true, false, Long.MAX_VALUE);
    }

    /** These options with locations. */
    public PrintOptions withLocations() {
        return new PrintOptions(generic, true, elideElementsAbove);
    }

    /** These options with large constants left out. */
    public PrintOptions eliding(long aboveElements) {
        return new PrintOptions(generic, locations, aboveElements);
    }
}
