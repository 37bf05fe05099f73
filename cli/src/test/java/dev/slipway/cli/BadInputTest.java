// SPDX-License-Identifier: Apache-2.0
package dev.slipway.cli;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.slipway.runtime.PipPackage;
import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.io.PrintStream;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Arrays;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;
import tools.jackson.databind.JsonNode;

/** What a user gets for what cannot be done: one clear line, exit code 1, or 2 for bad usage; never a trace. */
class BadInputTest {
    @TempDir
    Path folder;

    private static void refused(int code, String part, String... arguments) {
        Slipway run = Slipway.run(arguments);
        assertThat(run.code()).as(run.err()).isEqualTo(code);
        assertThat(run.err()).contains(part).doesNotContain("\tat ").doesNotContain("a fault of slipway's own");
        String said = Arrays.stream(run.err().split("\n"))
                .filter(line -> line.startsWith("slipway: "))
                .findFirst()
                .orElseThrow();
        assertThat(said).contains(part);
    }

    @Test
    void anUnknownMachineGetsItsNearestNames() {
        refused(1, "v5e-16", "compile", "--target=v5e-17");
    }

    @Test
    void anUnknownModelGetsTheNamesThatThereAre() {
        refused(1, "smollm2-135m", "compile", "--model=smolm", "--target=v5e-16");
    }

    @Test
    void aShapeThatDoesNotDivideNamesAxisAndCount() {
        refused(1, "16", "compile", "--target=v5e-16", "--shape=3,-1");
    }

    @Test
    void aModelFileCutInHalfIsNamed() throws Exception {
        byte[] whole;
        try (PluginsOnDemand packages = new PluginsOnDemand(new Output())) {
            whole = Files.readAllBytes(packages.file(PipPackage.SMOLLM2, "SmolLM2"));
        }
        Path half = folder.resolve("half.gguf");
        Files.write(half, Arrays.copyOf(whole, whole.length / 2));

        refused(1, "half.gguf", "generate", "--model=" + half, "--prompt=x");
    }

    @Test
    void aFileThatIsNoModelIsNamed() throws Exception {
        Path file = Files.writeString(folder.resolve("notes.txt"), "not a model");

        refused(1, "notes.txt", "generate", "--model=" + file, "--prompt=x");
    }

    @Test
    void aPrefixWiderThanTheMaximumLengthIsRefused() {
        refused(1, "wide", "compile", "--target=v4-8", "--prefix=64", "--max-length=32");
    }

    @Test
    void aPrefixThatIsNoMultipleOfItsChunkIsRefused() {
        refused(1, "64 wide cannot be read 7 columns at a time", "compile", "--prefill-chunk=7");
        refused(2, "--prefill-chunk 0: at least 1", "compile", "--prefill-chunk=0");
    }

    @Test
    void aLengthBeyondTheModelsPositionsIsRefused() {
        refused(1, "8192 positions", "compile", "--target=v4-8", "--max-length=100000");
    }

    @Test
    void anUnknownMethodGetsTheOnesThatThereAre() {
        refused(1, "sample_decode", "compile", "--target=v4-8", "--method=samples");
    }

    @Test
    void aTokenOutsideTheVocabularyIsRefused() {
        refused(1, "49151", "generate", "--ids=1,99999999");
    }

    @Test
    void aMachineThatIsNotHereDoesNotRun() {
        refused(1, "is not here", "generate", "--prompt=x", "--target=v5e-16");
    }

    @Test
    void halfAHybridMeshIsBadUsage() {
        refused(2, "--dcn", "compile", "--target=v5e-16", "--ici=1,16");
    }

    @Test
    void aMissingPromptIsBadUsage() {
        refused(2, "--prompt", "generate");
    }

    @Test
    void anUnknownCompilerOptionIsNamed() {
        refused(
                1,
                "the plugin has no compiler option xla_no_such_option; check its spelling",
                "compile",
                "--target=v4-8",
                "--option=xla_no_such_option=1");
    }

    @Test
    void aCompilerOptionsValueThatIsOfAnotherTypeIsNamed() {
        refused(
                1,
                "compiler option xla_tpu_enable_async_collective_fusion has the value maybe",
                "compile",
                "--target=v4-8",
                "--option=xla_tpu_enable_async_collective_fusion=maybe");
    }

    @Test
    void anOptionThatACompilerAbortsOnDoesNotEndThisJvm() {
        refused(
                1,
                "compile without the options that you gave",
                "compile",
                "--target=v4-8",
                "--model=tiny-llama",
                "--option=xla_tpu_scoped_vmem_limit_kib=-5");
    }

    @Test
    void aBatchOfNothingIsBadUsage() {
        refused(2, "--batch", "compile", "--target=v4-8", "--batch=-3");
    }

    @Test
    void aFileInAFolderThatIsNotThereIsRefusedBeforeTheWork() {
        Path missing = folder.resolve("missing");
        refused(1, missing.toString(), "compile", "--target=v4-8", "--out=" + missing.resolve("x"));
    }

    @Test
    void aFileThatCannotBeWrittenIsNamedWithTheRemedy() {
        refused(
                1,
                "cannot write " + folder + ": it is a folder; name a file in it",
                "compile",
                "--lower-only",
                "--module=" + folder);
        refused(1, "its name is empty", "compile", "--lower-only", "--module=");
        Path missing = folder.resolve("missing");
        refused(1, "there is no folder " + missing, "mesh", "v5e-16", "--svg=" + missing.resolve("x.svg"));
    }

    @Test
    void aFullDiskIsSaid() {
        refused(1, "cannot write /dev/full", "mesh", "v5e-16", "--svg=/dev/full");
    }

    @Test
    void aWrittenFileIsReadableAsOthersAreAndNothingStandsBesideIt() throws Exception {
        Path plain = Files.createFile(folder.resolve("plain"));
        Path svg = folder.resolve("mesh.svg");

        assertThat(Slipway.run("mesh", "v5e-16", "--svg=" + svg).code()).isZero();

        assertThat(Files.getPosixFilePermissions(svg)).isEqualTo(Files.getPosixFilePermissions(plain));
        try (var files = Files.list(folder)) {
            assertThat(files).containsExactlyInAnyOrder(plain, svg);
        }
    }

    @Test
    void aSizeOfNothingIsBadUsage() {
        refused(2, "--bytes -1.0", "mesh", "v5e-16", "--bytes=-1");
        refused(2, "--bytes NaN", "mesh", "v5e-16", "--bytes=NaN");
    }

    @Test
    void aPrefixOfNoColumnsOrOfTooManyIsRefused() {
        String module = "--module=" + folder.resolve("m");
        refused(1, "a prefix -1 wide", "compile", "--target=v4-8", "--lower-only", module, "--method=prefill:-1");
        refused(1, "max length 2147483647", "compile", "--target=v4-8", "--lower-only", module, "--prefix=2147483647");
    }

    @Test
    void aMachinesDescriptionThatIsNoneIsNamed() throws Exception {
        Path file = Files.writeString(folder.resolve("mine.json"), "{\"a\": 1}");

        refused(1, file + ": topology has an unknown field", "targets", file.toString());
    }

    @ParameterizedTest
    @ValueSource(strings = {"1e39", "-1", "NaN", "Infinity", "1e-31", "1e-40", "1e-400", "warm", "-1e-50"})
    void aTemperatureThatIsNoneIsBadUsage(String temperature) {
        refused(
                2,
                "'--temperature': '%s' is not 0 (greedy) or a number from 1.0E-30 to 3.4028235E38"
                        .formatted(temperature),
                "generate",
                "--ids=1",
                "--temperature=" + temperature);
    }

    private JsonNode batch(String json) throws IOException {
        return BatchFile.read(Files.writeString(folder.resolve("case.json"), json));
    }

    @ParameterizedTest
    @CsvSource(
            delimiter = '|',
            quoteCharacter = '`',
            value = {
                "{'type': 'temperature', 'value': 1e39} | value is 1E+39; a number that float32 holds",
                "{'type': 'temperature', 'value': 1e400} | value is 1E+400; a number that float32 holds",
                "{'type': 'top_p', 'p': 1e-50} | p is 1E-50; 0 or a number that float32 holds",
                "{'type': 'top_p', 'p': 1e-400} | p is 1E-400; 0 or a number that float32 holds",
                "{'type': 'top_p', 'p': -0.0} | top-p of 0.0; a number in (0, 1]",
                "{'type': 'top_p', 'p': 'NaN'} | p is \"NaN\"; a number is expected"
            })
    void aNumberThatDoesNotFitFloat32IsNamed(String step, String message) throws Exception {
        String json = "{'key': [0, 1, 2, 3], 'prefix': [[5]], 'options': {'logits_modifier': [%s]}}".formatted(step);

        JsonNode read = batch(json.replace('\'', '"'));
        assertThatThrownBy(() -> DecodeCase.read(read, 8, 0, 1)).hasMessageContaining(message);
    }

    @Test
    void anAlphaThatDoesNotFitFloat32IsNamed() throws Exception {
        String json = "{\"prefix\": [[5]], \"options\": {\"brevity_penalty\": {\"type\": \"t5\", \"alpha\": -1e39}}}";

        JsonNode read = batch(json);
        assertThatThrownBy(() -> DecodeCase.read(read, 8, 0, 1))
                .hasMessageContaining("alpha is -1E+39; a number that float32 holds");
    }

    @ParameterizedTest
    @ValueSource(strings = {"da\"ta,model", "\"data,model\"", "'data',model", "da ta,model", "da\nta,model", ",model"})
    void anAxisThatIsNoNameIsOneLineOfBadUsage(String axes) {
        Slipway run = Slipway.run("mesh", "v5e-16", "--axes=" + axes, "--shape=4,4");

        assertThat(run.code()).isEqualTo(2);
        assertThat(run.err()).startsWith("slipway: --axes has the name '").contains("letters, digits");
    }

    @Test
    void aQuoteInAListIsNoMoreThanACharacter() {
        PrintStream before = System.err;
        ByteArrayOutputStream warned = new ByteArrayOutputStream();
        System.setErr(new PrintStream(warned, true, StandardCharsets.UTF_8));
        try {
            refused(2, "'\"4' is not an int", "mesh", "v5e-16", "--shape=4,\"4");
            refused(1, "v5e-16", "compile", "--target=v5e-16\"");
        } finally {
            System.setErr(before);
        }
        assertThat(warned.toString(StandardCharsets.UTF_8)).isEmpty();
    }

    @Test
    void aCountThatCannotBeIsBadUsage() {
        refused(2, "--top-logits is -4", "generate", "--ids=1", "--top-logits=-4");
        refused(2, "--max-new-tokens is 0", "generate", "--ids=1", "--max-new-tokens=0");
    }

    @Test
    void noNameIsNoModel() {
        refused(1, "no model ''", "generate", "--model=", "--ids=1");
    }

    @Test
    void aFolderIsNoBatch() {
        refused(1, folder + ": it is a folder; name a file in it", "generate", "--batch=" + folder);
        refused(1, folder + ": it is a folder; name a file in it", "mesh", "--batch=" + folder);
    }

    @Test
    void aFolderIsNoMachine() throws Exception {
        Path machine = Files.createDirectory(folder.resolve("mine.json"));

        refused(1, machine + ": it is a folder; name a file in it", "targets", machine.toString());
    }

    @ParameterizedTest
    @ValueSource(
            strings = {"--raw", "--max-new-tokens=1", "--ignore-stop", "--temperature=1", "--seed=1", "--top-logits=1"})
    void anOptionOfOnePromptIsBadUsageWithABatch(String option) {
        refused(
                2,
                option.replaceFirst("=.*", "") + " is for --prompt and --ids",
                "generate",
                "--batch=cases.json",
                option);
    }

    @Test
    void fewerThanNoNumbersOfAConstantAreBadUsage() {
        refused(2, "--elide -5: at least 0 was expected", "module", "m.mlir", "--print=pretty", "--elide=-5");
    }

    @ParameterizedTest
    @CsvSource(
            delimiter = '|',
            value = {
                "compile --axlearn --max-length=128 | --max-length is for Slipway's own programs",
                "compile --axlearn --sample | --sample is for Slipway's own programs",
                "compile --axlearn --prefill-chunk=8 | --prefill-chunk is for Slipway's own programs",
                "compile --lower-only --module=m --out=x | --out is for what is compiled",
                "compile --lower-only --module=m --option=a=b | --option is for what is compiled",
                "compile --lower-only --module=m --isolated | --isolated is for what is compiled",
                "mesh --batch=b.json --shape=2,8 | --shape is for a TARGET",
                "mesh --batch=b.json --svg=x.svg | --svg is for a TARGET",
                "targets --slices=2 | --slices is for a NAME",
                "module m.mlir --elide=3 | --elide is for --print FORM",
                "module m.mlir --target=1.13.0 | --target is for --bytecode OUT",
                "module m.mlir --locations | --locations is for --print FORM",
                "plugins check cpu --as=tpu | --as is for the path of a library; cpu is a plugin's name"
            })
    void anOptionThatNothingWouldReadIsBadUsage(String command, String message) {
        refused(2, message, command.split(" "));
    }

    @ParameterizedTest
    @CsvSource(
            delimiter = '|',
            value = {
                "compile --json --batch=-3 | --batch -3: at least 1 was expected",
                "compile --lower-only --json --out=x | --out is for what is compiled",
                "compile --batch=x --json | Invalid value for option '--batch': 'x' is not an int",
                "generate --json | Error: Missing required argument (specify one of these)",
                "targets v5e-16 v5e-8 --json | Unmatched argument at index 2: 'v5e-8'",
                "plugins check --json | Missing required parameter: 'NAME'",
                "complie --json | Unmatched arguments from index 0: 'complie', '--json'"
            })
    void badUsageIsAnErrorInJsonWhereThatWasAskedFor(String command, String message) {
        Slipway run = Slipway.run(command.split(" "));

        assertThat(run.code()).as(run.err()).isEqualTo(2);
        JsonNode error = run.json().get("error");
        assertThat(error.get("type").stringValue()).isEqualTo("BadUsage");
        assertThat(error.get("message").stringValue()).startsWith(message);
        assertThat(error.get("exit_code").intValue()).isEqualTo(2);
        assertThat(run.err()).startsWith("slipway: " + message);
    }

    @Test
    void aFailureIsAnErrorInJsonWithItsExitCode() {
        Slipway run = Slipway.run("compile", "--target=v5e-17", "--json");

        JsonNode error = run.json().get("error");
        assertThat(error.get("type").stringValue()).isEqualTo("UnknownTopologyException");
        assertThat(error.get("message").stringValue()).contains("v5e-16");
        assertThat(error.get("exit_code").intValue()).isEqualTo(run.code()).isOne();
    }

    @Test
    void badUsageLeavesStdoutAloneWhereNoJsonWasAskedFor() {
        assertThat(Slipway.run("compile", "--batch=-3").out()).isEmpty();
    }

    @Test
    void whereAFileStopsBeingJsonIsSaidInPlainWords() throws Exception {
        Path file = Files.writeString(folder.resolve("cut.json"), "{\n  \"name\": \"x");
        String where = "(line 2, column 13: it ends in the middle)";

        refused(1, file + " is not JSON " + where, "generate", "--batch=" + file);
        refused(1, file + " is not JSON " + where, "mesh", "--batch=" + file);
        refused(1, file + ": A machine's description is not JSON " + where, "targets", file.toString());
        refused(1, file + " is not the JSON it should be " + where, "compile", "--target=cpu", "--model=" + file);
    }

    @Test
    void aBatchThatIsNoTextIsRefused() throws Exception {
        Path file = Files.write(folder.resolve("cases.json"), new byte[] {'[', (byte) 0xFF, (byte) 0xFE, ']'});

        refused(1, "not JSON", "generate", "--batch=" + file);
    }

    @Test
    void aFieldTwiceInABatchIsRefused() throws Exception {
        Path file = Files.writeString(folder.resolve("cases.json"), "[{\"key\": [0, 1, 0, 1], \"key\": [0, 2, 0, 2]}]");

        refused(1, "\"key\"", "generate", "--batch=" + file);
    }
}
