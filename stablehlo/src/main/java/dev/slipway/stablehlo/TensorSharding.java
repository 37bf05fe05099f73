// SPDX-License-Identifier: Apache-2.0
package dev.slipway.stablehlo;

import dev.slipway.stablehlo.internal.AttributePrinter;
import java.util.ArrayList;
import java.util.List;

/**
 * How a tensor lies on a mesh, as Shardy has it: {@code #sdy.sharding<@mesh, [{"data"}, {}]>}.
 *
 * {@snippet :
 * // batch over "data", the other dimension not sharded
 * TensorSharding sharding = TensorSharding.of("mesh", TensorSharding.axes("data"), TensorSharding.axes());
 * }
 *
 * @param mesh the {@link Attribute.SymbolRef name} of a mesh in the module, or a {@link DeviceMesh}
 * @param dimensions one for each dimension of the tensor
 * @param replicated axes along which the tensor is replicated whatever happens
 * @param unreduced axes along which the tensor is a sum that has not been taken yet
 */
public record TensorSharding(Attribute mesh, List<Dimension> dimensions, List<Axis> replicated, List<Axis> unreduced)
        implements StructAttribute {

    /** The name under which an argument, a result or an operation carries its sharding. */
    public static final String ATTRIBUTE = "sdy.sharding";

    public TensorSharding {
        dimensions = List.copyOf(dimensions);
        replicated = List.copyOf(replicated);
        unreduced = List.copyOf(unreduced);
    }

    /** A sharding over a mesh of the module. */
    public static TensorSharding of(String mesh, Dimension... dimensions) {
        return new TensorSharding(Attribute.SymbolRef.of(mesh), List.of(dimensions), List.of(), List.of());
    }

    /** A sharding over a mesh of the module. */
    public static TensorSharding of(String mesh, List<Dimension> dimensions) {
        return new TensorSharding(Attribute.SymbolRef.of(mesh), dimensions, List.of(), List.of());
    }

    /** A tensor of a rank that every device holds whole. */
    public static TensorSharding replicated(String mesh, int rank) {
        List<Dimension> dimensions = new ArrayList<>();
        for (int i = 0; i < rank; i++) {
            dimensions.add(axes());
        }
        return of(mesh, dimensions);
    }

    /** A dimension that is sharded over whole axes, major to minor, and not further; without axes not at all. */
    public static Dimension axes(String... names) {
        List<Axis> axes = new ArrayList<>();
        for (String name : names) {
            axes.add(new Axis(name, 0, 0));
        }
        return axes(axes);
    }

    /** A dimension that is sharded over axes or parts of them, major to minor, and not further; without any not at all. */
    public static Dimension axes(List<Axis> axes) {
        return new Dimension(axes, true, -1);
    }

    /** A dimension that the compiler may shard further. */
    public static Dimension open(String... names) {
        return new Dimension(axes(names).axes(), false, -1);
    }

    /**
     * How one dimension is sharded.
     *
     * @param axes over which axes, major to minor
     * @param closed whether it must not be sharded further
     * @param priority in which round of propagation it counts; -1 where none is given
     */
    public record Dimension(List<Axis> axes, boolean closed, long priority) {
        public Dimension {
            axes = List.copyOf(axes);
        }
    }

    /**
     * An axis of the mesh, or a part of one.
     *
     * @param name the axis
     * @param preSize product of the sizes of the parts before this one; 0 where the whole axis is meant
     * @param size size of this part; 0 where the whole axis is meant
     */
    public record Axis(String name, long preSize, long size) {
        /** Whether this is a part of an axis only. */
        public boolean isPart() {
            return preSize != 0;
        }
    }

    @Override
    public String toString() {
        return AttributePrinter.toText(this);
    }
}
