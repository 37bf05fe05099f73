// SPDX-License-Identifier: Apache-2.0
package dev.slipway.checkpoint.internal;

import com.google.common.collect.ImmutableList;
import java.nio.file.Path;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.OptionalInt;
import java.util.function.IntPredicate;

/** Tokens and their ids, and which tokens were added to what was learned. */
final class Vocabulary {
    private final Path file;
    private final List<String> tokens;
    private final Map<String, Integer> learned;
    private final Map<String, Integer> addedIds;
    private final ImmutableList<AddedToken> added;
    private final Map<Integer, String> normalized;
    private final boolean[] isAdded;
    private final boolean[] isSpecial;

    private Vocabulary(Path file, List<String> tokens, ImmutableList<AddedToken> added, IntPredicate isLearned) {
        this.file = file;
        this.tokens = List.copyOf(tokens);
        this.added = added;
        learned = HashMap.newHashMap(tokens.size());
        addedIds = new HashMap<>();
        normalized = new HashMap<>();
        isAdded = new boolean[tokens.size()];
        isSpecial = new boolean[tokens.size()];
        for (int id = 0; id < tokens.size(); id++) {
            if (isLearned.test(id)) {
                learned.putIfAbsent(tokens.get(id), id);
            }
        }
        for (AddedToken token : added) {
            isAdded[token.id()] = true;
            addedIds.putIfAbsent(tokens.get(token.id()), token.id());
            isSpecial[token.id()] = token.special();
            if (token.normalized()) {
                normalized.put(token.id(), token.content());
            }
        }
    }

    /**
     * A vocabulary.
     *
     * @param tokens by id, added ones included; empty where an id has none
     * @param isLearned which ids BPE may join characters to, or take a character for
     */
    static Vocabulary of(Path file, List<String> tokens, ImmutableList<AddedToken> added, IntPredicate isLearned) {
        return new Vocabulary(file, tokens, added, isLearned);
    }

    Path file() {
        return file;
    }

    int size() {
        return tokens.size();
    }

    String token(int id) {
        return id >= 0 && id < tokens.size() ? tokens.get(id) : "";
    }

    /** The characters that an id stands for in text: those of the token, but for added ones that are normalised. */
    String text(int id) {
        return normalized.getOrDefault(id, token(id));
    }

    OptionalInt id(String token) {
        Integer id = addedIds.getOrDefault(token, learned.get(token));
        return id == null ? OptionalInt.empty() : OptionalInt.of(id);
    }

    /** The id of a token that was learned, or -1: for inner loops. */
    int idOrNone(String token) {
        return learned.getOrDefault(token, -1);
    }

    ImmutableList<AddedToken> added() {
        return added;
    }

    boolean isAdded(int id) {
        return id >= 0 && id < isAdded.length && isAdded[id];
    }

    boolean isSpecial(int id) {
        return id >= 0 && id < isSpecial.length && isSpecial[id];
    }
}
