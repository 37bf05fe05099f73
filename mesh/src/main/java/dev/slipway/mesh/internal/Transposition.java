// SPDX-License-Identifier: Apache-2.0
package dev.slipway.mesh.internal;

/** Puts the axes of a row-major array in another order. */
final class Transposition {
    private Transposition() {}

    /**
     * The elements of an array after transposing it.
     *
     * @param array the elements, last axis fastest
     * @param dims its extents
     * @param axes a permutation of its axes: {@code axes[i]} becomes axis i
     */
    static int[] apply(int[] array, int[] dims, int[] axes) {
        int[] strides = new int[dims.length];
        int total = 1;
        for (int i = dims.length - 1; i >= 0; i--) {
            strides[i] = total;
            total *= dims[i];
        }
        // Axes that stay neighbours are walked as one, so that the innermost loop is as long as can be.
        int[] extent = new int[dims.length + 1];
        int[] stride = new int[dims.length + 1];
        int rank = 0;
        for (int axis : axes) {
            if (dims[axis] == 1) {
                continue;
            }
            if (rank > 0 && stride[rank - 1] == dims[axis] * strides[axis]) {
                extent[rank - 1] *= dims[axis];
                stride[rank - 1] = strides[axis];
            } else {
                extent[rank] = dims[axis];
                stride[rank] = strides[axis];
                rank++;
            }
        }
        if (rank <= 1) {
            return array.clone();
        }
        int[] result = new int[total];
        int inner = extent[rank - 1];
        int step = stride[rank - 1];
        int[] index = new int[rank - 1];
        int position = 0;
        for (int n = 0; n < total; n += inner) {
            for (int i = 0; i < inner; i++) {
                result[n + i] = array[position + i * step];
            }
            for (int i = rank - 2; i >= 0; i--) {
                position += stride[i];
                if (++index[i] < extent[i]) {
                    break;
                }
                position -= stride[i] * extent[i];
                index[i] = 0;
            }
        }
        return result;
    }
}
