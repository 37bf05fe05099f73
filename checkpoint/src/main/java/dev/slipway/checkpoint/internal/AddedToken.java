// SPDX-License-Identifier: Apache-2.0
package dev.slipway.checkpoint.internal;

/**
 * A token that is found in text before anything is split.
 *
 * @param content its characters as they stand in text: normalised if it is looked for after normalisation
 * @param special whether it steers the model, as against being an odd word
 * @param singleWord whether it must stand between non-letters
 * @param leftStrip whether it swallows white space before it
 * @param rightStrip whether it swallows white space after it
 * @param normalized whether it is looked for after normalisation
 */
record AddedToken(
        int id,
        String content,
        boolean special,
        boolean singleWord,
        boolean leftStrip,
        boolean rightStrip,
        boolean normalized) {

    /** A token that is found wherever its characters stand. */
    static AddedToken verbatim(int id, String content, boolean special) {
        return new AddedToken(id, content, special, false, false, false, false);
    }
}
