// SPDX-License-Identifier: Apache-2.0

/**
 * PJRT from Java: plugins, clients, buffers and executables, useful alone. Hand it StableHLO and arrays.
 *
 * <h2>In short</h2>
 *
 * {@snippet :
 * Plugin cpu = Plugins.ofUser().load("cpu", PackageStore.Progress.NONE);
 * try (Client client = cpu.client();
 *         LoadedExecutable add = client.compile(Program.stablehlo("""
 *                 func.func @main(%x: tensor<4xf32>) -> tensor<4xf32> {
 *                   %y = stablehlo.add %x, %x : tensor<4xf32>
 *                   return %y : tensor<4xf32>
 *                 }
 *                 """), CompileOptions.defaults());
 *         Arena arena = Arena.ofConfined();
 *         Buffer x = client.put(arena.allocateFrom(ValueLayout.JAVA_FLOAT, 1, 2, 3, 4),
 *                 TensorType.of(ElementType.F32, 4), client.addressableDevices().getFirst());
 *         Buffer y = add.execute(x).getFirst()) {
 *     float[] doubled = y.toHost(arena).toArray(ValueLayout.JAVA_FLOAT);
 *     assertThat(doubled).containsExactly(2, 4, 6, 8);
 *     assertThat(add.executable().optimizedProgram().text()).startsWith("HloModule");
 * }
 * }
 *
 * <p>For a machine that is not there, {@link dev.slipway.runtime.Plugin#topology} describes it and
 * {@link dev.slipway.runtime.PluginTopology#compile} compiles for it.
 *
 * <h2>What there is</h2>
 *
 * <ul>
 *   <li>{@link dev.slipway.runtime.Plugins} finds, fetches and loads plugins; {@link dev.slipway.runtime.Conformance} tries them.
 *   <li>{@link dev.slipway.runtime.Client} has devices, puts arrays and compiles; {@link dev.slipway.runtime.LoadedExecutable}
 *       runs, on all its devices at once; {@link dev.slipway.runtime.Dispatch} runs again and again without allocating.
 *   <li>{@link dev.slipway.runtime.HostTransfer} sends arrays piece by piece, {@link dev.slipway.runtime.ShardedArrays} cuts them
 *       over meshes, {@link dev.slipway.runtime.DlPack} shares them with other libraries.
 *   <li>{@link dev.slipway.runtime.FfiHandler} is a custom call in Java, {@link dev.slipway.runtime.HostChannel} the host's end of
 *       {@code send} and {@code recv}.
 *   <li>{@link dev.slipway.runtime.Program#text} shows what a compiler made, as XLA writes it; {@link dev.slipway.runtime.Layout} and
 *       {@link dev.slipway.runtime.Shape} say how arrays lie, asked for and found.
 *   <li>{@link dev.slipway.runtime.TpuTopology} and {@link dev.slipway.runtime.TpuExecutables} are what TPU plugins tell besides.
 *   <li>{@link dev.slipway.runtime.Profiler} records what a plugin's compiler and devices do, {@link dev.slipway.runtime.HloPass} is a
 *       pass of its compiler in Java, {@link dev.slipway.runtime.MultiSlice} several slices as one machine.
 *   <li>{@link dev.slipway.runtime.Partitioner} cuts a custom call over devices by a rule in Java.
 *   <li>{@link dev.slipway.runtime.RawBuffer}, {@link dev.slipway.runtime.HostMemory} and
 *       {@link dev.slipway.runtime.CrossHostTransfers} move bytes beside the usual ways; {@link dev.slipway.runtime.RuntimeEvents} tells of
 *       failures; {@link dev.slipway.runtime.Megascale}, {@link dev.slipway.runtime.Collectives} and
 *       {@link dev.slipway.runtime.MegascaleErrors} are the network between slices.
 *   <li>{@link dev.slipway.runtime.SerializedExecutable} keeps what was compiled, and refuses what was damaged or is foreign.
 *   <li>{@link dev.slipway.runtime.KeyValueStore} is how the processes of one job find each other.
 * </ul>
 *
 * <h2>Lifetimes</h2>
 *
 * <table>
 * <caption>Who closes what</caption>
 * <tr><th>object<th>closed by<th>lives on the C side until
 * <tr><td>{@code Plugin}<td>nobody: a library is never unloaded<td>the process ends
 * <tr><td>{@code Client}<td>its maker<td>it and everything made from it are closed
 * <tr><td>{@code Device}, {@code Memory}<td>nobody<td>their client ends
 * <tr><td>{@code PluginTopology}<td>its maker<td>it is closed
 * <tr><td>{@code Executable} of a topology<td>its maker<td>it is closed
 * <tr><td>{@code LoadedExecutable}, with its {@code Executable}<td>its maker<td>it is closed and no run is being started
 * <tr><td>{@code Buffer}<td>its maker, also when it was donated<td>it is closed and no call uses it
 * <tr><td>{@code Buffer.View}<td>its maker<td>it is closed
 * <tr><td>{@code Dispatch}<td>its maker<td>it is closed; the arguments it was given are in use until then
 * <tr><td>{@code HostTransfer}, {@code Promise}, {@code ExecuteContext}<td>its maker<td>it is closed
 * <tr><td>{@code Profiler}, {@code MultiSlice}, {@code MegascaleErrors}<td>its maker<td>it is closed
 * <tr><td>{@code Megascale}, {@code Collectives}, {@code Communicator}<td>its maker<td>it and what was made from it are closed
 * <tr><td>{@code RawBuffer}, {@code HostMemory}<td>its maker<td>it is closed
 * <tr><td>{@code HloPass.Registration}<td>its maker<td>the process ends; it is not called for what is compiled after its close
 * <tr><td>handlers of custom calls and channels, partitioners, listeners of {@code RuntimeEvents}<td>nobody<td>the process ends
 * </table>
 *
 * <p>A call counts as a use, so one thread may close what another is using: the C object goes with the last use. Use after close,
 * closing twice and mixing clients are {@link dev.slipway.runtime.UsageException}s. {@link dev.slipway.runtime.Leaks} finds what
 * was dropped open.
 *
 * <h2>Errors</h2>
 *
 * <table>
 * <caption>All extend {@code PjrtException}</caption>
 * <tr><th>type<th>when
 * <tr><td>{@link dev.slipway.runtime.StatusException}<td>the plugin answered with a status; one subtype for each of the 16 codes
 * <tr><td>{@link dev.slipway.runtime.StatusException.CompileTimeHbmOom}<td>the program does not fit the chip
 * <tr><td>{@link dev.slipway.runtime.UsageException}<td>refused in Java, since the plugin would abort or read wildly;
 *     programs as text and arguments are looked at, {@linkplain dev.slipway.runtime.Program#stablehlo(byte[]) bytecode} is not
 * <tr><td>{@link dev.slipway.runtime.PluginException}<td>no plugin, or a library that is none
 * <tr><td>{@link dev.slipway.runtime.PackageException}<td>a package could not be fetched
 * </table>
 *
 * <h2>What changes the process</h2>
 *
 * <p>Nothing unless called: {@link dev.slipway.runtime.Environment} sets variables of the C environment,
 * {@link dev.slipway.runtime.PluginLog} redirects standard error, and loading a plugin cannot be undone.
 *
 * <h2>Inside</h2>
 *
 * <p>{@code src/main/spec/pjrt-abi.txt} describes the C API; {@code slipway-codegen} makes layouts, accessors and the table of
 * functions from it at build time. One method makes every call, looks in the plugin's {@code struct_size} whether the function is
 * there, and turns an error into an exception.
 */
package dev.slipway.runtime;
