// SPDX-License-Identifier: Apache-2.0
package dev.slipway.checkpoint;

import com.google.common.primitives.ImmutableIntArray;
import dev.slipway.checkpoint.internal.BpeTokenizer;
import java.util.List;
import java.util.OptionalInt;

/**
 * Text to token ids and back. Immutable and safe for use by several threads.
 *
 * <p>Unpaired surrogates have no UTF-8 and are read as U+FFFD.
 */
public sealed interface Tokenizer permits BpeTokenizer {

    /**
     * The ids of a text, special tokens written in it recognised, nothing added before or after it: for what a {@link
     * ChatTemplate} has rendered, which says itself where a model's begin-of-sequence token stands, if it stands anywhere.
     *
     * @see #encodePrompt
     */
    ImmutableIntArray encode(String text);

    /** The ids of a text in which special tokens are plain characters: for text that is not trusted. */
    ImmutableIntArray encodePlain(String text);

    /**
     * {@link #encode} with the tokens around it that the model's tokenizer puts there, for most the begin-of-sequence token
     * in front, or nothing: for a text that is gone on from as it is. Tokens that the text begins or ends with itself do not
     * come twice.
     */
    ImmutableIntArray encodePrompt(String text);

    /** The text of ids, special tokens included; bytes that are no UTF-8 become U+FFFD. */
    String decode(Iterable<Integer> ids);

    /** The text of ids without special tokens. */
    String decodeWithoutSpecials(Iterable<Integer> ids);

    /** A decoder for ids that come one at a time, special tokens included. */
    Detokenizer detokenizer();

    /** A decoder for ids that come one at a time, without special tokens. */
    Detokenizer detokenizerWithoutSpecials();

    /** The number of ids. */
    int size();

    /** The token of an id as the vocabulary has it; empty for ids without a token. */
    String token(int id);

    /** The id of a token as the vocabulary has it. */
    OptionalInt id(String token);

    /** The tokens that stand for something other than their characters. */
    List<String> specials();
}
