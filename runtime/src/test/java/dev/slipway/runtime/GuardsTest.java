// SPDX-License-Identifier: Apache-2.0
package dev.slipway.runtime;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.util.Arrays;
import java.util.List;
import java.util.Map;
import java.util.stream.Stream;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.Arguments;
import org.junit.jupiter.params.provider.MethodSource;

/**
 * What is refused in Java because a plugin answers it with an abort, a wild read or a silent wrong answer. Each row was tried
 * against the three CPU plugins without the guard.
 */
class GuardsTest {

    private static final TensorType VECTOR = TensorType.of(ElementType.F32, 4);
    private static final String TOKEN = """
            func.func @main() -> !stablehlo.token {
              %t = stablehlo.create_token : !stablehlo.token
              return %t : !stablehlo.token
            }
            """;
    private static Client client;
    private static Client other;

    @FunctionalInterface
    interface Wrong {
        void call() throws Exception;
    }

    @BeforeAll
    static void open() {
        client = TestPlugins.cpu().client(Map.of("cpu_device_count", NamedValue.of(2)));
        other = TestPlugins.cpu().client(Map.of("cpu_device_count", NamedValue.of(1)));
    }

    @AfterAll
    static void close() {
        client.close();
        other.close();
    }

    private static Memory memory() {
        return client.device(0).defaultMemory();
    }

    private static Buffer vector() {
        return client.put(MemorySegment.ofArray(new float[4]), VECTOR, client.device(0));
    }

    private static LoadedExecutable program() {
        return client.compile(Program.stablehlo(TestPlugins.DOUBLE), CompileOptions.defaults());
    }

    /** Ifs within each other, around a sine. */
    private static String ifs(int depth) {
        String inner = "%y = stablehlo.sine %x : tensor<f32>";
        for (int i = 0; i < depth; i++) {
            inner = """
                    %y = "stablehlo.if"(%p) ({
                      INNER
                      stablehlo.return %y : tensor<f32>
                    }, { stablehlo.return %x : tensor<f32> }) : (tensor<i1>) -> tensor<f32>
                    """.replace("INNER", inner);
        }
        return """
                func.func @main(%p: tensor<i1>, %x: tensor<f32>) -> tensor<f32> {
                  INNER
                  return %y : tensor<f32>
                }
                """.replace("INNER", inner);
    }

    private static void called(String call, String operands) {
        Program.stablehlo("""
                func.func @main(%x: tensor<4xf32>) -> tensor<4xf32> {
                  %y = stablehlo.custom_call CALL : (OPERANDS) -> tensor<4xf32>
                  return %y : tensor<4xf32>
                }
                """.replace("CALL", call).replace("OPERANDS", operands));
    }

    private static Arguments row(String what, Class<? extends UsageException> refusal, Wrong wrong) {
        return Arguments.of(what, refusal, wrong);
    }

    static Stream<Arguments> table() {
        Class<UsageException.BadArgument> bad = UsageException.BadArgument.class;
        Class<UsageException.Foreign> foreign = UsageException.Foreign.class;
        Class<UsageException.Closed> closed = UsageException.Closed.class;
        Class<UsageException.Unsupported> unsupported = UsageException.Unsupported.class;
        return Stream.of(
                row("an element type that does not exist", bad, () -> ElementType.of(0)),
                row("an element type beyond the table", bad, () -> ElementType.of(99)),
                row("an element type that the plugin is too old for", unsupported, () -> {
                    try (Client old = TestPlugins.load(PluginName.CPU_0_81).client()) {
                        old.put(
                                MemorySegment.ofArray(new byte[4]),
                                TensorType.of(ElementType.F6E2M3FN, 4),
                                old.device(0));
                    }
                }),
                row("a negative dimension", bad, () -> TensorType.of(ElementType.F32, 4, -1)),
                row(
                        "a size beyond 63 bits",
                        bad,
                        () -> client.uninitialized(TensorType.of(ElementType.F32, 1L << 31, 1L << 31), memory())),
                row(
                        "a size beyond what can be made",
                        bad,
                        () -> client.uninitialized(TensorType.of(ElementType.F32, 1L << 58), memory())),
                row(
                        "an unbounded dynamic dimension",
                        bad,
                        () -> Program.stablehlo("func.func @main(%x: tensor<4x?xf32>)")),
                row("an empty program", bad, () -> Program.stablehlo(" \n")),
                row(
                        "more partitions than devices",
                        bad,
                        () -> client.compile(
                                Program.stablehlo(TestPlugins.DOUBLE), CompileOptions.of(o -> o.numPartitions(3)))),
                row(
                        "more replicas and partitions than 32 bits count",
                        bad,
                        () -> CompileOptions.of(o -> o.numReplicas(65536).numPartitions(65536))),
                row(
                        "a portable program of two partitions",
                        bad,
                        () -> CompileOptions.of(o -> o.portable(true).numPartitions(2))),
                row(
                        "code generation in a negative number of parts",
                        bad,
                        () -> CompileOptions.of(o -> o.compilerOption("xla_cpu_parallel_codegen_split_count", "-3"))),
                row(
                        "a sharding in a negative number of parts",
                        bad,
                        () -> Program.stablehlo(
                                "func.func @main(%x: tensor<4xf32> {mhlo.sharding = \"{devices=[-2]0,1}\"}) { return }")),
                row(
                        "an argument of the program that is manual",
                        bad,
                        () -> Program.stablehlo(
                                "func.func @main(%x: tensor<4xf32> {mhlo.sharding = \"{manual}\"}) { return }")),
                row(
                        "a layout that names dimensions which are not there",
                        bad,
                        () -> Program.stablehlo(
                                "func.func @main(%x: tensor<4x8xf32> {mhlo.layout_mode = \"{5,7}\"}) { return }")),
                row(
                        "a layout with a dimension twice",
                        bad,
                        () -> Program.stablehlo(
                                "func.func @main(%x: tensor<4x8xf32> {mhlo.layout_mode = \"{0,0:T(8,128)}\"}) { return }")),
                row("an argument that is computed on the host", bad, () -> Program.stablehlo("""
                        func.func @main(%x: tensor<4xf32> {mhlo.frontend_attributes = {_xla_compute_type = "host"}}) { return }
                        """)),
                row("a program that waits to be fed", bad, () -> {
                    String infeed = """
                            func.func @main() -> tensor<4xf32> {
                              %t = stablehlo.create_token : !stablehlo.token
                              %r:2 = "stablehlo.infeed"(%t) : (!stablehlo.token) -> (tensor<4xf32>, !stablehlo.token)
                              return %r#0 : tensor<4xf32>
                            }
                            """;
                    try (LoadedExecutable fed = client.compile(Program.stablehlo(infeed), CompileOptions.defaults())) {
                        fed.execute();
                    }
                }),
                row("a program that waits for its array to be taken", bad, () -> {
                    String outfeed = """
                            func.func @main(%x: tensor<4xf32>) -> tensor<4xf32> {
                              %t = stablehlo.create_token : !stablehlo.token
                              %r = "stablehlo.outfeed"(%x, %t) : (tensor<4xf32>, !stablehlo.token) -> !stablehlo.token
                              return %x : tensor<4xf32>
                            }
                            """;
                    try (LoadedExecutable fed = client.compile(Program.stablehlo(outfeed), CompileOptions.defaults());
                            Dispatch dispatch = fed.dispatch(1)) {
                        dispatch.run();
                    }
                }),
                row("the largest values without their places", bad, () -> called("@TopK(%x)", "tensor<4xf32>")),
                row("the same in the generic form", bad, () -> Program.stablehlo("""
                        func.func @main(%x: tensor<4xf32>) -> tensor<4xf32> {
                          %y = "stablehlo.custom_call"(%x) <{call_target_name = "TopK"}> : (tensor<4xf32>) -> tensor<4xf32>
                          return %y : tensor<4xf32>
                        }
                        """)),
                row("a sharding of nothing", bad, () -> called("@Sharding()", "")),
                row("a dynamic slice without sizes", bad, () -> called("@SliceToDynamic(%x)", "tensor<4xf32>")),
                row(
                        "a sharding of Shardy's without its attributes",
                        bad,
                        () -> called("@xla.sdy.FuncResultSharding(%x)", "tensor<4xf32>")),
                row("a token that is an array", bad, () -> called("@NopReturnToken(%x)", "tensor<4xf32>")),
                row(
                        "a partial reduction without its settings",
                        bad,
                        () -> called("@PartialReduce(%x)", "tensor<4xf32>")),
                row(
                        "reflectors without their factors",
                        bad,
                        () -> called("@ProductOfElementaryHouseholderReflectors(%x)", "tensor<4xf32>")),
                row(
                        "an array of 2,000 dimensions",
                        bad,
                        () -> Program.stablehlo(
                                "func.func @main(%x: tensor<" + "1x".repeat(2000) + "f32>) { return }")),
                row("a prepared run of too few arguments", bad, () -> {
                    try (LoadedExecutable program = program()) {
                        program.dispatch(0).close();
                    }
                }),
                row("a slice of no chips", bad, () -> TestPlugins.tpu().topology("v5e:0x0", Map.of())),
                row("a slice of too many chips", bad, () -> TestPlugins.tpu().topology("v5e:100000x100000", Map.of())),
                row(
                        "a slice with bounds beyond 63 bits",
                        bad,
                        () -> TestPlugins.tpu().topology("v5e:99999999999999999999x4", Map.of())),
                row(
                        "too many slices",
                        bad,
                        () -> TestPlugins.tpu().topology("v5e:4x4", Map.of("num_slices", NamedValue.of(1L << 31)))),
                row(
                        "no slices",
                        bad,
                        () -> TestPlugins.tpu().topology("v5e:4x4", Map.of("num_slices", NamedValue.of(0)))),
                row("too many slices of a machine that is described", bad, () -> {
                    try (PluginTopology slice = TestPlugins.tpu().topology("v5e:4x4", Map.of())) {
                        slice.multiSlice(Integer.MAX_VALUE).close();
                    }
                }),
                row("no replicas", bad, () -> CompileOptions.of(o -> o.numReplicas(0))),
                row(
                        "a device assignment of the wrong length",
                        bad,
                        () -> CompileOptions.of(o -> o.numPartitions(2).deviceAssignment(0))),
                row(
                        "a device assignment with a device twice",
                        bad,
                        () -> CompileOptions.of(o -> o.numPartitions(2).deviceAssignment(1, 1))),
                row("a default assignment of nothing", bad, () -> client.defaultDeviceAssignment(0, 1)),
                row("a default assignment of too much", bad, () -> client.defaultDeviceAssignment(2, 2)),
                row(
                        "a negative number of CPU devices",
                        bad,
                        () -> TestPlugins.cpu().client(Map.of("cpu_device_count", NamedValue.of(-3)))),
                row(
                        "fewer bytes than the type takes",
                        bad,
                        () -> client.put(MemorySegment.ofArray(new float[3]), VECTOR, client.device(0))),
                row("strides that lead out of 63 bits", bad, () -> {
                    TensorType matrix = TensorType.of(ElementType.F32, 3, 2);
                    client.put(MemorySegment.ofArray(new float[6]), matrix, memory(), new long[] {1L << 62, 4});
                }),
                row(
                        "a mesh with an axis of no devices",
                        bad,
                        () -> new ShardedArrays.Sharding(List.of(0, 2), List.of(List.of(0), List.of(1)))),
                row(
                        "heap memory without a copy",
                        bad,
                        () -> client.put(
                                MemorySegment.ofArray(new float[4]), VECTOR, memory(), Client.HostSemantics.ZERO_COPY)),
                row(
                        "a token from the host",
                        bad,
                        () -> client.put(
                                MemorySegment.ofArray(new byte[0]),
                                TensorType.of(ElementType.TOKEN),
                                client.device(0))),
                row("a token to the host", bad, () -> {
                    try (LoadedExecutable token = client.compile(Program.stablehlo(TOKEN), CompileOptions.defaults());
                            Buffer result = token.execute().getFirst()) {
                        result.toHost(MemorySegment.ofArray(new byte[8]));
                    }
                }),
                row("a token to the host by a prepared run", bad, () -> {
                    try (LoadedExecutable token = client.compile(Program.stablehlo(TOKEN), CompileOptions.defaults());
                            Dispatch dispatch = token.dispatch(0);
                            Arena arena = Arena.ofConfined()) {
                        dispatch.run();
                        dispatch.toHost(0, 0, arena.allocate(8));
                    }
                }),
                row("a destination that is too short", bad, () -> {
                    try (Buffer buffer = vector()) {
                        buffer.toHost(MemorySegment.ofArray(new float[3]));
                    }
                }),
                row("a destination that is read-only", bad, () -> {
                    try (Buffer buffer = vector();
                            Arena arena = Arena.ofConfined()) {
                        buffer.toHost(arena.allocate(16).asReadOnly());
                    }
                }),
                row("an asynchronous copy to the heap", bad, () -> {
                    try (Buffer buffer = vector()) {
                        buffer.toHostAsync(MemorySegment.ofArray(new float[4])).join();
                    }
                }),
                row("raw bytes beyond the buffer", bad, () -> {
                    try (Buffer buffer = vector();
                            Arena arena = Arena.ofConfined()) {
                        buffer.copyRawToHost(arena.allocate(16), 8).join();
                    }
                }),
                row("a view of memory that is not aligned", bad, () -> {
                    try (Arena arena = Arena.ofConfined()) {
                        client.viewOf(arena.allocate(128, 64).asSlice(4), VECTOR, client.device(0));
                    }
                }),
                row("a piece beyond the array of a transfer", bad, () -> {
                    try (HostTransfer transfer = client.transfer(List.of(VECTOR), memory());
                            Arena arena = Arena.ofConfined()) {
                        transfer.send(0, arena.allocate(16), 8, true).join();
                    }
                }),
                row("an array that a transfer does not have", bad, () -> {
                    try (HostTransfer transfer = client.transfer(List.of(VECTOR), memory())) {
                        transfer.bytes(1);
                    }
                }),
                row("a transfer's buffer taken twice", closed, () -> {
                    try (HostTransfer transfer = client.transfer(List.of(VECTOR), memory());
                            Buffer _ = transfer.buffer(0)) {
                        transfer.buffer(0);
                    }
                }),
                row("a transfer of nothing", bad, () -> client.transfer(List.of(), memory())),
                row("a status code that is none", bad, () -> client.failed(VECTOR, memory(), 0, "fine")),
                row("arguments for too few devices", bad, () -> {
                    try (LoadedExecutable program = program()) {
                        program.execute(List.of(), ExecuteOptions.defaults());
                    }
                }),
                row("arguments for too many devices", bad, () -> {
                    try (LoadedExecutable program = program();
                            Buffer x = vector()) {
                        program.execute(List.of(List.of(x), List.of(x)), ExecuteOptions.defaults());
                    }
                }),
                row("too many arguments", bad, () -> {
                    try (LoadedExecutable program = program();
                            Buffer x = vector()) {
                        program.execute(x, x);
                    }
                }),
                row("no arguments", bad, () -> {
                    try (LoadedExecutable program = program()) {
                        program.execute();
                    }
                }),
                row("an argument of another element type", bad, () -> {
                    try (LoadedExecutable program = program();
                            Buffer x = client.put(
                                    MemorySegment.ofArray(new int[4]),
                                    TensorType.of(ElementType.S32, 4),
                                    client.device(0))) {
                        program.execute(x);
                    }
                }),
                row("an argument of other dimensions", bad, () -> {
                    try (LoadedExecutable program = program();
                            Buffer x = client.put(
                                    MemorySegment.ofArray(new float[4]),
                                    TensorType.of(ElementType.F32, 2, 2),
                                    client.device(0))) {
                        program.execute(x);
                    }
                }),
                row("a result fed to a parameter of another type", bad, () -> {
                    String sum = """
                            func.func @main(%x: tensor<4xf32>) -> tensor<2xf32> {
                              %y = stablehlo.slice %x [0:2] : (tensor<4xf32>) -> tensor<2xf32>
                              return %y : tensor<2xf32>
                            }
                            """;
                    try (LoadedExecutable slice = client.compile(Program.stablehlo(sum), CompileOptions.defaults());
                            Dispatch dispatch = slice.dispatch(1)) {
                        dispatch.feed(0, 0);
                    }
                }),
                row("an entry without a body", bad, () -> Program.stablehlo("func.func private @main()")),
                row("a custom call of a batch without layouts", bad, () -> Program.stablehlo("""
                        func.func @main(%x: tensor<8x4xf32>) -> tensor<8x4xf32> {
                          %y = stablehlo.custom_call @rows(%x) {
                            api_version = 4 : i32, mhlo.frontend_attributes = {num_batch_dims = "1"}
                          } : (tensor<8x4xf32>) -> tensor<8x4xf32>
                          return %y : tensor<8x4xf32>
                        }
                        """)),
                row("ifs within each other, 100 deep", bad, () -> Program.stablehlo(ifs(100))),
                row(
                        "a tuple of a tuple, 500 deep",
                        bad,
                        () -> Program.stablehlo("func.func @main(%x: " + "tuple<".repeat(500) + "tensor<f32>"
                                + ">".repeat(500) + ") { return }")),
                row(
                        "locations within each other, 5,000 deep",
                        bad,
                        () -> Program.stablehlo("func.func @main() { return } loc(" + "callsite(\"a\" at ".repeat(5000)
                                + "\"b\"" + ")".repeat(5001))),
                row("a function that calls itself", bad, () -> Program.stablehlo("""
                        func.func @main(%x: tensor<f32>) -> tensor<f32> {
                          %y = func.call @again(%x) : (tensor<f32>) -> tensor<f32>
                          return %y : tensor<f32>
                        }
                        func.func private @again(%x: tensor<f32>) -> tensor<f32> {
                          %y = func.call @main(%x) : (tensor<f32>) -> tensor<f32>
                          return %y : tensor<f32>
                        }
                        """)),
                row("a result that no device holds", bad, () -> {
                    String iota = """
                            func.func @main() -> tensor<1099511627776xf32> {
                              %y = stablehlo.iota dim = 0 : tensor<1099511627776xf32>
                              return %y : tensor<1099511627776xf32>
                            }
                            """;
                    try (LoadedExecutable huge = client.compile(Program.stablehlo(iota), CompileOptions.defaults())) {
                        huge.execute();
                    }
                }),
                row(
                        "a token without a program",
                        bad,
                        () -> client.uninitialized(TensorType.of(ElementType.TOKEN), memory())),
                row("the layout of a token", bad, () -> client.defaultLayout(TensorType.of(ElementType.TOKEN))),
                row("an array given up twice", closed, () -> {
                    try (HostTransfer transfer = client.transfer(List.of(VECTOR), memory())) {
                        transfer.fail(0, 13, "first");
                        transfer.fail(0, 13, "second");
                    }
                }),
                row("an array given up after its last piece", closed, () -> {
                    try (HostTransfer transfer = client.transfer(List.of(VECTOR), memory());
                            Arena arena = Arena.ofShared()) {
                        transfer.send(0, arena.allocate(16, 64), 0, true).join();
                        transfer.fail(0, 13, "late");
                    }
                }),
                row("a piece after the last", closed, () -> {
                    try (HostTransfer transfer = client.transfer(List.of(VECTOR), memory());
                            Arena arena = Arena.ofShared()) {
                        transfer.send(0, arena.allocate(16, 64), 0, true).join();
                        transfer.send(0, arena.allocate(16, 64), 0, true).join();
                    }
                }),
                row("an argument of a prepared run that is closed", closed, () -> {
                    try (LoadedExecutable program = program();
                            Buffer x = vector()) {
                        Dispatch dispatch = program.dispatch(1);
                        dispatch.close();
                        dispatch.argument(0, 0, x);
                    }
                }),
                row("the mark of other work closed twice", closed, () -> {
                    AutoCloseable mark = client.device(0).track("work");
                    mark.close();
                    mark.close();
                }),
                row("a view closed twice", closed, () -> {
                    try (Buffer buffer = vector()) {
                        Buffer.View view = buffer.view();
                        view.close();
                        view.close();
                    }
                }),
                row("a run of a portable program on no device", bad, () -> {
                    try (LoadedExecutable portable = client.compile(
                            Program.stablehlo(TestPlugins.DOUBLE), CompileOptions.of(o -> o.portable(true)))) {
                        portable.execute(List.of(), ExecuteOptions.defaults());
                    }
                }),
                row(
                        "a number of CPU devices that is no number",
                        bad,
                        () -> TestPlugins.cpu().client(Map.of("cpu_device_count", NamedValue.of("two")))),
                row("an array of fixed size for a parameter of dynamic size", bad, () -> {
                    String dynamic = """
                            func.func @main(%x: tensor<?xf32, #stablehlo.bounds<4>>) -> tensor<?xf32, #stablehlo.bounds<4>> {
                              return %x : tensor<?xf32, #stablehlo.bounds<4>>
                            }
                            """;
                    try (LoadedExecutable same = client.compile(Program.stablehlo(dynamic), CompileOptions.defaults());
                            Buffer x = vector()) {
                        same.execute(x);
                    }
                }),
                row(
                        "a layout of another rank",
                        bad,
                        () -> client.put(MemorySegment.ofArray(new float[4]), VECTOR, memory(), Layout.of(1, 0))),
                row("a negative parameter kept from donation", bad, () -> ExecuteOptions.of(o -> o.nonDonatable(-1))),
                row("a buffer of another client", foreign, () -> {
                    try (LoadedExecutable program = program();
                            Buffer x = other.put(MemorySegment.ofArray(new float[4]), VECTOR, other.device(0))) {
                        program.execute(x);
                    }
                }),
                row(
                        "a memory of another client",
                        foreign,
                        () -> client.put(
                                MemorySegment.ofArray(new float[4]),
                                VECTOR,
                                other.device(0).defaultMemory(),
                                Client.HostSemantics.COPY)),
                row("a copy to another client's device", foreign, () -> {
                    try (Buffer buffer = vector()) {
                        buffer.copyTo(other.device(0));
                    }
                }),
                row("a device that is not there", bad, () -> client.device(17)),
                row("a closed buffer", closed, () -> {
                    Buffer buffer = vector();
                    buffer.close();
                    buffer.await();
                }),
                row("a closed buffer as an argument", closed, () -> {
                    try (LoadedExecutable program = program()) {
                        Buffer buffer = vector();
                        buffer.close();
                        program.execute(buffer);
                    }
                }),
                row("a closed executable", closed, () -> {
                    LoadedExecutable program = program();
                    program.close();
                    program.isDeleted();
                }),
                row("a closed client", closed, () -> {
                    Client gone = TestPlugins.cpu().client();
                    gone.close();
                    gone.processIndex();
                }),
                row("closing twice", closed, () -> {
                    Buffer buffer = vector();
                    buffer.close();
                    buffer.close();
                }),
                row("bytes that are no serialized executable", bad, () -> SerializedExecutable.of(new byte[100])),
                row("a serialized executable that was cut", bad, () -> {
                    try (LoadedExecutable program = program()) {
                        byte[] bytes = program.executable().serialize().toBytes();
                        SerializedExecutable.of(Arrays.copyOf(bytes, bytes.length - 1));
                    }
                }),
                row(
                        "an executable of another platform",
                        foreign,
                        () -> client.load(new SerializedExecutable(new Platform("cuda", "13"), new byte[16]))),
                row("an environment variable with an equals sign", bad, () -> Environment.set("A=B", "c")));
    }

    @Test
    void nestingAsDeepAsIsTakenCompiles() {
        client.compile(Program.stablehlo(ifs(62)), CompileOptions.defaults()).close();
    }

    @Test
    void bracketsInStringsCommentsAndArrowsAreNoNesting() {
        String text = TestPlugins.DOUBLE
                + "// ((({{{<<<".repeat(100)
                + "\nmodule @more attributes {a.b = \"" + "{\\\"<".repeat(100) + "\"} {}";
        assertThat(Program.stablehlo(text).text()).isEqualTo(text);
    }

    @ParameterizedTest(name = "{0}")
    @MethodSource("table")
    void isRefusedInJava(String what, Class<? extends UsageException> refusal, Wrong wrong) {
        assertThatThrownBy(wrong::call).isExactlyInstanceOf(refusal).message().isNotBlank();
    }
}
