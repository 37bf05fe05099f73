// SPDX-License-Identifier: Apache-2.0
package dev.slipway.checkpoint;

/**
 * Turns ids into text as they come, holding back bytes that do not make a character yet. For one thread.
 *
 * <p>The parts joined are what {@link Tokenizer#decode} gives for all ids together.
 */
public interface Detokenizer {
    /** The text that is certain after this id; may be empty. */
    String accept(int id);

    /** What was held back, now that nothing follows; the decoder can then be used for another answer. */
    String finish();
}
