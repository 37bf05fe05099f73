func.func @windows(%x: tensor<1x8x8xf32>, %r: tensor<2xui64>, %c: tensor<4xcomplex<f32>>) -> tensor<1x4x4xf32> {
  %z = stablehlo.constant dense<0xFF800000> : tensor<f32>
  %0 = "stablehlo.reduce_window"(%x, %z) <{window_dimensions = array<i64: 1, 2, 2>, window_strides = array<i64: 1, 2, 2>, padding = dense<0> : tensor<3x2xi64>}> ({
  ^bb0(%a: tensor<f32>, %b: tensor<f32>):
    %m = stablehlo.maximum %a, %b : tensor<f32>
    stablehlo.return %m : tensor<f32>
  }) : (tensor<1x8x8xf32>, tensor<f32>) -> tensor<1x4x4xf32>
  %1, %2 = stablehlo.rng_bit_generator %r, algorithm = THREE_FRY : (tensor<2xui64>) -> (tensor<2xui64>, tensor<4xui32>)
  %3 = stablehlo.fft %c, type = FFT, length = [4] : (tensor<4xcomplex<f32>>) -> tensor<4xcomplex<f32>>
  %4 = stablehlo.bitcast_convert %2 : (tensor<4xui32>) -> tensor<4xf32>
  %5 = stablehlo.clamp %z, %4, %z : (tensor<f32>, tensor<4xf32>, tensor<f32>) -> tensor<4xf32>
  %6 = stablehlo.reduce_precision %5, format = e5m10 : tensor<4xf32>
  %8 = stablehlo.reshape %6 : (tensor<4xf32>) -> tensor<2x2xf32>
  %7 = "stablehlo.triangular_solve"(%8, %8) <{left_side = true, lower = true, transpose_a = #stablehlo<transpose NO_TRANSPOSE>, unit_diagonal = false}> : (tensor<2x2xf32>, tensor<2x2xf32>) -> tensor<2x2xf32>
  return %0 : tensor<1x4x4xf32>
}
