// SPDX-License-Identifier: Apache-2.0
package dev.slipway.cli;

import com.google.common.collect.ImmutableList;
import dev.slipway.aot.DecodeSession;
import dev.slipway.aot.HostArray;
import dev.slipway.aot.InferenceRunner;
import dev.slipway.aot.LoadedProgram;
import dev.slipway.aot.PluginLocator;
import dev.slipway.cli.DecodeCase.Method;
import dev.slipway.lowering.AxlearnPrograms;
import dev.slipway.lowering.BeamSearch;
import dev.slipway.lowering.DecodeOptions;
import dev.slipway.lowering.InferenceProgram;
import dev.slipway.lowering.InputBatchSpec;
import dev.slipway.lowering.LoweringException;
import dev.slipway.lowering.ParameterLayout;
import dev.slipway.lowering.SampleDecode;
import dev.slipway.mesh.MeshSpec;
import dev.slipway.topology.Topology;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.function.IntConsumer;
import tools.jackson.core.JacksonException;
import tools.jackson.databind.JsonNode;
import tools.jackson.databind.json.JsonMapper;

/**
 * Runs a file of AXLearn decode cases, answers in their order. Cases that ask for the same method on prefixes of one shape
 * share a program; a case that cannot be read or run is answered with {@code {"error": ...}} in its place.
 */
final class GenerateBatch {
    private static final JsonMapper MAPPER = new JsonMapper();
    private static final String KEY = "prng_key";
    private static final String PREFIX = "input_batch/prefix";

    /** AXLearn's defaults, where the model has none. */
    private static final int PAD = 0;

    private static final int EOS = 1;

    private GenerateBatch() {}

    /** What is compiled once. */
    private record Group(Method method, int rows, int width) {}

    /**
     * Answers.
     *
     * @param json one JSON array, an answer a line
     * @param failed how many cases were answered with an error
     * @param programs how many were compiled
     */
    record Answers(String json, int failed, int programs) {}

    /**
     * Runs all cases.
     *
     * @param done told the number of cases that are answered
     * @throws BatchException if the file is not a JSON array
     */
    static Answers run(
            PluginLocator plugins, Model model, Topology machine, MeshSpec mesh, String json, IntConsumer done) {
        List<JsonNode> cases = cases(json);
        List<Map<String, Object>> answers = new ArrayList<>();
        Map<Group, List<Integer>> groups = new LinkedHashMap<>();
        List<DecodeCase> read = new ArrayList<>();
        int failed = 0;
        int pad = model.axlearn() ? model.weights().specialTokens().pad().orElse(PAD) : PAD;
        int eos = model.weights().specialTokens().eos().orElse(EOS);
        for (int i = 0; i < cases.size(); i++) {
            Map<String, Object> answer = new LinkedHashMap<>();
            answers.add(answer);
            try {
                DecodeCase one = DecodeCase.read(cases.get(i), model.config().vocabulary(), pad, eos);
                read.add(one);
                groups.computeIfAbsent(new Group(one.method(), one.rows(), one.width()), _ -> new ArrayList<>())
                        .add(i);
            } catch (BatchException | LoweringException e) {
                read.add(null);
                answer.put("error", error(e));
                failed++;
            }
        }
        int answered = failed;
        int programs = 0;
        InferenceRunner runner = InferenceRunner.of(model.config(), DecodeOptions.greedy(1))
                .withMesh(mesh)
                .withAxlearn(new InferenceRunner.Axlearn(
                        SampleDecode.axlearn(), BeamSearch.axlearn(), ParameterLayout.SLIPWAY));
        try (DecodeSession session = DecodeSession.open(plugins, runner, machine, model::read)) {
            AxlearnPrograms written =
                    AxlearnPrograms.of(model.config(), session.form(), session.mesh(), ParameterLayout.SLIPWAY);
            for (Map.Entry<Group, List<Integer>> group : groups.entrySet()) {
                try (LoadedProgram program = session.load(lower(written, group.getKey()))) {
                    programs++;
                    for (int i : group.getValue()) {
                        answers.get(i).putAll(answer(program, read.get(i)));
                    }
                } catch (LoweringException e) {
                    for (int i : group.getValue()) {
                        answers.get(i).put("error", error(e));
                        failed++;
                    }
                }
                answered += group.getValue().size();
                done.accept(answered);
            }
        }
        List<String> lines = answers.stream().map(MAPPER::writeValueAsString).toList();
        return new Answers("[" + String.join(",\n", lines) + "]", failed, programs);
    }

    private static List<JsonNode> cases(String json) {
        JsonNode file;
        try {
            file = MAPPER.readTree(json);
        } catch (JacksonException e) {
            throw new BatchException("The batch is not JSON: " + e.getOriginalMessage());
        }
        JsonNode cases = file.isObject() ? file.path("cases") : file;
        if (!cases.isArray()) {
            throw new BatchException("The batch should be a JSON array of cases");
        }
        return ImmutableList.copyOf(cases.values());
    }

    private static Map<String, String> error(RuntimeException e) {
        return Map.of("type", e.getClass().getSimpleName(), "message", String.valueOf(e.getMessage()));
    }

    private static InferenceProgram lower(AxlearnPrograms programs, Group group) {
        InputBatchSpec batch = InputBatchSpec.prefix(group.rows(), group.width());
        return switch (group.method()) {
            case Method.Sample sample -> programs.sampleDecode(sample.options(), batch);
            case Method.Beam beam -> programs.beamSearchDecode(beam.options(), batch);
        };
    }

    private static Map<String, Object> answer(LoadedProgram program, DecodeCase one) {
        int[] flat = new int[one.rows() * one.width()];
        for (int b = 0; b < one.rows(); b++) {
            System.arraycopy(one.prefix()[b], 0, flat, b * one.width(), one.width());
        }
        Map<String, HostArray> results = program.run(
                Map.of(KEY, HostArray.of(one.key(), 4), PREFIX, HostArray.of(flat, one.rows(), one.width())));
        Map<String, Object> answer = new LinkedHashMap<>();
        results.forEach((path, array) -> answer.put(path, nested(array, path.equals("new_key"))));
        return answer;
    }

    /** An array as lists of lists. */
    private static Object nested(HostArray array, boolean unsigned) {
        List<Object> flat = new ArrayList<>();
        if (array.type().element().equals(dev.slipway.stablehlo.ElementType.F32)) {
            for (float value : array.floats()) {
                flat.add(value);
            }
        } else {
            for (int value : array.ints()) {
                flat.add(unsigned ? (Object) Integer.toUnsignedLong(value) : (Object) value);
            }
        }
        List<Object> level = flat;
        for (int d = array.type().rank() - 1; d > 0; d--) {
            int size = (int) array.type().dim(d);
            List<Object> next = new ArrayList<>();
            for (int i = 0; i < level.size(); i += size) {
                next.add(level.subList(i, i + size));
            }
            level = next;
        }
        return level;
    }
}
