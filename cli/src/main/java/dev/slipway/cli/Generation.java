// SPDX-License-Identifier: Apache-2.0
package dev.slipway.cli;

import dev.slipway.aot.DecodeSession;
import dev.slipway.aot.HostArray;
import dev.slipway.checkpoint.Checkpoint;
import dev.slipway.checkpoint.Detokenizer;
import dev.slipway.checkpoint.Tokenizer;
import dev.slipway.lowering.Control;
import dev.slipway.lowering.DecodeOptions;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.function.Consumer;
import java.util.function.IntConsumer;
import java.util.stream.IntStream;

/** Answers a prompt token by token on this CPU. */
final class Generation {
    /** Prefixes are padded to a multiple of this, so that prompts of similar lengths share a program. */
    private static final int PREFIX_STEP = 32;

    /** Says nothing: for models without a tokenizer. */
    private static final Detokenizer WORDLESS = new Detokenizer() {
        @Override
        public String accept(int id) {
            return "";
        }

        @Override
        public String finish() {
            return "";
        }
    };

    private Generation() {}

    /**
     * What to generate.
     *
     * @param prompt token ids
     * @param maxNewTokens how many to add at most
     * @param stops tokens that end the answer
     * @param temperature 0 for greedy
     * @param seed of the random numbers
     */
    record Request(int[] prompt, int maxNewTokens, Set<Integer> stops, float temperature, long seed) {}

    /**
     * What came.
     *
     * @param ids the new tokens, a stop token that ended them included
     * @param stopped whether a stop token ended them, rather than the length
     * @param logits of the first new token
     */
    record Answer(List<Integer> ids, boolean stopped, float[] logits, Timings timings) {}

    /** How long it took, in seconds. */
    record Timings(double load, double compile, double prefill, double decode) {}

    /**
     * Runs a model.
     *
     * @param text takes the text as it becomes certain
     */
    static Answer run(LocalModel local, Request request, Consumer<String> text) {
        Model model = local.model();
        Checkpoint checkpoint = model.weights();
        int positions = model.config().maxPositions();
        // An empty prompt is read as one token.
        int room = positions - Math.max(1, request.prompt().length);
        if (room < 1) {
            throw new Model.ModelException("the prompt has %d tokens and %s was made for %d positions; shorten it"
                    .formatted(request.prompt().length, model.name(), positions));
        }
        int width = Math.min(padded(request.prompt().length), positions);
        DecodeOptions options = DecodeOptions.greedy((int) Math.min(positions, (long) width + request.maxNewTokens()))
                .withControls(request.temperature() > 0 ? new Control[] {Control.TEMPERATURE} : new Control[0])
                .withStartId(checkpoint.specialTokens().bos().orElse(0));
        long start = System.nanoTime();
        try (DecodeSession session = local.open(local.runner(options))) {
            double load = seconds(start);
            start = System.nanoTime();
            DecodeSession.TokenStream stream = session.stream(
                    new int[][] {request.prompt()},
                    width,
                    Map.of(Control.TEMPERATURE, HostArray.of(new float[] {request.temperature()}, 1)),
                    options.random().key(request.seed()));
            double compile = seconds(start) - stream.prefillSeconds();
            start = System.nanoTime();
            Detokenizer words = checkpoint
                    .tokenizer()
                    .map(Tokenizer::detokenizerWithoutSpecials)
                    .orElse(WORDLESS);
            List<Integer> ids = read(
                    stream,
                    request.stops(),
                    Math.min(request.maxNewTokens(), room),
                    token -> text.accept(words.accept(token)));
            text.accept(words.finish());
            return new Answer(
                    ids,
                    request.stops().contains(ids.getLast()),
                    stream.logits(),
                    new Timings(load, compile, stream.prefillSeconds(), seconds(start)));
        }
    }

    private static int padded(int length) {
        return (Math.max(1, length) + PREFIX_STEP - 1) / PREFIX_STEP * PREFIX_STEP;
    }

    /** Reads tokens up to a stop token, or until there are {@code limit}. */
    private static List<Integer> read(
            DecodeSession.TokenStream stream, Set<Integer> stops, int limit, IntConsumer each) {
        List<Integer> ids = new ArrayList<>();
        int token = stream.tokens()[0];
        while (true) {
            ids.add(token);
            each.accept(token);
            if (stops.contains(token) || ids.size() == limit) {
                return ids;
            }
            token = stream.advance()[0];
        }
    }

    /** The text of tokens without special ones. */
    static String text(Checkpoint checkpoint, List<Integer> ids) {
        return checkpoint
                .tokenizer()
                .map((Tokenizer tokenizer) -> tokenizer.decodeWithoutSpecials(ids))
                .orElse("");
    }

    /** The best logits, descending; the lower id first where two are equal. */
    static List<Integer> best(float[] logits, int count) {
        return IntStream.range(0, logits.length)
                .boxed()
                .sorted((a, b) -> logits[a] != logits[b] ? Float.compare(logits[b], logits[a]) : Integer.compare(a, b))
                .limit(count)
                .toList();
    }

    private static double seconds(long start) {
        return (System.nanoTime() - start) / 1e9;
    }
}
