module {
  func.func @main(%x: tensor<2x8xf32>, %d: tensor<?x?xf32, #stablehlo.bounds<4, ?>>) -> tensor<2x3xf32> {
    %0 = stablehlo.custom_call @target(%x) {api_version = 4 : i32, backend_config = {mode = 1 : i64}, has_side_effect = true, mhlo.x = "y", operand_layouts = [dense<[1, 0]> : tensor<2xindex>], output_operand_aliases = [#stablehlo.output_operand_alias<output_tuple_indices = [], operand_index = 0, operand_tuple_indices = []>], result_layouts = [dense<[0, 1]> : tensor<2xindex>]} : (tensor<2x8xf32>) -> tensor<2x8xf32>
    %1 = stablehlo.composite "my.op" %0 {composite_attributes = {n = 1 : i64}, decomposition = @inner, version = 1 : i32} : (tensor<2x8xf32>) -> tensor<2x8xf32>
    %2 = call @inner(%1) : (tensor<2x8xf32>) -> tensor<2x8xf32>
    %values, %indices = chlo.top_k(%2, k = 3) : tensor<2x8xf32> -> (tensor<2x3xf32>, tensor<2x3xi32>)
    %3 = chlo.erf %values : tensor<2x3xf32> -> tensor<2x3xf32>
    return %3 : tensor<2x3xf32>
  }
  func.func private @inner(%x: tensor<2x8xf32>) -> tensor<2x8xf32> {
    return %x : tensor<2x8xf32>
  }
}
