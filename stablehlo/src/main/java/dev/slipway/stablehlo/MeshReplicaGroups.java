// SPDX-License-Identifier: Apache-2.0
package dev.slipway.stablehlo;

import dev.slipway.stablehlo.internal.AttributePrinter;
import java.util.List;
import org.jspecify.annotations.Nullable;

/**
 * Replica groups given by axes of a mesh.
 *
 * @param mesh a {@link Mesh}, or the {@link Attribute.SymbolRef name} of one
 * @param axes {@link AxisRef}s
 */
public record MeshReplicaGroups(Attribute mesh, Attribute.Array axes) implements StructAttribute {

    /** A mesh of devices in the StableHLO dialect's own form. */
    public record Mesh(List<Axis> axes, @Nullable DenseElements deviceIds) implements StructAttribute {
        public Mesh {
            axes = List.copyOf(axes);
        }

        @Override
        public String toString() {
            return AttributePrinter.toText(this);
        }
    }

    /** One axis of a mesh. */
    public record Axis(String name, long size) implements StructAttribute {
        @Override
        public String toString() {
            return AttributePrinter.toText(this);
        }
    }

    /**
     * An axis, or a part of one.
     *
     * @param name the axis
     * @param preSize product of the sizes of the parts before this one; 0 where the whole axis is meant
     * @param size size of this part; 0 where the whole axis is meant
     */
    public record AxisRef(String name, long preSize, long size) implements StructAttribute {
        @Override
        public String toString() {
            return AttributePrinter.toText(this);
        }
    }

    @Override
    public String toString() {
        return AttributePrinter.toText(this);
    }
}
