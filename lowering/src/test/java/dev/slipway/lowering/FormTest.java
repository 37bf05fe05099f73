// SPDX-License-Identifier: Apache-2.0
package dev.slipway.lowering;

import static dev.slipway.lowering.Form.CacheOrder.HEAD_LAST;
import static dev.slipway.lowering.Form.CacheOrder.TIME_LAST;
import static dev.slipway.lowering.Form.CacheWrites.BEHIND_LAYERS;
import static dev.slipway.lowering.Form.CacheWrites.BY_LAYER;
import static dev.slipway.lowering.Form.Layers.SCANNED;
import static dev.slipway.lowering.Form.Layers.UNROLLED;
import static dev.slipway.lowering.Form.Matrices.BLOCKS;
import static dev.slipway.lowering.Form.Matrices.HALF_BLOCKS;
import static dev.slipway.lowering.Form.Products.AS_STORED;
import static dev.slipway.lowering.Form.Products.JOINED;
import static dev.slipway.stablehlo.ElementType.BF16;
import static dev.slipway.stablehlo.ElementType.F16;
import static dev.slipway.stablehlo.ElementType.F32;
import static dev.slipway.stablehlo.ElementType.F64;
import static org.assertj.core.api.Assertions.assertThat;

import java.util.stream.Stream;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.Arguments;
import org.junit.jupiter.params.provider.MethodSource;

class FormTest {
    /** No two components alike, none as a factory method would have it. */
    private static final Form FORM = new Form(UNROLLED, BLOCKS, BF16, F32, F16, JOINED, TIME_LAST, BEHIND_LAYERS, 7, 9);

    static Stream<Arguments> changes() {
        return Stream.of(
                Arguments.of(
                        FORM.withLayers(SCANNED),
                        new Form(SCANNED, BLOCKS, BF16, F32, F16, JOINED, TIME_LAST, BEHIND_LAYERS, 7, 9)),
                Arguments.of(
                        FORM.withMatrices(HALF_BLOCKS),
                        new Form(UNROLLED, HALF_BLOCKS, BF16, F32, F16, JOINED, TIME_LAST, BEHIND_LAYERS, 7, 9)),
                Arguments.of(
                        FORM.withElements(F64),
                        new Form(UNROLLED, BLOCKS, F64, F64, F64, JOINED, TIME_LAST, BEHIND_LAYERS, 7, 9)),
                Arguments.of(
                        FORM.withCache(F64),
                        new Form(UNROLLED, BLOCKS, BF16, F32, F64, JOINED, TIME_LAST, BEHIND_LAYERS, 7, 9)),
                Arguments.of(
                        FORM.withProducts(AS_STORED),
                        new Form(UNROLLED, BLOCKS, BF16, F32, F16, AS_STORED, TIME_LAST, BEHIND_LAYERS, 7, 9)),
                Arguments.of(
                        FORM.withCacheOrder(HEAD_LAST),
                        new Form(UNROLLED, BLOCKS, BF16, F32, F16, JOINED, HEAD_LAST, BEHIND_LAYERS, 7, 9)),
                Arguments.of(
                        FORM.withCacheWrites(BY_LAYER),
                        new Form(UNROLLED, BLOCKS, BF16, F32, F16, JOINED, TIME_LAST, BY_LAYER, 7, 9)),
                Arguments.of(
                        FORM.withTokensPerPass(8),
                        new Form(UNROLLED, BLOCKS, BF16, F32, F16, JOINED, TIME_LAST, BEHIND_LAYERS, 8, 9)),
                Arguments.of(
                        FORM.withWholeBelow(10),
                        new Form(UNROLLED, BLOCKS, BF16, F32, F16, JOINED, TIME_LAST, BEHIND_LAYERS, 7, 10)));
    }

    @ParameterizedTest
    @MethodSource("changes")
    void aChangeLeavesAllElseAsItWas(Form changed, Form expected) {
        assertThat(changed).isEqualTo(expected);
    }
}
