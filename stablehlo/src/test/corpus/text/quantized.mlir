func.func @quantized(%x: tensor<2x3x!quant.uniform<i8:f32, 0.5:-3>>, %y: tensor<2x3x!quant.uniform<u8<1:200>:f32:1, {0.1:1, 0.2:2, 0.3:7}>>, %z: tensor<4x!quant.uniform<i4:f16:{0:2}, {1.0, 2.0}>>) -> tensor<2x3xf32> {
  %0 = stablehlo.uniform_dequantize %x : (tensor<2x3x!quant.uniform<i8:f32, 0.5:-3>>) -> tensor<2x3xf32>
  %1 = stablehlo.uniform_quantize %0 : (tensor<2x3xf32>) -> tensor<2x3x!quant.uniform<i8:f32, 0.5:-3>>
  return %0 : tensor<2x3xf32>
}
