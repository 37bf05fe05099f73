// SPDX-License-Identifier: Apache-2.0
package dev.slipway.stablehlo;

import dev.slipway.stablehlo.internal.AttributePrinter;
import java.util.List;

/** The rarer attributes of the Shardy dialect. */
public sealed interface Shardy extends StructAttribute {

    /** Shardings of several values: {@code #sdy.sharding_per_value<[<@mesh, [{}]>]>}. */
    record PerValue(List<TensorSharding> shardings) implements Shardy {
        public PerValue {
            shardings = List.copyOf(shardings);
        }

        @Override
        public String toString() {
            return AttributePrinter.toText(this);
        }
    }

    /** The axes that a manual computation is manual on: {@code #sdy<manual_axes{"data"}>}. */
    record ManualAxes(List<String> names) implements Shardy {
        public ManualAxes {
            names = List.copyOf(names);
        }

        @Override
        public String toString() {
            return AttributePrinter.toText(this);
        }
    }

    /** A list of axes: {@code {"x", "y"}}. */
    record Axes(List<TensorSharding.Axis> axes) implements Shardy {
        public Axes {
            axes = List.copyOf(axes);
        }

        @Override
        public String toString() {
            return AttributePrinter.toText(this);
        }
    }

    /** A list of axes for each dimension: {@code [{"x"}, {}]}. */
    record AxesPerDimension(List<List<TensorSharding.Axis>> dimensions) implements Shardy {
        public AxesPerDimension {
            dimensions = dimensions.stream().map(List::copyOf).toList();
        }

        @Override
        public String toString() {
            return AttributePrinter.toText(this);
        }
    }

    /** What an all_to_all of Shardy moves: {@code [{"x"}: 0->1]}. */
    record AllToAllParams(List<Move> moves) implements Shardy {
        /** Axes that move from one dimension to another. */
        public record Move(List<TensorSharding.Axis> axes, long sourceDimension, long targetDimension) {
            public Move {
                axes = List.copyOf(axes);
            }
        }

        public AllToAllParams {
            moves = List.copyOf(moves);
        }

        @Override
        public String toString() {
            return AttributePrinter.toText(this);
        }
    }
}
