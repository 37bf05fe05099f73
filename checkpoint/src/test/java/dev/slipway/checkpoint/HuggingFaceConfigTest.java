// SPDX-License-Identifier: Apache-2.0
package dev.slipway.checkpoint;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatExceptionOfType;

import dev.slipway.lowering.DecoderConfig;
import dev.slipway.lowering.DecoderConfig.Activation;
import dev.slipway.lowering.DecoderConfig.FeedForward;
import dev.slipway.lowering.DecoderConfig.Layer;
import dev.slipway.lowering.DecoderConfig.Norm;
import dev.slipway.lowering.DecoderConfig.NormPlacement;
import dev.slipway.lowering.DecoderConfig.QueryKeyNorm;
import dev.slipway.lowering.DecoderConfig.Rotary;
import dev.slipway.lowering.DecoderConfig.Scaling;
import dev.slipway.lowering.Parameters;
import java.nio.file.Path;
import java.util.Arrays;
import java.util.Collections;
import java.util.List;
import org.assertj.core.data.Offset;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;
import tools.jackson.databind.JsonNode;
import tools.jackson.databind.json.JsonMapper;
import tools.jackson.databind.node.ObjectNode;

/** What {@code config.json} says, in old and new spellings. */
class HuggingFaceConfigTest {
    @TempDir
    Path folder;

    private static ObjectNode model(String name) {
        JsonNode model = Goldens.read("models.json").get("models").values().stream()
                .filter(m -> m.get("name").stringValue().equals(name))
                .findFirst()
                .orElseThrow();
        return (ObjectNode) model.get("config");
    }

    private DecoderConfig config(JsonNode json) {
        Path file = Goldens.write(folder.resolve("config.json"), json);
        try (Checkpoint checkpoint = Checkpoint.open(file)) {
            assertThat(checkpoint.hasWeights()).isFalse();
            assertThat(checkpoint.names()).isEmpty();
            return checkpoint.config();
        }
    }

    private static JsonNode json(String text) {
        return JsonMapper.shared().readTree(text);
    }

    @Test
    void aLlamaIsRead() {
        assertThat(config(model("llama")))
                .isEqualTo(DecoderConfig.llama(llama -> llama.vocabulary(512)
                        .width(64)
                        .depth(3)
                        .heads(4, 2, 16)
                        .feedForward(128)
                        .maxPositions(256)
                        .rotary(new Rotary(500_000, 16, new Scaling.Llama3(8, 1, 4, 32)))
                        .epsilon(1e-6)));
    }

    @Test
    void biasesOfALlamaAreRead() {
        DecoderConfig config = config(model("llama_tied_bias"));

        assertThat(config.tiedHead()).isTrue();
        assertThat(config.attention().projectionBias()).isTrue();
        assertThat(config.attention().outputBias()).isTrue();
        assertThat(config.feedForward()).isEqualTo(new FeedForward.Gated(128, Activation.SILU, true));
    }

    @Test
    void mistralsWindowIsOnAllLayers() {
        assertThat(config(model("mistral")).layers())
                .containsOnly(new Layer(8, Rotary.of(10_000, 16)))
                .hasSize(3);
    }

    @Test
    void mistralsWindowIsItsDefaultIfAbsentAndNoneIfNull() {
        ObjectNode absent = model("mistral");
        absent.remove("sliding_window");
        ObjectNode none = model("mistral");
        none.putNull("sliding_window");

        assertThat(config(absent).layers().getFirst().window()).isEqualTo(4096);
        assertThat(config(none).layers().getFirst().window()).isZero();
    }

    /** Defaults of Transformers' configuration classes. */
    @ParameterizedTest
    @CsvSource({
        "llama, 4, 4",
        "mistral, 32, 8",
        "mixtral, 32, 8",
        "qwen2, 64, 32",
        "qwen3, 64, 32",
        "qwen3_moe, 32, 4",
        "gemma, 32, 16",
        "gemma2, 8, 4",
        "gemma3_text, 8, 4",
        "smollm3, 8, 4",
        "ministral, 32, 8",
        "olmo3, 4, 4",
        "phi3, 4, 4",
        "starcoder2, 24, 2",
        "olmo2, 4, 4"
    })
    void keyAndValueHeadsAreTheTypesDefaultIfAbsentAndAsManyAsHeadsIfNull(String type, int heads, int otherwise) {
        ObjectNode json = model("llama");
        json.put("model_type", type).put("num_attention_heads", heads).put("head_dim", 16);
        json.put("moe_intermediate_size", 64);
        json.remove("rope_parameters");
        json.remove("num_key_value_heads");

        assertThat(config(json).attention().kvHeads()).isEqualTo(otherwise);
        assertThat(config(json.putNull("num_key_value_heads")).attention().kvHeads())
                .isEqualTo(heads);
    }

    @Test
    void gemma2sCapsAreItsDefaultsIfAbsentAndNoneIfNull() {
        ObjectNode json = model("gemma").put("model_type", "gemma2");

        assertThat(config(json).attention().scoreCap()).isEqualTo(50);
        assertThat(config(json).logitCap()).isEqualTo(30);
        json.putNull("attn_logit_softcapping").putNull("final_logit_softcapping");
        assertThat(config(json).attention().scoreCap()).isZero();
        assertThat(config(json).logitCap()).isZero();
        assertThat(config(model("gemma")).logitCap()).isZero();
    }

    /** What Transformers 5.24 leaves alone: Gemma has no caps, and Gemma 3 caps its logits alone. */
    @Test
    void capsAreOnlyThoseThatTheModelHas() {
        ObjectNode gemma = model("gemma").put("attn_logit_softcapping", 2.0).put("final_logit_softcapping", 3.0);
        ObjectNode gemma3 =
                model("gemma3_text").put("attn_logit_softcapping", 2.0).put("final_logit_softcapping", 3.0);

        assertThat(config(gemma)).isEqualTo(config(model("gemma")));
        assertThat(config(gemma3).attention().scoreCap()).isZero();
        assertThat(config(gemma3).logitCap()).isEqualTo(3);
    }

    /** As in Transformers 5.24. */
    @ParameterizedTest
    @CsvSource({"gelu, GELU_TANH", "gelu_pytorch_tanh, GELU_TANH", "silu, SILU", "gelu_python, GELU"})
    void gemmasActivationIsTheOneOfTheOldField(String name, Activation activation) {
        ObjectNode json = model("gemma").put("hidden_act", name).put("hidden_activation", "relu");

        assertThat(config(json).feedForward().activation()).isEqualTo(activation);
    }

    @Test
    void starcoder2sActivationIsItsDefaultIfAbsent() {
        ObjectNode json = model("starcoder2");
        json.remove("hidden_act");

        assertThat(config(json).feedForward().activation()).isEqualTo(Activation.GELU_TANH);
    }

    @Test
    void theWindowOfAQwen3MixtureIsOnAllLayers() {
        ObjectNode json = model("qwen3_moe");
        json.put("use_sliding_window", true).put("sliding_window", 8).put("max_window_layers", 28);

        assertThat(config(json).layers()).extracting(Layer::window).containsOnly(8);
    }

    @Test
    void aWindowThatIsNullIsNoneThoughItIsToBeUsed() {
        ObjectNode json = model("qwen2").put("use_sliding_window", true).put("max_window_layers", 0);
        json.remove("layer_types");

        assertThat(config(json.putNull("sliding_window")).layers())
                .extracting(Layer::window)
                .containsOnly(0);
        json.remove("sliding_window");
        assertThat(config(json).layers()).extracting(Layer::window).containsOnly(4096);
    }

    /** As in Transformers 5.24, where these models have one mask for all layers. */
    @ParameterizedTest
    @ValueSource(strings = {"starcoder2", "phi3", "mixtral"})
    void aListOfLayersIsOnlyHeededByModelsThatHaveOne(String type) {
        ObjectNode json = model("starcoder2").put("model_type", type).put("sliding_window", 8);
        json.set("layer_types", JsonMapper.shared().valueToTree(Collections.nCopies(3, "full_attention")));

        assertThat(config(json).layers()).extracting(Layer::window).containsOnly(8);
        assertThat(config(json.put("model_type", "mistral")).layers())
                .extracting(Layer::window)
                .containsOnly(0);
    }

    @Test
    void aQwen3MixtureMayBeDenseThroughout() {
        ObjectNode json = model("qwen3_moe").put("decoder_sparse_step", 5);

        assertThat(config(json).feedForward()).isEqualTo(new FeedForward.Gated(128, Activation.SILU, false));
        json.put("decoder_sparse_step", 2);
        assertThatExceptionOfType(UnsupportedModelException.class)
                .isThrownBy(() -> config(json))
                .withMessageContaining("a mix of sparse and dense layers");
    }

    @Test
    void aModelThatLooksAheadIsRefused() {
        ObjectNode json = model("gemma3_text").put("use_bidirectional_attention", true);

        assertThatExceptionOfType(UnsupportedModelException.class)
                .isThrownBy(() -> config(json))
                .withMessageContaining("use_bidirectional_attention is true");
    }

    @Test
    void qwen2HasBiasesOnProjectionsAlone() {
        DecoderConfig config = config(model("qwen2"));

        assertThat(config.attention().projectionBias()).isTrue();
        assertThat(config.attention().outputBias()).isFalse();
        assertThat(config.layers()).containsOnly(Layer.full(Rotary.of(1_000_000, 16)));
    }

    @Test
    void qwen2sWindowBeginsAtALayer() {
        ObjectNode json = model("qwen2");
        json.remove("layer_types");
        json.put("use_sliding_window", true).put("sliding_window", 8).put("max_window_layers", 2);

        assertThat(config(json).layers()).extracting(Layer::window).containsExactly(0, 0, 8);
    }

    @Test
    void aMixtureOfExpertsIsRead() {
        DecoderConfig config = config(model("qwen3_moe"));

        assertThat(config.feedForward()).isEqualTo(new FeedForward.Experts(64, Activation.SILU, 4, 2, true));
        assertThat(config.attention().queryKeyNorm()).isEqualTo(QueryKeyNorm.PER_HEAD);
        assertThat(config.attention().headDim()).isEqualTo(32);
    }

    @Test
    void aDenseQwen3IsRead() {
        DecoderConfig config = config(json("""
                {"model_type": "qwen3", "vocab_size": 151936, "hidden_size": 1024, "intermediate_size": 3072,
                 "num_hidden_layers": 28, "num_attention_heads": 16, "num_key_value_heads": 8, "head_dim": 128,
                 "max_position_embeddings": 40960, "rms_norm_eps": 1e-06, "rope_theta": 1000000, "rope_scaling": null,
                 "tie_word_embeddings": true, "attention_bias": false, "hidden_act": "silu",
                 "use_sliding_window": false, "sliding_window": null, "max_window_layers": 28}"""));

        assertThat(config.attention().queryKeyNorm()).isEqualTo(QueryKeyNorm.PER_HEAD);
        // the published number of Qwen3-0.6B
        assertThat(Parameters.count(config)).isEqualTo(596_049_920L);
    }

    @Test
    void gemmaScalesItsEmbeddingAndOffsetsItsNorms() {
        DecoderConfig config = config(model("gemma"));

        assertThat(config.embeddingScale()).isEqualTo(8);
        assertThat(config.norm()).isEqualTo(new Norm(Norm.Kind.RMS, 1e-6, true));
        assertThat(config.feedForward()).isEqualTo(new FeedForward.Gated(128, Activation.GELU_TANH, false));
        assertThat(config.tiedHead()).isTrue();
    }

    @Test
    void gemma2AlternatesAndCaps() {
        ObjectNode json = model("gemma");
        json.put("model_type", "gemma2").put("sliding_window", 16).put("query_pre_attn_scalar", 64);
        json.put("attn_logit_softcapping", 50.0).put("final_logit_softcapping", 30.0);

        DecoderConfig config = config(json);

        assertThat(config.layers()).extracting(Layer::window).containsExactly(16, 0, 16);
        assertThat(config.attention().scoreCap()).isEqualTo(50);
        assertThat(config.logitCap()).isEqualTo(30);
        assertThat(config.attention().scale()).isEqualTo(0.125);
        assertThat(config.placement()).isEqualTo(NormPlacement.AROUND);
        assertThat(config.attention().queryKeyNorm()).isEqualTo(QueryKeyNorm.NONE);
    }

    @Test
    void gemma3HasTwoRotations() {
        DecoderConfig config = config(model("gemma3_text"));
        Layer sliding = new Layer(8, Rotary.of(10_000, 32));
        Layer full = Layer.full(new Rotary(1_000_000, 32, new Scaling.Linear(8)));

        assertThat(config.layers()).containsExactly(sliding, sliding, full, sliding);
        assertThat(config.attention().scale()).isEqualTo(1 / Math.sqrt(24));
        assertThat(config.placement()).isEqualTo(NormPlacement.AROUND);
    }

    @Test
    void gemma3sOldSpellingMeansTheSame() {
        ObjectNode old = model("gemma3_text");
        old.remove("rope_parameters");
        old.put("rope_theta", 1_000_000.0).put("rope_local_base_freq", 10_000.0);
        old.putObject("rope_scaling").put("factor", 8.0).put("rope_type", "linear");

        assertThat(config(old)).isEqualTo(config(model("gemma3_text")));
    }

    @Test
    void gemma3sPatternIsUsedWhereLayersAreNotListed() {
        ObjectNode json = model("gemma3_text");
        json.remove("layer_types");
        json.put("sliding_window_pattern", 2);

        assertThat(config(json).layers()).extracting(Layer::window).containsExactly(8, 0, 8, 0);
        // Transformers 5.24 writes this one and does not read it
        json.remove("sliding_window_pattern");
        json.put("_sliding_window_pattern", 2);
        assertThat(config(json).layers()).extracting(Layer::window).containsOnly(8);
    }

    @Test
    void aRotationThatGemma3sFileLeavesOutIsItsDefault() {
        ObjectNode json = model("gemma3_text");
        ((ObjectNode) json.get("rope_parameters")).remove("sliding_attention");

        assertThat(config(json)).isEqualTo(config(model("gemma3_text")));
    }

    /** As in Transformers 5.24. */
    @Test
    void theOldSpellingOfRotaryPositionsGoesFirstIfItSaysAnything() {
        ObjectNode json = model("llama").put("rope_theta", 10_000.0);
        json.putObject("rope_parameters").put("rope_type", "default").put("rope_theta", 500.0);
        json.putObject("rope_scaling");

        assertThat(config(json).layers().getFirst().rotary()).isEqualTo(Rotary.of(500, 16));
        json.putObject("rope_scaling").put("type", "linear").put("factor", 2);
        assertThat(config(json).layers().getFirst().rotary()).isEqualTo(new Rotary(10_000, 16, new Scaling.Linear(2)));
    }

    /** As in Transformers 5.24. */
    @Test
    void theOriginalContextBesideTheRotaryParametersGoesFirst() {
        ObjectNode json = model("llama").put("original_max_position_embeddings", 64);

        assertThat(config(json).layers().getFirst().rotary().scaling()).isEqualTo(new Scaling.Llama3(8, 1, 4, 64));
        json.remove("original_max_position_embeddings");
        ((ObjectNode) json.get("rope_parameters")).remove("original_max_position_embeddings");
        assertThat(config(json).layers().getFirst().rotary().scaling()).isEqualTo(new Scaling.Llama3(8, 1, 4, 256));
    }

    /** As in Transformers 5.24. */
    @Test
    void phi3sLongRopeHasThreeNames() {
        ObjectNode json = model("phi3");
        json.remove("rope_parameters");
        ObjectNode scaling = json.putObject("rope_scaling");
        scaling.set("short_factor", JsonMapper.shared().valueToTree(Collections.nCopies(8, 1.5)));
        Rotary longRope = config(withType(json, "longrope")).layers().getFirst().rotary();

        assertThat(((Scaling.PerPair) longRope.scaling()).divisors()).containsOnly(1.5);
        for (String name : List.of("su", "yarn")) {
            assertThat(config(withType(json, name)).layers().getFirst().rotary())
                    .isEqualTo(longRope);
        }
    }

    private static ObjectNode withType(ObjectNode json, String type) {
        ((ObjectNode) json.get("rope_scaling")).put("type", type);
        return json;
    }

    @Test
    void dynamicScalingBeginsBeyondTheModelsPositions() {
        ObjectNode plain = model("llama");
        plain.putObject("rope_parameters").put("rope_theta", 10_000.0).put("rope_type", "default");
        ObjectNode dynamic = model("llama");
        dynamic.putObject("rope_parameters")
                .put("rope_theta", 10_000.0)
                .put("rope_type", "dynamic")
                .put("factor", 4.0);

        assertThat(config(dynamic)).isEqualTo(config(plain));
    }

    @Test
    void phi3IsRead() {
        DecoderConfig config = config(model("phi3"));

        assertThat(config.family()).isEqualTo("phi3");
        assertThat(config.layers()).containsOnly(Layer.full(Rotary.of(10_000, 16)));
    }

    @Test
    void longRopeIsOfferedUpToItsOriginalContext() {
        ObjectNode json = model("phi3");
        json.remove("rope_parameters");
        json.put("max_position_embeddings", 131_072).put("original_max_position_embeddings", 4096);
        ObjectNode scaling = json.putObject("rope_scaling").put("type", "longrope");
        List<Double> factors = List.of(1.0, 1.1, 1.2, 1.3, 1.4, 1.5, 1.6, 1.7);
        scaling.set("short_factor", JsonMapper.shared().valueToTree(factors));
        scaling.set("long_factor", JsonMapper.shared().valueToTree(Collections.nCopies(8, 9.0)));

        DecoderConfig config = config(json);
        Scaling.PerPair read =
                (Scaling.PerPair) config.layers().getFirst().rotary().scaling();

        assertThat(config.maxPositions()).isEqualTo(4096);
        assertThat(read.divisors()).isEqualTo(factors);
        assertThat(read.magnitude()).isCloseTo(Math.sqrt(1 + Math.log(32) / Math.log(4096)), Offset.offset(1e-12));
    }

    @Test
    void partOfAHeadMayTurn() {
        ObjectNode json = model("phi3");
        ((ObjectNode) json.get("rope_parameters")).put("partial_rotary_factor", 0.5);

        assertThat(config(json).layers().getFirst().rotary().dims()).isEqualTo(8);
    }

    /** As in Transformers 5.24: a Llama's default rotation does not look at the share, and its others fail on it. */
    @Test
    void otherModelsTurnWholeHeads() {
        ObjectNode json = model("llama").put("partial_rotary_factor", 0.5);
        json.putObject("rope_parameters").put("rope_type", "default");

        assertThat(config(json).layers().getFirst().rotary().dims()).isEqualTo(16);
        json.putObject("rope_parameters").put("rope_type", "linear").put("factor", 2);
        assertThatExceptionOfType(UnsupportedModelException.class)
                .isThrownBy(() -> config(json))
                .withMessageContaining("partial_rotary_factor is 0.5 with rotary positions of type linear");
    }

    @Test
    void starcoder2IsRead() {
        DecoderConfig config = config(model("starcoder2"));

        assertThat(config.norm()).isEqualTo(new Norm(Norm.Kind.LAYER, 1e-5, false));
        assertThat(config.feedForward()).isEqualTo(new FeedForward.Plain(128, Activation.GELU_TANH, true));
        assertThat(config.attention().outputBias()).isTrue();
        assertThat(config.layers()).extracting(Layer::window).containsOnly(8);
    }

    @Test
    void gpt2IsRead() {
        DecoderConfig config = config(model("gpt2"));

        assertThat(config.learnedPositions()).isTrue();
        assertThat(config.feedForward()).isEqualTo(new FeedForward.Plain(256, Activation.GELU_TANH, true));
        assertThat(config.layers()).containsOnly(Layer.full(Rotary.NONE));
        assertThat(config.tiedHead()).isTrue();
    }

    @Test
    void olmo2NormalisesAfterItsBlocks() {
        DecoderConfig config = config(model("olmo2"));

        assertThat(config.placement()).isEqualTo(NormPlacement.AFTER);
        assertThat(config.attention().queryKeyNorm()).isEqualTo(QueryKeyNorm.ALL_HEADS);
    }

    /** As in Transformers 5.24: a 0 in the list means no rotary positions, and only such layers slide. */
    @Test
    void someLayersOfASmolLm3DoNotTurn() {
        ObjectNode json = model("llama_tied_bias").put("model_type", "smollm3");
        json.remove(List.of("rope_parameters", "tie_word_embeddings"));
        json.put("no_rope_layer_interval", 2).put("use_sliding_window", true).put("sliding_window", 8);
        Layer turning = Layer.full(Rotary.of(2_000_000, 16));
        Rotary still = new Rotary(2_000_000, 16, new Scaling.Still());

        DecoderConfig config = config(json);

        assertThat(config.layers()).containsExactly(turning, new Layer(8, still), turning);
        assertThat(config.tiedHead()).isTrue();
        assertThat(config.attention())
                .isEqualTo(config(model("llama_tied_bias")).attention());
        assertThat(config.feedForward()).isEqualTo(new FeedForward.Gated(128, Activation.SILU, true));
        json.set("no_rope_layers", JsonMapper.shared().valueToTree(List.of(0, 1, 1)));
        json.set("layer_types", JsonMapper.shared().valueToTree(Collections.nCopies(3, "full_attention")));
        assertThat(config(json).layers()).containsExactly(Layer.full(still), turning, turning);
        json.set("no_rope_layers", JsonMapper.shared().valueToTree(List.of(0, 1)));
        assertThatExceptionOfType(CheckpointException.class)
                .isThrownBy(() -> config(json))
                .withMessageContaining("no_rope_layers is [0, 1], but 3 of them, one for each layer, is expected");
    }

    /** As in Transformers 5.24. */
    @Test
    void olmo3ScalesOnlyTheLayersThatSeeAll() {
        ObjectNode json = model("olmo2").put("model_type", "olmo3").put("num_hidden_layers", 4);
        json.remove(List.of("rope_parameters", "layer_types"));
        json.putObject("rope_scaling").put("rope_type", "linear").put("factor", 2);
        Layer sliding = new Layer(4096, Rotary.of(500_000, 16));
        Layer full = Layer.full(new Rotary(500_000, 16, new Scaling.Linear(2)));

        assertThat(config(json).layers()).containsExactly(sliding, sliding, sliding, full);
        assertThat(config(json).placement()).isEqualTo(NormPlacement.AFTER);
    }

    @Test
    void ministralIsAMistralWithAListOfLayers() {
        ObjectNode json = model("mistral");
        json.set(
                "layer_types",
                JsonMapper.shared().valueToTree(List.of("sliding_attention", "full_attention", "full_attention")));

        DecoderConfig config = config(json);

        assertThat(config.layers()).extracting(Layer::window).containsExactly(8, 0, 0);
        assertThat(config(json.put("model_type", "ministral")))
                .isEqualTo(config.withLayers("ministral", config.layers()));
    }

    @Test
    void llama3sPublishedConfigurationIsThePreset() {
        // the figures of Meta-Llama-3-8B's config.json, spelled as of its time
        DecoderConfig config = config(json("""
                {"architectures": ["LlamaForCausalLM"], "attention_bias": false, "attention_dropout": 0.0,
                 "bos_token_id": 128000, "eos_token_id": 128001, "hidden_act": "silu", "hidden_size": 4096,
                 "initializer_range": 0.02, "intermediate_size": 14336, "max_position_embeddings": 8192,
                 "model_type": "llama", "num_attention_heads": 32, "num_hidden_layers": 32,
                 "num_key_value_heads": 8, "pretraining_tp": 1, "rms_norm_eps": 1e-05, "rope_scaling": null,
                 "rope_theta": 500000.0, "tie_word_embeddings": false, "torch_dtype": "bfloat16",
                 "transformers_version": "4.40.0.dev0", "use_cache": true, "vocab_size": 128256}"""));

        assertThat(config).isEqualTo(Presets.find("llama-3-8b").orElseThrow());
    }

    private static ObjectNode yarn() {
        ObjectNode json = model("qwen2");
        json.remove("rope_parameters");
        json.put("rope_theta", 10_000.0).put("head_dim", 64).put("max_position_embeddings", 4096);
        json.putObject("rope_scaling")
                .put("rope_type", "yarn")
                .put("factor", 4.0)
                .put("original_max_position_embeddings", 1024);
        return json;
    }

    private List<Double> divisors(JsonNode json) {
        return ((Scaling.PerPair) config(json).layers().getFirst().rotary().scaling()).divisors();
    }

    @Test
    void yarnKeepsFastPairsAndDividesSlowOnes() {
        Scaling.PerPair yarn =
                (Scaling.PerPair) config(yarn()).layers().getFirst().rotary().scaling();

        // pair 5 turns 1024 * 10000^(-10/64) / 2 pi = 38.6 times, pair 18 turns 0.9 times
        assertThat(yarn.divisors().subList(0, 6)).containsOnly(1.0);
        assertThat(yarn.divisors().subList(18, 32)).containsOnly(4.0);
        assertThat(yarn.divisors()).isSorted();
        assertThat(yarn.magnitude()).isCloseTo(0.1 * Math.log(4) + 1, Offset.offset(1e-12));
    }

    @Test
    void anUnknownArchitectureIsRefusedWithThoseThatAreKnown() {
        ObjectNode json = model("llama");
        json.put("model_type", "mamba");

        assertThatExceptionOfType(UnsupportedModelException.class)
                .isThrownBy(() -> config(json))
                .withMessageContaining("mamba")
                .withMessageContaining("llama, mistral, mixtral, qwen2");
    }

    @Test
    void whatCannotBeIsRefusedInOneLine() {
        for (String change : List.of(
                "{\"num_hidden_layers\": 2000000000}",
                "{\"num_hidden_layers\": 0}",
                "{\"num_attention_heads\": 0}",
                "{\"num_attention_heads\": 3}",
                "{\"hidden_size\": \"64\"}",
                "{\"hidden_size\": 1e30}",
                "{\"vocab_size\": null}",
                "{\"vocab_size\": -4}",
                "{\"hidden_act\": \"mish\"}",
                "{\"rope_parameters\": {\"rope_type\": \"dynamic\"}}",
                "{\"rope_parameters\": {\"rope_type\": \"llama3\"}}",
                "{\"rope_parameters\": {\"rope_type\": \"ntk\", \"factor\": 2}}",
                "{\"rope_parameters\": {\"rope_type\": \"linear\", \"factor\": 0}}",
                "{\"rope_parameters\": {\"rope_type\": \"linear\", \"factor\": -2}}",
                "{\"rope_parameters\": {\"rope_type\": \"yarn\", \"factor\": 2, \"attention_factor\": -1}}",
                "{\"rope_parameters\": {\"rope_type\": \"yarn\", \"factor\": 2, \"original_max_position_embeddings\": 0}}",
                "{\"rope_parameters\": 5}",
                "{\"layer_types\": [\"full_attention\"]}")) {
            ObjectNode json = model("llama");
            ((ObjectNode) json(change)).properties().forEach(field -> json.set(field.getKey(), field.getValue()));

            assertThatExceptionOfType(CheckpointException.class)
                    .as(change)
                    .isThrownBy(() -> config(json))
                    .withMessageContaining("config.json")
                    .withMessageNotContaining("\n");
        }
    }

    @ParameterizedTest
    @CsvSource({
        "yarn, factor, 0, a positive number",
        "yarn, factor, -2, a positive number",
        "yarn, factor, 1e999, a number",
        "yarn, beta_fast, 0, a positive number",
        "yarn, beta_slow, -1, a positive number",
        "yarn, attention_factor, 0, a positive number",
        "yarn, original_max_position_embeddings, 0, a positive integer",
        "linear, factor, 0, a positive number",
        "linear, rope_theta, 0, a positive number",
        "linear, partial_rotary_factor, -0.5, a positive number",
        "dynamic, factor, 0, a positive number",
        "llama3, low_freq_factor, 0, a positive number",
        "llama3, high_freq_factor, 0, a positive number",
        "llama3, original_max_position_embeddings, -1, a positive integer",
        "linear, factor, 0.5, a number of at least 1",
        "dynamic, factor, 0.5, a number of at least 1",
        "yarn, factor, 0.5, a number of at least 1",
        "llama3, factor, 0.5, a number of at least 1",
        "llama3, low_freq_factor, 4.0, 'less than high_freq_factor, which is 4.0,'",
        "llama3, low_freq_factor, 8.0, 'less than high_freq_factor, which is 4.0,'",
        "yarn, beta_fast, 0.5, 'at least beta_slow, which is 1.0,'",
        "longrope, factor, 0.5, a number of at least 1",
        "longrope, original_max_position_embeddings, 1, '2 or more, for its logarithm,'"
    })
    void aNumberOfRotaryPositionsThatCannotBeIsNamed(String type, String key, String value, String expected) {
        ObjectNode json = model("llama");
        ObjectNode rope = (ObjectNode) json("""
                {"rope_type": "%s", "factor": 4, "low_freq_factor": 1, "high_freq_factor": 4,
                 "original_max_position_embeddings": 64, "short_factor": [1, 1, 1, 1, 1, 1, 1, 1]}""".formatted(type));
        json.set("rope_parameters", rope.set(key, json(value)));

        assertThatExceptionOfType(CheckpointException.class)
                .isThrownBy(() -> config(json))
                .withMessageContaining("config.json: rope_parameters.%s is ", key)
                .withMessageEndingWith(", but %s is expected; correct it", expected);
    }

    @Test
    void aRampOfNoWidthIsYarnsToo() {
        ObjectNode json = yarn();
        ((ObjectNode) json.get("rope_scaling")).put("beta_fast", 2).put("beta_slow", 2);

        assertThat(divisors(json)).containsOnly(1.0, 4.0).isSorted();
    }

    @Test
    void yarnOnABaseThatDoesNotSlowPairsDownIsRefused() {
        ObjectNode json = yarn().put("rope_theta", 1.0);

        assertThatExceptionOfType(CheckpointException.class)
                .isThrownBy(() -> config(json))
                .withMessageContaining("config.json")
                .withMessageContaining("rotary base 1.0; a base above 1 is expected");
    }

    /** Values by the formula of Transformers 5.24. */
    @Test
    void yarnsRampMayBeginAndEndBetweenPairs() {
        ObjectNode json = yarn();
        ((ObjectNode) json.get("rope_scaling")).put("truncate", false);

        assertThat(divisors(json).get(5)).isEqualTo(1);
        assertThat(divisors(json).get(6)).isCloseTo(1.021911, Offset.offset(1e-6));
        assertThat(divisors(json).get(17)).isCloseTo(3.408189, Offset.offset(1e-6));
    }

    /** The value by the formula of Transformers 5.24. */
    @Test
    void yarnsMagnitudeMayBeWeighed() {
        ObjectNode json = yarn();
        ((ObjectNode) json.get("rope_scaling")).put("mscale", 0.707).put("mscale_all_dim", 1.0);

        assertThat(config(json).layers().getFirst().rotary().scaling().magnitude())
                .isCloseTo(0.964326914892074, Offset.offset(1e-12));
    }

    @Test
    void aLlamasContextMayBeMadeShorterThanItsOriginalOne() {
        ObjectNode json = model("llama").put("max_position_embeddings", 16);

        assertThat(config(json).layers()).isEqualTo(config(model("llama")).layers());
    }

    @Test
    void noMoreOfAHeadTurnsThanThereIs() {
        ObjectNode json = model("phi3");
        ((ObjectNode) json.get("rope_parameters")).put("partial_rotary_factor", 2.0);

        assertThatExceptionOfType(CheckpointException.class)
                .isThrownBy(() -> config(json))
                .withMessageContaining("rotary dims 32 are more than the 16 of a head");
    }

    @Test
    void everyFamilyHasItsName() {
        for (String name : Arrays.asList("gemma", "qwen2", "olmo2", "starcoder2")) {
            assertThat(config(model(name)).family()).isEqualTo(name);
        }
    }
}
