// SPDX-License-Identifier: Apache-2.0
package dev.slipway.stablehlo;

import dev.slipway.stablehlo.internal.AttributePrinter;
import java.util.List;
import org.jspecify.annotations.Nullable;

/** Where an operation or an argument comes from. */
public sealed interface Location extends Attribute {

    /** Nobody knows. */
    record Unknown() implements Location {
        @Override
        public String toString() {
            return AttributePrinter.toText(this);
        }
    }

    /** The location of which nothing is known. */
    Location UNKNOWN = new Unknown();

    /** A place in a file, or a range of places where the end differs from the start. */
    record File(String file, int line, int column, int endLine, int endColumn) implements Location {
        /** A place. */
        public static File of(String file, int line, int column) {
            return new File(file, line, column, line, column);
        }

        @Override
        public String toString() {
            return AttributePrinter.toText(this);
        }
    }

    /** A name for what is at another location. */
    record Name(String name, Location child) implements Location {
        @Override
        public String toString() {
            return AttributePrinter.toText(this);
        }
    }

    /** A place in a callee, and where it is called from. */
    record CallSite(Location callee, Location caller) implements Location {
        @Override
        public String toString() {
            return AttributePrinter.toText(this);
        }
    }

    /** Several places. */
    record Fused(List<Location> locations, @Nullable Attribute metadata) implements Location {
        public Fused {
            locations = List.copyOf(locations);
        }

        @Override
        public String toString() {
            return AttributePrinter.toText(this);
        }
    }
}
