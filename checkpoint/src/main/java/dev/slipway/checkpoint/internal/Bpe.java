// SPDX-License-Identifier: Apache-2.0
package dev.slipway.checkpoint.internal;

import com.google.common.primitives.ImmutableIntArray;
import dev.slipway.checkpoint.CheckpointException;
import java.nio.charset.StandardCharsets;
import java.util.Arrays;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.PriorityQueue;

/**
 * Byte-pair encoding of one piece of text: its characters are joined pair by pair, the best-ranked pair first and the
 * leftmost of equals, until no pair has a rank.
 */
final class Bpe {
    private static final long NO_MERGE = -1;

    private final Vocabulary vocabulary;
    private final Merges merges;
    private final boolean wholeWordsFirst;
    private final Unknown unknown;

    /** Which pairs join into what, and how early. */
    @FunctionalInterface
    private interface Merges {
        /** {@code rank << 32 | id} of what a pair becomes, or {@link #NO_MERGE}. */
        long find(int left, int right);
    }

    /**
     * What becomes of a character that is no token.
     *
     * @param id the unknown token, or -1 to drop the character
     * @param byteFallback whether the tokens {@code <0x00>} to {@code <0xFF>} spell it, where the vocabulary has them
     * @param fuse whether neighbouring unknown characters are one token
     */
    record Unknown(int id, boolean byteFallback, boolean fuse) {
        static final Unknown DROPPED = new Unknown(-1, false, false);
    }

    private Bpe(Vocabulary vocabulary, Merges merges, boolean wholeWordsFirst, Unknown unknown) {
        this.vocabulary = vocabulary;
        this.merges = merges;
        this.wholeWordsFirst = wholeWordsFirst;
        this.unknown = unknown;
    }

    /**
     * BPE by a list of merges, each {@code "left right"}, the earliest the best. One that is listed twice counts where
     * it stands first, as in llama.cpp.
     */
    static Bpe byteLevel(Vocabulary vocabulary, List<String> merges, boolean wholeWordsFirst) {
        return merging(
                vocabulary,
                merges.stream()
                        .distinct()
                        .map(merge -> halves(vocabulary, merge))
                        .toList(),
                wholeWordsFirst,
                Unknown.DROPPED);
    }

    /** The two halves of a merge written {@code "left right"}. */
    static List<String> halves(Vocabulary vocabulary, String merge) {
        int space = merge.indexOf(' ', 1);
        if (space < 0 || space == merge.length() - 1) {
            throw new CheckpointException("%s: merge '%s' is not two tokens with a space between; get the file again"
                    .formatted(vocabulary.file(), merge));
        }
        return List.of(merge.substring(0, space), merge.substring(space + 1));
    }

    /**
     * BPE by a list of merges, each of two tokens, the earliest the best. One that is listed twice counts where it
     * stands last, as in Hugging Face's library.
     */
    static Bpe merging(Vocabulary vocabulary, List<List<String>> merges, boolean wholeWordsFirst, Unknown unknown) {
        Map<Long, Long> table = HashMap.newHashMap(merges.size());
        for (int rank = 0; rank < merges.size(); rank++) {
            List<String> pair = merges.get(rank);
            int left = vocabulary.idOrNone(pair.getFirst());
            int right = vocabulary.idOrNone(pair.getLast());
            int joined = vocabulary.idOrNone(pair.getFirst() + pair.getLast());
            if (left < 0 || right < 0 || joined < 0) {
                throw new CheckpointException(
                        "%s: merge %d joins '%s' and '%s', but the vocabulary lacks them or the result; get the file again"
                                .formatted(vocabulary.file(), rank, pair.getFirst(), pair.getLast()));
            }
            table.put(pack(left, right), pack(rank, joined));
        }
        return new Bpe(
                vocabulary, (left, right) -> table.getOrDefault(pack(left, right), NO_MERGE), wholeWordsFirst, unknown);
    }

    /** SentencePiece's BPE: any two tokens join whose characters together are a token, the highest score first. */
    static Bpe scored(Vocabulary vocabulary, List<Double> scores, int unknownId) {
        if (scores.size() != vocabulary.size()) {
            throw new CheckpointException("%s has %d tokens, but scores for %d; convert it anew"
                    .formatted(vocabulary.file(), vocabulary.size(), scores.size()));
        }
        double[] falling =
                scores.stream().mapToDouble(s -> -s).sorted().distinct().toArray();
        int[] ranks =
                scores.stream().mapToInt(s -> Arrays.binarySearch(falling, -s)).toArray();
        Merges merges = (left, right) -> {
            int joined = vocabulary.idOrNone(vocabulary.token(left) + vocabulary.token(right));
            return joined < 0 || vocabulary.isAdded(joined) ? NO_MERGE : pack(ranks[joined], joined);
        };
        return new Bpe(vocabulary, merges, false, new Unknown(unknownId, true, true));
    }

    private static long pack(int high, int low) {
        return (long) high << 32 | low;
    }

    /** Appends the ids of a piece of text. */
    void encode(String piece, ImmutableIntArray.Builder to) {
        int whole = wholeWordsFirst ? vocabulary.idOrNone(piece) : -1;
        if (whole >= 0) {
            to.add(whole);
            return;
        }
        int[] ids = characters(piece);
        if (ids.length > 1) {
            join(ids);
        }
        for (int id : ids) {
            if (id >= 0) {
                to.add(id);
            }
        }
    }

    /** Joins pairs in place; an id swallowed by its left neighbour becomes -1. */
    private void join(int[] ids) {
        int count = ids.length;
        int[] next = new int[count];
        int[] previous = new int[count];
        // rank << 32 | position: the order in which pairs join
        PriorityQueue<Long> queue = new PriorityQueue<>();
        for (int i = 0; i < count; i++) {
            next[i] = i + 1;
            previous[i] = i - 1;
            offer(queue, ids, i, i + 1);
        }
        while (!queue.isEmpty()) {
            long best = queue.remove();
            int at = (int) best;
            int after = ids[at] < 0 ? count : next[at];
            if (after == count) {
                continue;
            }
            long merge = merges.find(ids[at], ids[after]);
            // a pair that has changed since it was queued was queued anew
            if (merge == NO_MERGE || merge >>> 32 != best >>> 32) {
                continue;
            }
            ids[at] = (int) merge;
            ids[after] = -1;
            next[at] = next[after];
            if (next[at] < count) {
                previous[next[at]] = at;
            }
            offer(queue, ids, at, next[at]);
            if (previous[at] >= 0) {
                offer(queue, ids, previous[at], at);
            }
        }
    }

    private void offer(PriorityQueue<Long> queue, int[] ids, int left, int right) {
        if (right < ids.length) {
            long merge = merges.find(ids[left], ids[right]);
            if (merge != NO_MERGE) {
                queue.add(merge >>> 32 << 32 | left);
            }
        }
    }

    private int[] characters(String piece) {
        ImmutableIntArray.Builder ids = ImmutableIntArray.builder(piece.length());
        boolean afterUnknown = false;
        for (int i = 0; i < piece.length(); ) {
            int end = piece.offsetByCodePoints(i, 1);
            String character = piece.substring(i, end);
            i = end;
            int id = vocabulary.idOrNone(character);
            if (id >= 0) {
                ids.add(id);
                afterUnknown = false;
            } else if (unknown.byteFallback && spell(character, ids)) {
                afterUnknown = false;
            } else if (unknown.id >= 0 && !(afterUnknown && unknown.fuse)) {
                ids.add(unknown.id);
                afterUnknown = true;
            }
        }
        return ids.build().toArray();
    }

    private boolean spell(String character, ImmutableIntArray.Builder to) {
        byte[] bytes = character.getBytes(StandardCharsets.UTF_8);
        int[] ids = new int[bytes.length];
        for (int i = 0; i < bytes.length; i++) {
            ids[i] = vocabulary.idOrNone("<0x%02X>".formatted(bytes[i]));
            if (ids[i] < 0) {
                return false;
            }
        }
        for (int id : ids) {
            to.add(id);
        }
        return true;
    }
}
