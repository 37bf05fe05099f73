// SPDX-License-Identifier: Apache-2.0
package dev.slipway.mesh.internal;

import java.util.function.IntConsumer;

/** Reads a row-major array along its axes in another order, without moving it. */
final class Transposition {
    private Transposition() {}

    /**
     * Gives the positions of an array of shape {@code dims}, in the order of the transposed array's elements.
     *
     * @param dims extents of the array
     * @param axes a permutation of its axes: {@code axes[i]} becomes axis i
     */
    static void walk(int[] dims, int[] axes, IntConsumer out) {
        int rank = dims.length;
        int[] strides = new int[rank];
        int total = 1;
        for (int i = rank - 1; i >= 0; i--) {
            strides[i] = total;
            total *= dims[i];
        }
        int[] extent = new int[rank];
        int[] stride = new int[rank];
        for (int i = 0; i < rank; i++) {
            extent[i] = dims[axes[i]];
            stride[i] = strides[axes[i]];
        }
        int[] index = new int[rank];
        int position = 0;
        for (int n = 0; n < total; n++) {
            out.accept(position);
            for (int i = rank - 1; i >= 0; i--) {
                position += stride[i];
                if (++index[i] < extent[i]) {
                    break;
                }
                position -= stride[i] * extent[i];
                index[i] = 0;
            }
        }
    }

    /** The elements of {@code array}, which has shape {@code dims}, after transposing. */
    static int[] apply(int[] array, int[] dims, int[] axes) {
        int[] result = new int[array.length];
        int[] next = {0};
        walk(dims, axes, position -> result[next[0]++] = array[position]);
        return result;
    }
}
