// SPDX-License-Identifier: Apache-2.0
package dev.slipway.cli;

import static org.assertj.core.api.Assertions.assertThat;

import dev.slipway.aot.AotCompiler;
import dev.slipway.aot.DecodeSession;
import dev.slipway.aot.HostArray;
import dev.slipway.aot.InferenceRunner;
import dev.slipway.aot.LoadedProgram;
import dev.slipway.aot.PluginLocator;
import dev.slipway.lowering.DecodeOptions;
import dev.slipway.lowering.DecoderConfig;
import dev.slipway.lowering.DecoderConfig.Rotary;
import dev.slipway.lowering.Form;
import dev.slipway.lowering.InferenceProgram;
import dev.slipway.lowering.InputBatchSpec;
import dev.slipway.mesh.MeshShape;
import dev.slipway.mesh.PartitionSpec;
import dev.slipway.stablehlo.ElementType;
import dev.slipway.topology.Topologies;
import dev.slipway.topology.Topology;
import java.io.IOException;
import java.lang.foreign.MemorySegment;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Collections;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.stream.Stream;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.MethodSource;
import tools.jackson.databind.JsonNode;
import tools.jackson.databind.json.JsonMapper;

/** The program that {@code compile_inference_programs} compiles: its argument tree, its shardings, and a run of it. */
class AxlearnProgramsTest {
    private static final Path FOLDER = Path.of("src/test/resources/dev/slipway/cli/axlearn");
    private static final JsonMapper MAPPER = new JsonMapper();

    private static JsonNode read(String file) throws IOException {
        return MAPPER.readTree(Files.readString(FOLDER.resolve(file)));
    }

    static Stream<String> compiled() throws IOException {
        List<String> names = new ArrayList<>();
        read("param_specs.json")
                .get("models")
                .values()
                .forEach(model -> model.get("compiled")
                        .values()
                        .forEach(one -> names.add(one.get("case").stringValue())));
        return names.stream();
    }

    private static JsonNode parent(String name) throws IOException {
        return read("param_specs.json").get("models").values().stream()
                .filter(model -> model.get("compiled").values().stream()
                        .anyMatch(one -> one.get("case").stringValue().equals(name)))
                .findFirst()
                .orElseThrow();
    }

    private static DecoderConfig config(JsonNode model) {
        JsonNode h = model.get("hyperparameters");
        return DecoderConfig.llama(llama -> llama.vocabulary(h.get("vocab_size").intValue())
                .width(h.get("model_dim").intValue())
                .depth(h.get("num_layers").intValue())
                .heads(
                        h.get("num_heads").intValue(),
                        h.get("num_kv_heads").intValue(),
                        h.get("head_dim").intValue())
                .feedForward(h.get("ffn_dim").intValue())
                .maxPositions(4096)
                .rotary(Rotary.of(
                        h.get("rope_theta").doubleValue(), h.get("head_dim").intValue()))
                .epsilon(h.get("norm_eps").doubleValue())
                .tiedHead(h.get("tied_lm_head").booleanValue()));
    }

    private static InferenceRunner runner(DecoderConfig config) {
        return InferenceRunner.of(config, DecodeOptions.greedy(1))
                .withAxlearn(InferenceRunner.Axlearn.byDefault())
                .withForm(Form.scanned(ElementType.F32));
    }

    @ParameterizedTest
    @MethodSource("compiled")
    void argumentsAndResultsAreThoseOfTheReference(String name) throws IOException {
        JsonNode model = parent(name);
        JsonNode compiled = model.get("compiled").values().stream()
                .filter(one -> one.get("case").stringValue().equals(name))
                .findFirst()
                .orElseThrow();
        List<String> axes = new ArrayList<>();
        compiled.get("mesh_axis_names").values().forEach(axis -> axes.add(axis.stringValue()));
        List<Integer> sizes = new ArrayList<>();
        compiled.get("mesh_shape").values().forEach(size -> sizes.add(size.intValue()));
        JsonNode topology = compiled.get("topology");
        Topology machine = Topologies.resolve(
                topology.isNull() ? "cpu" : topology.stringValue(),
                compiled.get("num_slices").intValue());
        InputBatchSpec batch = InputBatchSpec.prefix(
                compiled.get("batch").longValue(), compiled.get("prefix_length").longValue());
        if (!compiled.get("prefix_mesh_axes_given").isNull()) {
            batch = new InputBatchSpec(com.google.common.collect.ImmutableMap.of(
                    InputBatchSpec.PREFIX,
                    new InputBatchSpec.Input(
                            batch.inputs().get(InputBatchSpec.PREFIX).type(),
                            new PartitionSpec(dimensions(compiled.get("prefix_mesh_axes_given"))))));
        }
        MeshShape shape = machine.slices() > 1 && sizes.get(1) == machine.slices()
                ? new MeshShape.Hybrid(ici(sizes), dcn(sizes))
                : new MeshShape.Plain(sizes);

        InferenceProgram program = AotCompiler.lower(
                        runner(config(model)).withMesh(axes, shape), batch, machine, "sample_decode")
                .program();

        Map<String, Integer> mesh = new HashMap<>();
        for (int i = 0; i < axes.size(); i++) {
            mesh.put(axes.get(i), sizes.get(i));
        }
        List<String> wanted = new ArrayList<>();
        compiled.get("input_shardings").values().forEach(one -> wanted.add(line(one, mesh)));
        List<String> given = program.arguments().stream()
                .map(spec -> line(
                        spec.path().replace("input_batch/", ""),
                        spec.partition().dimensions(),
                        mesh))
                .toList();
        assertThat(given).isEqualTo(wanted);
        List<String> results = new ArrayList<>();
        compiled.get("output_shardings").values().forEach(one -> results.add(line(one, mesh)));
        assertThat(program.results().stream()
                        .map(spec -> line(spec.path(), spec.partition().dimensions(), mesh)))
                .containsExactlyElementsOf(results);
        List<List<Long>> shapes = new ArrayList<>();
        model.get("params").values().forEach(one -> {
            List<Long> dims = new ArrayList<>();
            one.get("shape").values().forEach(size -> dims.add(size.longValue()));
            shapes.add(dims);
        });
        assertThat(program.parameterSpecs().stream()
                        .map(spec -> spec.type().shape().asList()))
                .containsExactlyElementsOf(shapes);
    }

    private static List<Integer> ici(List<Integer> sizes) {
        List<Integer> ici = new ArrayList<>(sizes);
        ici.set(1, 1);
        return ici;
    }

    private static List<Integer> dcn(List<Integer> sizes) {
        List<Integer> dcn = new ArrayList<>(Collections.nCopies(sizes.size(), 1));
        dcn.set(1, sizes.get(1));
        return dcn;
    }

    private static String line(JsonNode one, Map<String, Integer> mesh) {
        return line(one.get("path").stringValue(), dimensions(one.get("spec")), mesh);
    }

    private static List<List<String>> dimensions(JsonNode spec) {
        List<List<String>> dimensions = new ArrayList<>();
        for (JsonNode dimension : spec.values()) {
            if (dimension.isNull()) {
                dimensions.add(List.of());
            } else if (dimension.isString()) {
                dimensions.add(List.of(dimension.stringValue()));
            } else {
                dimensions.add(
                        dimension.values().stream().map(JsonNode::stringValue).toList());
            }
        }
        return dimensions;
    }

    /** A spec without axes of size 1 and without whole dimensions at its end, as XLA reports it. */
    private static String line(String path, List<List<String>> dimensions, Map<String, Integer> mesh) {
        List<List<String>> kept = new ArrayList<>();
        for (List<String> axes : dimensions) {
            kept.add(
                    axes.stream().filter(axis -> mesh.getOrDefault(axis, 1) > 1).toList());
        }
        while (!kept.isEmpty() && kept.getLast().isEmpty()) {
            kept.removeLast();
        }
        return path + " " + kept;
    }

    @ParameterizedTest(name = "{0} on fsdp={1}, model={2}, {3} tokens a pass")
    @CsvSource({
        "sd-runner-03, 1, 1, 0",
        "sd-runner-08, 1, 1, 0",
        "sd-runner-15, 1, 1, 0",
        // Rows and matrices cut alike, and prompts read in several passes.
        "sd-runner-03, 4, 2, 0",
        "sd-runner-03, 4, 1, 12",
        "sd-runner-08, 2, 4, 20",
        // Two rows that eight devices cannot share.
        "sd-runner-15, 8, 1, 6"
    })
    void aRunWithTheReferencesOwnParametersGivesItsTokensAndScores(String id, int fsdp, int model, int tokensPerPass)
            throws IOException {
        JsonNode one = read("cases.json").get("cases").values().stream()
                .filter(c -> c.get("id").stringValue().equals(id))
                .findFirst()
                .orElseThrow();
        ByteBuffer file = ByteBuffer.wrap(Files.readAllBytes(FOLDER.resolve("params.safetensors")))
                .order(ByteOrder.LITTLE_ENDIAN);
        int header = (int) file.getLong(0);
        JsonNode index = MAPPER.readTree(new String(file.array(), 8, header, StandardCharsets.UTF_8));
        int rows = one.get("prefix").size();
        int width = one.get("prefix").get(0).size();
        int[] prefix = one.get("prefix").values().stream()
                .flatMap(row -> row.values().stream())
                .mapToInt(JsonNode::intValue)
                .toArray();
        int[] key = one.get("key").values().stream()
                .mapToInt(word -> (int) word.longValue())
                .toArray();

        try (DecodeSession session = DecodeSession.open(
                        PluginLocator.ofUser(),
                        runner(config(parent("tiny-llama-cpu")))
                                .withForm(Form.scanned(ElementType.F32).withTokensPerPass(tokensPerPass))
                                .withMesh(List.of("fsdp", "model"), MeshShape.of(fsdp, model)),
                        Topologies.resolve("cpu-" + fsdp * model),
                        (path, target, _) -> {
                            JsonNode offsets = index.get(path).get("data_offsets");
                            int from = 8 + header + offsets.get(0).intValue();
                            int to = 8 + header + offsets.get(1).intValue();
                            target.copyFrom(MemorySegment.ofArray(file.array()).asSlice(from, to - from));
                        });
                LoadedProgram program = session.load(InputBatchSpec.prefix(rows, width), "sample_decode")) {
            Map<String, HostArray> results = program.run(
                    Map.of("prng_key", HostArray.of(key, 4), "input_batch/prefix", HostArray.of(prefix, rows, width)));

            JsonNode expected = one.get("expect");
            assertThat(results.get("new_key").ints())
                    .containsExactly(flat(expected.get("new_key")).stream()
                            .mapToInt(word -> (int) word.longValue())
                            .toArray());
            assertThat(results.get("sequences").ints())
                    .containsExactly(flat(expected.get("sequences")).stream()
                            .mapToInt(JsonNode::intValue)
                            .toArray());
            float[] scores = results.get("token_scores").floats();
            List<JsonNode> wanted = flat(expected.get("token_scores"));
            for (int i = 0; i < scores.length; i++) {
                assertThat(Math.abs(scores[i] - wanted.get(i).doubleValue())).isLessThan(1e-4);
            }
        }
    }

    private static List<JsonNode> flat(JsonNode json) {
        if (!json.isArray()) {
            return List.of(json);
        }
        return json.values().stream().flatMap(value -> flat(value).stream()).toList();
    }
}
