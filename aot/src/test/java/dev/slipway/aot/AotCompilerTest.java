// SPDX-License-Identifier: Apache-2.0
package dev.slipway.aot;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import com.google.common.collect.ImmutableList;
import dev.slipway.lowering.DecodeOptions;
import dev.slipway.lowering.DecoderConfig;
import dev.slipway.lowering.InferenceProgram;
import dev.slipway.lowering.InputBatchSpec;
import dev.slipway.runtime.StatusException;
import dev.slipway.runtime.UsageException;
import dev.slipway.stablehlo.Module;
import dev.slipway.topology.Platform;
import dev.slipway.topology.PluginSpec;
import dev.slipway.topology.Topologies;
import dev.slipway.topology.Topology;
import dev.slipway.topology.UnknownTopologyException;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;
import org.junit.jupiter.params.provider.ValueSource;

/** Compilation with the real plugins, in this process and in workers. */
class AotCompilerTest {
    private static final DecoderConfig TINY = TinyLlama.withHeads(4, 2);

    private final PluginLocator plugins = PluginLocator.ofUser();

    private static InferenceRunner runner() {
        return InferenceRunner.of(TINY, DecodeOptions.greedy(32));
    }

    @Test
    void noTopologyMeansThisCpu() {
        Map<String, Compiled> compiled = new AotCompiler(plugins)
                .compileInferencePrograms(runner(), InputBatchSpec.prefix(2, 8), null, 1, Map.of());

        assertThat(compiled).containsOnlyKeys("sample_decode");
        assertThat(compiled.get("sample_decode").executable().platform().name()).isEqualTo("cpu");
    }

    @Test
    void slicesOfThisCpuAreRefused() {
        assertThatThrownBy(() -> new AotCompiler(plugins)
                        .compileInferencePrograms(runner(), InputBatchSpec.prefix(2, 8), null, 2))
                .isInstanceOf(AotException.class)
                .hasMessageContaining("2 slices");
    }

    @Test
    void anUnknownTopologyNamesTheNearest() {
        assertThatThrownBy(() -> new AotCompiler(plugins)
                        .compileInferencePrograms(runner(), InputBatchSpec.prefix(2, 8), "v5litepod-17", 1))
                .isInstanceOf(UnknownTopologyException.class)
                .hasMessageContaining("v5e-16");
    }

    @Test
    void severalProgramsComeFromOneCallInTheOrderAskedFor() {
        Map<String, Compiled> compiled = new AotCompiler(plugins)
                .compileInferencePrograms(
                        runner(),
                        InputBatchSpec.prefix(4, 8),
                        "v4-8",
                        1,
                        Map.of(),
                        "sample_decode",
                        "prefill",
                        "decode_step");

        assertThat(compiled.keySet()).containsExactly("sample_decode", "prefill", "decode_step");
    }

    @Test
    void compilerOptionsReachTheCompiler() {
        assertThatThrownBy(() -> new AotCompiler(plugins)
                        .compileInferencePrograms(
                                runner(), InputBatchSpec.prefix(4, 8), "v4-8", 1, Map.of("no_such_option", true)))
                .isInstanceOf(StatusException.class)
                .hasMessageContaining("no_such_option");
    }

    @Test
    void whatComesAsBytecodeIsLookedAtAsText() {
        byte[] bytecode = Module.parse("""
                func.func @main(%x: tensor<?xf32>) -> tensor<?xf32> {
                  return %x : tensor<?xf32>
                }""").toBytecode();
        AotCompiler.Lowered tiny = AotCompiler.lower(
                runner(), InputBatchSpec.prefix(4, 8), Topologies.resolve("v4-8"), AotCompiler.SAMPLE_DECODE);
        InferenceProgram program = new InferenceProgram(
                "main",
                Module.fromBytecode(bytecode),
                tiny.program().mesh(),
                ImmutableList.of(),
                ImmutableList.of(),
                0,
                ImmutableList.of());

        assertThatThrownBy(() -> new AotCompiler(plugins)
                        .compile(new AotCompiler.Lowered(program, tiny.topology(), tiny.form(), 0), Map.of()))
                .isInstanceOf(UsageException.BadArgument.class)
                .hasMessageContaining("tensor<?xf32>");
    }

    @Test
    void aWorkerGivesWhatThisProcessGives() {
        AotCompiler.Lowered lowered = AotCompiler.lower(
                runner(), InputBatchSpec.prefix(4, 8), Topologies.resolve("v4-8"), AotCompiler.SAMPLE_DECODE);
        Compiled here = new AotCompiler(plugins).compile(lowered, Map.of());
        Compiled there = new AotCompiler(plugins, AotCompiler.Isolation.WORKER).compile(lowered, Map.of());

        assertThat(there.memory()).isEqualTo(here.memory());
        assertThat(there.costs()).isEqualTo(here.costs());
        assertThat(there.executable().platform()).isEqualTo(here.executable().platform());
    }

    @Test
    void twoProcessesCompileAtOnce() {
        AotCompiler compiler = new AotCompiler(plugins, AotCompiler.Isolation.WORKER);
        AotCompiler.Lowered lowered = AotCompiler.lower(
                runner(), InputBatchSpec.prefix(4, 8), Topologies.resolve("v4-8"), AotCompiler.SAMPLE_DECODE);
        CompletableFuture<Compiled> first = CompletableFuture.supplyAsync(() -> compiler.compile(lowered, Map.of()));
        CompletableFuture<Compiled> second = CompletableFuture.supplyAsync(() -> compiler.compile(lowered, Map.of()));

        assertThat(first.join().memory()).isEqualTo(second.join().memory());
    }

    @Test
    void aStatusInAWorkerIsThatStatusHere() {
        CompileJob job = new CompileJob(
                new PluginSpec.Cpu(1),
                new int[] {0},
                CompilerOptions.NONE,
                "not a module".getBytes(StandardCharsets.UTF_8));

        assertThatThrownBy(() -> CompileWorker.run(plugins.locate(Platform.CPU), job))
                .isInstanceOf(StatusException.class);
    }

    @ParameterizedTest
    @EnumSource
    void whatNoCompilerIsAskedForIsRefusedAlikeWhereverCompilersRun(AotCompiler.Isolation isolation) {
        AotCompiler compiler = new AotCompiler(plugins, isolation);
        AotCompiler.Lowered lowered = AotCompiler.lower(
                runner(), InputBatchSpec.prefix(2, 8), Topologies.resolve("cpu"), AotCompiler.SAMPLE_DECODE);
        InferenceProgram dynamic = new InferenceProgram(
                "main",
                Module.parse("func.func @main(%x: tensor<?xf32>) -> tensor<?xf32> { return %x : tensor<?xf32> }"),
                lowered.program().mesh(),
                ImmutableList.of(),
                ImmutableList.of(),
                0,
                ImmutableList.of());

        assertThatThrownBy(() -> compiler.compile(
                        new AotCompiler.Lowered(dynamic, lowered.topology(), lowered.form(), 0), Map.of()))
                .isInstanceOf(UsageException.BadArgument.class);
        assertThatThrownBy(() -> compiler.compile(lowered, Map.of("xla_cpu_enable_fast_math", List.of(true))))
                .isInstanceOf(AotException.class)
                .hasMessageContaining("a string, a boolean or a number is expected");
    }

    @Test
    void aWorkerEndsWithWhoStartedIt() throws Exception {
        Process caller = new ProcessBuilder(
                        Path.of(System.getProperty("java.home"), "bin", "java").toString(),
                        "--enable-native-access=ALL-UNNAMED",
                        "-cp",
                        System.getProperty("java.class.path"),
                        Caller.class.getName())
                .redirectErrorStream(true)
                .redirectOutput(ProcessBuilder.Redirect.DISCARD)
                .start();
        Optional<ProcessHandle> found = Optional.empty();
        while (found.isEmpty()) {
            assertThat(caller.isAlive()).isTrue();
            Thread.sleep(10);
            found = caller.toHandle()
                    .descendants()
                    .filter(AotCompilerTest::isWorker)
                    .filter(AotCompilerTest::isCompiling)
                    .findAny();
        }
        ProcessHandle worker = found.get();
        Path folder = Path.of(List.of(worker.info().arguments().orElseThrow()).getLast());
        assertThat(folder.resolve("job")).exists();
        caller.destroyForcibly();

        worker.onExit().get(60, TimeUnit.SECONDS);
        assertThat(folder).doesNotExist();
    }

    /** Whether a worker has read its job, and loaded the plugin. */
    private static boolean isCompiling(ProcessHandle worker) {
        try {
            return Files.readString(Path.of("/proc", Long.toString(worker.pid()), "maps"))
                    .contains("libtpu");
        } catch (IOException e) {
            return false; // it ended
        }
    }

    /** Has a worker compile. */
    static final class Caller {
        public static void main(String[] arguments) {
            new AotCompiler(PluginLocator.ofUser(), AotCompiler.Isolation.WORKER)
                    .compileInferencePrograms(runner(), InputBatchSpec.prefix(4, 8), "v5p-8", 1);
        }
    }

    @ParameterizedTest
    @ValueSource(strings = {"cpu", "v5e-4"})
    void whatIsSuggestedAndThePluginDoesNotKnowIsLeftOut(String machine) {
        CompilerOptions unknown = new CompilerOptions(Map.of("xla_no_such_thing", 1L), Map.of());

        assertThat(known(machine, unknown)).isEqualTo(CompilerOptions.NONE);
    }

    @ParameterizedTest
    @ValueSource(strings = {"cpu", "v5e-4"})
    void whatACallerGivesAndThePluginDoesNotKnowIsRefused(String machine) {
        Map<String, Object> unknown = Map.of("xla_no_such_thing", 1L);

        assertThatThrownBy(() -> known(machine, new CompilerOptions(unknown, unknown)))
                .isInstanceOf(StatusException.InvalidArgument.class)
                .hasMessageContaining("xla_no_such_thing");
    }

    @ParameterizedTest
    @ValueSource(strings = {"cpu", "v5e-4"})
    void thePluginKnowsAllThatIsSuggested(String machine) {
        Topology topology = Topologies.resolve(machine);
        CompilerOptions suggested =
                CompilerOptions.of(topology.platform(), InferenceRunner.formFor(topology.chip()), Map.of());

        assertThat(known(machine, suggested)).isEqualTo(suggested);
    }

    /** Those options that a machine's compiler knows, by compiling in a worker. */
    private CompilerOptions known(String machine, CompilerOptions options) {
        AotCompiler.Lowered lowered = AotCompiler.lower(
                runner(), InputBatchSpec.prefix(4, 8), Topologies.resolve(machine), AotCompiler.SAMPLE_DECODE);
        CompileJob job = new CompileJob(
                lowered.topology().plugin(),
                lowered.program().mesh().deviceIds(),
                options,
                lowered.program().module().toString().getBytes(StandardCharsets.UTF_8));
        return CompileWorker.run(plugins.locate(lowered.topology().platform()), job)
                .options();
    }

    @Test
    void aCompilerThatDiesDoesNotTakeThisJvmWithIt() {
        AotCompiler.Lowered lowered = AotCompiler.lower(
                runner(), InputBatchSpec.prefix(4, 8), Topologies.resolve("v5p-8"), AotCompiler.SAMPLE_DECODE);
        CompletableFuture<Compiled> compiled = CompletableFuture.supplyAsync(
                () -> new AotCompiler(plugins, AotCompiler.Isolation.WORKER).compile(lowered, Map.of()));
        // As the kernel does to a process that takes too much memory.
        while (ProcessHandle.current()
                .descendants()
                .filter(AotCompilerTest::isWorker)
                .filter(ProcessHandle::destroyForcibly)
                .findAny()
                .isEmpty()) {
            assertThat(compiled).isNotDone();
            Thread.onSpinWait();
        }

        assertThatThrownBy(compiled::join)
                .hasCauseInstanceOf(CompilerCrashedException.class)
                .hasMessageContaining("code 137");
    }

    @Test
    void aMachineWithoutAPluginIsRefusedBeforeAnotherPluginCrashesOnIt() {
        assertThatThrownBy(() -> new AotCompiler(plugins)
                        .compileInferencePrograms(runner(), InputBatchSpec.prefix(8, 8), "mi300x-8", 1))
                .isInstanceOf(AotException.class)
                .hasMessageContaining("mi300x");
    }

    /** Java starts processes through a helper, which is not meant. */
    private static boolean isWorker(ProcessHandle process) {
        return process.info().commandLine().orElse("").contains(CompileWorker.class.getName());
    }
}
