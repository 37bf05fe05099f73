// SPDX-License-Identifier: Apache-2.0
package dev.slipway.stablehlo;

import dev.slipway.stablehlo.internal.AttributePrinter;
import java.util.List;
import org.jspecify.annotations.Nullable;

/**
 * The type of a {@link Value}. its {@code toString} is MLIR's text for it, e.g. {@code tensor<2x3xf32>}.
 *
 * <p>Most values are {@link TensorType tensors} of an {@link ElementType}.
 */
public sealed interface Type
        permits ElementType,
                TensorType,
                Type.UnrankedTensor,
                Type.Tuple,
                Type.Token,
                Type.Future,
                Type.Function,
                Type.Buffer,
                Type.None {

    /** A tensor of which not even the rank is known. CHLO operations allow it; StableHLO operations do not. */
    record UnrankedTensor(ElementType element) implements Type {
        @Override
        public String toString() {
            return AttributePrinter.toText(this);
        }
    }

    /** A tuple of values. */
    record Tuple(List<Type> types) implements Type {
        public Tuple {
            types = List.copyOf(types);
        }

        @Override
        public String toString() {
            return AttributePrinter.toText(this);
        }
    }

    /** A token, which orders operations with side effects. */
    record Token() implements Type {
        /** The token type. */
        public static final Token INSTANCE = new Token();

        @Override
        public String toString() {
            return AttributePrinter.toText(this);
        }
    }

    /** The result of an asynchronous operation: values of these types, later. */
    record Future(List<Type> types) implements Type {
        public Future {
            types = List.copyOf(types);
        }

        @Override
        public String toString() {
            return AttributePrinter.toText(this);
        }
    }

    /** The type of a function. */
    record Function(List<Type> inputs, List<Type> results) implements Type {
        public Function {
            inputs = List.copyOf(inputs);
            results = List.copyOf(results);
        }

        @Override
        public String toString() {
            return AttributePrinter.toText(this);
        }
    }

    /**
     * A buffer in memory ({@code memref}).
     *
     * @param tensor shape and element type, without an encoding
     * @param layout what follows the element type, as text; null where there is nothing
     */
    record Buffer(TensorType tensor, @Nullable String layout) implements Type {
        @Override
        public String toString() {
            return AttributePrinter.toText(this);
        }
    }

    /** The type of nothing. */
    record None() implements Type {
        /** The none type. */
        public static final None INSTANCE = new None();

        @Override
        public String toString() {
            return AttributePrinter.toText(this);
        }
    }

    /** The index type, as wide as the target's addresses. */
    record Index() implements ElementType {
        /** The index type. */
        public static final Index INSTANCE = new Index();

        @Override
        public String toString() {
            return AttributePrinter.toText(this);
        }
    }

    /**
     * A type of a dialect that is carried along as text.
     *
     * @param text all of it, with the leading exclamation mark, e.g. {@code !shape.witness}
     */
    record Opaque(String text) implements ElementType {
        @Override
        public String toString() {
            return text;
        }
    }
}
