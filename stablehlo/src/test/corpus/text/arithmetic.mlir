module @sums attributes {mhlo.num_partitions = 8 : i32, mhlo.num_replicas = 1 : i32} {
  func.func public @main(%arg0: tensor<2x3xf32> {jax.name = "x"}, %arg1: tensor<2x3xf32>) -> (tensor<2x3xf32> {jax.result_info = "y"}) {
    %0 = stablehlo.add %arg0, %arg1 : tensor<2x3xf32> loc("sum")
    %1 = stablehlo.tanh %0 : tensor<2x3xf32>
    %2 = stablehlo.compare LT, %1, %arg0, FLOAT : (tensor<2x3xf32>, tensor<2x3xf32>) -> tensor<2x3xi1>
    %3 = stablehlo.select %2, %1, %0 : tensor<2x3xi1>, tensor<2x3xf32>
    %4 = stablehlo.convert %3 : (tensor<2x3xf32>) -> tensor<2x3xbf16>
    %5 = stablehlo.convert %4 : (tensor<2x3xbf16>) -> tensor<2x3xf32>
    return %5 : tensor<2x3xf32>
  }
}
