func.func @shapes(%x: tensor<4x8xf32>, %i: tensor<i32>) -> tensor<8x4xf32> {
  %0 = stablehlo.slice %x [0:4, 1:7:2] : (tensor<4x8xf32>) -> tensor<4x3xf32>
  %1 = stablehlo.concatenate %0, %0, dim = 1 : (tensor<4x3xf32>, tensor<4x3xf32>) -> tensor<4x6xf32>
  %z = stablehlo.constant dense<0.0> : tensor<f32>
  %2 = stablehlo.pad %1, %z, low = [0, 1], high = [0, -1], interior = [0, 0] : (tensor<4x6xf32>, tensor<f32>) -> tensor<4x6xf32>
  %3 = stablehlo.reshape %2 : (tensor<4x6xf32>) -> tensor<24xf32>
  %4 = stablehlo.broadcast_in_dim %3, dims = [1] : (tensor<24xf32>) -> tensor<2x24xf32>
  %5 = stablehlo.dynamic_slice %x, %i, %i, sizes = [2, 2] : (tensor<4x8xf32>, tensor<i32>, tensor<i32>) -> tensor<2x2xf32>
  %6 = stablehlo.dynamic_update_slice %x, %5, %i, %i : (tensor<4x8xf32>, tensor<2x2xf32>, tensor<i32>, tensor<i32>) -> tensor<4x8xf32>
  %7 = stablehlo.iota dim = 0 : tensor<3xi32>
  %8 = stablehlo.transpose %6, dims = [1, 0] : (tensor<4x8xf32>) -> tensor<8x4xf32>
  %9 = stablehlo.reverse %8, dims = [0] : tensor<8x4xf32>
  return %9 : tensor<8x4xf32>
}
