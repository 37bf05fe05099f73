// SPDX-License-Identifier: Apache-2.0
package dev.slipway.stablehlo.internal;

import com.google.common.primitives.ImmutableLongArray;
import dev.slipway.stablehlo.DenseElements;
import dev.slipway.stablehlo.TensorType;
import dev.slipway.stablehlo.Type;
import java.util.ArrayList;
import java.util.List;
import org.jspecify.annotations.Nullable;

/** Rules of operations that slide a window. */
final class WindowRules {
    private WindowRules() {}

    /** One dimension of a window. */
    record Window(long size, long stride, long low, long high, long baseDilation, long windowDilation) {
        /** How many places the window has along a base of that size. */
        long places(long base) {
            if (base == TensorType.DYNAMIC || size == TensorType.DYNAMIC) {
                return TensorType.DYNAMIC;
            }
            long padded = low + dilated(base, baseDilation) + high;
            long dilatedWindow = dilated(size, windowDilation);
            return padded <= 0 || dilatedWindow > padded ? 0 : (padded - dilatedWindow) / stride + 1;
        }

        private static long dilated(long size, long dilation) {
            return size == 0 ? 0 : (size - 1) * dilation + 1;
        }
    }

    /** A window from its attributes, each of which may be absent or as long as the sizes. */
    static List<Window> window(
            long[] sizes,
            @Nullable ImmutableLongArray strides,
            @Nullable DenseElements padding,
            @Nullable ImmutableLongArray baseDilations,
            @Nullable ImmutableLongArray windowDilations) {
        checkLength("window strides", strides, sizes.length);
        checkLength("base dilations", baseDilations, sizes.length);
        checkLength("window dilations", windowDilations, sizes.length);
        long[][] pairs = padding == null ? new long[0][] : RegionRules.pairs(padding);
        Violation.check(
                pairs.length == 0 || pairs.length == sizes.length,
                "padding must have " + sizes.length + " entries, got " + pairs.length);
        List<Window> window = new ArrayList<>();
        for (int i = 0; i < sizes.length; i++) {
            Window dimension = new Window(
                    sizes[i],
                    entry(strides, i),
                    pairs.length == 0 ? 0 : pairs[i][0],
                    pairs.length == 0 ? 0 : pairs[i][1],
                    entry(baseDilations, i),
                    entry(windowDilations, i));
            Violation.check(
                    sizes[i] == TensorType.DYNAMIC || sizes[i] > 0,
                    "the window's size " + sizes[i] + " in dimension " + i + " must be positive");
            Violation.check(
                    dimension.stride > 0,
                    "the window's stride " + dimension.stride + " in dimension " + i + " must be positive");
            Violation.check(
                    dimension.baseDilation > 0,
                    "the base dilation " + dimension.baseDilation + " in dimension " + i + " must be positive");
            Violation.check(
                    dimension.windowDilation > 0,
                    "the window dilation " + dimension.windowDilation + " in dimension " + i + " must be positive");
            window.add(dimension);
        }
        return window;
    }

    private static void checkLength(String name, @Nullable ImmutableLongArray values, int length) {
        Violation.check(
                values == null || values.isEmpty() || values.length() == length,
                name + " must have " + length + " entries, got " + values);
    }

    private static long entry(@Nullable ImmutableLongArray values, int index) {
        return values == null || values.isEmpty() ? 1 : values.get(index);
    }

    static List<Type> reduceWindow(Draft draft) {
        int count = draft.operands().size() / 2;
        Violation.check(count > 0, "needs at least one input");
        TensorType first = draft.tensor(0);
        for (int i = 1; i < count; i++) {
            Violation.check(
                    Types.compatibleShapes(first, draft.type(i)),
                    "inputs must have compatible shapes, got " + first + " and " + draft.type(i));
        }
        ImmutableLongArray sizes = draft.ints("window_dimensions");
        Violation.check(
                sizes.length() == first.rank(),
                "window_dimensions must have as many entries as the inputs' rank " + first.rank() + ", got " + sizes);
        List<Window> window = window(
                sizes.toArray(),
                draft.optionalInts("window_strides"),
                (DenseElements) draft.attribute("padding"),
                draft.optionalInts("base_dilations"),
                draft.optionalInts("window_dilations"));
        RegionRules.checkReducer(
                draft.regions().getFirst(),
                Rules.types(draft).subList(0, count),
                Rules.types(draft).subList(count, 2 * count),
                sizes.toArray());
        long[] shape = new long[first.rank()];
        long[] bounds = new long[first.rank()];
        for (int i = 0; i < shape.length; i++) {
            shape[i] = window.get(i).places(first.dim(i));
            bounds[i] = first.isDynamic(i) ? window.get(i).places(first.bound(i)) : TensorType.DYNAMIC;
        }
        List<Type> results = new ArrayList<>();
        for (Type accumulator : RegionRules.returned(draft.regions().getFirst())) {
            results.add(Types.tensor(((TensorType) accumulator).element(), shape, bounds, null));
        }
        return results;
    }
}
