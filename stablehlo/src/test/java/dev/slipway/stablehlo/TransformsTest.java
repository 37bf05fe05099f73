// SPDX-License-Identifier: Apache-2.0
package dev.slipway.stablehlo;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.assertj.core.groups.Tuple.tuple;

import dev.slipway.stablehlo.op.MultiplyOp;
import dev.slipway.stablehlo.op.Op;
import java.util.List;
import java.util.Optional;
import org.junit.jupiter.api.Test;

/** Copies, rewrites and comparisons of modules. */
class TransformsTest {
    private static final String TWICE = """
            module @m {
              func.func public @main(%arg0: tensor<4xf32>) -> tensor<4xf32> {
                %0 = call @twice(%arg0) : (tensor<4xf32>) -> tensor<4xf32>
                %1 = call @twice(%0) : (tensor<4xf32>) -> tensor<4xf32>
                return %1 : tensor<4xf32>
              }
              func.func private @twice(%arg0: tensor<4xf32>) -> tensor<4xf32> {
                %0 = stablehlo.add %arg0, %arg0 : tensor<4xf32>
                return %0 : tensor<4xf32>
              }
            }
            """;

    private static Module main(String body) {
        return Module.parse(
                "func.func @main(%x: tensor<4xf32>, %y: tensor<4xf32>) -> tensor<4xf32> {\n" + body + "\n}");
    }

    @Test
    void callsAreReplacedByTheBodiesOfTheFunctions() {
        Module inlined = Transforms.inlineCalls(Module.parse(TWICE));

        assertThat(inlined).hasToString("""
                        module @m {
                          func.func public @main(%arg0: tensor<4xf32>) -> tensor<4xf32> {
                            %0 = stablehlo.add %arg0, %arg0 : tensor<4xf32>
                            %1 = stablehlo.add %0, %0 : tensor<4xf32>
                            return %1 : tensor<4xf32>
                          }
                        }
                        """);
        Verifier.verify(inlined);
    }

    @Test
    void aFunctionThatCallsItselfStays() {
        Module module = Module.parse("""
                func.func @main(%x: tensor<f32>) -> tensor<f32> {
                  %0 = call @even(%x) : (tensor<f32>) -> tensor<f32>
                  return %0 : tensor<f32>
                }
                func.func private @even(%x: tensor<f32>) -> tensor<f32> {
                  %0 = call @odd(%x) : (tensor<f32>) -> tensor<f32>
                  return %0 : tensor<f32>
                }
                func.func private @odd(%x: tensor<f32>) -> tensor<f32> {
                  %0 = call @even(%x) : (tensor<f32>) -> tensor<f32>
                  return %0 : tensor<f32>
                }
                """);

        assertThat(Transforms.inlineCalls(module)).hasToString(module.toString());
    }

    @Test
    void whatIsComputedTwiceIsComputedOnce() {
        Module module = main("""
                %0 = stablehlo.add %x, %y : tensor<4xf32>
                %1 = stablehlo.add %x, %y : tensor<4xf32>
                %2 = stablehlo.multiply %0, %1 : tensor<4xf32>
                return %2 : tensor<4xf32>""");

        Module once = Transforms.eliminateCommonSubexpressions(module);

        assertThat(Transforms.find(once, op -> op.is("stablehlo.add"))).hasSize(1);
        assertThat(once.toString()).contains("stablehlo.multiply %0, %0");
    }

    @Test
    void randomNumbersAreNotShared() {
        Module module = Module.parse("""
                func.func @main(%a: tensor<f32>, %b: tensor<f32>) -> (tensor<2xf32>, tensor<2xf32>) {
                  %s = stablehlo.constant dense<2> : tensor<1xi64>
                  %0 = stablehlo.rng %a, %b, %s, distribution = UNIFORM : (tensor<f32>, tensor<f32>, tensor<1xi64>) -> tensor<2xf32>
                  %1 = stablehlo.rng %a, %b, %s, distribution = UNIFORM : (tensor<f32>, tensor<f32>, tensor<1xi64>) -> tensor<2xf32>
                  return %0, %1 : tensor<2xf32>, tensor<2xf32>
                }
                """);

        Module once = Transforms.eliminateCommonSubexpressions(module);

        assertThat(Transforms.find(once, op -> op.is("stablehlo.rng"))).hasSize(2);
    }

    @Test
    void whatOnlyDeadOperationsUseIsDead() {
        Module module = main("""
                %0 = stablehlo.add %x, %y : tensor<4xf32>
                %1 = stablehlo.multiply %0, %0 : tensor<4xf32>
                %2 = stablehlo.custom_call @print(%x) {has_side_effect = true} : (tensor<4xf32>) -> tensor<4xf32>
                return %x : tensor<4xf32>""");

        Module live = Transforms.removeDeadCode(module);

        assertThat(Transforms.find(live, op -> op.name().startsWith("stablehlo.")))
                .extracting(Operation::name)
                .containsExactly("stablehlo.custom_call");
    }

    @Test
    void operationsAreReplacedWithinRegionsToo() {
        Module module = Module.build(
                "m",
                m -> m.function("main", f -> {
                    Value x = f.argument(TensorType.of(ElementType.F32, 4));
                    Value n = f.argument(TensorType.of(ElementType.I32));
                    f.returns(f.whileLoop(
                                    List.of(n, x),
                                    (c, state) -> c.compare(
                                            state.get(0), c.scalar(ElementType.I32, 0), ComparisonDirection.GT),
                                    (c, state) -> List.of(
                                            c.subtract(state.get(0), c.scalar(ElementType.I32, 1)),
                                            c.multiply(state.get(1), state.get(1))))
                            .subList(1, 2));
                }));

        Module squared = Transforms.rewrite(
                module,
                (b, operation) -> Op.of(operation).orElse(null) instanceof MultiplyOp multiply
                                && multiply.lhs().equals(multiply.rhs())
                        ? Optional.of(List.of(
                                b.power(multiply.lhs(), b.constant(TensorType.of(ElementType.F32, 4), 2))))
                        : Optional.empty());

        Verifier.verify(squared);
        assertThat(Transforms.find(squared, op -> op.is("stablehlo.multiply"))).isEmpty();
        assertThat(Transforms.find(squared, op -> op.is("stablehlo.power"))).hasSize(1);
        assertThat(Structure.diff(module, squared)).isNotEmpty();
    }

    @Test
    void aReplacementOfAnotherTypeIsRefused() {
        Module module = main("""
                %0 = stablehlo.add %x, %y : tensor<4xf32>
                return %0 : tensor<4xf32>""");

        assertThatThrownBy(() -> Transforms.rewrite(
                        module,
                        (b, operation) -> operation.is("stablehlo.add")
                                ? Optional.of(List.of(b.convert(operation.operand(0), ElementType.BF16)))
                                : Optional.empty()))
                .isInstanceOf(IrException.class)
                .hasMessage("stablehlo.add: a replacement for its results must be of the types"
                        + " [tensor<4xf32>], got [tensor<4xbf16>]");
    }

    @Test
    void theHashIgnoresNamesLocationsAndRestatedDefaults() {
        Module left = main("""
                %0 = "stablehlo.exponential"(%x) : (tensor<4xf32>) -> tensor<4xf32> loc("here")
                return %0 : tensor<4xf32>""");
        Module right = main("""
                %e = "stablehlo.exponential"(%x) {result_accuracy = #stablehlo.result_accuracy<mode = #stablehlo.result_accuracy_mode<DEFAULT>>} : (tensor<4xf32>) -> tensor<4xf32>
                return %e : tensor<4xf32>""");
        Module other = main("""
                %0 = stablehlo.exponential %y : tensor<4xf32>
                return %0 : tensor<4xf32>""");

        assertThat(Structure.hash(left)).isEqualTo(Structure.hash(right)).hasSize(64);
        assertThat(Structure.diff(left, right)).isEmpty();
        assertThat(Structure.hash(left)).isNotEqualTo(Structure.hash(other));
        assertThat(Structure.diff(left, other))
                .extracting(Structure.Difference::left, Structure.Difference::right)
                .containsExactly(tuple("operand 0 is argument 0 of its block", "operand 0 is argument 1 of its block"));
    }

    @Test
    void aDiffAlignsWhatIsEqualAroundAChange() {
        Module left = main("""
                %0 = stablehlo.add %x, %y : tensor<4xf32>
                %1 = stablehlo.tanh %0 : tensor<4xf32>
                %2 = stablehlo.multiply %1, %x : tensor<4xf32>
                return %2 : tensor<4xf32>""");
        Module right = main("""
                %0 = stablehlo.add %x, %y : tensor<4xf32>
                %1 = stablehlo.tanh %0 : tensor<4xf32>
                %n = stablehlo.negate %1 : tensor<4xf32>
                %2 = stablehlo.multiply %n, %x : tensor<4xf32>
                return %2 : tensor<4xf32>""");

        assertThat(Structure.diff(left, right).stream().map(Structure.Difference::toString))
                .containsExactly(
                        "@main / 2:\n  - -\n  + stablehlo.negate[tensor<4xf32>] -> [tensor<4xf32>]",
                        "@main / 2 stablehlo.multiply:\n  - operand 0 is result 0 of a stablehlo.tanh\n"
                                + "  + operand 0 is result 0 of a stablehlo.negate");
    }

    @Test
    void aCopySharesNothingAndIsEqual() {
        Module module = Module.parse(TWICE);
        Module copy = Transforms.copy(module);

        assertThat(copy).hasToString(module.toString());
        assertThat(Structure.equal(module, copy)).isTrue();
        assertThat(Transforms.find(copy, _ -> true)).doesNotContainAnyElementsOf(Transforms.find(module, _ -> true));
    }
}
