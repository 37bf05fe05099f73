// SPDX-License-Identifier: Apache-2.0
package dev.slipway.cli;

import com.google.common.collect.ImmutableList;
import com.google.common.collect.ImmutableMap;
import dev.slipway.aot.DecodeSession;
import dev.slipway.aot.HostArray;
import dev.slipway.aot.InferenceRunner;
import dev.slipway.aot.LoadedProgram;
import dev.slipway.aot.PluginLocator;
import dev.slipway.cli.DecodeCase.Method;
import dev.slipway.lowering.AxlearnPrograms;
import dev.slipway.lowering.BeamSearch;
import dev.slipway.lowering.CaseShape;
import dev.slipway.lowering.DecodeOptions;
import dev.slipway.lowering.Form;
import dev.slipway.lowering.InferenceProgram;
import dev.slipway.lowering.InputBatchSpec;
import dev.slipway.lowering.LoweringException;
import dev.slipway.lowering.ParameterLayout;
import dev.slipway.lowering.ProgramPaths;
import dev.slipway.lowering.SampleDecode;
import dev.slipway.mesh.MeshSpec;
import dev.slipway.stablehlo.ElementType;
import dev.slipway.topology.Topology;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.HashMap;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.function.IntConsumer;
import org.jspecify.annotations.Nullable;
import tools.jackson.databind.JsonNode;

/**
 * Runs a file of AXLearn decode cases, answers in their order. Cases that ask for the same method on prefixes of one shape
 * share a program; a case that cannot be read or run is answered with {@code {"error": ...}} in its place.
 */
final class GenerateBatch {
    /** AXLearn's defaults, where the model has none. */
    private static final int PAD = 0;

    private static final int EOS = 1;

    /** Cases share a program as long as that adds no more tokens than this to the smaller one. */
    private static final long TOKENS_PER_PROGRAM = 1024;

    private GenerateBatch() {}

    /**
     * A program and the cases that run with it, smaller ones filled up with pads.
     *
     * @param shape of a sample decode; null for a beam search
     * @param beam of a beam search
     */
    private record Group(
            @Nullable CaseShape shape, @Nullable BeamSearch beam, int rows, int width, List<Integer> cases) {
        static Group of(DecodeCase one, int index) {
            return switch (one.method()) {
                case Method.Sample sample ->
                    new Group(CaseShape.of(sample.options()), null, one.rows(), one.width(), List.of(index));
                case Method.Beam beam ->
                    new Group(
                            null,
                            beam.options().withPenalty(BeamSearch.BrevityPenalty.NONE),
                            one.rows(),
                            one.width(),
                            List.of(index));
            };
        }

        /** Whether a program for both is worth more than one for each: compiling costs as much as many tokens. */
        boolean joins(Group other) {
            boolean alike = (shape != null && other.shape != null)
                    ? shape.like(other.shape)
                    : (beam != null && beam.equals(other.beam));
            long most = (long) Math.max(rows, other.rows) * Math.max(width, other.width);
            return alike && most <= TOKENS_PER_PROGRAM + Math.min((long) rows * width, (long) other.rows * other.width);
        }

        Group with(Group other) {
            List<Integer> all = new ArrayList<>(cases);
            all.addAll(other.cases);
            return new Group(
                    shape == null || other.shape == null ? null : shape.with(other.shape),
                    beam,
                    Math.max(rows, other.rows),
                    Math.max(width, other.width),
                    all);
        }
    }

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
     * @param form how the programs are written; null for what suits the machine and the weights
     * @param done told the number of cases that are answered
     * @throws BatchException if the file is not a JSON array
     */
    static Answers run(
            PluginLocator plugins,
            Model model,
            Topology machine,
            MeshSpec mesh,
            @Nullable Form form,
            JsonNode file,
            IntConsumer done) {
        List<JsonNode> cases = cases(file);
        List<Map<String, Object>> answers = new ArrayList<>();
        List<Group> groups = new ArrayList<>();
        Map<Integer, DecodeCase> read = new HashMap<>();
        int failed = 0;
        int pad = model.axlearn() ? model.weights().specialTokens().pad().orElse(PAD) : PAD;
        int eos = model.weights().specialTokens().eos().orElse(EOS);
        for (int i = 0; i < cases.size(); i++) {
            Map<String, Object> answer = new LinkedHashMap<>();
            answers.add(answer);
            try {
                DecodeCase one = DecodeCase.read(cases.get(i), model.config().vocabulary(), pad, eos);
                check(one, model);
                read.put(i, one);
                Group alone = Group.of(one, i);
                groups.stream()
                        .filter(group -> group.joins(alone))
                        .findFirst()
                        .ifPresentOrElse(
                                group -> groups.set(groups.indexOf(group), group.with(alone)), () -> groups.add(alone));
            } catch (BatchException | LoweringException e) {
                answer.put("error", error(e));
                failed++;
            }
        }
        int answered = failed;
        InferenceRunner runner = InferenceRunner.of(model.config(), DecodeOptions.greedy(1))
                .withMesh(mesh)
                .withAxlearn(new InferenceRunner.Axlearn(
                        SampleDecode.axlearn(), BeamSearch.axlearn(), ParameterLayout.SLIPWAY));
        if (form != null) {
            runner = runner.withForm(form);
        }
        try (DecodeSession session =
                DecodeSession.open(plugins, runner, machine, model.weights().parameters())) {
            AxlearnPrograms written =
                    AxlearnPrograms.of(model.config(), session.form(), session.mesh(), ParameterLayout.SLIPWAY);
            for (Group group : groups) {
                try (LoadedProgram program = session.load(lower(written, group))) {
                    for (int i : group.cases()) {
                        answers.get(i)
                                .putAll(answer(
                                        program,
                                        group,
                                        Objects.requireNonNull(read.get(i)),
                                        model.config().vocabulary()));
                        done.accept(++answered);
                    }
                }
            }
        }
        return new Answers(BatchFile.answers(answers), failed, groups.size());
    }

    private static List<JsonNode> cases(JsonNode file) {
        JsonNode cases = file.isObject() ? file.path("cases") : file;
        if (!cases.isArray()) {
            throw new BatchException("The batch should be a JSON array of cases");
        }
        return ImmutableList.copyOf(cases.values());
    }

    private static Map<String, String> error(RuntimeException e) {
        return ImmutableMap.of("type", e.getClass().getSimpleName(), "message", String.valueOf(e.getMessage()));
    }

    /** What lowering would refuse of a whole group is said of the case that is at fault. */
    private static void check(DecodeCase one, Model model) {
        if (one.width() > model.config().maxPositions()) {
            throw new BatchException("the prefix is %d wide, beyond the %d positions that %s was made for"
                    .formatted(one.width(), model.config().maxPositions(), model.name()));
        }
    }

    private static InferenceProgram lower(AxlearnPrograms programs, Group group) {
        InputBatchSpec batch = InputBatchSpec.prefix(group.rows(), group.width());
        return group.shape() != null
                ? programs.sampleDecode(group.shape(), batch)
                : programs.beamSearchCases(Objects.requireNonNull(group.beam()), batch);
    }

    private static Map<String, Object> answer(LoadedProgram program, Group group, DecodeCase one, int vocabulary) {
        int[] flat = new int[group.rows() * group.width()];
        Arrays.fill(flat, one.method().padId());
        for (int b = 0; b < one.rows(); b++) {
            System.arraycopy(one.prefix()[b], 0, flat, b * group.width(), one.width());
        }
        Map<String, HostArray> inputs = new HashMap<>();
        inputs.put(ProgramPaths.KEY, HostArray.of(one.key(), 4));
        inputs.put(ProgramPaths.PREFIX, HostArray.of(flat, group.rows(), group.width()));
        inputs.put(ProgramPaths.LIMIT, HostArray.of(new int[] {one.width()}));
        switch (one.method()) {
            case Method.Sample sample -> {
                CaseShape shape = Objects.requireNonNull(group.shape());
                CaseShape.Arguments arguments = shape.arguments(sample.options(), vocabulary);
                inputs.put(ProgramPaths.MODIFIER_KINDS, HostArray.of(arguments.kinds(), shape.steps()));
                inputs.put(ProgramPaths.MODIFIER_VALUES, HostArray.of(arguments.values(), shape.steps()));
                inputs.put(
                        ProgramPaths.STOP_SEQUENCES,
                        HostArray.of(arguments.stopSequences(), shape.sequences(), shape.window()));
                inputs.put(ProgramPaths.MAX_LENGTH, HostArray.of(new int[] {arguments.maxLength()}));
            }
            case Method.Beam beam -> {
                BeamSearch.BrevityPenalty penalty = beam.options().penalty();
                inputs.put(ProgramPaths.PENALTY, HostArray.of(penalty.arguments(), 3));
                inputs.put(ProgramPaths.ROWS, HostArray.of(new int[] {one.rows()}));
            }
        }
        Map<String, Object> answer = new LinkedHashMap<>();
        program.run(inputs).forEach((path, array) -> answer.put(path, nested(path, array, one)));
        return answer;
    }

    /** An array as lists of lists, without the rows and columns that filled the case up. */
    private static Object nested(String path, HostArray array, DecodeCase one) {
        List<Object> flat = new ArrayList<>();
        if (array.type().element().equals(ElementType.F32)) {
            for (float value : array.floats()) {
                flat.add(value);
            }
        } else {
            boolean unsigned = array.type().element().equals(ElementType.UI32);
            for (int value : array.ints()) {
                flat.add(unsigned ? (Object) Integer.toUnsignedLong(value) : (Object) value);
            }
        }
        if (path.equals(ProgramPaths.NEW_KEY)) {
            return flat;
        }
        List<Object> level = flat;
        for (int d = array.type().rank() - 1; d > 0; d--) {
            int size = (int) array.type().dim(d);
            int kept = d == 2 ? one.width() : size;
            List<Object> next = new ArrayList<>();
            for (int i = 0; i < level.size(); i += size) {
                next.add(level.subList(i, i + kept));
            }
            level = next;
        }
        return level.subList(0, one.rows());
    }
}
