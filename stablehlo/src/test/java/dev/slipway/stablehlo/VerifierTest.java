// SPDX-License-Identifier: Apache-2.0
package dev.slipway.stablehlo;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.groups.Tuple.tuple;

import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

/** What is refused in modules that were not built here, and what is not. */
class VerifierTest {
    private static String convolution(String padding) {
        return """
                func.func @main(%x: tensor<1x?x16xf32>, %k: tensor<4x16x16xf32>, %p: tensor<1x2xi32>) -> tensor<1x?x16xf32> {
                  PADDING
                  %0 = "stablehlo.dynamic_conv"(%x, %k, %padding) {
                    batch_group_count = 1 : i64, feature_group_count = 1 : i64, window_strides = array<i64: 2, 2>,
                    dimension_numbers = #stablehlo.conv<[b, 0, f]x[0, i, o]->[b, 0, f]>
                  } : (tensor<1x?x16xf32>, tensor<4x16x16xf32>, tensor<1x2xi32>) -> tensor<1x?x16xf32>
                  return %0 : tensor<1x?x16xf32>
                }
                """.replace("PADDING", padding);
    }

    @Test
    void theWindowOfAConvolutionIsLookedAtOnceItsPaddingIsKnown() {
        assertThat(Verifier.diagnose(Module.parse(convolution("%padding = stablehlo.add %p, %p : tensor<1x2xi32>"))))
                .isEmpty();
        assertThat(Verifier.diagnose(
                        Module.parse(convolution("%padding = stablehlo.constant dense<0> : tensor<1x2xi32>"))))
                .extracting(Diagnostic::message)
                .containsExactly("window strides must have 1 entries, got [2, 2]");
    }

    @ParameterizedTest
    @CsvSource(delimiter = '|', textBlock = """
            return %x : tensor<4xf32> | tensor<4xf64> | returns [tensor<4xf32>], but the function's type says [tensor<4xf64>]
            return %x : tensor<4xf32> | tensor<?xf32> | returns [tensor<4xf32>], but the function's type says [tensor<?xf32>]
            return                    | tensor<4xf32> | returns [], but the function's type says [tensor<4xf32>]
            """)
    void aFunctionReturnsWhatItsTypeSays(String end, String type, String message) {
        Module module = Module.parse("func.func @main(%x: tensor<4xf32>) -> " + type + " {\n" + end + "\n}");

        assertThat(Verifier.diagnose(module))
                .extracting(Diagnostic::operation, Diagnostic::message)
                .containsExactly(tuple("func.return", message));
    }

    @Test
    void aModuleIsVisibleInOneOfTheThreeWays() {
        assertThat(Verifier.diagnose(Module.parse("module @m attributes {sym_visibility = \"private\"} {}")))
                .isEmpty();
        assertThat(Verifier.diagnose(Module.parse("module @m attributes {sym_visibility = \"shy\"} {}")))
                .extracting(Diagnostic::message)
                .containsExactly("sym_visibility must be public, private or nested, got \"shy\"");
    }

    @Test
    void programsHaveNoOperationsOfVhlo() {
        assertThat(Verifier.diagnose(Module.parse("\"vhlo.add_v1\"() : () -> ()")))
                .extracting(Diagnostic::message)
                .containsExactly("VHLO is how portable artifacts spell StableHLO; programs have no operation of it");
    }

    @Test
    void theBodyOfAFunctionTakesWhatItsTypeSays() {
        Module module = Module.parse("""
                "func.func"() ({
                ^bb0(%x: tensor<4xf32>):
                  "func.return"() : () -> ()
                }) {sym_name = "main", function_type = (tensor<4xf64>) -> ()} : () -> ()
                """);

        assertThat(Verifier.diagnose(module))
                .extracting(Diagnostic::message)
                .containsExactly("the body takes [tensor<4xf32>], but the function's type says [tensor<4xf64>]");
    }

    private static final String BROADCAST = """
            func.func @main(%x: tensor<1x4xf32>, %y: tensor<4xf32>) -> tensor<1x4xf32> {
              %0 = chlo.broadcast_add %x, %y {broadcast_dimensions = array<i64: 2>}
                : (tensor<1x4xf32>, tensor<4xf32>) -> tensor<1x4xf32>
              return %0 : tensor<1x4xf32>
            }
            """;

    @Test
    void dimensionsThatDoNotFitABroadcastAreLeftToItsExpansion() {
        assertThat(Verifier.diagnose(Module.parse(BROADCAST))).isEmpty();
    }

    @Test
    void transfersMayHaveNoPairs() {
        assertThat(Verifier.diagnose(Module.parse("""
                        func.func @main(%x: tensor<f32>, %t: !stablehlo.token) -> !stablehlo.token {
                          %0 = "stablehlo.send"(%x, %t) {
                            channel_handle = #stablehlo.channel_handle<handle = 5, type = 2>,
                            is_host_transfer = true, source_target_pairs = dense<> : tensor<0xi64>
                          } : (tensor<f32>, !stablehlo.token) -> !stablehlo.token
                          return %0 : !stablehlo.token
                        }
                        """))).isEmpty();
    }
}
