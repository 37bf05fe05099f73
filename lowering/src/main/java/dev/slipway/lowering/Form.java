// SPDX-License-Identifier: Apache-2.0
package dev.slipway.lowering;

import dev.slipway.stablehlo.ElementType;
import java.util.function.Consumer;

/**
 * How a program is written for a target: the same mathematics, other instructions.
 *
 * @param layers one body for all layers, or one copy each
 * @param matrices how the matrices of the layers and the head lie in memory
 * @param weights element type of the parameters as the program takes them
 * @param compute element type of activations; norms, rotary angles, softmax and logits are float32 whatever it is, of which in
 *     {@link AxlearnPrograms} only means, softmax and what follows the logits, and of norms more where their
 *     {@linkplain DecoderConfig.Norm.Precision precision} says so
 * @param cache element type of keys and values at rest
 * @param products how products with matrices of more than two dimensions are written
 * @param cacheOrder in which order the cache's last two dimensions are
 * @param cacheWrites when a scanned decode step writes the cache that is its argument
 * @param tokensPerPass the least number of prompt tokens that a device multiplies a matrix with each time it reads it:
 *     prompts are read in passes of as few columns as give that many; 0 to read all columns in one pass
 * @param wholeBelow a layer of fewer numbers than this, and a matrix outside the layers of fewer, is not cut along the mesh
 *     axes that cut the batch: reading it whole takes less time than the exchanges would; 0 to cut whatever divides
 */
public record Form(
        Layers layers,
        Matrices matrices,
        ElementType weights,
        ElementType compute,
        ElementType cache,
        Products products,
        CacheOrder cacheOrder,
        CacheWrites cacheWrites,
        int tokensPerPass,
        long wholeBelow) {
    /** How the layers are written. */
    public enum Layers {
        /**
         * One {@code while} over stacked weights {@code [layers, ...]}: the program's size, and the time to compile it, do
         * not grow with depth.
         */
        SCANNED,
        /** Each layer by itself, weights apart: larger to compile, nothing is sliced while running. */
        UNROLLED
    }

    /** How matrices lie in memory. */
    public enum Matrices {
        /** Each by itself, {@code [out, in]} as {@link Parameters} has them. */
        OUTPUT_MAJOR,
        /**
         * {@link Blocks Blocks} of 8-bit steps: a quarter of float32's bytes, and nothing is lost where the numbers were
         * stored in such blocks to begin with.
         */
        BLOCKS,
        /** Blocks of 4-bit steps in the layers, and of 8-bit steps in the head, as files with 4 bits a weight have them. */
        HALF_BLOCKS,
        /**
         * Pairs of bfloat16 numbers, multiplied as float32: half of float32's bytes, and nothing is lost where the numbers
         * were stored as bfloat16. They lie as {@link Blocks} do.
         */
        PAIRS,
        /**
         * Float32 numbers that lie as {@link Blocks} do in the layers: a step reads stacked ones where they are, which XLA:CPU
         * copies layer by layer if they are output-major.
         */
        INPUT_MAJOR
    }

    /** How products with matrices of more than two dimensions are written: those of heads, and those of experts. */
    public enum Products {
        /** With the dimensions that they have: libtpu's tiles hold the last two. */
        AS_STORED,
        /** With two, heads or experts joined with what is within them: XLA:CPU transposes, and so copies, any other first. */
        JOINED
    }

    /** In which order the cache's last two dimensions are. */
    public enum CacheOrder {
        /** {@code [..., columns, head_dim]}: a step writes one run of memory. */
        HEAD_LAST,
        /** {@code [..., head_dim, columns]}, as AXLearn has it: nothing is padded where heads are narrower than a vector. */
        TIME_LAST,
        /**
         * Keys {@code [..., head_dim, columns]}, values {@code [..., columns, head_dim]}, in this order XLA:CPU
         * can sum over either without copying it first. Where all is float32 a step's attention is written so, and columns
         * are filled up to a multiple of 32, or of 8 where there are fewer.
         */
        KEYS_TIME_LAST
    }

    /** When scanned layers write the cache. */
    public enum CacheWrites {
        /** Each layer its own part: XLA:CPU does so in place. */
        BY_LAYER,
        /**
         * All layers' columns at once, after the last layer; the layers only read what was there before, by products of
         * matrices. libtpu chooses the layout of a cache for the layers' loop that writes it, or for the single vector
         * that it is multiplied with, and copies the cache where another loop or the argument has another layout.
         */
        BEHIND_LAYERS
    }

    /** @throws LoweringException if the tokens of a pass or the numbers left whole are negative */
    public Form {
        if (tokensPerPass < 0) {
            throw new LoweringException("%d tokens per pass; at least 0 is expected".formatted(tokensPerPass));
        }
        if (wholeBelow < 0) {
            throw new LoweringException("whole below %d numbers; at least 0 is expected".formatted(wholeBelow));
        }
    }

    /** Scanned, matrices output-major, everything in one element type. */
    public static Form scanned(ElementType type) {
        return new Form(
                Layers.SCANNED,
                Matrices.OUTPUT_MAJOR,
                type,
                type,
                type,
                Products.AS_STORED,
                CacheOrder.HEAD_LAST,
                CacheWrites.BY_LAYER,
                0,
                0);
    }

    /** Unrolled, matrices output-major, everything in one element type. */
    public static Form unrolled(ElementType type) {
        return scanned(type).withLayers(Layers.UNROLLED);
    }

    /** This form with its layers written in another way. */
    public Form withLayers(Layers other) {
        return with(form -> form.layers = other);
    }

    /** This form with its matrices lying in another way. */
    public Form withMatrices(Matrices other) {
        return with(form -> form.matrices = other);
    }

    /** This form with weights, activations, keys and values in another element type. */
    public Form withElements(ElementType type) {
        return with(form -> {
            form.weights = type;
            form.compute = type;
            form.cache = type;
        });
    }

    /** This form with keys and values at rest in another element type. */
    public Form withCache(ElementType type) {
        return with(form -> form.cache = type);
    }

    /** This form with products with matrices of more than two dimensions written in another way. */
    public Form withProducts(Products other) {
        return with(form -> form.products = other);
    }

    /** This form with keys and values at rest in another order. */
    public Form withCacheOrder(CacheOrder other) {
        return with(form -> form.cacheOrder = other);
    }

    /** This form with a decode step's cache written at another time. */
    public Form withCacheWrites(CacheWrites other) {
        return with(form -> form.cacheWrites = other);
    }

    /** This form with prompts read in passes of at least so many tokens. */
    public Form withTokensPerPass(int tokens) {
        return with(form -> form.tokensPerPass = tokens);
    }

    /** This form with layers and other matrices of fewer numbers left whole along the mesh axes that cut the batch. */
    public Form withWholeBelow(long numbers) {
        return with(form -> form.wholeBelow = numbers);
    }

    private Form with(Consumer<Draft> change) {
        Draft draft = new Draft(this);
        change.accept(draft);
        return draft.form();
    }

    /** A form that is still open to change. */
    private static final class Draft {
        private Layers layers;
        private Matrices matrices;
        private ElementType weights;
        private ElementType compute;
        private ElementType cache;
        private Products products;
        private CacheOrder cacheOrder;
        private CacheWrites cacheWrites;
        private int tokensPerPass;
        private long wholeBelow;

        Draft(Form from) {
            this.layers = from.layers;
            this.matrices = from.matrices;
            this.weights = from.weights;
            this.compute = from.compute;
            this.cache = from.cache;
            this.products = from.products;
            this.cacheOrder = from.cacheOrder;
            this.cacheWrites = from.cacheWrites;
            this.tokensPerPass = from.tokensPerPass;
            this.wholeBelow = from.wholeBelow;
        }

        Form form() {
            return new Form(
                    layers,
                    matrices,
                    weights,
                    compute,
                    cache,
                    products,
                    cacheOrder,
                    cacheWrites,
                    tokensPerPass,
                    wholeBelow);
        }
    }
}
