// CASE: canonicalize-static-dims-only-unknown
// RUN: canonicalize-for-tensorizer{static_dims_only=false}
// EXPECT: disagree values/value canonicalize-for-tensorizer
// WHY: the size of a dimension that nobody knows is folded to what 32 bits keep of MLIR's mark for it, 0
// INPUTS
// INPUT: {"type":"s32","shape":[1],"value":[0]}
// | canonicalize-for-tensorizer: result[] is s32 0, not s32 1; 1 of 1 differ
// |
// | check:          values (value)
// | first bad pass: canonicalize-for-tensorizer
// | passes:         canonicalize-for-tensorizer{static_dims_only=false}
// | environment:    no switch is set
// | replay:         hlofuzz replay (this file)
// | sizes:          [1]
// | input 0:        s32[1] [0]
// | expected:       s32 1 (evaluator, before)
// | actual:         s32 0 (evaluator, after)
// | where:          1 of 1 elements differ
// | confirmed: JAX on the original agrees with the evaluator
// | agree: evaluator, jax, stablehlo-interpreter, xla-cpu, xla-cpu-unoptimised
// | differ: result of canonicalize-for-tensorizer (result[] is s32 0, not s32 1; 1 of 1 differ)
// |
// | before (-) and after (+) canonicalize-for-tensorizer:
// |   module {
// |     func.func @main(%arg0: tensor<?xi32>) -> tensor<i32> {
// | -     %0 = stablehlo.get_dimension_size %arg0, dim = 0 : (tensor<?xi32>) -> tensor<i32>
// | -     return %0 : tensor<i32>
// | +     %c = stablehlo.constant dense<0> : tensor<i32>
// | +     return %c : tensor<i32>
// |     }
// |   }
module {
  func.func @main(%arg0: tensor<?xi32>) -> tensor<i32> {
    %0 = stablehlo.get_dimension_size %arg0, dim = 0 : (tensor<?xi32>) -> tensor<i32>
    return %0 : tensor<i32>
  }
}
