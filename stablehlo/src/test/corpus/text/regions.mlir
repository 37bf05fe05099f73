func.func @regions(%x: tensor<8xf32>, %n: tensor<i32>) -> (tensor<8xf32>, tensor<i32>) {
  %c = stablehlo.constant dense<1> : tensor<i32>
  %z = stablehlo.constant dense<0.0> : tensor<f32>
  %0:2 = stablehlo.while(%i = %n, %v = %x) : tensor<i32>, tensor<8xf32> attributes {mhlo.frontend_attributes = {a = "b"}}
    cond {
      %p = stablehlo.compare LT, %i, %n, SIGNED : (tensor<i32>, tensor<i32>) -> tensor<i1>
      stablehlo.return %p : tensor<i1>
    } do {
      %j = stablehlo.add %i, %c : tensor<i32>
      %s = stablehlo.reduce(%v init: %z) applies stablehlo.maximum across dimensions = [0] : (tensor<8xf32>, tensor<f32>) -> tensor<f32>
      %b = stablehlo.broadcast_in_dim %s, dims = [] : (tensor<f32>) -> tensor<8xf32>
      stablehlo.return %j, %b : tensor<i32>, tensor<8xf32>
    }
  %1 = stablehlo.reduce(%0#1 init: %z) across dimensions = [0] : (tensor<8xf32>, tensor<f32>) -> tensor<f32>
    reducer(%l: tensor<f32>, %r: tensor<f32>) {
      %m = stablehlo.multiply %l, %r : tensor<f32>
      %a = stablehlo.add %m, %r : tensor<f32>
      stablehlo.return %a : tensor<f32>
    }
  %2 = "stablehlo.sort"(%0#1) <{dimension = 0 : i64, is_stable = true}> ({
  ^bb0(%l: tensor<f32>, %r: tensor<f32>):
    %q = stablehlo.compare GT, %l, %r, TOTALORDER : (tensor<f32>, tensor<f32>) -> tensor<i1>
    stablehlo.return %q : tensor<i1>
  }) : (tensor<8xf32>) -> tensor<8xf32>
  %3 = "stablehlo.case"(%n) ({
    stablehlo.return %2 : tensor<8xf32>
  }, {
    stablehlo.return %x : tensor<8xf32>
  }) : (tensor<i32>) -> tensor<8xf32>
  %5 = stablehlo.constant dense<true> : tensor<i1>
  %4 = "stablehlo.if"(%5) ({ stablehlo.return %x : tensor<8xf32> }, { stablehlo.return %3 : tensor<8xf32> }) : (tensor<i1>) -> tensor<8xf32>
  return %4, %0#0 : tensor<8xf32>, tensor<i32>
}
