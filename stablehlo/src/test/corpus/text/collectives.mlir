func.func @collectives(%x: tensor<4x4xf32>, %t: !stablehlo.token) -> (tensor<4x4xf32>, !stablehlo.token) {
  %0 = "stablehlo.all_reduce"(%x) <{channel_handle = #stablehlo.channel_handle<handle = 1, type = 1>, replica_groups = dense<[[0, 1], [2, 3]]> : tensor<2x2xi64>, use_global_device_ids}> ({
  ^bb0(%a: tensor<f32>, %b: tensor<f32>):
    %s = stablehlo.add %a, %b : tensor<f32>
    stablehlo.return %s : tensor<f32>
  }) : (tensor<4x4xf32>) -> tensor<4x4xf32>
  %1 = "stablehlo.all_gather"(%0) <{all_gather_dim = 0 : i64, replica_groups = dense<[[0, 1]]> : tensor<1x2xi64>}> : (tensor<4x4xf32>) -> tensor<8x4xf32>
  %2 = "stablehlo.collective_permute"(%0) <{source_target_pairs = dense<[[0, 1], [1, 0]]> : tensor<2x2xi64>}> : (tensor<4x4xf32>) -> tensor<4x4xf32>
  %3 = stablehlo.create_token : !stablehlo.token
  %4 = stablehlo.after_all %t, %3 : !stablehlo.token
  %5:2 = "stablehlo.infeed"(%4) <{infeed_config = "c", layout = [[0, 1]]}> : (!stablehlo.token) -> (tensor<4x4xf32>, !stablehlo.token)
  %6 = stablehlo.tuple %2, %5#1 : tuple<tensor<4x4xf32>, !stablehlo.token>
  %7 = stablehlo.get_tuple_element %6[0] : (tuple<tensor<4x4xf32>, !stablehlo.token>) -> tensor<4x4xf32>
  %8 = stablehlo.optimization_barrier %7 : tensor<4x4xf32>
  return %8, %5#1 : tensor<4x4xf32>, !stablehlo.token
}
