// SPDX-License-Identifier: Apache-2.0
package dev.slipway.lowering;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatExceptionOfType;

import com.google.common.collect.ImmutableList;
import dev.slipway.lowering.DecoderConfig.Rotary;
import dev.slipway.lowering.DecoderConfig.Scaling;
import org.assertj.core.api.ThrowableAssert.ThrowingCallable;
import org.junit.jupiter.api.Test;

class DecoderConfigTest {
    @Test
    void aLlamaTurnsWholeHeadsUnlessItIsSaid() {
        DecoderConfig llama = DecoderConfig.llama(sizes -> sizes.vocabulary(8)
                .width(8)
                .depth(3)
                .heads(2, 1, 4)
                .feedForward(8)
                .maxPositions(8));

        assertThat(llama.layers()).hasSize(3).containsOnly(DecoderConfig.Layer.full(Rotary.of(10_000, 4)));
        assertThat(llama.tiedHead()).isFalse();
    }

    @Test
    void aLlamaWithoutASizeIsRefused() {
        refused(
                () -> DecoderConfig.llama(sizes ->
                        sizes.vocabulary(8).width(8).depth(1).heads(2, 1, 4).maxPositions(8)),
                "hidden is 0; a positive number is expected");
    }

    private static void refused(ThrowingCallable made, String message) {
        assertThatExceptionOfType(LoweringException.class).isThrownBy(made).withMessage(message);
    }

    @Test
    void aRampThatEndsWhereItBeginsIsRefused() {
        refused(
                () -> new Scaling.Llama3(8, 4, 4, 8192),
                "the rotary scaling's lowFactor is 4.0; less than its highFactor, 4.0, is expected");
    }

    @Test
    void aFactorOfNothingIsRefused() {
        refused(() -> new Scaling.Linear(0), "the rotary scaling's factor is 0.0; a positive number is expected");
        refused(
                () -> new Scaling.Llama3(Double.NaN, 1, 4, 8192),
                "the rotary scaling's factor is NaN; a positive number is expected");
    }

    @Test
    void divisorsOfOtherPairsThanThereAreAreRefused() {
        refused(
                () -> new Rotary(10_000, 8, new Scaling.PerPair(ImmutableList.of(1.0, 2.0), 1)),
                "2 divisors of rotary frequencies for 4 pairs; one for each is expected");
    }

    @Test
    void aStillRotationHasNoFrequencies() {
        assertThat(new Rotary(10_000, 8, new Scaling.Still()).frequencies()).containsExactly(0, 0, 0, 0);
    }

    @Test
    void aRotationOfADamagedFileIsRefusedBeforeItsFrequenciesAreWorkedOut() {
        refused(
                () -> Rotary.of(10_000, 2_000_000_000),
                "rotary dims 2000000000 must be even, not negative, and at most 65536");
    }

    @Test
    void aRotationOfMoreThanAHeadIsRefused() {
        refused(
                () -> DecoderConfig.llama(llama -> llama.vocabulary(8)
                        .width(8)
                        .depth(1)
                        .heads(2, 2, 4)
                        .feedForward(8)
                        .maxPositions(8)
                        .rotary(Rotary.of(10_000, 8))
                        .tiedHead()),
                "rotary dims 8 are more than the 4 of a head");
    }
}
