func.func @constants() {
  %0 = stablehlo.constant dense<[[1, -2], [0x7F, 4]]> : tensor<2x2xi8>
  %1 = stablehlo.constant dense<"0x0000803F000000400000404000008040"> : tensor<4xf32>
  %2 = stablehlo.constant dense<[true, false]> : tensor<2xi1>
  %3 = stablehlo.constant dense<(1.0,-2.5e-3)> : tensor<3xcomplex<f64>>
  %4 = stablehlo.constant dense<[0.5, 448.0, 0x7F]> : tensor<3xf8E4M3FN>
  %5 = stablehlo.constant dense<> : tensor<2x0xi32>
  %6 = stablehlo.constant dense<18446744073709551615> : tensor<ui64>
  %7 = stablehlo.constant dense_resource<blob> : tensor<4xf32>
  %8 = stablehlo.constant dense<[-8, 7]> : tensor<2xi4>
  %9 = stablehlo.constant dense<0xFF800000> : tensor<f32>
  %10 = "stablehlo.constant"() <{value = dense<1.0> : tensor<2xbf16>}> {a = [unit, 1 : i32, 2.5 : f16, "s\0A\22", @f::@g, tensor<?xf32>, array<i64: 1, 2>, array<f32: 1.0>, array<i1: true>, #other.thing<[1, ">"]>], b} : () -> tensor<2xbf16>
  return
}
{-#
  dialect_resources: {
    builtin: {
      blob: "0x040000000000803F000000400000404000008040"
    }
  }
#-}
