// SPDX-License-Identifier: Apache-2.0
package dev.slipway.mesh;

import java.util.List;
import java.util.stream.IntStream;

/** The sizes of a mesh's axes, one of which may be -1: as many as there are devices left. */
public sealed interface MeshShape {
    /** How many axes there are. */
    int rank();

    /** The sizes of the whole mesh; contains -1 where a size is not inferred yet. */
    List<Integer> sizes();

    /**
     * One size for each axis.
     *
     * @param sizes sizes, at most one of them -1; empty for all devices on the first axis
     */
    record Plain(List<Integer> sizes) implements MeshShape {
        public Plain {
            sizes = List.copyOf(sizes);
        }

        @Override
        public int rank() {
            return sizes.size();
        }

        @Override
        public String toString() {
            return sizes.toString();
        }
    }

    /**
     * Each axis as a part within a slice (ICI) times a part across slices (DCN).
     *
     * @param ici sizes within a slice, at most one of them -1
     * @param dcn sizes across slices, at most one of them -1
     */
    record Hybrid(List<Integer> ici, List<Integer> dcn) implements MeshShape {
        /** @throws MeshShapeException if the two differ in length */
        public Hybrid {
            ici = List.copyOf(ici);
            dcn = List.copyOf(dcn);
            if (ici.size() != dcn.size()) {
                throw new MeshShapeException("A hybrid shape needs as many DCN sizes as ICI sizes: ici " + ici + " has "
                        + ici.size() + ", dcn " + dcn + " has " + dcn.size());
            }
        }

        @Override
        public int rank() {
            return ici.size();
        }

        @Override
        public List<Integer> sizes() {
            return IntStream.range(0, ici.size())
                    .mapToObj(i -> ici.get(i) == -1 || dcn.get(i) == -1 ? -1 : ici.get(i) * dcn.get(i))
                    .toList();
        }

        @Override
        public String toString() {
            return "ici " + ici + " dcn " + dcn;
        }
    }

    static MeshShape of(int... sizes) {
        return new Plain(IntStream.of(sizes).boxed().toList());
    }

    static MeshShape hybrid(List<Integer> ici, List<Integer> dcn) {
        return new Hybrid(ici, dcn);
    }
}
