// SPDX-License-Identifier: Apache-2.0
package dev.slipway.stablehlo;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import com.google.common.io.BaseEncoding;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;

/** Modules as bytes: plain, and for versions of StableHLO. */
class BytecodeTest {
    private static final PrintOptions LOCATED = PrintOptions.pretty().withLocations();

    private static final String PROMOTED = """
            func.func @main(%x: tensor<4xf32>, %zero: tensor<f32>) -> tensor<f64> {
              %0 = "stablehlo.reduce"(%x, %zero) ({
              ^bb0(%a: tensor<f64>, %b: tensor<f64>):
                %1 = stablehlo.add %a, %b : tensor<f64>
                stablehlo.return %1 : tensor<f64>
              }) {dimensions = array<i64: 0>} : (tensor<4xf32>, tensor<f32>) -> tensor<f64>
              return %0 : tensor<f64>
            }
            """;

    private static final String TYPED_CALL = """
            func.func @main(%x: tensor<f32>) -> tensor<f32> {
              %0 = stablehlo.custom_call @work(%x) {api_version = 4 : i32} : (tensor<f32>) -> tensor<f32>
              return %0 : tensor<f32>
            }
            """;

    private static Module throughArtifact(Module module, String version) {
        return Module.fromBytecode(module.toPortableArtifact(version));
    }

    @Test
    void rangesOfPlacesSurviveBytecode() {
        Module module = Module.parse("""
                func.func @f(%x: tensor<f32> loc("a.mlir":5:6)) -> tensor<f32> {
                  %0 = stablehlo.negate %x : tensor<f32> loc("a.mlir":3:4 to :9)
                  return %0 : tensor<f32> loc("a.mlir":3:4 to 7:2)
                } loc("a.mlir":1:1)
                """);

        assertThat(Module.fromBytecode(module.toBytecode()).print(LOCATED)).isEqualTo(module.print(LOCATED));
        assertThat(throughArtifact(module, "1.9.0").print(LOCATED)).isEqualTo(module.print(LOCATED));
    }

    @Test
    void readersFromBeforeRangesGetTheirStart() {
        Module module = Module.parse("""
                func.func @f() {
                  return loc("a.mlir":3:4 to 7:2)
                }
                """);

        assertThat(throughArtifact(module, "1.8.0").print(LOCATED)).contains("return loc(\"a.mlir\":3:4)");
    }

    @Test
    void rangesThatMlirWroteAreRead() {
        // What MLIR 23 writes for a module of two functions, whose returns are at 3:4 to 7:9 and 3:4 to :9.
        byte[] bytes = BaseEncoding.base16().lowerCase().decode("""
                4d4cef520d4d4c495232332e302e306769740001170501050701030b0305070f032d190901190b0b130b0b130b0b131b
                131f01090f130f0f026d0509050b170103030d03050d170103150d07050f170103992d03070709131701032f2d030907
                090f131b0105050301010102020501010453050150050107044303010903500b03070415030307030315000500170350
                110507040d030105050013060301050100631105050f050f0f0b116275696c74696e0066756e63006d6f64756c650072
                657475726e002d00612e6d6c697200660067000825070501010d0107010109010d010d01010f01
                """.replaceAll("\\s", ""));

        assertThat(Module.fromBytecode(bytes).print(LOCATED))
                .contains("return loc(\"a.mlir\":3:4 to 7:9)")
                .contains("return loc(\"a.mlir\":3:4 to :9)");
    }

    @Test
    void sumsInAnotherTypeAreNotWrittenForVersionsBeforeThem() {
        Module module = Module.parse(PROMOTED);

        assertThat(Structure.diff(module, throughArtifact(module, "0.17.0"))).isEmpty();
        assertThatThrownBy(() -> module.toPortableArtifact("0.16.0"))
                .isInstanceOf(BytecodeException.class)
                .hasMessageContaining("stablehlo.reduce with a result of another element type")
                .hasMessageContaining("since 0.17.0");
    }

    @Test
    void typedCustomCallsAreNotWrittenForVersionsBeforeThem() {
        Module module = Module.parse(TYPED_CALL);

        assertThat(Structure.diff(module, throughArtifact(module, "1.3.0"))).isEmpty();
        assertThatThrownBy(() -> module.toPortableArtifact("1.2.0"))
                .isInstanceOf(BytecodeException.class)
                .hasMessageContaining("api_version 4");
    }

    @ParameterizedTest
    @CsvSource(delimiter = '|', textBlock = """
            stablehlo.dot_general %x, %x, contracting_dims = [1] x [0], precision = [DEFAULT, DEFAULT] : (tensor<2x2xf32>, tensor<2x2xf32>) -> tensor<2x2xf32>
            "stablehlo.collective_permute"(%x) {source_target_pairs = dense<[[0, 1]]> : tensor<1x2xi64>, channel_handle = #stablehlo.channel_handle<handle = 0, type = 0>} : (tensor<2x2xf32>) -> tensor<2x2xf32>
            "stablehlo.custom_call"(%x) {call_target_name = "work", backend_config = "", result_tilings = []} : (tensor<2x2xf32>) -> tensor<2x2xf32>
            """)
    void whatRestatesADefaultIsTheSameModule(String operation) {
        Module module = Module.parse("func.func @main(%x: tensor<2x2xf32>) -> tensor<2x2xf32> {\n%0 = " + operation
                + "\nreturn %0 : tensor<2x2xf32>\n}");

        assertThat(Structure.diff(module, throughArtifact(module, Module.VERSION)))
                .isEmpty();
    }

    @ParameterizedTest
    @ValueSource(
            strings = {
                "%0 = \"a.b\"() : () -> i32\n%1 = \"builtin.unrealized_conversion_cast\"(%0) : (i32) -> i32",
                "\"a.b\"() {one = true, two = -1 : si1, three = 1 : ui1, all = array<i1: true, false>} : () -> ()"
            })
    void whatLooksLikeAnArtifactsOrABooleansStaysAsItIs(String operation) {
        Module module = Module.parse(operation);

        assertThat(Module.parse(module.toString()).toString()).isEqualTo(module.toString());
        assertThat(Module.fromBytecode(module.toBytecode()).toString())
                .isEqualTo(module.toString())
                .contains(operation.contains("si1") ? "-1 : si1" : "unrealized_conversion_cast");
    }

    @Test
    void whatFunctionsSayBesideTheirTypeIsCarriedAlong() {
        Module module = Module.parse("""
                func.func private @g()
                func.func @f() {
                  call @g() {no_inline} : () -> ()
                  return
                }
                """);

        assertThat(throughArtifact(module, "1.0.0")).hasToString(module.toString());
    }
}
