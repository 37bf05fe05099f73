// SPDX-License-Identifier: Apache-2.0
package dev.slipway.lowering;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import com.google.common.collect.ImmutableList;
import com.google.common.collect.ImmutableMap;
import dev.slipway.mesh.Mesh;
import dev.slipway.mesh.MeshSpec;
import dev.slipway.mesh.PartitionSpec;
import dev.slipway.mesh.ShardingException;
import dev.slipway.stablehlo.ElementType;
import dev.slipway.stablehlo.TensorType;
import dev.slipway.topology.Topologies;
import java.util.List;
import java.util.stream.Stream;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.EnumSource;

/** What decode programs look like, without a plugin. */
class DecodeProgramsTest {
    private static final InputBatchSpec BATCH = InputBatchSpec.prefix(16, 64);

    private static DecoderConfig smolLm2(int depth) {
        return DecoderConfig.llama(llama -> llama.vocabulary(49152)
                .width(576)
                .depth(depth)
                .heads(9, 3, 64)
                .feedForward(1536)
                .maxPositions(8192)
                .rotary(DecoderConfig.Rotary.of(100_000, 64))
                .tiedHead());
    }

    private static Mesh mesh(int... shape) {
        return Mesh.of(Topologies.resolve("v5e-16"), MeshSpec.of(List.of("data", "model"), shape));
    }

    private static DecodePrograms programs(DecoderConfig model, Form form, Mesh mesh) {
        return DecodePrograms.of(model, form, DecodeOptions.greedy(128), mesh, ShardingRules.standard());
    }

    private static String text(int depth, Form form) {
        return programs(smolLm2(depth), form, mesh(1, 16))
                .sampleDecode(BATCH)
                .module()
                .toString();
    }

    @Test
    void thePackageManualsSnippetLowers() {
        Mesh mesh = Mesh.of(Topologies.resolve("v5e-16"), MeshSpec.of(List.of("data", "model"), 1, -1));
        InferenceProgram program = DecodePrograms.of(
                        smolLm2(30),
                        Form.scanned(ElementType.BF16),
                        DecodeOptions.greedy(256),
                        mesh,
                        ShardingRules.standard())
                .sampleDecode(InputBatchSpec.prefix(16, 64));

        assertThat(program.module().toString())
                .contains("func.func public @main")
                .contains("sdy.mesh @mesh");
    }

    @ParameterizedTest
    @EnumSource(
            value = Form.Matrices.class,
            names = {"BLOCKS", "HALF_BLOCKS", "PAIRS"})
    void aTiedEmbeddingInBlocksIsLookedUpThereToo(Form.Matrices matrices) {
        Form form = Form.scanned(ElementType.F32).withMatrices(matrices);
        Mesh one = Mesh.of(Topologies.resolve("cpu"), MeshSpec.of(List.of("data", "model"), 1, 1));

        assertThat(programs(smolLm2(2), form, one).sampleDecode(BATCH).parameterSpecs())
                .extracting(TensorSpec::path)
                .filteredOn(path -> path.startsWith("params/embedding/"))
                .containsExactlyElementsOf(Blocks.parts(matrices).stream()
                        .map(part -> "params/" + new Blocks("", ImmutableList.of("embedding"), part).name())
                        .toList());
    }

    private static PartitionSpec partition(InferenceProgram program, String argument) {
        return Stream.concat(program.parameterSpecs().stream(), program.inputSpecs().stream())
                .filter(spec -> spec.path().equals(argument))
                .findFirst()
                .orElseThrow()
                .partition();
    }

    @Test
    void aScannedProgramHasAsManyLinesAtEveryDepth() {
        Form form = Form.scanned(ElementType.BF16);

        assertThat(text(80, form).lines().count())
                .isEqualTo(text(2, form).lines().count());
    }

    @Test
    void anUnrolledProgramGrowsWithDepth() {
        Form form = Form.unrolled(ElementType.BF16);

        assertThat(text(4, form).lines().count())
                .isGreaterThan(text(2, form).lines().count());
    }

    @Test
    void loweringTwiceGivesTheSameText() {
        assertThat(text(30, Form.scanned(ElementType.BF16))).isEqualTo(text(30, Form.scanned(ElementType.BF16)));
    }

    @Test
    void argumentsAreParametersThenKeyThenBatch() {
        InferenceProgram program = programs(smolLm2(30), Form.scanned(ElementType.F32), mesh(16, 1))
                .sampleDecode(BATCH);

        assertThat(program.parameterSpecs()).allMatch(spec -> spec.path().startsWith("params/"));
        assertThat(program.inputSpecs().stream().map(TensorSpec::path))
                .containsExactly("prng_key", "input_batch/prefix");
        assertThat(program.inputSpecs().get(0).type()).isEqualTo(TensorType.of(ElementType.UI32, 4));
        assertThat(program.inputSpecs().get(0).donated()).isTrue();
        assertThat(program.results().stream().map(TensorSpec::path))
                .containsExactly("new_key", "sequences", "token_scores");
        assertThat(program.results().get(1).type()).isEqualTo(TensorType.of(ElementType.I32, 16, 1, 128));
    }

    @Test
    void theBatchIsCutAlongTheBatchAxesAndWeightsAlongTheModelAxis() {
        InferenceProgram program =
                programs(smolLm2(30), Form.scanned(ElementType.F32), mesh(4, 4)).sampleDecode(BATCH);

        assertThat(program.inputSpecs().get(1).partition()).isEqualTo(PartitionSpec.of("data", null));
        assertThat(program.parameterSpecs().getFirst().partition()).isEqualTo(PartitionSpec.of("model", null));
    }

    @Test
    void matricesOfHeadsThatDoNotDivideAreCutAlongTheResidualStream() {
        InferenceProgram program =
                programs(smolLm2(30), Form.scanned(ElementType.F32), mesh(4, 4)).sampleDecode(BATCH);

        assertThat(partition(program, "params/layers/q/weight")).hasToString("P(None, None, None, 'model')");
        assertThat(partition(program, "params/layers/o/weight")).hasToString("P(None, None, 'model')");
        assertThat(program.notes()).containsExactly("cache: dimension 2 of 3 does not divide by model=4, left whole");
    }

    /** A matrix of a third of a million numbers is read in less than the microsecond that an exchange takes. */
    @Test
    void aMatrixThatIsReadFasterThanItsProductIsBroughtTogetherIsLeftWhole() {
        InferenceProgram program = programs(
                        smolLm2(30), Form.scanned(ElementType.F32).withWholeBelow(400_000), mesh(4, 4))
                .sampleDecode(BATCH);

        assertThat(partition(program, "params/layers/q/weight")).hasToString("P(None, None, None, None)");
        assertThat(partition(program, "params/layers/o/weight")).hasToString("P(None, None, None)");
        assertThat(partition(program, "params/layers/gate/weight")).hasToString("P(None, 'model', None)");
        assertThat(program.notes()).contains("q/weight: dimension 1 of 9 does not divide by model=4, left whole");
    }

    @Test
    void aCacheOfFewerHeadsThanDevicesIsCutAlongThePartOfTheAxisThatDividesThem() {
        DecoderConfig config = DecoderConfig.llama(llama -> llama.vocabulary(512)
                .width(64)
                .depth(2)
                .heads(8, 2, 16)
                .feedForward(128)
                .maxPositions(512));
        InferenceProgram program = DecodePrograms.of(
                        config,
                        Form.scanned(ElementType.F32),
                        DecodeOptions.greedy(128),
                        mesh(4, 4),
                        ShardingRules.standard())
                .lower("decode_step", BATCH);

        assertThat(partition(program, "cache/0")).hasToString("P(None, 'data', 'model:(1)2', None, None)");
        assertThat(program.module().toString()).contains("{\"model\":(1)2}");
    }

    @Test
    void aBatchThatDoesNotDivideIsLeftWholeAndNoted() {
        InferenceProgram program = programs(smolLm2(30), Form.scanned(ElementType.F32), mesh(16, 1))
                .sampleDecode(InputBatchSpec.prefix(3, 8));

        assertThat(program.inputSpecs().get(1).partition().isReplicated()).isTrue();
        assertThat(program.notes()).anyMatch(note -> note.startsWith("batch") && note.contains("data=16"));
    }

    /** A layer here has 3,540,096 numbers, norms included; the vocabulary's matrix has 28,311,552. */
    @ParameterizedTest(name = "whole below {0}: a layer''s gate is cut along {1}, the embedding along {2}")
    @CsvSource(
            nullValues = "nothing",
            value = {"0, fsdp, fsdp", "3540096, fsdp, fsdp", "3540097, nothing, fsdp", "28311553, nothing, nothing"})
    void layersAndMatricesOfFewNumbersAreWholeAlongTheAxesOfTheBatch(
            long numbers, @Nullable String gate, @Nullable String embedding) {
        Form form = Form.scanned(ElementType.BF16).withWholeBelow(numbers);
        Mesh mesh = Mesh.of(Topologies.resolve("v5e-16"), MeshSpec.of(List.of("fsdp"), 16));
        InferenceProgram program = programs(smolLm2(30), form, mesh).sampleDecode(InputBatchSpec.prefix(16, 8));

        assertThat(partition(program, "params/layers/gate/weight")).isEqualTo(PartitionSpec.of(null, gate, null));
        assertThat(partition(program, "params/embedding/weight")).isEqualTo(PartitionSpec.of(embedding, null));
        assertThat(program.notes().stream().anyMatch(note -> note.startsWith("weights of 3540096 numbers are whole")))
                .isEqualTo(gate == null);
    }

    @ParameterizedTest(name = "{0} rows of {1} columns on data={2}, model={3}: {4} at a time")
    @CsvSource({
        // All rows meet each part of a matrix, 216 tokens are asked for: 14 columns, or the next that divide the
        // prefix.
        "16, 64, 1, 16, 16",
        "16, 90, 1, 16, 15",
        "16, 31, 1, 16, 31",
        "256, 64, 1, 16, 1",
        // A quarter of the rows meets a whole matrix.
        "64, 64, 4, 4, 16",
        "16, 64, 4, 4, 64",
        "16, 128, 4, 4, 64"
    })
    void promptsAreReadInAsFewColumnsAsGiveAMatrixTheTokensOfAPass(
            int rows, int width, int data, int model, int columns) {
        Form form = Form.scanned(ElementType.BF16).withTokensPerPass(216);
        InferenceProgram program =
                programs(smolLm2(30), form, mesh(data, model)).sampleDecode(InputBatchSpec.prefix(rows, width));

        String note = "prompts are read %d of %d columns at a time".formatted(columns, width);
        assertThat(program.notes().contains(note)).isEqualTo(columns < width);
        assertThat(program.module().toString()).contains("tensor<%dx%dx576xbf16>".formatted(rows, columns));
    }

    @Test
    void allProgramsTakeTheirParametersByTheRulesThatAreGiven() {
        ShardingRules rules = new ShardingRules(ImmutableMap.of(), ImmutableList.of("data"));
        DecodePrograms programs = DecodePrograms.of(
                smolLm2(2),
                Form.scanned(ElementType.BF16),
                DecodeOptions.greedy(128).withStopIds(2),
                mesh(4, 4),
                rules);

        for (String method : List.of("sample_decode", "prefill", "decode_step", "score", "beam_search_decode")) {
            assertThat(programs.lower(method, BATCH).parameterSpecs())
                    .as(method)
                    .isEqualTo(programs.parameterSpecs());
        }
    }

    @Test
    void whatReadsNoPromptsInPassesDoesNotSpeakOfThem() {
        Form form = Form.scanned(ElementType.BF16).withTokensPerPass(216);
        DecodePrograms programs = programs(smolLm2(30), form, mesh(1, 16));

        assertThat(programs.lower("prefill", BATCH).notes()).anyMatch(note -> note.startsWith("prompts are read"));
        for (String method : List.of("decode_step", "insert", "score")) {
            assertThat(programs.lower(method, BATCH).notes()).noneMatch(note -> note.startsWith("prompts are read"));
        }
    }

    @Test
    void aPartitionOfTheCallersThatDoesNotDivideIsRefused() {
        InputBatchSpec batch = new InputBatchSpec(ImmutableMap.of(
                "prefix",
                new InputBatchSpec.Input(TensorType.of(ElementType.I32, 3, 8), PartitionSpec.of("data", null))));

        assertThatThrownBy(() -> programs(smolLm2(30), Form.scanned(ElementType.F32), mesh(16, 1))
                        .sampleDecode(batch))
                .isInstanceOf(ShardingException.class)
                .hasMessageContaining("16");
    }

    @Test
    void aBatchWithoutAPrefixIsRefusedByName() {
        InputBatchSpec batch = new InputBatchSpec(
                ImmutableMap.of("prompt", new InputBatchSpec.Input(TensorType.of(ElementType.I32, 3, 8), null)));

        assertThatThrownBy(() -> programs(smolLm2(30), Form.scanned(ElementType.F32), mesh(16, 1))
                        .sampleDecode(batch))
                .isInstanceOf(LoweringException.class)
                .hasMessageContaining("\"prefix\"")
                .hasMessageContaining("prompt");
    }

    @Test
    void aPrefixOfFloatsIsRefused() {
        InputBatchSpec batch = new InputBatchSpec(
                ImmutableMap.of("prefix", new InputBatchSpec.Input(TensorType.of(ElementType.F32, 3, 8), null)));

        assertThatThrownBy(() -> programs(smolLm2(30), Form.scanned(ElementType.F32), mesh(16, 1))
                        .sampleDecode(batch))
                .isInstanceOf(LoweringException.class)
                .hasMessageContaining("f32");
    }

    @Test
    void moreNumbersInAllHeadsThanADimensionHoldsAreRefused() {
        assertThatThrownBy(() -> DecoderConfig.Attention.of(1 << 20, 1, 1 << 11))
                .isInstanceOf(LoweringException.class)
                .hasMessageContaining("1048576 heads of 2048 numbers");
    }

    @Test
    void headsThatAreNoMultipleOfKvHeadsAreRefused() {
        assertThatThrownBy(() -> DecoderConfig.Attention.of(9, 2, 64))
                .isInstanceOf(LoweringException.class)
                .hasMessageContaining("9")
                .hasMessageContaining("2");
    }

    @Test
    void theParametersOfSmolLm2AreCounted() {
        // 134,515,008: the count that Hugging Face publishes for SmolLM2-135M.
        assertThat(Parameters.count(smolLm2(30))).isEqualTo(134_515_008L);
    }
}
