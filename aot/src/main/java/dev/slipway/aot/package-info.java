// SPDX-License-Identifier: Apache-2.0

/**
 * Ahead-of-time compilation of inference programs: a machine's name, a mesh and a model in; an executable with its memory,
 * cost and fit out. It is AXLearn's {@code compile_inference_programs} in Java's form, and where the machine is a CPU it runs
 * the programs too.
 *
 * <h2>Compile for a machine that is not there</h2>
 *
 * {@snippet :
 * DecoderConfig model = DecoderConfig.llama(llama -> llama.vocabulary(49152)
 *         .width(576)
 *         .depth(30)
 *         .heads(9, 3, 64)
 *         .feedForward(1536)
 *         .maxPositions(8192)
 *         .rotary(DecoderConfig.Rotary.of(100_000, 64))
 *         .tiedHead());
 * InferenceRunner runner = InferenceRunner.of(model, DecodeOptions.greedy(256))
 *         .withMesh(List.of("data", "model"), MeshShape.hybrid(List.of(1, -1), List.of(2, 1)));
 * Compiled compiled = new AotCompiler(PluginLocator.ofUser())
 *         .compileInferencePrograms(runner, InputBatchSpec.prefix(16, 64), "v5e-16", 2)
 *         .get("sample_decode");
 * byte[] executable = compiled.executable().toBytes();
 * long bytes = compiled.memory().temporaries();
 * }
 *
 * <h2>Several programs from one call</h2>
 *
 * {@snippet :
 * InferenceRunner runner = InferenceRunner.of(
 *                 Presets.find("llama-3-8b").orElseThrow(),
 *                 DecodeOptions.greedy(2048).withControls(Control.TEMPERATURE, Control.TOP_P))
 *         .withMesh(List.of("data", "model"), MeshShape.of(1, -1));
 * Map<String, Compiled> server = new AotCompiler(PluginLocator.ofUser())
 *         .compileInferencePrograms(
 *                 runner,
 *                 InputBatchSpec.prefix(8, 512),
 *                 "v5e-16",
 *                 1,
 *                 Map.of("xla_tpu_enable_latency_hiding_scheduler", true),
 *                 "prefill:128",
 *                 "prefill:512",
 *                 "insert",
 *                 "decode_step");
 * }
 *
 * <p>What each takes and gives is in {@link dev.slipway.lowering.DecodePrograms}; {@link
 * dev.slipway.aot.InferenceRunner#withAxlearn} asks for AXLearn's own programs, parameter tree and oddities included.
 *
 * <h2>Run it here</h2>
 *
 * {@snippet :
 * Checkpoint checkpoint = Checkpoint.open(Path.of("model.gguf"));
 * InferenceRunner runner = InferenceRunner.of(checkpoint.config(), DecodeOptions.greedy(256));
 * int[][] prompts = {{1, 4093, 28}};
 * int[] key = RandomSource.RBG.key(42);
 * try (DecodeSession session =
 *         DecodeSession.open(PluginLocator.ofUser(), runner, Topologies.resolve("cpu"), checkpoint.parameters())) {
 *     int[] sequences = session.sampleDecode(prompts, 64, Map.of(), key).get("sequences").ints();
 *     DecodeSession.TokenStream stream = session.stream(prompts, 64, Map.of(), key);
 *     int first = stream.tokens()[0];
 *     int second = stream.advance()[0];
 * }
 * }
 *
 * <h2>The reference's arguments</h2>
 *
 * <table>
 * <caption>From Python to Java</caption>
 * <tr><th>{@code compile_inference_programs}</th><th>here</th></tr>
 * <tr><td>{@code inferencer_config}</td><td>{@link dev.slipway.aot.InferenceRunner}: model, mesh axis names and shape, decode
 *     options</td></tr>
 * <tr><td>{@code input_batch_spec}</td><td>{@link dev.slipway.lowering.InputBatchSpec}: shape, element type and partition by
 *     name</td></tr>
 * <tr><td>{@code topology}, {@code topology_num_slices}</td><td>a name, null for this CPU; the slices</td></tr>
 * <tr><td>{@code compiler_options}</td><td>a map of name to string, boolean, long or double</td></tr>
 * <tr><td>{@code method}</td><td>one name or several; the result's keys are these names, where the reference's is always
 *     {@code "sample_decode"}</td></tr>
 * </table>
 *
 * <h2>Errors</h2>
 *
 * <table>
 * <caption>What is thrown, each with the value, what was expected and a remedy in its message</caption>
 * <tr><th>fault</th><th>exception</th></tr>
 * <tr><td>unknown machine</td><td>{@link dev.slipway.topology.UnknownTopologyException}, with the nearest names</td></tr>
 * <tr><td>a mesh that does not fit</td><td>{@link dev.slipway.mesh.MeshException}</td></tr>
 * <tr><td>a model, batch or option that cannot be lowered</td><td>{@link dev.slipway.lowering.LoweringException}</td></tr>
 * <tr><td>a plugin that is missing, or whose compiler refuses the program</td>
 *     <td>{@link dev.slipway.runtime.PjrtException}; a program too large for the chip is
 *     {@link dev.slipway.runtime.StatusException.CompileTimeHbmOom}</td></tr>
 * <tr><td>a compiler that aborts</td><td>{@link dev.slipway.aot.CompilerCrashedException}, where it worked in a process of its
 *     own ({@link dev.slipway.aot.AotCompiler.Isolation#WORKER})</td></tr>
 * </table>
 *
 * <h2>Lifetimes</h2>
 *
 * <p>A {@link dev.slipway.aot.Compiled} is a plain value. A {@link dev.slipway.aot.DecodeSession} holds devices and parameters
 * until it is closed; its {@link dev.slipway.aot.LoadedProgram}s and streams may be closed before, and go with it.
 */
package dev.slipway.aot;
