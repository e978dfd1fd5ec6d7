"""StableHLO programs of unknown sizes, one for each thing that gets a form with bounds."""

# ruff: noqa: E501 - an operation of MLIR is easiest to read on one line

SUM = """({
 ^bb0(%a: tensor<f32>, %b: tensor<f32>):
   %s = stablehlo.add %a, %b : tensor<f32>
   stablehlo.return %s : tensor<f32> })"""


def main(signature: str, body: str) -> str:
    return f"module {{ func.func @main{signature} {{ {body} }} }}"


ROWS = """ %n = stablehlo.get_dimension_size %x, dim = 0 : (tensor<?x3xf32>) -> tensor<i32>
 %one = stablehlo.constant dense<1> : tensor<i32>
 %1 = stablehlo.reshape %one : (tensor<i32>) -> tensor<1xi32>
 %three = stablehlo.constant dense<3> : tensor<1xi32>
 %rows = stablehlo.reshape %n : (tensor<i32>) -> tensor<1xi32>
 %more = stablehlo.add %rows, %1 : tensor<1xi32>
 %same = stablehlo.concatenate %rows, %three, dim = 0 : (tensor<1xi32>, tensor<1xi32>) -> tensor<2xi32>
 %grown = stablehlo.concatenate %more, %three, dim = 0 : (tensor<1xi32>, tensor<1xi32>) -> tensor<2xi32>
 %0 = stablehlo.constant dense<0> : tensor<2xi32>
 %z = stablehlo.constant dense<0.0> : tensor<f32>
"""
"""Shapes that are computed from the number of rows of `%x`."""

X = "(%x: tensor<?x3xf32>) -> tensor<?x3xf32>"


def of_rows(body: str, signature: str = X) -> str:
    return main(signature, ROWS + body)


LOWERED = {
    "elementwise": main(
        "(%x: tensor<?x3xf32>, %p: tensor<i1>) -> tensor<?x3xf32>",
        """ %y = stablehlo.negate %x : tensor<?x3xf32>
 %r = stablehlo.select %p, %x, %y : tensor<i1>, tensor<?x3xf32>
 return %r : tensor<?x3xf32>""",
    ),
    "dynamic_broadcast_in_dim of a scalar": of_rows(
        """ %r = stablehlo.dynamic_broadcast_in_dim %z, %grown, dims = [] : (tensor<f32>, tensor<2xi32>) -> tensor<?x3xf32>
 return %r : tensor<?x3xf32>"""
    ),
    "dynamic_broadcast_in_dim of equal size": of_rows(
        """ %s = stablehlo.reduce(%x init: %z) applies stablehlo.add across dimensions = [1] : (tensor<?x3xf32>, tensor<f32>) -> tensor<?xf32>
 %r = stablehlo.dynamic_broadcast_in_dim %s, %same, dims = [0] : (tensor<?xf32>, tensor<2xi32>) -> tensor<?x3xf32>
 return %r : tensor<?x3xf32>"""
    ),
    "dynamic_broadcast_in_dim of one row": of_rows(
        """ %r = stablehlo.dynamic_broadcast_in_dim %y, %grown, dims = [0, 1] : (tensor<1x3xf32>, tensor<2xi32>) -> tensor<?x3xf32>
 return %r : tensor<?x3xf32>""",
        "(%x: tensor<?x3xf32>, %y: tensor<1x3xf32>) -> tensor<?x3xf32>",
    ),
    "dynamic_broadcast_in_dim of what is one row or as many": of_rows(
        """ %r = stablehlo.dynamic_broadcast_in_dim %y, %same, dims = [0, 1] : (tensor<?x3xf32>, tensor<2xi32>) -> tensor<?x3xf32>
 return %r : tensor<?x3xf32>""",
        "(%x: tensor<?x3xf32>, %y: tensor<?x3xf32>) -> tensor<?x3xf32>",
    ),
    "dynamic_iota": of_rows(
        """ %r = stablehlo.dynamic_iota %grown, dim = 0 : (tensor<2xi32>) -> tensor<?x3xf32>
 return %r : tensor<?x3xf32>"""
    ),
    "dynamic_reshape": of_rows(
        """ %t = stablehlo.multiply %rows, %three : tensor<1xi32>
 %f = stablehlo.dynamic_reshape %x, %t : (tensor<?x3xf32>, tensor<1xi32>) -> tensor<?xf32>
 %g = stablehlo.negate %f : tensor<?xf32>
 %r = stablehlo.dynamic_reshape %g, %same : (tensor<?xf32>, tensor<2xi32>) -> tensor<?x3xf32>
 return %r : tensor<?x3xf32>"""
    ),
    "real_dynamic_slice from a constant": of_rows(
        """ %lows = stablehlo.constant dense<[1, 0]> : tensor<2xi32>
 %ones = stablehlo.constant dense<1> : tensor<2xi32>
 %d = stablehlo.concatenate %x, %y, dim = 0 : (tensor<?x3xf32>, tensor<2x3xf32>) -> tensor<?x3xf32>
 %r = stablehlo.real_dynamic_slice %d, %lows, %grown, %ones : (tensor<?x3xf32>, tensor<2xi32>, tensor<2xi32>, tensor<2xi32>) -> tensor<?x3xf32>
 return %r : tensor<?x3xf32>""",
        "(%x: tensor<?x3xf32>, %y: tensor<2x3xf32>) -> tensor<?x3xf32>",
    ),
    "real_dynamic_slice of every second row behind a size": of_rows(
        """ %zero = stablehlo.constant dense<0> : tensor<1xi32>
 %lows = stablehlo.concatenate %rows, %zero, dim = 0 : (tensor<1xi32>, tensor<1xi32>) -> tensor<2xi32>
 %twice = stablehlo.add %rows, %rows : tensor<1xi32>
 %highs = stablehlo.concatenate %twice, %three, dim = 0 : (tensor<1xi32>, tensor<1xi32>) -> tensor<2xi32>
 %steps = stablehlo.constant dense<[2, 1]> : tensor<2xi32>
 %n2 = stablehlo.negate %x : tensor<?x3xf32>
 %d = stablehlo.concatenate %x, %n2, dim = 0 : (tensor<?x3xf32>, tensor<?x3xf32>) -> tensor<?x3xf32>
 %r = stablehlo.real_dynamic_slice %d, %lows, %highs, %steps : (tensor<?x3xf32>, tensor<2xi32>, tensor<2xi32>, tensor<2xi32>) -> tensor<?x3xf32>
 return %r : tensor<?x3xf32>"""
    ),
    "dynamic_pad": of_rows(
        """ %lows = stablehlo.constant dense<[2, 0]> : tensor<2xi32>
 %zero = stablehlo.constant dense<0> : tensor<1xi32>
 %highs = stablehlo.concatenate %rows, %zero, dim = 0 : (tensor<1xi32>, tensor<1xi32>) -> tensor<2xi32>
 %gaps = stablehlo.constant dense<[0, 1]> : tensor<2xi32>
 %v = stablehlo.constant dense<7.0> : tensor<f32>
 %r = stablehlo.dynamic_pad %x, %v, %lows, %highs, %gaps : (tensor<?x3xf32>, tensor<f32>, tensor<2xi32>, tensor<2xi32>, tensor<2xi32>) -> tensor<?x5xf32>
 return %r : tensor<?x5xf32>""",
        "(%x: tensor<?x3xf32>) -> tensor<?x5xf32>",
    ),
    "dynamic_pad that cuts": of_rows(
        """ %lows = stablehlo.constant dense<[3, 0]> : tensor<2xi32>
 %gaps = stablehlo.constant dense<0> : tensor<2xi32>
 %minus = stablehlo.constant dense<[-2, 0]> : tensor<2xi32>
 %v = stablehlo.constant dense<7.0> : tensor<f32>
 %r = stablehlo.dynamic_pad %x, %v, %lows, %minus, %gaps : (tensor<?x3xf32>, tensor<f32>, tensor<2xi32>, tensor<2xi32>, tensor<2xi32>) -> tensor<?x3xf32>
 return %r : tensor<?x3xf32>"""
    ),
    "dynamic_gather of whole rows": of_rows(
        """ %i = stablehlo.constant dense<-1> : tensor<1xi32>
 %one_column = stablehlo.concatenate %rows, %1, dim = 0 : (tensor<1xi32>, tensor<1xi32>) -> tensor<2xi32>
 %r = "stablehlo.dynamic_gather"(%x, %i, %one_column) <{dimension_numbers = #stablehlo.gather<offset_dims = [0], collapsed_slice_dims = [1], start_index_map = [1]>, indices_are_sorted = true}> : (tensor<?x3xf32>, tensor<1xi32>, tensor<2xi32>) -> tensor<?xf32>
 return %r : tensor<?xf32>""",
        "(%x: tensor<?x3xf32>) -> tensor<?xf32>",
    ),
    "dynamic_gather of a part that is moved into the array": of_rows(
        """ %i = stablehlo.constant dense<100> : tensor<1xi32>
 %d = stablehlo.concatenate %x, %y, dim = 0 : (tensor<?x3xf32>, tensor<2x3xf32>) -> tensor<?x3xf32>
 %r = "stablehlo.dynamic_gather"(%d, %i, %grown) <{dimension_numbers = #stablehlo.gather<offset_dims = [0, 1], start_index_map = [0]>, indices_are_sorted = true}> : (tensor<?x3xf32>, tensor<1xi32>, tensor<2xi32>) -> tensor<?x3xf32>
 return %r : tensor<?x3xf32>""",
        "(%x: tensor<?x3xf32>, %y: tensor<2x3xf32>) -> tensor<?x3xf32>",
    ),
    "dynamic_gather of parts, an index each": of_rows(
        """ %i = stablehlo.constant dense<[0, 1, 100]> : tensor<3xi64>
 %d = stablehlo.concatenate %x, %y, dim = 0 : (tensor<?x3xf32>, tensor<2x3xf32>) -> tensor<?x3xf32>
 %column = stablehlo.concatenate %more, %1, dim = 0 : (tensor<1xi32>, tensor<1xi32>) -> tensor<2xi32>
 %r = "stablehlo.dynamic_gather"(%d, %i, %column) <{dimension_numbers = #stablehlo.gather<offset_dims = [1, 2], start_index_map = [0], index_vector_dim = 1>, indices_are_sorted = true}> : (tensor<?x3xf32>, tensor<3xi64>, tensor<2xi32>) -> tensor<3x?x1xf32>
 return %r : tensor<3x?x1xf32>""",
        "(%x: tensor<?x3xf32>, %y: tensor<2x3xf32>) -> tensor<3x?x1xf32>",
    ),
    "a loop": of_rows(
        """ %i0 = stablehlo.constant dense<0> : tensor<i32>
 %l:2 = stablehlo.while(%i = %i0, %v = %x) : tensor<i32>, tensor<?x3xf32>
 cond { %k = stablehlo.constant dense<2> : tensor<i32>
   %on = stablehlo.compare LT, %i, %k : (tensor<i32>, tensor<i32>) -> tensor<i1>
   stablehlo.return %on : tensor<i1> }
 do { %next = stablehlo.add %i, %one : tensor<i32>
   %c = stablehlo.dynamic_broadcast_in_dim %z, %same, dims = [] : (tensor<f32>, tensor<2xi32>) -> tensor<?x3xf32>
   %w = stablehlo.subtract %c, %v : tensor<?x3xf32>
   stablehlo.return %next, %w : tensor<i32>, tensor<?x3xf32> }
 return %l#1 : tensor<?x3xf32>"""
    ),
    "equal by an addition": main(
        "(%x: tensor<?x3xf32>, %y: tensor<?x?xf32>) -> (tensor<?x3xf32>, tensor<?xf32>)",
        """ %r = stablehlo.add %x, %y : (tensor<?x3xf32>, tensor<?x?xf32>) -> tensor<?x3xf32>
 %z = stablehlo.constant dense<0.0> : tensor<f32>
 %s = stablehlo.reduce(%y init: %z) applies stablehlo.add across dimensions = [1] : (tensor<?x?xf32>, tensor<f32>) -> tensor<?xf32>
 return %r, %s : tensor<?x3xf32>, tensor<?xf32>""",
    ),
    "what is only moved, joined or taken": main(
        "(%x: tensor<?x3xf32>, %y: tensor<2x3xf32>) -> (tensor<3x?xf32>, tensor<?x4xf32>, tensor<1x3xf32>)",
        """ %t = stablehlo.transpose %x, dims = [1, 0] : (tensor<?x3xf32>) -> tensor<3x?xf32>
 %z = stablehlo.constant dense<1.0> : tensor<f32>
 %j = stablehlo.concatenate %y, %x, dim = 0 : (tensor<2x3xf32>, tensor<?x3xf32>) -> tensor<?x3xf32>
 %p = stablehlo.pad %j, %z, low = [0, 1], high = [1, 0], interior = [0, 0] : (tensor<?x3xf32>, tensor<f32>) -> tensor<?x4xf32>
 %i = stablehlo.constant dense<1> : tensor<i32>
 %0 = stablehlo.constant dense<0> : tensor<i32>
 %d = stablehlo.dynamic_slice %j, %i, %0, sizes = [1, 3] : (tensor<?x3xf32>, tensor<i32>, tensor<i32>) -> tensor<1x3xf32>
 return %t, %p, %d : tensor<3x?xf32>, tensor<?x4xf32>, tensor<1x3xf32>""",
    ),
    "a product, windows, and an order": main(
        "(%x: tensor<?x3xf32>, %y: tensor<3x2xf32>) -> (tensor<?x2xf32>, tensor<?x?xf32>, tensor<?x3xf32>, tensor<?x3xf32>)",
        f""" %z = stablehlo.constant dense<0.0> : tensor<f32>
 %r = stablehlo.dot %x, %y : (tensor<?x3xf32>, tensor<3x2xf32>) -> tensor<?x2xf32>
 %g = stablehlo.dot_general %x, %x, contracting_dims = [1] x [1] : (tensor<?x3xf32>, tensor<?x3xf32>) -> tensor<?x?xf32>
 %w = "stablehlo.reduce_window"(%x, %z) <{{window_dimensions = array<i64: 2, 1>, padding = dense<[[1, 0], [0, 0]]> : tensor<2x2xi64>}}> {SUM} : (tensor<?x3xf32>, tensor<f32>) -> tensor<?x3xf32>
 %o = "stablehlo.sort"(%x) <{{dimension = 0 : i64}}> ({{
 ^bb0(%a: tensor<f32>, %b: tensor<f32>):
   %lt = stablehlo.compare LT, %a, %b : (tensor<f32>, tensor<f32>) -> tensor<i1>
   stablehlo.return %lt : tensor<i1> }}) : (tensor<?x3xf32>) -> tensor<?x3xf32>
 return %r, %g, %w, %o : tensor<?x2xf32>, tensor<?x?xf32>, tensor<?x3xf32>, tensor<?x3xf32>""",
    ),
    "a shape that is cut out of another": of_rows(
        """ %pair = stablehlo.concatenate %three, %more, dim = 0 : (tensor<1xi32>, tensor<1xi32>) -> tensor<2xi32>
 %s = stablehlo.slice %pair [1:2] : (tensor<2xi32>) -> tensor<1xi32>
 %r = stablehlo.dynamic_iota %s, dim = 0 : (tensor<1xi32>) -> tensor<?xf32>
 return %r : tensor<?xf32>""",
        "(%x: tensor<?x3xf32>) -> tensor<?xf32>",
    ),
    "one size or another": of_rows(
        """ %c = stablehlo.compare GE, %one, %n : (tensor<i32>, tensor<i32>) -> tensor<i1>
 %twice = stablehlo.add %n, %n : tensor<i32>
 %e = stablehlo.select %c, %n, %twice : tensor<i1>, tensor<i32>
 %s = stablehlo.reshape %e : (tensor<i32>) -> tensor<1xi32>
 %r = stablehlo.dynamic_iota %s, dim = 0 : (tensor<1xi32>) -> tensor<?xf32>
 return %r : tensor<?xf32>""",
        "(%x: tensor<?x3xf32>) -> tensor<?xf32>",
    ),
    "divided and limited sizes": of_rows(
        """ %two = stablehlo.constant dense<2> : tensor<i32>
 %half = stablehlo.divide %n, %two : tensor<i32>
 %rest = stablehlo.remainder %n, %two : tensor<i32>
 %minus = stablehlo.subtract %half, %two : tensor<i32>
 %least = stablehlo.maximum %minus, %rest : tensor<i32>
 %most = stablehlo.minimum %half, %two : tensor<i32>
 %between = stablehlo.clamp %rest, %half, %two : tensor<i32>
 %sum = stablehlo.add %least, %most : tensor<i32>
 %all = stablehlo.add %sum, %between : tensor<i32>
 %s = stablehlo.reshape %all : (tensor<i32>) -> tensor<1xi32>
 %r = stablehlo.dynamic_iota %s, dim = 0 : (tensor<1xi32>) -> tensor<?xf32>
 return %r : tensor<?xf32>""",
        "(%x: tensor<?x3xf32>) -> tensor<?xf32>",
    ),
    "complex numbers, integers and predicates": main(
        "(%x: tensor<?xcomplex<f32>>, %y: tensor<?xi8>, %p: tensor<?xi1>) -> (tensor<?xcomplex<f32>>, tensor<?xi8>, tensor<?xi1>)",
        " return %x, %y, %p : tensor<?xcomplex<f32>>, tensor<?xi8>, tensor<?xi1>",
    ),
    "a size that is a parameter": main(
        "(%n: tensor<i64>) -> tensor<?xf32>",
        """ %s = stablehlo.reshape %n : (tensor<i64>) -> tensor<1xi64>
 %r = stablehlo.dynamic_iota %s, dim = 0 : (tensor<1xi64>) -> tensor<?xf32>
 return %r : tensor<?xf32>""",
    ),
}
"""By what is lowered."""

REFUSED = {
    "stablehlo.triangular_solve: it has no rule for unknown sizes": main(
        "(%a: tensor<?x3x3xf32>, %b: tensor<?x3x1xf32>) -> tensor<?x3x1xf32>",
        """ %r = "stablehlo.triangular_solve"(%a, %b) <{left_side = true, lower = true, transpose_a = #stablehlo<transpose NO_TRANSPOSE>, unit_diagonal = false}> : (tensor<?x3x3xf32>, tensor<?x3x1xf32>) -> tensor<?x3x1xf32>
 return %r : tensor<?x3x1xf32>""",
    ),
    "stablehlo.custom_call mine: it has no rule for unknown sizes": main(
        "(%a: tensor<?xf32>) -> tensor<?xf32>",
        """ %r = stablehlo.custom_call @mine(%a) : (tensor<?xf32>) -> tensor<?xf32>
 return %r : tensor<?xf32>""",
    ),
    "stablehlo.dynamic_iota, dimension 0: no bound of its size is known": main(
        "(%a: tensor<65xi32>) -> tensor<?xf32>",
        """ %z = stablehlo.constant dense<0> : tensor<i32>
 %m = stablehlo.reduce(%a init: %z) applies stablehlo.maximum across dimensions = [0] : (tensor<65xi32>, tensor<i32>) -> tensor<i32>
 %s = stablehlo.reshape %m : (tensor<i32>) -> tensor<1xi32>
 %r = stablehlo.dynamic_iota %s, dim = 0 : (tensor<1xi32>) -> tensor<?xf32>
 return %r : tensor<?xf32>""",
    ),
    "stablehlo.dynamic_reshape, operand 0: tensor<?x3xf32, #stablehlo.bounds<4, ?>> and tensor<?x3xf32, "
    "#stablehlo.bounds<5, ?>> have different room": of_rows(
        """ %r = stablehlo.dynamic_reshape %x, %grown : (tensor<?x3xf32>, tensor<2xi32>) -> tensor<?x3xf32>
 return %r : tensor<?x3xf32>"""
    ),
    "stablehlo.real_dynamic_slice, operand 3, dimension 0: it is not a constant": of_rows(
        """ %steps = stablehlo.concatenate %rows, %1, dim = 0 : (tensor<1xi32>, tensor<1xi32>) -> tensor<2xi32>
 %r = stablehlo.real_dynamic_slice %x, %0, %same, %steps : (tensor<?x3xf32>, tensor<2xi32>, tensor<2xi32>, tensor<2xi32>) -> tensor<?x3xf32>
 return %r : tensor<?x3xf32>"""
    ),
    "stablehlo.dynamic_pad, operand 2, dimension 0: it is not a constant": of_rows(
        """ %zero = stablehlo.constant dense<0> : tensor<1xi32>
 %lows = stablehlo.concatenate %rows, %zero, dim = 0 : (tensor<1xi32>, tensor<1xi32>) -> tensor<2xi32>
 %r = stablehlo.dynamic_pad %x, %z, %lows, %0, %0 : (tensor<?x3xf32>, tensor<f32>, tensor<2xi32>, tensor<2xi32>, tensor<2xi32>) -> tensor<?x3xf32>
 return %r : tensor<?x3xf32>"""
    ),
    "stablehlo.dynamic_pad: its sizes do not follow from what it is told": of_rows(
        """ %gaps = stablehlo.concatenate %rows, %1, dim = 0 : (tensor<1xi32>, tensor<1xi32>) -> tensor<2xi32>
 %r = stablehlo.dynamic_pad %x, %z, %0, %0, %gaps : (tensor<?x3xf32>, tensor<f32>, tensor<2xi32>, tensor<2xi32>, tensor<2xi32>) -> tensor<?x3xf32>
 return %r : tensor<?x3xf32>"""
    ),
    "stablehlo.dynamic_pad, operand 4: elements of an unknown number are spread": of_rows(
        """ %gaps = stablehlo.constant dense<[1, 0]> : tensor<2xi32>
 %r = stablehlo.dynamic_pad %x, %z, %0, %0, %gaps : (tensor<?x3xf32>, tensor<f32>, tensor<2xi32>, tensor<2xi32>, tensor<2xi32>) -> tensor<?x3xf32>
 return %r : tensor<?x3xf32>"""
    ),
    "stablehlo.while, dimension 0: element 0 has another size after an iteration": of_rows(
        """ %l = stablehlo.while(%v = %x) : tensor<?x3xf32>
 cond { %on = stablehlo.constant dense<false> : tensor<i1>
   stablehlo.return %on : tensor<i1> }
 do { %c = stablehlo.dynamic_broadcast_in_dim %z, %grown, dims = [] : (tensor<f32>, tensor<2xi32>) -> tensor<?x3xf32>
   stablehlo.return %c : tensor<?x3xf32> }
 return %l : tensor<?x3xf32>"""
    ),
    "stablehlo.if, dimension 0: element 0 has another size in another branch": of_rows(
        """ %l = "stablehlo.if"(%p) ({ stablehlo.return %x : tensor<?x3xf32> }, {
   %c = stablehlo.dynamic_broadcast_in_dim %z, %grown, dims = [] : (tensor<f32>, tensor<2xi32>) -> tensor<?x3xf32>
   stablehlo.return %c : tensor<?x3xf32> }) : (tensor<i1>) -> tensor<?x3xf32>
 return %l : tensor<?x3xf32>""",
        "(%x: tensor<?x3xf32>, %p: tensor<i1>) -> tensor<?x3xf32>",
    ),
    "func.call: a function calls itself": """module {
 func.func @main(%x: tensor<?xf32>) -> tensor<?xf32> {
  %r = call @again(%x) : (tensor<?xf32>) -> tensor<?xf32>
  return %r : tensor<?xf32> }
 func.func private @again(%x: tensor<?xf32>) -> tensor<?xf32> {
  %r = call @again(%x) : (tensor<?xf32>) -> tensor<?xf32>
  return %r : tensor<?xf32> } }""",
}
"""By what is said; each size is at most 4."""
