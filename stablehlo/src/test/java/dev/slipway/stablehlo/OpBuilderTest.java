// SPDX-License-Identifier: Apache-2.0
package dev.slipway.stablehlo;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.function.Consumer;
import org.junit.jupiter.api.Test;

class OpBuilderTest {
    private static final TensorType MATRIX = TensorType.of(ElementType.F32, 4, 8);

    private static String body(Consumer<FunctionBuilder> body) {
        return Module.build("m", m -> m.function("main", body)).toString();
    }

    @Test
    void aModuleIsPrintedAsUpstreamPrintsIt() {
        Module module = Module.build("m", m -> {
            m.attribute("mhlo.num_partitions", Attribute.i32(2));
            m.mesh("mesh", Map.of("data", 2));
            m.function("main", f -> {
                Value x = f.argument(
                        MATRIX, TensorSharding.of("mesh", TensorSharding.axes("data"), TensorSharding.axes()));
                f.returns(
                        List.of(f.reduceMax(f.tanh(x), 1)),
                        List.of(Attribute.Dictionary.of("jax.result_info", Attribute.of("result"))));
            });
        });
        assertThat(module.toString()).isEqualTo("""
                module @m attributes {mhlo.num_partitions = 2 : i32} {
                  sdy.mesh @mesh = <["data"=2]>
                  func.func public @main(%arg0: tensor<4x8xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"data"}, {}]>}) -> (tensor<4xf32> {jax.result_info = "result"}) {
                    %0 = stablehlo.tanh %arg0 : tensor<4x8xf32>
                    %cst = stablehlo.constant dense<0xFF800000> : tensor<f32>
                    %1 = stablehlo.reduce(%0 init: %cst) applies stablehlo.maximum across dimensions = [1] : (tensor<4x8xf32>, tensor<f32>) -> tensor<4xf32>
                    return %1 : tensor<4xf32>
                  }
                }
                """);
    }

    @Test
    void aLoopIsBuiltFromLambdas() {
        String text = body(f -> {
            Value zero = f.scalar(ElementType.I32, 0);
            f.returns(f.whileLoop(
                    List.of(zero),
                    (b, v) -> b.compare(v.getFirst(), b.scalar(ElementType.I32, 3), ComparisonDirection.LT),
                    (b, v) -> List.of(b.add(v.getFirst(), b.scalar(ElementType.I32, 1)))));
        });
        assertThat(text).contains("""
                    %0 = stablehlo.while(%iterArg = %c) : tensor<i32>
                    cond {
                """);
    }

    @Test
    void aWrongShapeFailsAtTheCallWithOperationAndConstraint() {
        assertThatThrownBy(() -> body(f -> f.add(f.argument(MATRIX), f.argument(TensorType.of(ElementType.F32, 4, 7)))))
                .isInstanceOf(VerificationException.class)
                .hasMessageContaining("stablehlo.add")
                .hasMessageContaining("tensor<4x8xf32>")
                .hasMessageContaining("tensor<4x7xf32>");
    }

    @Test
    void contractingSizesThatDifferFailWithBothSizes() {
        assertThatThrownBy(() -> body(f -> f.dotGeneral(
                        f.argument(MATRIX),
                        f.argument(TensorType.of(ElementType.F32, 9, 3)),
                        DotDimensionNumbers.contracting(1, 0),
                        ElementType.F32)))
                .hasMessageContaining("stablehlo.dot_general: contracting dimension sizes must match")
                .hasMessageContaining("got 8")
                .hasMessageContaining("and 9");
    }

    @Test
    void aWrongElementTypeFailsWithTheOperandsName() {
        assertThatThrownBy(() -> body(f -> f.logistic(f.argument(TensorType.of(ElementType.I32, 4)))))
                .hasMessageContaining("stablehlo.logistic: operand 0 (operand)")
                .hasMessageContaining("tensor<4xi32>");
    }

    @Test
    void aValueOfAnEndedBlockCannotBeUsed() {
        assertThatThrownBy(() -> body(f -> {
                    List<Value> escaped = new ArrayList<>();
                    Value x = f.argument(TensorType.of(ElementType.F32, 4));
                    f.reduce(
                            x,
                            f.scalar(ElementType.F32, 0),
                            (b, l, r) -> {
                                escaped.add(l);
                                return b.add(l, r);
                            },
                            0);
                    f.returns(f.tanh(escaped.getFirst()));
                }))
                .hasMessageContaining("a block that has ended");
    }

    @Test
    void aFunctionMustReturn() {
        assertThatThrownBy(() -> body(f -> f.argument(MATRIX)))
                .isInstanceOf(IrException.class)
                .hasMessageContaining("@main does not return");
    }

    @Test
    void namesInAModuleAreUnique() {
        assertThatThrownBy(() -> Module.build("m", m -> {
                    m.mesh("main", Map.of("x", 2));
                    m.function("main", f -> f.returns());
                }))
                .hasMessageContaining("two things called @main");
    }

    @Test
    void aBuiltModuleVerifies() {
        Module module = Module.build("m", m -> {
            Function.Ref callee = m.privateFunction("twice", f -> {
                Value x = f.argument(MATRIX);
                f.returns(f.add(x, x));
            });
            m.function("main", f -> f.returns(f.call(callee, f.argument(MATRIX))));
        });
        assertThat(Verifier.diagnose(module)).isEmpty();
    }
}
