#loc1 = loc("model.py":12:3)
#loc2 = loc("layer"(#loc1))
#map = [1, 2]
!t = tensor<2x2xf32>
module attributes {a = #map} {
  func.func @f(%arg0: !t loc("x")) -> !t { // a comment
    %0 = stablehlo.sine %arg0 : !t loc(callsite(#loc2 at #loc1))
    %1 = stablehlo.cosine %0 : !t loc(fused<"pass">[#loc1, #loc3])
    return %1 : !t loc(unknown)
  } loc(#loc1)
} loc(#loc2)
#loc3 = loc("a.py":1:2 to 3:4)
