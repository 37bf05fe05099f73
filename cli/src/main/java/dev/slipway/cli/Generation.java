// SPDX-License-Identifier: Apache-2.0
package dev.slipway.cli;

import dev.slipway.aot.DecodeSession;
import dev.slipway.aot.HostArray;
import dev.slipway.aot.InferenceRunner;
import dev.slipway.aot.PluginLocator;
import dev.slipway.checkpoint.Checkpoint;
import dev.slipway.checkpoint.Detokenizer;
import dev.slipway.checkpoint.Tokenizer;
import dev.slipway.lowering.Control;
import dev.slipway.lowering.DecodeOptions;
import dev.slipway.lowering.Form;
import dev.slipway.mesh.MeshSpec;
import dev.slipway.topology.Topology;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.function.Consumer;
import java.util.stream.IntStream;
import org.jspecify.annotations.Nullable;

/** Answers a prompt token by token on this CPU. */
final class Generation {
    /** Prefixes are padded to a multiple of this, so that prompts of similar lengths share a program. */
    private static final int PREFIX_STEP = 32;

    private Generation() {}

    /**
     * What to generate.
     *
     * @param prompt token ids
     * @param maxNewTokens how many to add at most
     * @param ignoreStop whether to go on behind stop tokens
     * @param temperature 0 for greedy
     * @param seed of the random numbers
     */
    record Request(int[] prompt, int maxNewTokens, boolean ignoreStop, float temperature, long seed) {}

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
     * @param machine {@code cpu} or {@code cpu-N}
     * @param form how the program is written; null for what suits the machine and the weights
     * @param text takes the text as it becomes certain; null where there is no tokenizer
     */
    static Answer run(
            PluginLocator plugins,
            Model model,
            Topology machine,
            MeshSpec mesh,
            @Nullable Form form,
            Request request,
            @Nullable Consumer<String> text) {
        Checkpoint checkpoint = model.weights();
        Set<Integer> stops = request.ignoreStop() ? Set.of() : checkpoint.stopIds();
        int width = (Math.max(1, request.prompt().length) + PREFIX_STEP - 1) / PREFIX_STEP * PREFIX_STEP;
        int positions = model.config().maxPositions();
        width = Math.min(width, positions);
        int room = positions - request.prompt().length;
        if (room < 1) {
            throw new Model.ModelException("the prompt has %d tokens and %s was made for %d positions; shorten it"
                    .formatted(request.prompt().length, model.name(), positions));
        }
        int length = Math.min(positions, width + request.maxNewTokens());
        DecodeOptions options = DecodeOptions.greedy(length)
                .withControls(request.temperature() > 0 ? new Control[] {Control.TEMPERATURE} : new Control[0])
                .withStartId(checkpoint.specialTokens().bos().orElse(0));
        InferenceRunner runner = InferenceRunner.of(model.config(), options).withMesh(mesh);
        if (form != null) {
            runner = runner.withForm(form);
        }
        long start = System.nanoTime();
        try (DecodeSession session = DecodeSession.open(plugins, runner, machine, checkpoint.parameters())) {
            double load = seconds(start);
            start = System.nanoTime();
            DecodeSession.TokenStream stream = session.stream(
                    new int[][] {request.prompt()},
                    width,
                    Map.of(Control.TEMPERATURE, HostArray.of(new float[] {request.temperature()}, 1)),
                    options.random().key(request.seed()));
            double compile = seconds(start) - stream.prefillSeconds();
            start = System.nanoTime();
            List<Integer> ids = new ArrayList<>();
            Detokenizer words = checkpoint
                    .tokenizer()
                    .map(tokenizer -> tokenizer.detokenizer(true))
                    .orElse(null);
            int limit = Math.min(request.maxNewTokens(), room);
            boolean stopped = false;
            int token = stream.tokens()[0];
            while (true) {
                ids.add(token);
                if (words != null && text != null) {
                    text.accept(words.accept(token));
                }
                stopped = stops.contains(token);
                if (stopped || ids.size() == limit) {
                    break;
                }
                token = stream.advance()[0];
            }
            if (words != null && text != null) {
                text.accept(words.finish());
            }
            return new Answer(
                    ids, stopped, stream.logits(), new Timings(load, compile, stream.prefillSeconds(), seconds(start)));
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
