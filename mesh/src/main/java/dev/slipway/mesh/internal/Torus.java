// SPDX-License-Identifier: Apache-2.0
package dev.slipway.mesh.internal;

import dev.slipway.mesh.DeviceLayoutException;
import dev.slipway.mesh.LayoutRule;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.stream.IntStream;
import org.jspecify.annotations.Nullable;

/**
 * Assigns logical axes to the physical axes of a torus, as {@code mesh_utils} of JAX 0.10.2 does. Logical axes are served
 * from the last, which talks most, to the first.
 */
final class Torus {
    private final int[] dims;
    private final int[] grid;

    /**
     * @param dims extents, x first
     * @param grid the devices' places in their machine's list, x slowest
     */
    Torus(int[] dims, int[] grid) {
        this.dims = dims;
        this.grid = grid;
    }

    int[] dims() {
        return dims;
    }

    int[] grid() {
        return grid;
    }

    /**
     * Each logical axis takes whole physical axes, as many as there are whose extents multiply to its size; of several
     * choices of the same number the first in lexicographic order.
     *
     * @return the physical axes of each logical axis, ascending, or null where an axis cannot be served
     */
    private int @Nullable [][] wholeAxes(int[] shape) {
        int physical = dims.length;
        boolean[] taken = new boolean[physical];
        int[][] chosen = new int[shape.length][];
        for (int axis = shape.length - 1; axis >= 0; axis--) {
            int[] best = null;
            for (int count = physical; count > 0 && best == null; count--) {
                best = firstSubset(shape[axis], count, taken);
            }
            if (best == null) {
                if (shape[axis] > 1) {
                    return null;
                }
                best = new int[0];
            }
            for (int p : best) {
                taken[p] = true;
            }
            chosen[axis] = best;
        }
        return chosen;
    }

    private int @Nullable [] firstSubset(int size, int count, boolean[] taken) {
        int[] best = null;
        for (int mask = 1; mask < 1 << dims.length; mask++) {
            if (Integer.bitCount(mask) != count) {
                continue;
            }
            int[] subset = new int[count];
            int filled = 0;
            long product = 1;
            boolean free = true;
            for (int p = 0; p < dims.length; p++) {
                if ((mask >> p & 1) != 0) {
                    subset[filled++] = p;
                    product *= dims[p];
                    free &= !taken[p];
                }
            }
            if (free && product == size && (best == null || Arrays.compare(subset, best) < 0)) {
                best = subset;
            }
        }
        return best;
    }

    /** @throws DeviceLayoutException if whole axes do not do and splitting is not allowed */
    Layout assign(int[] shape, boolean allowSplit, List<String> axes) {
        int[][] whole = wholeAxes(shape);
        if (whole == null) {
            if (!allowSplit) {
                throw new DeviceLayoutException("No logical axis may split a physical one, and "
                        + Sizes.describe(axes, shape) + " is not made of whole axes of the torus "
                        + Arrays.toString(dims) + ": allow splitting");
            }
            return split(shape, axes);
        }
        int[] order = Arrays.stream(whole).flatMapToInt(Arrays::stream).toArray();
        int[][] assignment = new int[dims.length][shape.length];
        for (int[] row : assignment) {
            Arrays.fill(row, 1);
        }
        for (int axis = 0; axis < shape.length; axis++) {
            for (int p : whole[axis]) {
                assignment[p][axis] = dims[p];
            }
        }
        return Layout.of(Transposition.apply(grid, dims, order), LayoutRule.WHOLE_AXES, toLists(assignment));
    }

    /**
     * Each logical axis takes factors of the physical axes. JAX finds these with a routine that loses small prime factors of
     * numbers such as 10 and 28; where it finds an assignment all the same, that is the one to reproduce. Where it fails, the
     * true factors are used.
     */
    private Layout split(int[] shape, List<String> axes) {
        int[][] assignment = assignSplit(shape, Factors::asJaxFindsThem);
        if (assignment == null) {
            assignment = assignSplit(shape, Factors::of);
        }
        if (assignment == null) {
            throw new DeviceLayoutException(Sizes.describe(axes, shape) + " cannot be laid on the torus "
                    + Arrays.toString(dims) + ": some axis is not a product of factors that are left");
        }
        int physical = dims.length;
        int logical = shape.length;
        int[] parts = Arrays.stream(assignment).flatMapToInt(Arrays::stream).toArray();
        int[] order = new int[physical * logical];
        for (int l = 0; l < logical; l++) {
            for (int p = 0; p < physical; p++) {
                order[l * physical + p] = p * logical + l;
            }
        }
        return Layout.of(Transposition.apply(grid, parts, order), LayoutRule.SPLIT_AXES, toLists(assignment));
    }

    private int @Nullable [][] assignSplit(int[] shape, Factors.Finder finder) {
        int physical = dims.length;
        int[] taken = new int[physical];
        Arrays.fill(taken, 1);
        int[][] assignment = new int[physical][shape.length];
        for (int axis = shape.length - 1; axis >= 0; axis--) {
            int[] best = new Choice(dims, taken, finder).best(shape[axis]);
            if (best == null) {
                return null;
            }
            for (int p = 0; p < physical; p++) {
                assignment[p][axis] = best[p];
                taken[p] *= best[p];
            }
        }
        return Arrays.equals(taken, dims) ? assignment : null;
    }

    /** The choice of factors for one logical axis, given what the axes after it took. */
    private static final class Choice {
        private final int[] dims;
        private final int[] taken;
        private final Factors.Finder finder;

        Choice(int[] dims, int[] taken, Factors.Finder finder) {
            this.dims = dims;
            this.taken = taken;
            this.finder = finder;
        }

        int @Nullable [] best(int size) {
            int[] primes = finder.factors(size);
            int[][] available = new int[dims.length][];
            for (int p = 0; p < dims.length; p++) {
                available[p] = finder.factors(dims[p] / taken[p]);
            }
            List<int[]> candidates = List.of(ones());
            for (int i = 0; i < primes.length; ) {
                int prime = primes[i];
                int count = 0;
                while (i < primes.length && primes[i] == prime) {
                    count++;
                    i++;
                }
                int[] room = new int[dims.length];
                for (int p = 0; p < dims.length; p++) {
                    room[p] = (int)
                            IntStream.of(available[p]).filter(f -> f == prime).count();
                }
                List<int[]> spreads = new ArrayList<>();
                spread(prime, count, 0, room, ones(), spreads);
                List<int[]> next = new ArrayList<>();
                for (int[] a : candidates) {
                    for (int[] b : spreads) {
                        next.add(IntStream.range(0, a.length)
                                .map(p -> a[p] * b[p])
                                .toArray());
                    }
                }
                candidates = next;
            }
            int[] best = null;
            for (int[] candidate : candidates) {
                if (best == null || compare(candidate, best) > 0) {
                    best = candidate;
                }
            }
            return best;
        }

        private int[] ones() {
            int[] ones = new int[dims.length];
            Arrays.fill(ones, 1);
            return ones;
        }

        /** All ways to give {@code count} factors {@code prime} to the physical axes from p on. */
        private static void spread(int prime, int count, int p, int[] room, int[] sofar, List<int[]> out) {
            if (p == room.length) {
                if (count == 0) {
                    out.add(sofar.clone());
                }
                return;
            }
            int factor = 1;
            for (int n = 0; n <= Math.min(count, room[p]); n++) {
                sofar[p] = factor;
                spread(prime, count - n, p + 1, room, sofar, out);
                factor *= prime;
            }
            sofar[p] = 1;
        }

        /**
         * Whole physical axes first, by size and then by number; then factors of axes that another logical axis has begun on;
         * then x before y before z.
         */
        private int compare(int[] a, int[] b) {
            long wholeA = 1;
            long wholeB = 1;
            int countA = 0;
            int countB = 0;
            long sharedA = 1;
            long sharedB = 1;
            for (int p = 0; p < dims.length; p++) {
                if (a[p] == dims[p]) {
                    wholeA *= a[p];
                    countA += a[p] > 1 ? 1 : 0;
                }
                if (b[p] == dims[p]) {
                    wholeB *= b[p];
                    countB += b[p] > 1 ? 1 : 0;
                }
                if (taken[p] > 1) {
                    sharedA *= a[p];
                    sharedB *= b[p];
                }
            }
            if (wholeA != wholeB) {
                return Long.compare(wholeA, wholeB);
            }
            if (countA != countB) {
                return Integer.compare(countA, countB);
            }
            return sharedA != sharedB ? Long.compare(sharedA, sharedB) : Arrays.compare(a, b);
        }
    }

    private static List<List<Integer>> toLists(int[][] matrix) {
        return Arrays.stream(matrix).map(Sizes::list).toList();
    }
}
