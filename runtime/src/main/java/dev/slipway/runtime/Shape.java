// SPDX-License-Identifier: Apache-2.0
package dev.slipway.runtime;

/**
 * An array's type with the layout that it has or is to have.
 *
 * @param type element type and dimensions
 * @param layout how they lie in memory, of the same rank
 */
public record Shape(TensorType type, Layout layout) {

    /**
     * A type with a layout.
     *
     * @throws UsageException.BadArgument if they are not of the same rank
     */
    public Shape {
        if (type.dimensions().size() != layout.minorToMajor().size()) {
            throw new UsageException.BadArgument(
                    "the layout " + layout + " does not fit " + type + ": a dimension each is needed");
        }
    }

    @Override
    public String toString() {
        return type + " " + layout;
    }
}
