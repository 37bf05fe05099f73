// SPDX-License-Identifier: Apache-2.0
package dev.slipway.stablehlo;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

class ParserTest {

    private static String roundTrip(String body) {
        return Module.parse("module {\n" + body + "}\n").toString();
    }

    @ParameterizedTest
    @ValueSource(
            strings = {
                "stablehlo.add %arg0, %arg0 : tensor<4x4xf32>",
                "stablehlo.compare LT, %arg0, %arg0, FLOAT : (tensor<4x4xf32>, tensor<4x4xf32>) -> tensor<4x4xi1>",
                "stablehlo.slice %arg0 [0:4, 1:3:2] : (tensor<4x4xf32>) -> tensor<4x1xf32>",
                "stablehlo.dot_general %arg0, %arg0, batching_dims = [0] x [0], contracting_dims = [1] x [1],"
                        + " precision = [HIGH, DEFAULT] : (tensor<4x4xf32>, tensor<4x4xf32>) -> tensor<4xf32>",
                "stablehlo.reduce_precision %arg0, format = e5m2 : tensor<4x4xf32>",
                "stablehlo.custom_call @f(%arg0) {has_side_effect = true} : (tensor<4x4xf32>) -> tensor<4x4xf32>",
                "sdy.sharding_constraint %arg0 <@mesh, [{\"x\":(1)2, ?}, {}p1], replicated={\"y\"}> : tensor<4x4xf32>",
                "\"some.thing\"(%arg0) {x = #other.attribute<[1, \"a>\"]>} : (tensor<4x4xf32>) -> !other.type<i8>",
            })
    void anOperationPrintsAsItWasWritten(String operation) {
        String body = "  func.func @f(%arg0: tensor<4x4xf32>) {\n    %0 = " + operation + "\n    return\n  }\n";
        assertThat(roundTrip(body)).isEqualTo("module {\n" + body + "}\n");
    }

    @ParameterizedTest
    @ValueSource(
            strings = {
                "dense<[0.699999988, 1.000000e-01, 0x7FC00000]> : tensor<3xf32>",
                "dense<[true, false]> : tensor<2xi1>",
                "dense<(1.000000e+00,-2.000000e+00)> : tensor<2xcomplex<f64>>",
                "dense<[-8, 7]> : tensor<2xi4>",
                "dense<18446744073709551615> : tensor<ui64>",
                "dense<> : tensor<2x0xi32>",
                "dense<[5.000000e-01, 4.480000e+02]> : tensor<2xf8E4M3FN>",
            })
    void aConstantPrintsAsItWasWritten(String constant) {
        String body = "  func.func @f() {\n    %c = stablehlo.constant " + constant + "\n    return\n  }\n";
        assertThat(roundTrip(body).replace("%cst", "%c")).isEqualTo("module {\n" + body + "}\n");
    }

    @Test
    void theGenericFormIsTheSameModule() {
        Module module = Module.parse("""
                func.func @f(%x: tensor<8xf32>, %i: tensor<f32>) -> tensor<f32> {
                  %0 = stablehlo.reduce(%x init: %i) applies stablehlo.add across dimensions = [0] : (tensor<8xf32>, tensor<f32>) -> tensor<f32>
                  return %0 : tensor<f32>
                }
                """);
        Module again = Module.parse(module.print(PrintOptions.genericForm()));
        assertThat(again.toString()).isEqualTo(module.toString());
    }

    @Test
    void aliasesMayStandAfterTheirUse() {
        Module module = Module.parse("""
                func.func @f(%x: !t) -> !t {
                  %0 = stablehlo.negate %x : !t loc(#here)
                  return %0 : !t
                }
                !t = tensor<2xf32>
                #here = loc("a.py":3:4)
                """);
        assertThat(module.print(PrintOptions.pretty().withLocations()))
                .contains("%0 = stablehlo.negate %arg0 : tensor<2xf32> loc(\"a.py\":3:4)");
    }

    @Test
    void anErrorShowsLineColumnAndTheLineItself() {
        assertThatThrownBy(() -> Module.parse("func.func @f() {\n  %0 = stablehlo.bogus\n}\n"))
                .isInstanceOf(ParseException.class)
                .hasMessageStartingWith("2:8: ")
                .hasMessageContaining("stablehlo.bogus is not in the op table")
                .hasMessageEndingWith("  %0 = stablehlo.bogus\n       ^");
    }

    @ParameterizedTest
    @ValueSource(
            strings = {
                "func.func @f(",
                "module { func.func @f() { return } ",
                "func.func @f() { %0 = stablehlo.constant dense<[1, 2]> : tensor<3xi32> return }",
                "func.func @f() { %0 = stablehlo.constant dense<300> : tensor<ui8> return }",
                "func.func @f() { return %nothing : tensor<f32> }",
                "func.func @f(%a: tensor<99999999999999999999xf32>) { return }",
                "func.func @f(%a: tensor<2xf32>, %a: tensor<2xf32>) { return }",
            })
    void whatIsNotAModuleIsRefused(String text) {
        assertThatThrownBy(() -> Module.parse(text)).isInstanceOf(ParseException.class);
    }

    @Test
    void deepNestingIsRefusedInsteadOfOverflowingTheStack() {
        String deep = "module attributes {x = " + "[".repeat(100_000) + "]".repeat(100_000) + "} {}";
        assertThatThrownBy(() -> Module.parse(deep))
                .isInstanceOf(ParseException.class)
                .hasMessageContaining("nested deeper");
    }
}
