// SPDX-License-Identifier: Apache-2.0
package dev.slipway.cli;

import com.google.common.collect.ImmutableList;
import dev.slipway.aot.AotException;
import dev.slipway.aot.DecodeSession;
import dev.slipway.aot.HostArray;
import dev.slipway.aot.InferenceRunner;
import dev.slipway.aot.LoadedProgram;
import dev.slipway.checkpoint.SpecialTokens;
import dev.slipway.cli.DecodeCase.Method;
import dev.slipway.lowering.AxlearnPrograms;
import dev.slipway.lowering.BeamSearch;
import dev.slipway.lowering.CaseShape;
import dev.slipway.lowering.DecodeOptions;
import dev.slipway.lowering.InferenceProgram;
import dev.slipway.lowering.InputBatchSpec;
import dev.slipway.lowering.LoweringException;
import dev.slipway.lowering.ParameterLayout;
import dev.slipway.lowering.ProgramPaths;
import dev.slipway.lowering.SampleDecode;
import dev.slipway.runtime.PjrtException;
import dev.slipway.stablehlo.ElementType;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.HashMap;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.Optional;
import java.util.function.IntConsumer;
import tools.jackson.databind.JsonNode;

/**
 * Runs a file of AXLearn decode cases, answers in their order. Cases that ask for the same method on prefixes of one
 * shape share a program. A case that cannot be read or run, or whose program cannot be compiled, is answered with
 * {@code {"error": ...}} in its place.
 */
final class GenerateBatch {
    /** AXLearn's defaults, where the model has none. */
    private static final int PAD = 0;

    private static final int EOS = 1;

    /** Cases share a program as long as that adds no more tokens than this to the smaller one. */
    private static final long TOKENS_PER_PROGRAM = 1024;

    /** What a program computes; cases of one kind may share a program. */
    private sealed interface Kind {
        static Kind of(DecodeCase.Method method) {
            return switch (method) {
                case Method.Sample sample -> new Sample(CaseShape.of(sample.options()));
                case Method.Beam beam -> new Beam(beam.options().withPenalty(BeamSearch.BrevityPenalty.NONE));
            };
        }

        /** A kind whose program serves this one's cases and another's, if there is one. */
        Optional<Kind> joined(Kind other);

        InferenceProgram lower(AxlearnPrograms programs, InputBatchSpec batch);

        /** Adds what a case of this kind gives the program beside key and prompts. */
        void addInputs(DecodeCase one, int vocabulary, Map<String, HostArray> inputs);

        /** A sample decode; smaller ones fit into larger shapes. */
        record Sample(CaseShape shape) implements Kind {
            @Override
            public Optional<Kind> joined(Kind other) {
                return other instanceof Sample sample && shape.like(sample.shape)
                        ? Optional.of(new Sample(shape.with(sample.shape)))
                        : Optional.empty();
            }

            @Override
            public InferenceProgram lower(AxlearnPrograms programs, InputBatchSpec batch) {
                return programs.sampleDecode(shape, batch);
            }

            @Override
            public void addInputs(DecodeCase one, int vocabulary, Map<String, HostArray> inputs) {
                SampleDecode options = ((Method.Sample) one.method()).options();
                CaseShape.Arguments arguments = shape.arguments(options, vocabulary);
                inputs.put(ProgramPaths.MODIFIER_KINDS, HostArray.of(arguments.kinds(), shape.steps()));
                inputs.put(ProgramPaths.MODIFIER_VALUES, HostArray.of(arguments.values(), shape.steps()));
                inputs.put(
                        ProgramPaths.STOP_SEQUENCES,
                        HostArray.of(arguments.stopSequences(), shape.sequences(), shape.window()));
                inputs.put(ProgramPaths.MAX_LENGTH, HostArray.of(new int[] {arguments.maxLength()}));
            }
        }

        /** A beam search, which is told its penalty when it runs. */
        record Beam(BeamSearch search) implements Kind {
            @Override
            public Optional<Kind> joined(Kind other) {
                return equals(other) ? Optional.of(this) : Optional.empty();
            }

            @Override
            public InferenceProgram lower(AxlearnPrograms programs, InputBatchSpec batch) {
                return programs.beamSearchCases(search, batch);
            }

            @Override
            public void addInputs(DecodeCase one, int vocabulary, Map<String, HostArray> inputs) {
                BeamSearch options = ((Method.Beam) one.method()).options();
                inputs.put(ProgramPaths.PENALTY, HostArray.of(options.penalty().arguments(), 3));
                inputs.put(ProgramPaths.ROWS, HostArray.of(new int[] {one.rows()}));
            }
        }
    }

    /** A program and the cases that run with it, smaller ones filled up with pads. */
    private record Group(Kind kind, int rows, int width, List<Integer> cases) {
        static Group of(DecodeCase one, int index) {
            return new Group(Kind.of(one.method()), one.rows(), one.width(), List.of(index));
        }

        /** Both in one, if a program for both is worth more than one for each: compiling costs as much as many tokens. */
        Optional<Group> joined(Group other) {
            int mostRows = Math.max(rows, other.rows);
            int mostWidth = Math.max(width, other.width);
            long fewest = Math.min((long) rows * width, (long) other.rows * other.width);
            if ((long) mostRows * mostWidth > TOKENS_PER_PROGRAM + fewest) {
                return Optional.empty();
            }
            List<Integer> all = new ArrayList<>(cases);
            all.addAll(other.cases);
            return kind.joined(other.kind).map(both -> new Group(both, mostRows, mostWidth, all));
        }
    }

    private final LocalModel local;
    private final int vocabulary;
    private final List<Map<String, Object>> answers = new ArrayList<>();
    /** The cases that could be read, by their place in the file. */
    private final Map<Integer, DecodeCase> cases = new HashMap<>();

    private final List<Group> groups = new ArrayList<>();
    private int answered;
    private int failed;
    private int compiled;

    private GenerateBatch(LocalModel local) {
        this.local = local;
        this.vocabulary = local.model().config().vocabulary();
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
     * @param done told the number of cases that are answered
     * @throws BatchException if the file is not a JSON array
     */
    static Answers run(LocalModel local, JsonNode file, IntConsumer done) {
        GenerateBatch batch = new GenerateBatch(local);
        requests(file).forEach(batch::read);
        batch.runGroups(done);
        return new Answers(BatchFile.answers(batch.answers), batch.failed, batch.compiled);
    }

    /** Reads the next case, and puts it into a group or answers it with an error. */
    private void read(JsonNode json) {
        Map<String, Object> answer = new LinkedHashMap<>();
        int index = answers.size();
        answers.add(answer);
        try {
            DecodeCase one = read(json, local.model());
            cases.put(index, one);
            group(Group.of(one, index));
        } catch (BatchException | LoweringException e) {
            fail(index, e);
        }
    }

    private static DecodeCase read(JsonNode json, Model model) {
        SpecialTokens specials = model.weights().specialTokens();
        int pad = model.axlearn() ? specials.pad().orElse(PAD) : PAD;
        DecodeCase one = DecodeCase.read(
                json, model.config().vocabulary(), pad, specials.eos().orElse(EOS));
        // What lowering would refuse of a whole group is said of the case that is at fault.
        if (one.width() > model.config().maxPositions()) {
            throw new BatchException("the prefix is %d wide, beyond the %d positions that %s was made for"
                    .formatted(one.width(), model.config().maxPositions(), model.name()));
        }
        return one;
    }

    private void group(Group alone) {
        for (int i = 0; i < groups.size(); i++) {
            Optional<Group> joined = groups.get(i).joined(alone);
            if (joined.isPresent()) {
                groups.set(i, joined.get());
                return;
            }
        }
        groups.add(alone);
    }

    private void runGroups(IntConsumer done) {
        InferenceRunner runner = local.runner(DecodeOptions.greedy(1))
                .withAxlearn(new InferenceRunner.Axlearn(
                        SampleDecode.axlearn(), BeamSearch.axlearn(), ParameterLayout.SLIPWAY));
        try (DecodeSession session = local.open(runner)) {
            AxlearnPrograms programs =
                    AxlearnPrograms.of(local.model().config(), session.form(), session.mesh(), ParameterLayout.SLIPWAY);
            for (Group group : groups) {
                run(group, session, programs, done);
            }
        }
    }

    private void run(Group group, DecodeSession session, AxlearnPrograms programs, IntConsumer done) {
        InputBatchSpec batch = InputBatchSpec.prefix(group.rows(), group.width());
        LoadedProgram program;
        try {
            program = session.load(group.kind().lower(programs, batch));
        } catch (LoweringException | PjrtException e) {
            group.cases().forEach(i -> fail(i, e));
            done.accept(answered);
            return;
        }
        compiled++;
        try (program) {
            for (int i : group.cases()) {
                try {
                    answers.get(i).putAll(answer(program, group, Objects.requireNonNull(cases.get(i))));
                    answered++;
                } catch (AotException | BatchException | PjrtException e) {
                    fail(i, e);
                }
                done.accept(answered);
            }
        }
    }

    private void fail(int index, RuntimeException e) {
        answers.get(index).put("error", Failures.ErrorDocument.of(e).error());
        answered++;
        failed++;
    }

    private static List<JsonNode> requests(JsonNode file) {
        JsonNode cases = file.isObject() ? file.path("cases") : file;
        if (!cases.isArray()) {
            throw new BatchException("The batch should be a JSON array of cases");
        }
        return ImmutableList.copyOf(cases.values());
    }

    private Map<String, Object> answer(LoadedProgram program, Group group, DecodeCase one) {
        int[] flat = new int[group.rows() * group.width()];
        Arrays.fill(flat, one.method().padId());
        for (int b = 0; b < one.rows(); b++) {
            System.arraycopy(one.prefix()[b], 0, flat, b * group.width(), one.width());
        }
        Map<String, HostArray> inputs = new HashMap<>();
        inputs.put(ProgramPaths.KEY, HostArray.of(one.key(), 4));
        inputs.put(ProgramPaths.PREFIX, HostArray.of(flat, group.rows(), group.width()));
        inputs.put(ProgramPaths.LIMIT, HostArray.of(new int[] {one.width()}));
        group.kind().addInputs(one, vocabulary, inputs);
        Map<String, Object> answer = new LinkedHashMap<>();
        program.run(inputs).forEach((path, array) -> answer.put(path, nested(path, array, one)));
        return answer;
    }

    /**
     * An array as lists of lists, without the rows and columns that filled the case up.
     *
     * @throws BatchException if one of its numbers is NaN
     */
    private static Object nested(String path, HostArray array, DecodeCase one) {
        List<Object> flat = new ArrayList<>();
        if (array.type().element().equals(ElementType.F32)) {
            for (float value : array.floats()) {
                flat.add(value);
            }
            if (flat.contains(Float.NaN)) {
                throw new BatchException(
                        path + " has NaN: the model's logits have; parameters that are finite numbers, "
                                + "and whose products are, are expected");
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
