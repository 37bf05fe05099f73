// SPDX-License-Identifier: Apache-2.0
package dev.slipway.checkpoint.internal;

import com.google.common.collect.ImmutableList;
import java.nio.file.Path;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.OptionalInt;

/** Tokens and their ids, and which tokens were added to what was learned. */
final class Vocabulary {
    private final Path file;
    private final List<String> tokens;
    private final Map<String, Integer> ids;
    private final ImmutableList<AddedToken> added;
    private final Map<Integer, String> normalized;
    private final boolean[] isAdded;
    private final boolean[] isSpecial;

    private Vocabulary(Path file, List<String> tokens, ImmutableList<AddedToken> added) {
        this.file = file;
        this.tokens = List.copyOf(tokens);
        this.added = added;
        ids = HashMap.newHashMap(tokens.size());
        normalized = new HashMap<>();
        isAdded = new boolean[tokens.size()];
        isSpecial = new boolean[tokens.size()];
        for (int id = 0; id < tokens.size(); id++) {
            ids.putIfAbsent(tokens.get(id), id);
        }
        for (AddedToken token : added) {
            isAdded[token.id()] = true;
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
     */
    static Vocabulary of(Path file, List<String> tokens, ImmutableList<AddedToken> added) {
        return new Vocabulary(file, tokens, added);
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
        Integer id = ids.get(token);
        return id == null ? OptionalInt.empty() : OptionalInt.of(id);
    }

    /** The id of a token, or -1: for inner loops. */
    int idOrNone(String token) {
        return ids.getOrDefault(token, -1);
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
