// SPDX-License-Identifier: Apache-2.0
package dev.slipway.cli;

import static org.assertj.core.api.Assertions.assertThat;

import dev.slipway.stablehlo.Module;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** {@code slipway module}: many files at once, each with all of its errors. */
class ModuleCommandTest {
    private static final String GOOD = """
            module {
              func.func @main(%arg0: tensor<4xf32>) -> tensor<4xf32> {
                %cst = stablehlo.constant dense<[1.000000e+00, 2.000000e+00, 3.000000e+00, 4.000000e+00]> : tensor<4xf32>
                %0 = stablehlo.add %arg0, %cst : tensor<4xf32>
                return %0 : tensor<4xf32>
              }
            }
            """;
    private static final String TWICE_WRONG = """
            func.func @main(%x: tensor<4xf32>, %y: tensor<f32>) {
              %0 = "stablehlo.add"(%x, %y) : (tensor<4xf32>, tensor<f32>) -> tensor<4xf32>
              %1 = "stablehlo.transpose"(%x) {permutation = array<i64: 3>} : (tensor<4xf32>) -> tensor<4xf32>
              return
            }
            """;

    @TempDir
    Path folder;

    private Path good;
    private Path wrong;
    private Path unread;

    @BeforeEach
    void files() throws IOException {
        good = Files.writeString(folder.resolve("good.mlir"), GOOD);
        wrong = Files.writeString(folder.resolve("wrong.mlir"), TWICE_WRONG);
        unread = Files.writeString(folder.resolve("unread.mlir"), "func.func @main() {\n  oops\n}\n");
    }

    @Test
    void everyFileIsReadAndGivesAllOfItsErrors() {
        Slipway run = Slipway.run("module", "--verify", "--json", folder.toString());

        assertThat(run.code()).isEqualTo(1);
        assertThat(run.json()).hasSize(3);
        assertThat(run.json().get(0).get("ok").asBoolean()).isTrue();
        assertThat(run.json().get(0).get("errors")).isEmpty();
        assertThat(run.json().get(1).get("file").asString()).isEqualTo(unread.toString());
        assertThat(run.json().get(1).get("errors").get(0).asString()).startsWith("2:3: ");
        assertThat(run.json().get(2).get("ok").asBoolean()).isFalse();
        assertThat(run.json().get(2).get("errors")).hasSize(2);
        assertThat(run.json().get(2).get("errors").get(0).asString()).startsWith("2:8: stablehlo.add: ");
    }

    @Test
    void withoutVerifyOnlyTheSyntaxCounts() {
        assertThat(Slipway.run("module", good.toString(), wrong.toString()).code())
                .isZero();
    }

    @Test
    void anErrorStandsBehindItsFileLineAndColumn() {
        Slipway run = Slipway.run("module", "--verify", wrong.toString());

        assertThat(run.err()).contains(wrong + ":2:8: stablehlo.add: ").contains(wrong + ":3:8: stablehlo.transpose: ");
    }

    @Test
    void constantsAreLeftOutWhereTheyAreLarge() {
        assertThat(Slipway.run("module", "--print", "pretty", good.toString()).out())
                .isEqualTo(GOOD + System.lineSeparator());
        assertThat(Slipway.run("module", "--print", "pretty", "--elide", "3", good.toString())
                        .out())
                .contains("stablehlo.constant dense_resource<__elided__> : tensor<4xf32>");
    }

    @Test
    void textsOfSeveralModulesAreApartHoweverTheirFilesWereNamed() throws IOException {
        Path two = Files.createDirectory(folder.resolve("two"));
        Path a = Files.copy(good, two.resolve("a.mlir"));
        Path b = Files.copy(good, two.resolve("b.mlir"));
        String both = (GOOD + "// -----" + System.lineSeparator()).repeat(2);

        assertThat(Slipway.run("module", "--print", "pretty", a.toString(), b.toString())
                        .out())
                .isEqualTo(both);
        assertThat(Slipway.run("module", "--print", "pretty", two.toString()).out())
                .isEqualTo(both);
    }

    @Test
    void bytecodeIsReadBackAsTheModule() throws IOException {
        Path out = folder.resolve("good.mlirbc");

        assertThat(Slipway.run("module", good.toString(), "--bytecode", out.toString(), "--target", "1.13.0")
                        .code())
                .isZero();
        assertThat(Module.fromBytecode(Files.readAllBytes(out))).hasToString(GOOD);
    }

    @Test
    void aFolderWithoutModulesIsBadUsage() throws IOException {
        Path empty = Files.createDirectory(folder.resolve("empty"));

        assertThat(Slipway.run("module", empty.toString()).code()).isEqualTo(2);
    }
}
