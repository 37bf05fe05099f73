// SPDX-License-Identifier: Apache-2.0
package dev.slipway.aot;

import dev.slipway.lowering.AxlearnPrograms;
import dev.slipway.lowering.BeamSearch;
import dev.slipway.lowering.DecodeOptions;
import dev.slipway.lowering.DecodePrograms;
import dev.slipway.lowering.DecoderConfig;
import dev.slipway.lowering.Form;
import dev.slipway.lowering.InferenceProgram;
import dev.slipway.lowering.InputBatchSpec;
import dev.slipway.lowering.LoweringException;
import dev.slipway.lowering.ParameterLayout;
import dev.slipway.lowering.ParameterSource;
import dev.slipway.lowering.Parameters;
import dev.slipway.lowering.Parameters.Weight;
import dev.slipway.lowering.SampleDecode;
import dev.slipway.lowering.ShardingRules;
import dev.slipway.lowering.TensorSpec;
import dev.slipway.mesh.DeviceOrder;
import dev.slipway.mesh.Mesh;
import dev.slipway.mesh.MeshShape;
import dev.slipway.mesh.MeshSpec;
import dev.slipway.stablehlo.ElementType;
import dev.slipway.topology.ChipSpec;
import dev.slipway.topology.Platform;
import dev.slipway.topology.Topology;
import java.util.IntSummaryStatistics;
import java.util.List;
import java.util.Map;
import org.jspecify.annotations.Nullable;

/**
 * What is to be compiled: a model with abstract state, the mesh that it runs on, and how it decodes.
 *
 * @param model the decoder; its parameters are shapes only
 * @param mesh axis names and shape; {@link MeshSpec#byDefault} puts all devices on {@code data}
 * @param order in which order the devices fill the mesh
 * @param options what decoding does
 * @param rules which mesh axes cut which dimensions
 * @param form how the program is written; null for what {@link #formFor} says of the target
 * @param axlearn AXLearn's programs in place of those of {@code options}; null for the latter
 */
public record InferenceRunner(
        DecoderConfig model,
        MeshSpec mesh,
        DeviceOrder order,
        DecodeOptions options,
        ShardingRules rules,
        @Nullable Form form,
        @Nullable Axlearn axlearn) {

    /**
     * AXLearn's programs, oddities included.
     *
     * @param layout how they take the parameters
     */
    public record Axlearn(SampleDecode sampleDecode, BeamSearch beamSearch, ParameterLayout layout) {
        /** The programs that {@code compile_inference_programs} compiles, with the parameters that it takes. */
        public static Axlearn byDefault() {
            return new Axlearn(SampleDecode.axlearn(), BeamSearch.axlearn(), ParameterLayout.AXLEARN);
        }
    }

    /** A runner on the default mesh, with standard shardings and the target's own form. */
    public static InferenceRunner of(DecoderConfig model, DecodeOptions options) {
        return new InferenceRunner(
                model, MeshSpec.byDefault(), DeviceOrder.RUNTIME, options, ShardingRules.standard(), null, null);
    }

    /** This runner on another mesh. */
    public InferenceRunner withMesh(MeshSpec other) {
        return new InferenceRunner(model, other, order, options, rules, form, axlearn);
    }

    /** This runner on a mesh of these axes and this shape. */
    public InferenceRunner withMesh(List<String> axes, MeshShape shape) {
        return withMesh(new MeshSpec(axes, shape));
    }

    /** This runner with the devices in another order. */
    public InferenceRunner withOrder(DeviceOrder other) {
        return new InferenceRunner(model, mesh, other, options, rules, form, axlearn);
    }

    /** This runner with a form of the caller's choice. */
    public InferenceRunner withForm(Form other) {
        return new InferenceRunner(model, mesh, order, options, rules, other, axlearn);
    }

    /** This runner with other decode options. */
    public InferenceRunner withOptions(DecodeOptions other) {
        return new InferenceRunner(model, mesh, order, other, rules, form, axlearn);
    }

    /** This runner with AXLearn's programs. */
    public InferenceRunner withAxlearn(Axlearn programs) {
        return new InferenceRunner(model, mesh, order, options, rules, form, programs);
    }

    /**
     * Lowers a program of this runner.
     *
     * @param method its name, and behind a colon the width of the prefix if it is not the batch's: {@code prefill:256}
     */
    InferenceProgram lower(Mesh on, Form written, String method, InputBatchSpec batch) {
        int colon = method.indexOf(':');
        if (colon >= 0) {
            return lower(on, written, method.substring(0, colon), batch.withWidth(width(method, colon)));
        }
        if (axlearn == null) {
            return DecodePrograms.of(model, written, options, on, rules).lower(method, batch);
        }
        AxlearnPrograms programs = AxlearnPrograms.of(model, written, on, axlearn.layout());
        return switch (method) {
            case AotCompiler.SAMPLE_DECODE -> programs.sampleDecode(axlearn.sampleDecode(), batch);
            case "beam_search_decode" -> programs.beamSearchDecode(axlearn.beamSearch(), batch);
            default ->
                throw new LoweringException(
                        "AXLearn has no method \"%s\" here; there are sample_decode and beam_search_decode"
                                .formatted(method));
        };
    }

    /** The parameters that all programs of this runner take first. */
    List<TensorSpec> parameterSpecs(Mesh on, Form written) {
        return axlearn == null
                ? DecodePrograms.of(model, written, options, on, rules).parameterSpecs()
                : AxlearnPrograms.of(model, written, on, axlearn.layout()).parameterSpecs();
    }

    private static long width(String method, int colon) {
        try {
            return Long.parseLong(method.substring(colon + 1));
        } catch (NumberFormatException e) {
            throw new LoweringException(
                    "method \"%s\": a prefix width is expected behind the colon, as in prefill:256".formatted(method));
        }
    }

    /**
     * The form that suits a chip where nothing is known of how the weights are stored. docs/performance.md has the
     * measurements behind this choice and the next.
     */
    public static Form formFor(ChipSpec chip) {
        return switch (chip.platform()) {
            case TPU ->
                Form.scanned(ElementType.BF16)
                        .withCacheWrites(Form.CacheWrites.BEHIND_LAYERS)
                        .withTokensPerPass(tokensOfReading(chip))
                        .withWholeBelow(numbersOfAHop(chip));
            case GPU -> Form.scanned(ElementType.BF16).withWholeBelow(numbersOfAHop(chip));
            case CPU ->
                Form.scanned(ElementType.F32)
                        .withProducts(Form.Products.JOINED)
                        .withCacheOrder(Form.CacheOrder.KEYS_TIME_LAST);
        };
    }

    /**
     * How many tokens a bfloat16 matrix must be multiplied with for the multiplication to take as long as reading the
     * matrix does: with fewer the chip waits for memory, and more only make more code. Each token takes two operations
     * for a number of two bytes, so this is the quotient of the data sheet's rates; products reach nine tenths of the
     * former.
     */
    private static int tokensOfReading(ChipSpec chip) {
        return chip.hbmBytesPerSecond() == 0 ? 0 : (int) (0.9 * chip.bf16FlopsPerSecond() / chip.hbmBytesPerSecond());
    }

    /**
     * How many numbers of bfloat16 are read in the time of one hop between chips, about a microsecond: an exchange takes one
     * hop at least, and saves no more than the reading.
     */
    private static long numbersOfAHop(ChipSpec chip) {
        return (long) (1e-6 * chip.hbmBytesPerSecond() / 2);
    }

    /**
     * This runner with the form of its programs settled: its own, or the one that suits this CPU, given how the weights are
     * stored.
     *
     * @param cpu what the programs run on; weights are cut into blocks for one device alone
     * @param source the weights, of which only the {@linkplain ParameterSource#storedBits bits} are asked for
     */
    public InferenceRunner withFormFor(Topology cpu, ParameterSource source) {
        return form != null ? this : withForm(suiting(Mesh.of(cpu, mesh, order), source, formFor(cpu.chip())));
    }

    private Form suiting(Mesh on, ParameterSource source, Form form) {
        if (on.size() > 1) {
            return form;
        }
        IntSummaryStatistics outside = bits(Parameters.outside(model), "", source);
        Map<String, Weight> layer = Parameters.ofLayer(model);
        IntSummaryStatistics layers = new IntSummaryStatistics();
        for (int i = 0; i < model.depth(); i++) {
            layers.combine(bits(layer, "layers/" + i + "/", source));
        }
        int least = Math.min(outside.getMin(), layers.getMin());
        int most = Math.max(outside.getMax(), layers.getMax());
        if (most > 8) {
            return form.withMatrices(least == 16 && most == 16 ? Form.Matrices.PAIRS : Form.Matrices.INPUT_MAJOR);
        }
        return form.withMatrices(layers.getMax() > 4 ? Form.Matrices.BLOCKS : Form.Matrices.HALF_BLOCKS);
    }

    /** Bits of the matrices' numbers, 32 for those that are neither in blocks nor bfloat16. */
    private static IntSummaryStatistics bits(Map<String, Weight> weights, String prefix, ParameterSource source) {
        return weights.values().stream()
                .filter(weight -> weight.outputs() > 0)
                .mapToInt(weight -> source.storedBits(prefix + weight.name()).orElse(32))
                .summaryStatistics();
    }

    /** Exchanges of fewer bytes stay on the TensorCore. */
    private static final long SPARSE_CORE_BYTES = 1L << 20;

    /**
     * The compiler options that suit a form on a platform; what a caller gives comes on top. docs/performance.md has the
     * measurements.
     */
    static Map<String, Object> compilerOptionsFor(Platform platform, Form form) {
        return switch (platform) {
            case TPU ->
                Map.of(
                        // A product in a ring of as many steps as an axis is long pays where products are long; a
                        // token's are not.
                        "xla_jf_spmd_threshold_for_windowed_einsum_mib",
                        1_000_000L,
                        // Tiles of 16 rows, which libtpu takes for bfloat16 on TPU7x: all weights are copied into them
                        // in each run.
                        "xla_tpu_control_large_2nd_minor_layout_for_x16",
                        0L,
                        // Exchanges of a few rows stand between a layer's products: there is nothing that a SparseCore
                        // could do beside.
                        "xla_tpu_sparse_core_all_gather_offload_min_size_in_bytes",
                        SPARSE_CORE_BYTES,
                        "xla_tpu_sparse_core_all_reduce_offload_min_size_in_bytes",
                        SPARSE_CORE_BYTES,
                        "xla_tpu_sparse_core_reduce_scatter_offload_min_size_in_bytes",
                        SPARSE_CORE_BYTES);
            case GPU -> Map.of();
            // Sums in YNNPACK's subgraphs run over intermediate arrays; XLA's own loops keep them in registers. But it
            // alone multiplies matrices of bfloat16: XLA makes float32 of them first, all at once.
            case CPU ->
                form.compute().equals(ElementType.F32)
                        ? Map.of("xla_cpu_experimental_ynn_fusion_type", "", "xla_cpu_prefer_vector_width", 512L)
                        : Map.of("xla_cpu_prefer_vector_width", 512L);
        };
    }
}
