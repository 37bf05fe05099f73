// SPDX-License-Identifier: Apache-2.0
package dev.slipway.checkpoint;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatExceptionOfType;

import dev.slipway.lowering.DecoderConfig.Norm.Precision;
import dev.slipway.lowering.DecoderConfig.Rotary;
import java.nio.file.Path;
import java.util.HashMap;
import java.util.Map;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

/** Parameters under AXLearn's paths. The model: 2 layers, width 6, 3 heads and as many or 1 KV heads of 4, hidden 5. */
class AxlearnCheckpointTest {
    private static final String LAYER = "decoder/transformer/repeat/layer/";
    private static final String QKV = LAYER + "self_attention/attention/i_proj/i_proj/qkv_proj/weight";

    @TempDir
    Path folder;

    private final Map<String, Object> model = new HashMap<>();

    @BeforeEach
    void describe() {
        model.putAll(Map.of(
                "vocab_size", 7, "model_dim", 6, "num_layers", 2, "num_heads", 3, "num_kv_heads", 1, "head_dim", 4));
        model.putAll(Map.of(
                "ffn_dim", 5, "norm_eps", 1e-5, "rope_theta", 10000.0, "tied_lm_head", true, "pad_id", 0, "eos_id", 1));
        model.putAll(Map.of(
                "norm",
                "RMSNorm: x",
                "activation",
                "SwiGLU: y",
                "rope_convention",
                "interleaved pairs",
                "max_sequence_length",
                64));
    }

    private SafetensorsWriter writer(int fusedHeads) {
        return new SafetensorsWriter()
                .tensor("decoder/emb/token_emb/weight", Goldens.counting(1000, 42), 7, 6)
                .tensor("decoder/output_norm/scale", Goldens.counting(2000, 6), 6)
                .tensor(LAYER + "feed_forward/linear1_0/weight", Goldens.counting(3000, 60), 2, 6, 5)
                .tensor(LAYER + "feed_forward/linear1_1/weight", Goldens.counting(4000, 60), 2, 6, 5)
                .tensor(LAYER + "feed_forward/linear2/weight", Goldens.counting(5000, 60), 2, 5, 6)
                .tensor(LAYER + "feed_forward/norm/scale", Goldens.counting(6000, 12), 2, 6)
                .tensor(
                        LAYER + "self_attention/attention/o_proj/weight",
                        Goldens.counting(7000, 2 * 6 * 12),
                        2,
                        6,
                        3,
                        4)
                .tensor(LAYER + "self_attention/norm/scale", Goldens.counting(8000, 12), 2, 6)
                .tensor(QKV, Goldens.counting(10000, 2 * 6 * fusedHeads * 4), 2, 6, fusedHeads, 4);
    }

    private static SafetensorsWriter withoutProjections(SafetensorsWriter writer) {
        return writer.tensor("decoder/emb/token_emb/weight", new float[42], 7, 6)
                .tensor("decoder/output_norm/scale", new float[6], 6)
                .tensor(LAYER + "feed_forward/linear1_0/weight", new float[60], 2, 6, 5)
                .tensor(LAYER + "feed_forward/linear1_1/weight", new float[60], 2, 6, 5)
                .tensor(LAYER + "feed_forward/linear2/weight", new float[60], 2, 5, 6)
                .tensor(LAYER + "feed_forward/norm/scale", new float[12], 2, 6)
                .tensor(LAYER + "self_attention/attention/o_proj/weight", new float[144], 2, 6, 3, 4)
                .tensor(LAYER + "self_attention/norm/scale", new float[12], 2, 6);
    }

    private Checkpoint open() {
        Goldens.write(folder.resolve("model.json"), model);
        return Checkpoint.open(folder);
    }

    @Test
    void theModelIsRead() {
        writer(5).write(folder.resolve("params.safetensors"));

        try (Checkpoint checkpoint = open()) {
            assertThat(checkpoint.config().layers().getFirst().rotary()).isEqualTo(Rotary.of(10000, 4));
            assertThat(checkpoint.config().maxPositions()).isEqualTo(64);
            assertThat(checkpoint.stopIds()).containsExactly(1);
            assertThat(checkpoint.specialTokens().pad()).hasValue(0);
            assertThat(checkpoint.tokenizer()).isEmpty();
        }
    }

    @Test
    void aConfigurationOfNoModelBesideItIsSomethingElse() {
        writer(5).write(folder.resolve("params.safetensors"));
        Goldens.write(folder.resolve("config.json"), Map.of("experiment", "fuji"));

        try (Checkpoint checkpoint = open()) {
            assertThat(checkpoint.format()).isEqualTo(Checkpoint.Format.AXLEARN);
        }
    }

    @Test
    void interleavedPairsBecomeHalves() {
        writer(5).write(folder.resolve("params.safetensors"));

        try (Checkpoint checkpoint = open()) {
            float[] q = Goldens.numbers(checkpoint, "layers/1/q/weight");
            float[] k = Goldens.numbers(checkpoint, "layers/1/k/weight");
            float[] v = Goldens.numbers(checkpoint, "layers/1/v/weight");
            int[] fileOrder = {0, 2, 1, 3};
            for (int d = 0; d < 6; d++) {
                for (int e = 0; e < 4; e++) {
                    int row = 10000 + (6 + d) * 5 * 4;
                    for (int head = 0; head < 3; head++) {
                        assertThat(q[(head * 4 + e) * 6 + d]).isEqualTo(row + head * 4 + fileOrder[e]);
                    }
                    assertThat(k[e * 6 + d]).isEqualTo(row + 3 * 4 + fileOrder[e]);
                    assertThat(v[e * 6 + d]).isEqualTo(row + 4 * 4 + e);
                }
            }
        }
    }

    @Test
    void queriesKeysAndValuesMayBeStackedInThrees() {
        model.put("num_kv_heads", 3);
        SafetensorsWriter writer =
                new SafetensorsWriter().tensor(QKV, Goldens.counting(10000, 2 * 3 * 6 * 12), 2, 3, 6, 3, 4);
        withoutProjections(writer).write(folder.resolve("params.safetensors"));

        try (Checkpoint checkpoint = open()) {
            float[] k = Goldens.numbers(checkpoint, "layers/1/k/weight");
            float[] v = Goldens.numbers(checkpoint, "layers/0/v/weight");
            // layer 1, keys, width 5, head 2, element 1 is the file's element 2
            assertThat(k[(2 * 4 + 1) * 6 + 5]).isEqualTo(10000 + ((3 + 1) * 6 + 5) * 12 + 2 * 4 + 2);
            assertThat(v[(2 * 4 + 1) * 6 + 5]).isEqualTo(10000 + (2 * 6 + 5) * 12 + 2 * 4 + 1);
        }
    }

    @Test
    void stackedMatricesAreCutIntoLayersAndTurned() {
        writer(5).write(folder.resolve("params.safetensors"));

        try (Checkpoint checkpoint = open()) {
            assertThat(Goldens.numbers(checkpoint, "layers/1/gate/weight")[4 * 6 + 2])
                    .isEqualTo(3000 + 30 + 2 * 5 + 4);
            assertThat(Goldens.numbers(checkpoint, "layers/1/up/weight")[4 * 6 + 2])
                    .isEqualTo(4000 + 30 + 2 * 5 + 4);
            assertThat(Goldens.numbers(checkpoint, "layers/1/down/weight")[2 * 5 + 4])
                    .isEqualTo(5000 + 30 + 4 * 6 + 2);
            assertThat(Goldens.numbers(checkpoint, "layers/1/o/weight")).isEqualTo(Goldens.counting(7000 + 72, 72));
            assertThat(Goldens.numbers(checkpoint, "layers/1/feed_forward_norm/scale"))
                    .isEqualTo(Goldens.counting(6006, 6));
            assertThat(Goldens.numbers(checkpoint, "layers/0/attention_norm/scale"))
                    .isEqualTo(Goldens.counting(8000, 6));
            assertThat(Goldens.mappedOtherwise(checkpoint)).isEmpty();
        }
    }

    @Test
    void aModelOfAnotherKindIsRefused() {
        writer(5).write(folder.resolve("params.safetensors"));
        model.put("activation", "GELU");

        assertThatExceptionOfType(UnsupportedModelException.class)
                .isThrownBy(this::open)
                .withMessageContaining("activation is \"GELU\"");
    }

    @Test
    void missingParametersAreNamed() {
        new SafetensorsWriter()
                .tensor("decoder/emb/token_emb/weight", new float[42], 7, 6)
                .write(folder.resolve("params.safetensors"));

        assertThatExceptionOfType(CheckpointException.class)
                .isThrownBy(this::open)
                .withMessageContaining("decoder/output_norm/scale");
    }

    @Test
    void layersMayBeApart() {
        model.put("stack", "StackedTransformerLayer");
        SafetensorsWriter writer = new SafetensorsWriter()
                .tensor("decoder/emb/token_emb/weight", new float[42], 7, 6)
                .tensor("decoder/output_norm/scale", new float[6], 6);
        for (int layer = 0; layer < 2; layer++) {
            String at = "decoder/transformer/layer" + layer + "/";
            int from = 1000 * layer;
            writer.tensor(at + "feed_forward/linear1_0/weight", Goldens.counting(from, 30), 6, 5)
                    .tensor(at + "feed_forward/linear1_1/weight", new float[30], 6, 5)
                    .tensor(at + "feed_forward/linear2/weight", new float[30], 5, 6)
                    .tensor(at + "feed_forward/norm/scale", new float[6], 6)
                    .tensor(at + "self_attention/attention/o_proj/weight", Goldens.counting(from, 72), 6, 3, 4)
                    .tensor(at + "self_attention/norm/scale", new float[6], 6)
                    .tensor(at + QKV.substring(LAYER.length()), Goldens.counting(from, 120), 6, 5, 4);
        }
        writer.write(folder.resolve("params.safetensors"));

        try (Checkpoint checkpoint = open()) {
            assertThat(Goldens.numbers(checkpoint, "layers/1/gate/weight")[4 * 6 + 2])
                    .isEqualTo(1000 + 2 * 5 + 4);
            assertThat(Goldens.numbers(checkpoint, "layers/1/o/weight")).isEqualTo(Goldens.counting(1000, 72));
            // key 1 of the one KV head, from input 2: the file's element 2 of the fourth head
            assertThat(Goldens.numbers(checkpoint, "layers/0/k/weight")[6 + 2]).isEqualTo(2 * 20 + 3 * 4 + 2);
        }
    }

    @Test
    void queriesKeysAndValuesMayBeApart() {
        String inputs = QKV.replace("qkv_proj/weight", "");
        SafetensorsWriter writer = new SafetensorsWriter()
                .tensor(inputs + "q_proj/weight", Goldens.counting(1000, 144), 2, 6, 3, 4)
                .tensor(inputs + "k_proj/weight", Goldens.counting(2000, 48), 2, 6, 1, 4)
                .tensor(inputs + "v_proj/weight", Goldens.counting(3000, 48), 2, 6, 1, 4);
        withoutProjections(writer).write(folder.resolve("params.safetensors"));

        try (Checkpoint checkpoint = open()) {
            // layer 1, head 2, element 1 is the file's element 2, from input 5
            assertThat(Goldens.numbers(checkpoint, "layers/1/q/weight")[(2 * 4 + 1) * 6 + 5])
                    .isEqualTo(1000 + (6 + 5) * 12 + 2 * 4 + 2);
            assertThat(Goldens.numbers(checkpoint, "layers/1/v/weight")[6 + 5]).isEqualTo(3000 + (6 + 5) * 4 + 1);
        }
    }

    @Test
    void theScaleOfAttentionIsTheModels() {
        model.put("attention_scale_value", 0.1);
        writer(5).write(folder.resolve("params.safetensors"));

        try (Checkpoint checkpoint = open()) {
            assertThat(checkpoint.config().attention().scale()).isEqualTo(0.1);
        }
    }

    @Test
    void theFileOfParametersIsTheOneThatIsNamed() {
        model.put("params_file", "step_100.safetensors");
        writer(5).write(folder.resolve("step_100.safetensors"));

        try (Checkpoint checkpoint = open()) {
            assertThat(checkpoint.hasWeights()).isTrue();
        }
    }

    @Test
    void aCacheOfBfloat16IsSaidToBe() {
        model.put("kv_cache_dtype", "bfloat16");
        writer(5).write(folder.resolve("params.safetensors"));

        try (Checkpoint checkpoint = open()) {
            assertThat(checkpoint.cacheDtype()).contains(Dtype.BF16);
        }
    }

    @Test
    void activationsOfBfloat16AreSaidToBeAndTheCacheLikeThem() {
        model.put("compute_dtype", "bfloat16");
        writer(5).write(folder.resolve("params.safetensors"));

        try (Checkpoint checkpoint = open()) {
            assertThat(checkpoint.computeDtype()).contains(Dtype.BF16);
            assertThat(checkpoint.cacheDtype()).contains(Dtype.BF16);
        }
    }

    @ParameterizedTest
    @CsvSource({"None, OF_ACTIVATIONS", "float32, FLOAT32"})
    void normsAreAsPreciseAsTheFolderSays(String type, Precision precision) {
        model.put("compute_dtype", "bfloat16");
        model.put("norm_forward_dtype", type);
        writer(5).write(folder.resolve("params.safetensors"));

        try (Checkpoint checkpoint = open()) {
            assertThat(checkpoint.config().norm().precision()).isEqualTo(precision);
        }
    }

    @ParameterizedTest
    @CsvSource({
        "norm_placement, post-norm",
        "norm_forward_dtype, bfloat16",
        "attention_mask, bidirectional",
        "stack, PipelinedTransformerLayer",
        "compute_dtype, float16",
        "kv_cache_dtype, int8",
        "rope_scaling, llama3",
        "attention_logit_cap, 50"
    })
    void whatWouldGiveOtherNumbersIsRefused(String field, String value) {
        model.put(field, value);
        writer(5).write(folder.resolve("params.safetensors"));

        assertThatExceptionOfType(UnsupportedModelException.class)
                .isThrownBy(this::open)
                .withMessageContaining(field + " is \"" + value + "\"");
    }

    @ParameterizedTest
    @CsvSource({"norm_eps, -1", "rope_theta, 0", "rope_theta, -10000", "attention_scale_value, 0", "ffn_dim, 0"})
    void numbersThatCannotBeAreRefused(String field, double value) {
        model.put(field, field.equals("ffn_dim") ? (Object) 0 : (Object) value);
        writer(5).write(folder.resolve("params.safetensors"));

        assertThatExceptionOfType(CheckpointException.class)
                .isThrownBy(this::open)
                .withMessageContaining("is expected");
    }

    @ParameterizedTest
    @CsvSource({"eos_id, 7, 0", "eos_id, -1, 0", "pad_id, 7, -1", "pad_id, -2, -1"})
    void tokensOutsideTheVocabularyAreRefused(String field, int id, int least) {
        model.put(field, id);
        writer(5).write(folder.resolve("params.safetensors"));

        assertThatExceptionOfType(CheckpointException.class)
                .isThrownBy(this::open)
                .withMessageContaining("%s is %d, but a token from %d to 6 is expected", field, id, least);
    }

    @Test
    void parametersThatTheModelHasNoPlaceForAreNamed() {
        String bias = QKV.replace("weight", "bias");
        writer(5).tensor(bias, new float[40], 2, 5, 4).write(folder.resolve("params.safetensors"));

        assertThatExceptionOfType(CheckpointException.class)
                .isThrownBy(this::open)
                .withMessageContaining(bias);
    }

    @Test
    void aMissingFileOfParametersIsNamed() {
        assertThatExceptionOfType(CheckpointException.class)
                .isThrownBy(this::open)
                .withMessage("there is no file " + folder.resolve("params.safetensors"));
    }
}
