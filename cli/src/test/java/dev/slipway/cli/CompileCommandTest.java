// SPDX-License-Identifier: Apache-2.0
package dev.slipway.cli;

import static org.assertj.core.api.Assertions.assertThat;

import dev.slipway.runtime.SerializedExecutable;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Locale;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import tools.jackson.databind.JsonNode;

/** {@code slipway compile} for machines that are not here. */
class CompileCommandTest {
    @TempDir
    Path folder;

    @ParameterizedTest
    @CsvSource({
        "v5e-16, 2, '--ici=1,16 --dcn=2,1', 32",
        "v4-8, 1, '', 4",
        "v5p-8, 1, '--shape=1,-1', 4",
        "v6e-8, 1, '--shape=2,4', 8",
        "7x-8, 1, '--shape=2,-1', 8"
    })
    void smolLm2CompilesForEveryGeneration(String target, int slices, String mesh, int devices) {
        String[] arguments = ("compile --model=smollm2-135m --json --target=" + target + " --slices=" + slices + " "
                        + mesh)
                .strip()
                .split(" +");
        Slipway run = Slipway.run(arguments);

        assertThat(run.code()).as(run.err()).isZero();
        JsonNode report = run.json();
        assertThat(report.get("method").asString()).isEqualTo("sample_decode");
        assertThat(report.get("devices").asInt()).isEqualTo(devices);
        assertThat(report.get("mesh").get("device_ids")).hasSize(devices);
        assertThat(report.get("memory").get("argument_bytes").asLong()).isGreaterThan(50_000_000);
        assertThat(report.get("cost").get("flops").asDouble()).isGreaterThan(1e8);
        assertThat(report.get("fit").get("fits").asBoolean()).isTrue();
    }

    @Test
    void whatDoesNotDivideIsLeftWholeAndSaidSo() {
        Slipway run = Slipway.run("compile", "--target=v5e-16", "--shape=1,16", "--json");

        assertThat(run.code()).as(run.err()).isZero();
        JsonNode report = run.json();
        assertThat(report.get("notes").toString())
                .contains("q/weight: dimension 1 of 9 does not divide by model=16, left whole")
                .contains("k/weight: dimension 1 of 3 does not divide by model=16, left whole");
        assertThat(partition(report, "params/layers/q/weight")).isEqualTo("P(None, None, None, None)");
        assertThat(partition(report, "params/layers/gate/weight")).isEqualTo("P(None, 'model', None)");
        assertThat(partition(report, "params/embedding/weight")).isEqualTo("P('model', None)");
    }

    @Test
    void theReportNamesTheCompilersOptionsOwnOnesOverThoseThatSuitThePlatform() {
        Slipway run = Slipway.run(
                "compile",
                "--target=v5e-4",
                "--json",
                "--option=xla_tpu_enable_async_collective_fusion=true",
                "--option=xla_jf_spmd_threshold_for_windowed_einsum_mib=64");

        assertThat(run.code()).as(run.err()).isZero();
        JsonNode options = run.json().get("compiler_options");
        assertThat(options.get("xla_tpu_enable_async_collective_fusion").asBoolean())
                .isTrue();
        assertThat(options.get("xla_jf_spmd_threshold_for_windowed_einsum_mib").asString())
                .isEqualTo("64");
        assertThat(options.get("xla_tpu_control_large_2nd_minor_layout_for_x16").asInt())
                .isZero();
    }

    @ParameterizedTest
    @CsvSource({
        "axlearn, '', f32, false",
        "axlearn-bf16-cache, '', f32, true",
        "axlearn-bf16, '', bf16, true",
        "axlearn-bf16, --dtype=F32, f32, false"
    })
    void aFolderOfAxlearnsSaysWhatItsProgramComputesIn(String name, String option, String weights, boolean bfloat16)
            throws IOException {
        Path module = folder.resolve("module.mlir");
        List<String> arguments = new ArrayList<>(List.of(
                "compile",
                "--model=src/test/resources/dev/slipway/cli/" + name,
                "--target=v5e-4",
                "--axlearn",
                "--lower-only",
                "--module=" + module));
        if (!option.isEmpty()) {
            arguments.add(option);
        }

        Slipway run = Slipway.run(arguments.toArray(String[]::new));

        assertThat(run.code()).as(run.err()).isZero();
        String text = Files.readString(module);
        assertThat(text).containsPattern("@main\\([^)]*?: tensor<[0-9x]+x" + weights + ">");
        assertThat(text.contains("xbf16>")).isEqualTo(bfloat16);
    }

    /** A matrix of 9 heads, a third of a million numbers, is read in a fifth of a microsecond. */
    @Test
    void smallMatricesWhoseHeadsDoNotDivideAreWholeOnGpusToo() {
        Slipway run = Slipway.run(
                "compile",
                "--target=h100-8",
                "--shape=1,8",
                "--lower-only",
                "--module=" + folder.resolve("smollm2.mlir"),
                "--json");

        assertThat(run.code()).as(run.err()).isZero();
        assertThat(partition(run.json(), "params/layers/q/weight")).isEqualTo("P(None, None, None, None)");
        assertThat(partition(run.json(), "params/layers/gate/weight")).isEqualTo("P(None, 'model', None)");
    }

    private static String partition(JsonNode report, String path) {
        return report.get("arguments").values().stream()
                .filter(argument -> argument.get("path").asString().equals(path))
                .findFirst()
                .orElseThrow()
                .get("partition")
                .asString();
    }

    @Test
    void aModelWithoutWeightsCompilesFromItsConfigAlone() {
        Slipway run = Slipway.run("compile", "--model=llama-3-8b", "--target=v5e-16", "--shape=1,16", "--json");

        assertThat(run.code()).as(run.err()).isZero();
        JsonNode memory = run.json().get("memory");
        assertThat(memory.get("argument_bytes").asLong())
                .as("8B bfloat16 parameters over 16 chips, those of 8 KV heads too")
                .isBetween(1_003_000_000L, 1_005_000_000L);
    }

    @Test
    void theExecutableIsWrittenWholeAndReadsBack() throws Exception {
        Path file = folder.resolve("smollm2.slipway");
        Slipway run = Slipway.run("compile", "--target=v4-8", "--out=" + file, "--json");

        assertThat(run.code()).as(run.err()).isZero();
        SerializedExecutable read = SerializedExecutable.of(Files.readAllBytes(file));
        assertThat(read.platform().name()).isEqualTo("tpu");
        assertThat(read.code()).hasSize(run.json().get("executable_bytes").asInt());
        assertThat(folder).isDirectoryNotContaining(path -> path.toString().endsWith(".part"));
    }

    @Test
    void aProgramThatDoesNotFitIsRefusedWithTheChipsLimit() {
        Slipway run = Slipway.run("compile", "--model=llama-3-8b", "--batch=128", "--target=v5e-1", "--json");

        assertThat(run.code()).isEqualTo(1);
        assertThat(run.json().get("error").get("type").asString()).isEqualTo("CompileTimeHbmOom");
        assertThat(run.err()).contains("15.75G");
    }

    @Test
    void severalMachinesAreComparedAlsoWhereTheProgramIsTooLargeForOne() throws Exception {
        String[] command = {
            "compile",
            "--model=llama-3-8b",
            "--batch=128",
            "--target=v5e-1,v5p-8",
            "--shape=1,-1",
            "--out=" + folder.resolve("llama")
        };
        Slipway json = Slipway.run(
                Stream.concat(Arrays.stream(command), Stream.of("--json")).toArray(String[]::new));

        assertThat(json.code()).as(json.err()).isZero();
        assertThat(json.json().get("v5e-1").get("error").get("type").asString()).isEqualTo("CompileTimeHbmOom");
        JsonNode fitting = json.json().get("v5p-8");
        assertThat(fitting.get("fit").get("fits").asBoolean()).isTrue();
        assertThat(SerializedExecutable.of(Files.readAllBytes(folder.resolve("llama.v5p-8")))
                        .code())
                .hasSize(fitting.get("executable_bytes").asInt());
        assertThat(folder.resolve("llama.v5e-1")).doesNotExist();

        Slipway table = Slipway.run(command);

        assertThat(table.code()).as(table.err()).isZero();
        assertThat(table.out().lines().filter(line -> line.startsWith("  v5")))
                .satisfiesExactly(
                        small -> assertThat(small).contains("16.0 GiB").contains("does not fit"),
                        large -> assertThat(large).contains("data=1 x model=4").contains(" fits "));
    }

    @Test
    void severalMachinesAndProgramsAreWrittenByTheNamesOfBoth() {
        Slipway run = Slipway.run(
                "compile",
                "--model=tiny-llama",
                "--target=v4-8,v5e-4",
                "--method=prefill:32,decode_step",
                "--lower-only",
                "--module=" + folder.resolve("tiny.mlir"));

        assertThat(run.code()).as(run.err()).isZero();
        assertThat(folder)
                .isDirectoryContaining("glob:**/tiny.mlir.v4-8.prefill:32")
                .isDirectoryContaining("glob:**/tiny.mlir.v4-8.decode_step")
                .isDirectoryContaining("glob:**/tiny.mlir.v5e-4.prefill:32")
                .isDirectoryContaining("glob:**/tiny.mlir.v5e-4.decode_step");
    }

    @ParameterizedTest(name = "{0}: {1} columns")
    @CsvSource({"--sample, 16", "--prefill-chunk=8, 8", "--prefill-chunk=64, 64"})
    void promptsAreReadAsManyColumnsAtATimeAsAskedForOrAsSuitTheChip(String option, int columns) throws Exception {
        Path file = folder.resolve("llama.mlir");
        Slipway run = Slipway.run(
                "compile",
                "--model=llama-3-8b",
                "--target=v5e-16",
                "--shape=1,16",
                option,
                "--lower-only",
                "--module=" + file);

        assertThat(run.code()).as(run.err()).isZero();
        assertThat(Files.readString(file)).contains("tensor<16x%dx4096xbf16>".formatted(columns));
    }

    @Test
    void whatIsLoweredAloneIsSaidInJsonUnderTheNamesOfWhatIsCompiled() throws Exception {
        Path file = folder.resolve("tiny.mlir");
        String[] command = {"compile", "--model=tiny-llama", "--target=v4-8", "--module=" + file, "--json"};
        JsonNode compiled = Slipway.run(command).json();
        Slipway run = Slipway.run(
                Stream.concat(Arrays.stream(command), Stream.of("--lower-only")).toArray(String[]::new));

        assertThat(run.code()).as(run.err()).isZero();
        JsonNode lowered = run.json();
        for (String name : List.of(
                "method",
                "model",
                "target",
                "slices",
                "devices",
                "device_kind",
                "mesh",
                "arguments",
                "results",
                "notes")) {
            assertThat(lowered.get(name)).as(name).isEqualTo(compiled.get(name));
        }
        assertThat(lowered.get("lower_ms").doubleValue()).isPositive();
        assertThat(lowered.get("print_ms").doubleValue()).isPositive();
        assertThat(lowered.get("module").stringValue()).isEqualTo(file.toString());
        assertThat(lowered.get("module_bytes").longValue()).isEqualTo(Files.size(file));
        JsonNode read =
                Slipway.run("module", file.toString(), "--stats", "--json").json();
        assertThat(lowered.get("operations")).isEqualTo(read.get(0).get("stats").get("operations"));
    }

    @Test
    void severalLoweredProgramsAreSaidByMachineAndMethod() {
        JsonNode lowered = Slipway.run(
                        "compile",
                        "--model=tiny-llama",
                        "--target=v4-8,v5e-4",
                        "--method=prefill,decode_step",
                        "--lower-only",
                        "--module=" + folder.resolve("tiny.mlir"),
                        "--json")
                .json();

        assertThat(lowered.propertyNames()).containsExactly("v4-8", "v5e-4");
        assertThat(lowered.get("v5e-4").propertyNames()).containsExactly("prefill", "decode_step");
        assertThat(lowered.get("v5e-4").get("decode_step").get("module").stringValue())
                .endsWith("tiny.mlir.v5e-4.decode_step");
    }

    @Test
    void loweringAloneNeedsNoPluginAndWritesTheModule() throws Exception {
        Path file = folder.resolve("llama.mlir");
        Slipway run = Slipway.run(
                "compile", "--model=llama-3-8b", "--target=v5e-16", "--shape=1,16", "--lower-only", "--module=" + file);

        assertThat(run.code()).as(run.err()).isZero();
        assertThat(Files.readString(file)).startsWith("module @sample_decode").contains("mhlo.num_partitions = 16");
    }

    @Test
    void whatWasLoweredIsATableForOneMachineAndForSeveral() throws Exception {
        Path file = folder.resolve("tiny.mlir");
        String[] command = {"compile", "--model=tiny-llama", "--lower-only"};
        JsonNode json = Slipway.run(and(command, "--target=v5e-16", "--json", "--module=" + file))
                .json();
        String operations =
                String.format(Locale.ROOT, "%,d", json.get("operations").intValue());
        String bytes = Figures.bytes(Files.size(file));

        Slipway one = Slipway.run(and(command, "--target=v5e-16"));
        Slipway written = Slipway.run(and(command, "--target=v5e-16", "--module=" + file));
        Slipway several = Slipway.run(and(command, "--target=v5e-16,v4-8"));

        assertThat(one.code()).as(one.err()).isZero();
        assertThat(one.out().lines().toList())
                .contains(
                        "  sample_decode of tiny-llama for v5e-16",
                        "  devices     16 x TPU v5 lite",
                        "  mesh        data=16 x model=1",
                        "  operations  " + operations,
                        "  module      " + bytes)
                .anyMatch(line -> line.matches("  lower       [0-9.]+ ms, text [0-9.]+ ms"));
        assertThat(written.out()).contains("  module      " + bytes + ", in " + file);
        assertThat(several.out().lines().filter(line -> line.startsWith("  v")))
                .satisfiesExactly(
                        v5e -> assertThat(v5e).contains("v5e-16", "data=16 x model=1", operations, bytes),
                        v4 -> assertThat(v4).contains("v4-8", "data=4 x model=1", " ms"));
    }

    @Test
    void aModuleThatIsNotWrittenHasNoFileInTheDocument() {
        JsonNode report = Slipway.run("compile", "--model=tiny-llama", "--target=v5e-4", "--lower-only", "--json")
                .json();

        assertThat(report.get("module").isNull()).isTrue();
        assertThat(report.get("module_bytes").longValue()).isGreaterThan(10_000);
    }

    @Test
    void aMeshThatOneMachineCannotHaveIsItsRowAndTheOthersGoOn() {
        String[] command = {
            "compile", "--model=tiny-llama", "--target=v4-8,v5e-16", "--shape=1,16", "--lower-only", "--method=prefill"
        };
        Slipway table = Slipway.run(command);
        Slipway json = Slipway.run(and(command, "--json"));

        assertThat(table.code()).isOne();
        assertThat(table.out().lines().filter(line -> line.startsWith("  v")))
                .satisfiesExactly(
                        v4 -> assertThat(v4).contains("failed"),
                        v5e -> assertThat(v5e).contains("data=1 x model=16").doesNotContain("failed"));
        assertThat(table.out()).containsPattern("note v4-8: .*16.*4");
        assertThat(table.err()).contains("slipway: 1 of 2 programs failed").doesNotContain("\tat ");
        assertThat(json.code()).isOne();
        assertThat(json.json().get("v4-8").get("error").get("type").stringValue())
                .isEqualTo("MeshShapeException");
        assertThat(json.json().get("v5e-16").get("devices").intValue()).isEqualTo(16);
    }

    @Test
    void aMachineThatNoPluginCompilesForIsItsRowAndTheOthersAreCompiled() throws Exception {
        Path out = folder.resolve("tiny");
        String[] command = {"compile", "--model=tiny-llama", "--target=mi300x-8,v5e-4", "--out=" + out};
        Slipway table = Slipway.run(command);
        Slipway json = Slipway.run(and(command, "--json"));

        assertThat(table.code()).isOne();
        assertThat(table.out().lines().filter(line -> line.contains("data=") || line.contains("failed")))
                .satisfiesExactly(
                        mi -> assertThat(mi).contains("mi300x-8", "failed"),
                        v5e -> assertThat(v5e).contains("v5e-4", "data=4 x model=1", " fits "));
        assertThat(table.out()).contains("note mi300x-8: there is no plugin that compiles for mi300x-8");
        assertThat(json.code()).isOne();
        assertThat(json.json().get("mi300x-8").get("error").get("type").stringValue())
                .isEqualTo("AotException");
        assertThat(json.json().get("v5e-4").get("fit").get("fits").booleanValue())
                .isTrue();
        assertThat(SerializedExecutable.of(Files.readAllBytes(folder.resolve("tiny.v5e-4")))
                        .code())
                .isNotEmpty();
    }

    @ParameterizedTest
    @CsvSource(
            delimiter = '|',
            value = {
                "--method=sample_decode,samples | \"samples\"",
                "--max-length=100000 | 100000",
                "--target=v5e-4,v5e-17 | v5e-17"
            })
    void whatIsWrongForEveryMachineIsSaidBeforeAnyIsCompiledFor(String option, String said) {
        Slipway run = Slipway.run("compile", "--model=tiny-llama", "--json", "--target=v5e-4,v4-8", option);

        assertThat(run.code()).isOne();
        assertThat(run.json().get("error").get("message").stringValue()).contains(said);
        assertThat(run.err()).doesNotContain("compiling");
    }

    private static String[] and(String[] command, String... more) {
        return Stream.concat(Arrays.stream(command), Arrays.stream(more)).toArray(String[]::new);
    }
}
