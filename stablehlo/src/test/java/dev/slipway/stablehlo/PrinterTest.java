// SPDX-License-Identifier: Apache-2.0
package dev.slipway.stablehlo;

import static org.assertj.core.api.Assertions.assertThat;

import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** Modules as text. */
class PrinterTest {
    @ParameterizedTest
    @ValueSource(
            strings = {"0 : index", "5 : i64", "7 : i8", "1.000000e+00 : f64", "true", "dense<2> : tensor<3xindex>"})
    void aConstantOfArithSaysItsType(String constant) {
        Module module = Module.parse("func.func @f() {\n%0 = arith.constant " + constant + "\nreturn\n}");

        assertThat(module.toString()).contains("= arith.constant " + constant + "\n");
        assertThat(Module.parse(module.toString())).hasToString(module.toString());
    }

    @Test
    void theGenericFormShowsABlockWithoutOperations() {
        Module module = Module.parse("module {\n}");

        assertThat(module.print(PrintOptions.genericForm()))
                .isEqualTo("\"builtin.module\"() ({\n^bb0:\n}) : () -> ()\n");
        assertThat(Module.parse(module.print(PrintOptions.genericForm()))).hasToString("module {\n}\n");
    }
}
