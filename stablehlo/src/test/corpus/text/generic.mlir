"builtin.module"() <{sym_name = "g"}> ({
  "func.func"() <{function_type = (tensor<4xf32>) -> tensor<4xf32>, sym_name = "main", arg_attrs = [{a = 1 : i64}]}> ({
  ^bb0(%arg0: tensor<4xf32> loc("in")):
    %0 = "stablehlo.exponential"(%arg0) {result_accuracy = #stablehlo.result_accuracy<ulps = 10, mode = #stablehlo.result_accuracy_mode<TOLERANCE>>} : (tensor<4xf32>) -> tensor<4xf32>
    %2 = "stablehlo.broadcast_in_dim"(%arg0) <{broadcast_dimensions = array<i64: 1>}> : (tensor<4xf32>) -> tensor<2x4xf32>
    %1:3 = "stablehlo.batch_norm_training"(%2, %0, %0) <{epsilon = 1.000000e-01 : f32, feature_index = 1 : i64}> : (tensor<2x4xf32>, tensor<4xf32>, tensor<4xf32>) -> (tensor<2x4xf32>, tensor<4xf32>, tensor<4xf32>)
    %3 = "foreign.op"(%0) {k = !foreign.type<"x">, affine = affine_map<(d0) -> (d0)>} : (tensor<4xf32>) -> memref<2xf32>
    "func.return"(%1#1) : (tensor<4xf32>) -> ()
  }) : () -> ()
}) {dlti.x = #dlti.y} : () -> ()
