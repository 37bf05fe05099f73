// SPDX-License-Identifier: Apache-2.0
package dev.slipway.stablehlo.internal;

import com.google.common.primitives.ImmutableLongArray;
import dev.slipway.stablehlo.ConvDimensionNumbers;
import dev.slipway.stablehlo.DenseElements;
import dev.slipway.stablehlo.ElementType;
import dev.slipway.stablehlo.QuantizedType;
import dev.slipway.stablehlo.TensorType;
import dev.slipway.stablehlo.Type;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import org.jspecify.annotations.Nullable;

/** Rules of operations that slide a window. */
final class WindowRules {
    private static final long DYNAMIC = TensorType.DYNAMIC;

    private WindowRules() {}

    /** One dimension of a window. */
    record Window(long size, long stride, long low, long high, long baseDilation, long windowDilation) {
        /** How many places the window has along a base of that size. */
        long places(long base) {
            if (base == DYNAMIC || size == DYNAMIC) {
                return DYNAMIC;
            }
            long padded = low + dilated(base, baseDilation) + high;
            long dilatedWindow = dilated(size, windowDilation);
            return padded <= 0 || dilatedWindow > padded ? 0 : (padded - dilatedWindow) / stride + 1;
        }

        private static long dilated(long size, long dilation) {
            return size == 0 ? 0 : (size - 1) * dilation + 1;
        }
    }

    private static List<Window> window(
            long[] sizes,
            @Nullable ImmutableLongArray strides,
            long @Nullable [][] padding,
            @Nullable ImmutableLongArray baseDilations,
            @Nullable ImmutableLongArray windowDilations) {
        checkLength("window strides", strides, sizes.length);
        checkLength("base dilations", baseDilations, sizes.length);
        checkLength("window dilations", windowDilations, sizes.length);
        long[][] pairs = padding == null ? new long[0][] : padding;
        Violation.check(
                pairs.length == 0 || pairs.length == sizes.length,
                "padding must have %s entries, got %s",
                sizes.length,
                pairs.length);
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
                    sizes[i] == DYNAMIC || sizes[i] > 0,
                    "the window's size %s in dimension %s must be positive",
                    sizes[i],
                    i);
            Violation.check(
                    dimension.stride > 0,
                    "the window's stride %s in dimension %s must be positive",
                    dimension.stride,
                    i);
            Violation.check(
                    dimension.baseDilation > 0,
                    "the base dilation %s in dimension %s must be positive",
                    dimension.baseDilation,
                    i);
            Violation.check(
                    dimension.windowDilation > 0,
                    "the window dilation %s in dimension %s must be positive",
                    dimension.windowDilation,
                    i);
            window.add(dimension);
        }
        return window;
    }

    private static void checkLength(String name, @Nullable ImmutableLongArray values, int length) {
        Violation.check(
                values == null || values.isEmpty() || values.length() == length,
                "%s must have %s entries, got %s",
                name,
                length,
                values);
    }

    private static long entry(@Nullable ImmutableLongArray values, int index) {
        return values == null || values.isEmpty() ? 1 : values.get(index);
    }

    /** Low and high padding of each dimension, from a constant of shape [N, 2]. */
    private static long @Nullable [][] pairs(@Nullable DenseElements padding) {
        if (padding == null) {
            return null;
        }
        Violation.check(
                padding.type().rank() == 2 && padding.type().dim(1) == 2,
                "padding must have the shape [N, 2], got %s",
                padding.type());
        long[] values = padding.toLongs();
        long[][] pairs = new long[values.length / 2][];
        for (int i = 0; i < pairs.length; i++) {
            pairs[i] = new long[] {values[2 * i], values[2 * i + 1]};
        }
        return pairs;
    }

    private static @Nullable DenseElements padding(Draft draft) {
        return (DenseElements) draft.attribute("padding");
    }

    static List<Type> reduceWindow(Draft draft) {
        int count = draft.operands().size() / 2;
        Violation.check(count > 0, "needs at least one input");
        TensorType first = draft.tensor(0);
        for (int i = 1; i < count; i++) {
            Violation.check(
                    Types.compatibleShapes(first, draft.type(i)),
                    "inputs must have compatible shapes, got %s and %s",
                    first,
                    draft.type(i));
        }
        ImmutableLongArray sizes = draft.ints("window_dimensions");
        Violation.check(
                sizes.length() == first.rank(),
                "window_dimensions must have as many entries as the inputs' rank %s, got %s",
                first.rank(),
                sizes);
        List<Window> window = window(
                sizes.toArray(),
                draft.optionalInts("window_strides"),
                pairs(padding(draft)),
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
            bounds[i] = first.isDynamic(i) ? window.get(i).places(first.bound(i)) : DYNAMIC;
        }
        List<Type> results = new ArrayList<>();
        for (Type accumulator : RegionRules.returned(draft.regions().getFirst())) {
            results.add(Types.tensor(((TensorType) accumulator).element(), shape, bounds, null));
        }
        return results;
    }

    static List<Type> selectAndScatter(Draft draft) {
        TensorType operand = draft.tensor(0);
        TensorType source = draft.tensor(1);
        TensorType initial = draft.tensor(2);
        List<Type> arguments = RegionRules.arguments(draft.regions().getFirst());
        Violation.check(arguments.size() == 2, "select must take 2 arguments, but takes %s", arguments.size());
        for (Type argument : arguments) {
            Violation.check(
                    RegionRules.sameButPrecision(TensorType.of(operand.element()), argument),
                    "select must take scalars of the operand's type, got %s",
                    argument);
        }
        List<Type> selected = RegionRules.returned(draft.regions().getFirst());
        Violation.check(
                selected.size() == 1 && selected.getFirst().equals(TensorType.of(ElementType.I1)),
                "select must return one boolean scalar, got %s",
                selected);
        RegionRules.checkReducer(
                draft.regions().get(1), List.of(TensorType.of(source.element())), List.of(initial), new long[0]);
        ImmutableLongArray sizes = draft.optionalInts("window_dimensions");
        long[] dimensions = sizes == null ? new long[0] : sizes.toArray();
        Violation.check(
                dimensions.length == operand.rank(),
                "window_dimensions must have as many entries as the operand's rank %s, got %s",
                operand.rank(),
                Arrays.toString(dimensions));
        List<Window> window =
                window(dimensions, draft.optionalInts("window_strides"), pairs(padding(draft)), null, null);
        long[] shape = new long[operand.rank()];
        for (int i = 0; i < shape.length; i++) {
            shape[i] = window.get(i).places(operand.dim(i));
        }
        Violation.check(
                RegionRules.sameButPrecision(TensorType.of(operand.element(), shape), source),
                "source must have a value for each place of the window, %s, got %s",
                TensorType.of(operand.element(), shape),
                source);
        TensorType accumulator =
                (TensorType) RegionRules.returned(draft.regions().get(1)).getFirst();
        return List.of(operand.withElement(accumulator.element()));
    }

    static @Nullable List<Type> convolution(Draft draft) {
        convolution(draft, pairs(padding(draft)), true);
        return null;
    }

    static @Nullable List<Type> dynamicConv(Draft draft) {
        TensorType padding = draft.tensor(2);
        int spatial = draft.tensor(0).rank() - 2;
        convolutionTypes(draft);
        Violation.check(
                padding.rank() == 2 && padding.dim(0) == spatial && padding.dim(1) == 2,
                "padding must have the shape [%s, 2], got %s",
                spatial,
                padding);
        DenseElements constant = draft.constant(2);
        if (constant != null) {
            convolution(draft, pairs(constant), true);
        } else {
            convolution(draft, null, false);
        }
        return null;
    }

    private static void convolutionTypes(Draft draft) {
        TensorType lhs = draft.tensor(0);
        TensorType rhs = draft.tensor(1);
        Violation.check(lhs.rank() >= 2, "takes operands of 2 dimensions at least, got %s", lhs);
        Violation.check(lhs.rank() == rhs.rank(), "takes operands of one rank, got %s and %s", lhs, rhs);
        Violation.check(
                lhs.element() instanceof QuantizedType
                        || rhs.element() instanceof QuantizedType
                        || lhs.element().equals(rhs.element()),
                "takes operands of one element type, got %s and %s",
                lhs,
                rhs);
    }

    private static void convolution(Draft draft, long @Nullable [][] padding, boolean isPaddingKnown) {
        convolutionTypes(draft);
        TensorType lhs = draft.tensor(0);
        TensorType rhs = draft.tensor(1);
        ConvDimensionNumbers numbers = draft.attribute("dimension_numbers", ConvDimensionNumbers.class);
        checkNumbers(numbers, lhs.rank());
        DotRules.checkPrecision(draft);
        long batchGroups = draft.integer("batch_group_count");
        long featureGroups = draft.integer("feature_group_count");
        checkGroups(lhs, rhs, numbers, batchGroups, featureGroups);
        int spatial = numbers.inputSpatialDimensions().length();
        Violation.check(lhs.rank() == spatial + 2, "takes operands of %s dimensions, got %s", spatial + 2, lhs);
        long[] sizes = new long[spatial];
        for (int i = 0; i < spatial; i++) {
            sizes[i] = rhs.dim(Math.toIntExact(numbers.kernelSpatialDimensions().get(i)));
        }
        TensorType result = draft.resultTensor();
        if (isPaddingKnown) {
            // Where the padding is computed, the window is not looked at: StableHLO's own programs have too many
            // strides there.
            checkLength("window reversal", draft.optionalInts("window_reversal"), spatial);
            List<Window> window = window(
                    sizes,
                    draft.optionalInts("window_strides"),
                    padding,
                    draft.optionalInts("lhs_dilation"),
                    draft.optionalInts("rhs_dilation"));
            long[] shape = new long[lhs.rank()];
            for (int i = 0; i < spatial; i++) {
                long base =
                        lhs.dim(Math.toIntExact(numbers.inputSpatialDimensions().get(i)));
                shape[Math.toIntExact(numbers.outputSpatialDimensions().get(i))] =
                        window.get(i).places(base);
            }
            long batch = lhs.dim(Math.toIntExact(numbers.inputBatchDimension()));
            shape[Math.toIntExact(numbers.outputBatchDimension())] = batch == DYNAMIC ? DYNAMIC : batch / batchGroups;
            shape[Math.toIntExact(numbers.outputFeatureDimension())] =
                    rhs.dim(Math.toIntExact(numbers.kernelOutputFeatureDimension()));
            TensorType inferred = TensorType.of(lhs.element(), shape);
            Violation.check(
                    Types.compatibleShapes(inferred, result),
                    "inferred shape %s is incompatible with the result type %s",
                    Types.show(inferred.shape()),
                    result);
        }
        quantizedConvolution(lhs.element(), rhs.element(), result.element(), numbers);
    }

    private static void quantizedConvolution(Type lhs, Type rhs, Type result, ConvDimensionNumbers numbers) {
        if (!(lhs instanceof QuantizedType) && !(rhs instanceof QuantizedType) && !(result instanceof QuantizedType)) {
            return;
        }
        if (rhs instanceof QuantizedType quantized && quantized.isPerAxis()) {
            Violation.check(
                    quantized.axes().getFirst() == numbers.kernelOutputFeatureDimension(),
                    "the quantized dimension of rhs must be kernel_output_feature_dimension");
        }
        if (result instanceof QuantizedType quantized && quantized.isPerAxis()) {
            Violation.check(
                    quantized.axes().getFirst() == numbers.outputFeatureDimension(),
                    "the quantized dimension of the result must be output_feature_dimension");
        }
        DotRules.quantizedProduct(lhs, rhs, result);
    }

    private static void checkNumbers(ConvDimensionNumbers numbers, int rank) {
        int spatial = numbers.inputSpatialDimensions().length();
        Violation.check(
                spatial == numbers.kernelSpatialDimensions().length()
                        && spatial == numbers.outputSpatialDimensions().length(),
                "input, kernel and output must have as many spatial dimensions, got %s",
                numbers);
        checkDistinct(
                "input",
                rank,
                numbers.inputBatchDimension(),
                numbers.inputFeatureDimension(),
                numbers.inputSpatialDimensions());
        checkDistinct(
                "kernel",
                rank,
                numbers.kernelInputFeatureDimension(),
                numbers.kernelOutputFeatureDimension(),
                numbers.kernelSpatialDimensions());
        checkDistinct(
                "output",
                rank,
                numbers.outputBatchDimension(),
                numbers.outputFeatureDimension(),
                numbers.outputSpatialDimensions());
    }

    private static void checkDistinct(String what, int rank, long first, long second, ImmutableLongArray spatial) {
        ShapeRules.checkUnique(
                ImmutableLongArray.builder()
                        .add(first)
                        .add(second)
                        .addAll(spatial)
                        .build(),
                rank,
                what + " dimension numbers");
    }

    private static void checkGroups(
            TensorType lhs, TensorType rhs, ConvDimensionNumbers numbers, long batchGroups, long featureGroups) {
        Violation.check(
                batchGroups == 1 || featureGroups == 1,
                "batch_group_count and feature_group_count cannot both be greater than 1, got %s and %s",
                batchGroups,
                featureGroups);
        long batch = lhs.dim(Math.toIntExact(numbers.inputBatchDimension()));
        long features = lhs.dim(Math.toIntExact(numbers.inputFeatureDimension()));
        long kernelFeatures = rhs.dim(Math.toIntExact(numbers.kernelInputFeatureDimension()));
        long outputFeatures = rhs.dim(Math.toIntExact(numbers.kernelOutputFeatureDimension()));
        Violation.check(
                batch == DYNAMIC || batch % batchGroups == 0,
                "the input's batch size %s must be a multiple of batch_group_count %s",
                batch,
                batchGroups);
        if (features != DYNAMIC) {
            Violation.check(
                    features % featureGroups == 0,
                    "the input's features %s must be a multiple of feature_group_count %s",
                    features,
                    featureGroups);
            Violation.check(
                    kernelFeatures == DYNAMIC || features / featureGroups == kernelFeatures,
                    "the kernel's input features %s must be the input's %s divided by feature_group_count %s",
                    kernelFeatures,
                    features,
                    featureGroups);
        }
        if (outputFeatures != DYNAMIC) {
            Violation.check(
                    outputFeatures % batchGroups == 0,
                    "the kernel's output features %s must be a multiple of batch_group_count %s",
                    outputFeatures,
                    batchGroups);
            Violation.check(
                    outputFeatures % featureGroups == 0,
                    "the kernel's output features %s must be a multiple of feature_group_count %s",
                    outputFeatures,
                    featureGroups);
        }
    }
}
