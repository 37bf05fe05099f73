// SPDX-License-Identifier: Apache-2.0
package dev.slipway.stablehlo;

/** An attribute that is one of a fixed list of words. */
public sealed interface EnumAttribute extends Attribute
        permits Precision,
                ComparisonDirection,
                ComparisonType,
                FftType,
                Transpose,
                RngDistribution,
                RngAlgorithm,
                ResultAccuracyMode,
                ChloPrecision,
                ChloComparisonDirection,
                ChloComparisonType,
                PropagationDirection {
    /** The dialect and name of the attribute, e.g. {@code stablehlo.precision}; empty where it is a plain integer. */
    String mnemonic();

    /** The word, as it is in text. */
    String name();

    /** The number, as it is in bytecode. */
    int value();
}
