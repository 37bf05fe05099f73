// SPDX-License-Identifier: Apache-2.0
package dev.slipway.lowering;

import com.google.common.base.Splitter;
import com.google.common.collect.ImmutableList;
import java.util.Optional;

/**
 * Matrices in blocks of {@value #SIZE} inputs of one output, in words of 32 bits. In {@link Form.Matrices#BLOCKS} they share
 * a step and an offset, as in GGUF's {@code Q4_1} and {@code Q8_0}, and each number is {@code offset + step * n} with {@code
 * n} in 8 or 4 bits; in {@link Form.Matrices#PAIRS} each is a bfloat16, in {@link Form.Matrices#INPUT_MAJOR} a float32.
 *
 * <p>Matrices with the same inputs are joined to one, output behind output: queries, keys and values, or gate and up. Such a
 * matrix is three parameters of a program, or one, inputs first, since compilers make good loops over neighbouring outputs of
 * one block:
 *
 * <table><caption>Parameters</caption>
 * <tr><th>path</th><th>type</th></tr>
 * <tr><td>{@code params/layers/3/q+k+v/steps}</td><td>{@code i32[in / 32, bits, out]}, words of the {@code n} above: word
 *     {@code w} of a block has input {@code k * bits + w} in its bits from {@code k * bits} on, signed where they are 8</td></tr>
 * <tr><td>{@code params/layers/3/q+k+v/step}</td><td>{@code f32[in / 32, out]}</td></tr>
 * <tr><td>{@code params/layers/3/q+k+v/offset}</td><td>{@code f32[in / 32, out]}</td></tr>
 * <tr><td>{@code params/layers/3/q+k+v/pairs}</td><td>{@code i32[in / 32, 16, out]}, words in the same order of what is
 *     bfloat16</td></tr>
 * <tr><td>{@code params/layers/3/q+k+v/numbers}</td><td>{@code f32[in / 32, 32, out]}</td></tr>
 * </table>
 *
 * <p>Scanned programs have {@code params/layers/q+k+v/...} with the layers as first dimension.
 *
 * <p>A tied embedding is looked up where it lies for the product with the head; one of its own is no matrix, and lies whole.
 *
 * @param layers what stands before the matrix's name: {@code layers/3/}, {@code layers/} or nothing
 * @param weights names of the joined matrices, without {@code /weight}
 * @param part which of the matrix's parameters
 */
public record Blocks(String layers, ImmutableList<String> weights, Part part) {
    /** How many inputs a block has. */
    public static final int SIZE = 32;

    /** What a matrix in blocks consists of. */
    public enum Part {
        /** How many steps each number is from its block's offset. */
        STEPS("steps"),
        /** The size of a step, for each block. */
        STEP("step"),
        /** The number that zero steps stand for, for each block. */
        OFFSET("offset"),
        /** The numbers themselves, two to a word. */
        PAIRS("pairs"),
        /** The numbers themselves, each a word. */
        NUMBERS("numbers");

        private final String segment;

        Part(String segment) {
            this.segment = segment;
        }
    }

    private static final ImmutableList<Part> IN_STEPS = ImmutableList.of(Part.STEPS, Part.STEP, Part.OFFSET);

    private static final String PARAMS = "params/";

    /** What a matrix that lies so consists of, in the order of a program's parameters; nothing where it is in no blocks. */
    public static ImmutableList<Part> parts(Form.Matrices matrices) {
        return switch (matrices) {
            case OUTPUT_MAJOR -> ImmutableList.of();
            case BLOCKS, HALF_BLOCKS -> IN_STEPS;
            case PAIRS -> ImmutableList.of(Part.PAIRS);
            case INPUT_MAJOR -> ImmutableList.of(Part.NUMBERS);
        };
    }

    /** All parts of the matrix that this is one of, in the order of a program's parameters. */
    public ImmutableList<Part> together() {
        return IN_STEPS.contains(part) ? IN_STEPS : ImmutableList.of(part);
    }

    /** The part of a matrix that a parameter is, if it is one. */
    public static Optional<Blocks> of(TensorSpec parameter) {
        String path = parameter.path();
        int last = path.lastIndexOf('/');
        int name = path.lastIndexOf('/', last - 1);
        for (Part part : Part.values()) {
            if (part.segment.equals(path.substring(last + 1))) {
                return Optional.of(new Blocks(
                        path.substring(PARAMS.length(), name + 1),
                        ImmutableList.copyOf(Splitter.on('+').split(path.substring(name + 1, last))),
                        part));
            }
        }
        return Optional.empty();
    }

    /** The parameter's path without {@code params/}. */
    public String name() {
        return layers + String.join("+", weights) + "/" + part.segment;
    }
}
