"""Small programs, each for one pattern of `canonicalize-dynamism`: some that it is for, and some that look like them.

Shapes are spelled as JAX spells them (`get_dimension_size`, put together), but for the few that need `shape.shape_of`.
"""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType


def _program(parameters: str, results: str, body: str) -> str:
    lines = [line.strip() for line in body.strip().splitlines()]
    *rest, last = lines
    text = "\n".join(f"    {line}" for line in (*rest, f"return {last} : {results}"))
    return f"module {{\n  func.func @main({parameters}) -> ({results}) {{\n{text}\n  }}\n}}\n"


def _own_shape(value: str, kind: str, tail: str, convert: bool = False) -> str:
    """The sizes of a matrix of this type, put together as %shape."""
    to = "i64" if convert else "i32"
    lines: list[str] = []
    for d in (0, 1):
        lines.append(
            f"%n{d} = stablehlo.get_dimension_size {value}, dim = {d} : (tensor<{kind}>) -> tensor<i32>"
        )
        source = f"%n{d}"
        if convert:
            lines.append(f"%w{d} = stablehlo.convert %n{d} : (tensor<i32>) -> tensor<i64>")
            source = f"%w{d}"
        lines.append(f"%r{d} = stablehlo.reshape {source} : (tensor<{to}>) -> tensor<1x{to}>")
    lines.append(
        f"%shape = stablehlo.concatenate %r0, %r1, dim = 0 : (tensor<1x{to}>, tensor<1x{to}>) -> tensor<2x{to}>"
    )
    return "\n".join([*lines, tail])


_BROADCAST = "stablehlo.dynamic_broadcast_in_dim"
_RESHAPE = "stablehlo.dynamic_reshape"

_RESHAPES = {
    "reshape-static-type": _program(
        "%x: tensor<?x4xf32>, %s: tensor<1xi32>",
        "tensor<8xf32>",
        f"""%y = {_RESHAPE} %x, %s : (tensor<?x4xf32>, tensor<1xi32>) -> tensor<8xf32>
        %y""",
    ),
    "reshape-constant-shape": _program(
        "%x: tensor<2x4xf32>",
        "tensor<?xf32>",
        f"""%s = stablehlo.constant dense<8> : tensor<1xi32>
        %y = {_RESHAPE} %x, %s : (tensor<2x4xf32>, tensor<1xi32>) -> tensor<?xf32>
        %y""",
    ),
    "reshape-constant-in-effect": _program(
        "%x: tensor<2x4xf32>",
        "tensor<?xf32>",
        f"""%n = stablehlo.get_dimension_size %x, dim = 0 : (tensor<2x4xf32>) -> tensor<i32>
        %four = stablehlo.constant dense<4> : tensor<i32>
        %m = stablehlo.multiply %n, %four : tensor<i32>
        %s = stablehlo.reshape %m : (tensor<i32>) -> tensor<1xi32>
        %y = {_RESHAPE} %x, %s : (tensor<2x4xf32>, tensor<1xi32>) -> tensor<?xf32>
        %z = stablehlo.negate %y : tensor<?xf32>
        %z""",
    ),
    "reshape-unknown-shape": _program(
        "%x: tensor<?x4xf32>, %s: tensor<2xi32>",
        "tensor<?x?xf32>",
        f"""%y = {_RESHAPE} %x, %s : (tensor<?x4xf32>, tensor<2xi32>) -> tensor<?x?xf32>
        %y""",
    ),
    "reshape-of-reshape": _program(
        "%x: tensor<?x4xf32>, %s: tensor<1xi32>, %t: tensor<2xi32>",
        "tensor<?x?xf32>",
        f"""%y = {_RESHAPE} %x, %s : (tensor<?x4xf32>, tensor<1xi32>) -> tensor<?xf32>
        %z = {_RESHAPE} %y, %t : (tensor<?xf32>, tensor<2xi32>) -> tensor<?x?xf32>
        %z""",
    ),
    "reshape-of-negated-reshape": _program(
        "%x: tensor<?x4xf32>, %s: tensor<1xi32>, %t: tensor<2xi32>",
        "tensor<?x?xf32>",
        f"""%y = {_RESHAPE} %x, %s : (tensor<?x4xf32>, tensor<1xi32>) -> tensor<?xf32>
        %n = stablehlo.negate %y : tensor<?xf32>
        %z = {_RESHAPE} %n, %t : (tensor<?xf32>, tensor<2xi32>) -> tensor<?x?xf32>
        %z""",
    ),
    "reshape-to-own-shape": _program(
        "%x: tensor<?x?xf32>",
        "tensor<?x?xf32>",
        _own_shape(
            "%x",
            "?x?xf32",
            f"""%y = {_RESHAPE} %x, %shape : (tensor<?x?xf32>, tensor<2xi32>) -> tensor<?x?xf32>
            %y""",
        ),
    ),
    "reshape-to-shape-of-another": _program(
        "%x: tensor<?x?xf32>, %other: tensor<?x?xf32>",
        "tensor<?x?xf32>",
        _own_shape(
            "%other",
            "?x?xf32",
            f"""%y = {_RESHAPE} %x, %shape : (tensor<?x?xf32>, tensor<2xi32>) -> tensor<?x?xf32>
            %y""",
        ),
    ),
    "reshape-to-given-shape-again": _program(
        "%x: tensor<?x4xf32>, %s: tensor<2xi32>",
        "tensor<?x?xf32>",
        f"""%y = {_RESHAPE} %x, %s : (tensor<?x4xf32>, tensor<2xi32>) -> tensor<?x?xf32>
        %n = stablehlo.negate %y : tensor<?x?xf32>
        %z = {_RESHAPE} %n, %s : (tensor<?x?xf32>, tensor<2xi32>) -> tensor<?x?xf32>
        %z""",
    ),
    "reshape-of-one-dimension": _program(
        "%x: tensor<?xf32>, %s: tensor<1xi32>",
        "tensor<?xf32>",
        f"""%y = {_RESHAPE} %x, %s : (tensor<?xf32>, tensor<1xi32>) -> tensor<?xf32>
        %y""",
    ),
    "reshape-bounded": _program(
        "%x: tensor<?x4xf32, #stablehlo.bounds<3, ?>>, %s: tensor<1xi32>",
        "tensor<8xf32>",
        f"""%y = {_RESHAPE} %x, %s : (tensor<?x4xf32, #stablehlo.bounds<3, ?>>, tensor<1xi32>) -> tensor<8xf32>
        %y""",
    ),
    "sizes-of-reshape": _program(
        "%x: tensor<?x4xf32>, %s: tensor<2xi32>",
        "tensor<2xi32>, tensor<?x?xf32>",
        _own_shape(
            "%y",
            "?x?xf32",
            """%scalar = stablehlo.constant dense<1.0> : tensor<f32>
            %z = stablehlo.dynamic_broadcast_in_dim %scalar, %shape, dims = []
                : (tensor<f32>, tensor<2xi32>) -> tensor<?x?xf32>
            %shape, %z""",
        ),
    ).replace(
        "    %n0 =",
        f"    %y = {_RESHAPE} %x, %s : (tensor<?x4xf32>, tensor<2xi32>) -> tensor<?x?xf32>\n    %n0 =",
    ),
    "one-size-of-reshape": _program(
        "%x: tensor<?x4xf32>, %s: tensor<2xi64>",
        "tensor<i32>",
        f"""%y = {_RESHAPE} %x, %s : (tensor<?x4xf32>, tensor<2xi64>) -> tensor<?x?xf32>
        %n = stablehlo.get_dimension_size %y, dim = 1 : (tensor<?x?xf32>) -> tensor<i32>
        %n""",
    ),
    "shape-of-reshape": _program(
        "%x: tensor<?x4xf32>, %s: tensor<2xi32>",
        "tensor<?x?xf32>",
        f"""%i = arith.index_cast %s : tensor<2xi32> to tensor<2xindex>
        %y = {_RESHAPE} %x, %i : (tensor<?x4xf32>, tensor<2xindex>) -> tensor<?x?xf32>
        %j = shape.shape_of %y : tensor<?x?xf32> -> tensor<2xindex>
        %one = stablehlo.constant dense<1.0> : tensor<f32>
        %z = {_BROADCAST} %one, %j, dims = [] : (tensor<f32>, tensor<2xindex>) -> tensor<?x?xf32>
        %z""",
    ),
}

_BROADCASTS = {
    "broadcast-static-type": _program(
        "%x: tensor<4xf32>, %s: tensor<2xi32>",
        "tensor<3x4xf32>",
        f"""%y = {_BROADCAST} %x, %s, dims = [1] : (tensor<4xf32>, tensor<2xi32>) -> tensor<3x4xf32>
        %y""",
    ),
    "broadcast-constant-shape": _program(
        "%x: tensor<4xf32>",
        "tensor<?x4xf32>",
        f"""%s = stablehlo.constant dense<[3, 4]> : tensor<2xi32>
        %y = {_BROADCAST} %x, %s, dims = [1] : (tensor<4xf32>, tensor<2xi32>) -> tensor<?x4xf32>
        %z = stablehlo.negate %y : tensor<?x4xf32>
        %z""",
    ),
    "broadcast-of-unknown-to-static": _program(
        "%x: tensor<?xf32>, %s: tensor<1xi32>",
        "tensor<4xf32>",
        f"""%y = {_BROADCAST} %x, %s, dims = [0] : (tensor<?xf32>, tensor<1xi32>) -> tensor<4xf32>
        %y""",
    ),
    "broadcast-of-broadcast": _program(
        "%x: tensor<?xf32>, %s: tensor<2xi32>, %t: tensor<3xi32>",
        "tensor<?x?x?xf32>",
        f"""%y = {_BROADCAST} %x, %s, dims = [1] : (tensor<?xf32>, tensor<2xi32>) -> tensor<?x?xf32>
        %z = {_BROADCAST} %y, %t, dims = [0, 2] : (tensor<?x?xf32>, tensor<3xi32>) -> tensor<?x?x?xf32>
        %z""",
    ),
    "broadcast-of-broadcast-to-known-sizes": _program(
        "%x: tensor<?x4xf32>",
        "tensor<2x?x4xf32>",
        f"""%s = stablehlo.constant dense<[1, 3, 4]> : tensor<3xi32>
        %t = stablehlo.constant dense<[2, 3, 4]> : tensor<3xi32>
        %y = {_BROADCAST} %x, %s, dims = [1, 2] : (tensor<?x4xf32>, tensor<3xi32>) -> tensor<1x?x4xf32>
        %z = {_BROADCAST} %y, %t, dims = [0, 1, 2] : (tensor<1x?x4xf32>, tensor<3xi32>) -> tensor<2x?x4xf32>
        %n = stablehlo.negate %z : tensor<2x?x4xf32>
        %n""",
    ),
    "broadcast-of-static-broadcast": _program(
        "%x: tensor<4xf32>, %t: tensor<3xi32>",
        "tensor<?x?x?xf32>",
        f"""%y = stablehlo.broadcast_in_dim %x, dims = [1] : (tensor<4xf32>) -> tensor<3x4xf32>
        %z = {_BROADCAST} %y, %t, dims = [2, 0] : (tensor<3x4xf32>, tensor<3xi32>) -> tensor<?x?x?xf32>
        %z""",
    ),
    "broadcast-of-negated-broadcast": _program(
        "%x: tensor<?xf32>, %s: tensor<2xi32>, %t: tensor<3xi32>",
        "tensor<?x?x?xf32>",
        f"""%y = {_BROADCAST} %x, %s, dims = [1] : (tensor<?xf32>, tensor<2xi32>) -> tensor<?x?xf32>
        %n = stablehlo.negate %y : tensor<?x?xf32>
        %z = {_BROADCAST} %n, %t, dims = [0, 2] : (tensor<?x?xf32>, tensor<3xi32>) -> tensor<?x?x?xf32>
        %z""",
    ),
    "own-shape-1": _program(
        "%x: tensor<?x?xf32>",
        "tensor<?x?xf32>",
        _own_shape(
            "%x",
            "?x?xf32",
            f"""%y = {_BROADCAST} %x, %shape, dims = [0, 1] : (tensor<?x?xf32>, tensor<2xi64>) -> tensor<?x?xf32>
            %y""",
            convert=True,
        ),
    ),
    "own-shape-2": _program(
        "%x: tensor<?x?xf32>",
        "tensor<?x?xf32>",
        _own_shape(
            "%x",
            "?x?xf32",
            f"""%y = {_BROADCAST} %x, %shape, dims = [0, 1] : (tensor<?x?xf32>, tensor<2xi32>) -> tensor<?x?xf32>
            %y""",
        ),
    ),
    "own-shape-3": _program(
        "%x: tensor<?x?xf32>",
        "tensor<?x4xf32>",
        _own_shape(
            "%x",
            "?x?xf32",
            f"""%y = {_BROADCAST} %x, %shape, dims = [0, 1] : (tensor<?x?xf32>, tensor<2xi64>) -> tensor<?x4xf32>
            %y""",
            convert=True,
        ),
    ),
    "own-shape-4": _program(
        "%x: tensor<?x?xf32>",
        "tensor<?x4xf32>",
        _own_shape(
            "%x",
            "?x?xf32",
            f"""%y = {_BROADCAST} %x, %shape, dims = [0, 1] : (tensor<?x?xf32>, tensor<2xi32>) -> tensor<?x4xf32>
            %y""",
        ),
    ),
    "own-shape-1-upstream": _program(
        "%x: tensor<?x?xf32>",
        "tensor<?x?xf32>",
        f"""%s = shape.shape_of %x : tensor<?x?xf32> -> !shape.shape
        %e = shape.to_extent_tensor %s : !shape.shape -> tensor<2xindex>
        %y = {_BROADCAST} %x, %e, dims = [0, 1] : (tensor<?x?xf32>, tensor<2xindex>) -> tensor<?x?xf32>
        %y""",
    ),
    "own-shape-2-upstream": _program(
        "%x: tensor<?x?xf32>",
        "tensor<?x?xf32>",
        f"""%s = shape.shape_of %x : tensor<?x?xf32> -> tensor<2xindex>
        %y = {_BROADCAST} %x, %s, dims = [0, 1] : (tensor<?x?xf32>, tensor<2xindex>) -> tensor<?x?xf32>
        %y""",
    ),
    "own-shape-3-upstream": _program(
        "%x: tensor<?x?xf32>",
        "tensor<?x4xf32>",
        f"""%s = shape.shape_of %x : tensor<?x?xf32> -> !shape.shape
        %e = shape.to_extent_tensor %s : !shape.shape -> tensor<?xindex>
        %c = tensor.cast %e : tensor<?xindex> to tensor<2xindex>
        %y = {_BROADCAST} %x, %c, dims = [0, 1] : (tensor<?x?xf32>, tensor<2xindex>) -> tensor<?x4xf32>
        %y""",
    ),
    "own-shape-4-upstream": _program(
        "%x: tensor<?x?xf32>",
        "tensor<?x4xf32>",
        f"""%s = shape.shape_of %x : tensor<?x?xf32> -> tensor<?xindex>
        %c = tensor.cast %s : tensor<?xindex> to tensor<2xindex>
        %y = {_BROADCAST} %x, %c, dims = [0, 1] : (tensor<?x?xf32>, tensor<2xindex>) -> tensor<?x4xf32>
        %y""",
    ),
    "own-shape-transposed": _program(
        "%x: tensor<?x?xf32>",
        "tensor<?x?xf32>",
        f"""%s = shape.shape_of %x : tensor<?x?xf32> -> tensor<2xindex>
        %y = {_BROADCAST} %x, %s, dims = [1, 0] : (tensor<?x?xf32>, tensor<2xindex>) -> tensor<?x?xf32>
        %y""",
    ),
    "shape-of-another": _program(
        "%x: tensor<?x?xf32>, %other: tensor<?x?xf32>",
        "tensor<?x?xf32>",
        _own_shape(
            "%other",
            "?x?xf32",
            f"""%y = {_BROADCAST} %x, %shape, dims = [0, 1] : (tensor<?x?xf32>, tensor<2xi32>) -> tensor<?x?xf32>
            %y""",
        ),
    ),
    "own-shape-after-negate": _program(
        "%x: tensor<?x?xf32>",
        "tensor<?x?xf32>",
        _own_shape(
            "%x",
            "?x?xf32",
            f"""%n = stablehlo.negate %x : tensor<?x?xf32>
            %y = {_BROADCAST} %n, %shape, dims = [0, 1] : (tensor<?x?xf32>, tensor<2xi32>) -> tensor<?x?xf32>
            %y""",
        ),
    ),
    "non-expanding": _program(
        "%x: tensor<?x?xf32>, %s: tensor<2xi32>",
        "tensor<?x?xf32>",
        f"""%y = {_BROADCAST} %x, %s, dims = [0, 1] {{known_nonexpanding_dimensions = array<i64: 0, 1>}}
            : (tensor<?x?xf32>, tensor<2xi32>) -> tensor<?x?xf32>
        %y""",
    ),
    "non-expanding-transposed": _program(
        "%x: tensor<?x?xf32>, %s: tensor<2xi32>",
        "tensor<?x?xf32>",
        f"""%y = {_BROADCAST} %x, %s, dims = [1, 0] {{known_nonexpanding_dimensions = array<i64: 0, 1>}}
            : (tensor<?x?xf32>, tensor<2xi32>) -> tensor<?x?xf32>
        %y""",
    ),
    "non-expanding-in-part": _program(
        "%x: tensor<?x?xf32>, %s: tensor<2xi32>",
        "tensor<?x?xf32>",
        f"""%y = {_BROADCAST} %x, %s, dims = [0, 1] {{known_nonexpanding_dimensions = array<i64: 0>}}
            : (tensor<?x?xf32>, tensor<2xi32>) -> tensor<?x?xf32>
        %y""",
    ),
}

_PAIR = "tensor<2xi32>"
_SLICED = f"(tensor<?x8xf32>, {_PAIR}, {_PAIR}, {_PAIR}) -> tensor<?x?xf32>"
_GATHER = (
    "dimension_numbers = #stablehlo.gather<offset_dims = [1], collapsed_slice_dims = [0], start_index_map = [0], "
    "index_vector_dim = 1>, indices_are_sorted = false"
)
_CONV = (
    "dimension_numbers = #stablehlo.conv<[b, 0, f]x[0, i, o]->[b, 0, f]>, window_strides = array<i64: 1>, "
    "batch_group_count = 1 : i64, feature_group_count = 1 : i64"
)

_OTHERS = {
    "iota-static-type": _program(
        "%s: tensor<2xi32>",
        "tensor<3x4xf32>",
        """%y = stablehlo.dynamic_iota %s, dim = 1 : (tensor<2xi32>) -> tensor<3x4xf32>
        %y""",
    ),
    "iota-constant-shape": _program(
        "",
        "tensor<?xi32>",
        """%s = stablehlo.constant dense<5> : tensor<1xi64>
        %y = stablehlo.dynamic_iota %s, dim = 0 : (tensor<1xi64>) -> tensor<?xi32>
        %y""",
    ),
    "iota-unknown": _program(
        "%s: tensor<1xi32>",
        "tensor<?xi32>",
        """%y = stablehlo.dynamic_iota %s, dim = 0 : (tensor<1xi32>) -> tensor<?xi32>
        %y""",
    ),
    "iota-unknown-of-two": _program(
        "%s: tensor<2xi32>",
        "tensor<?x?xi32>",
        """%y = stablehlo.dynamic_iota %s, dim = 1 : (tensor<2xi32>) -> tensor<?x?xi32>
        %y""",
    ),
    "pad-constant": _program(
        "%x: tensor<?xf32>, %v: tensor<f32>",
        "tensor<?xf32>",
        """%l = stablehlo.constant dense<1> : tensor<1xi32>
        %h = stablehlo.constant dense<-1> : tensor<1xi32>
        %i = stablehlo.constant dense<2> : tensor<1xi32>
        %y = stablehlo.dynamic_pad %x, %v, %l, %h, %i
            : (tensor<?xf32>, tensor<f32>, tensor<1xi32>, tensor<1xi32>, tensor<1xi32>) -> tensor<?xf32>
        %y""",
    ),
    "pad-unknown": _program(
        "%x: tensor<?xf32>, %v: tensor<f32>, %h: tensor<1xi32>",
        "tensor<?xf32>",
        """%l = stablehlo.constant dense<1> : tensor<1xi32>
        %i = stablehlo.constant dense<0> : tensor<1xi32>
        %y = stablehlo.dynamic_pad %x, %v, %l, %h, %i
            : (tensor<?xf32>, tensor<f32>, tensor<1xi32>, tensor<1xi32>, tensor<1xi32>) -> tensor<?xf32>
        %y""",
    ),
    "pad-nothing": _program(
        "%x: tensor<0xf32>, %v: tensor<f32>, %h: tensor<1xi32>",
        "tensor<?xf32>",
        """%i = stablehlo.constant dense<0> : tensor<1xi32>
        %y = stablehlo.dynamic_pad %x, %v, %h, %h, %i
            : (tensor<0xf32>, tensor<f32>, tensor<1xi32>, tensor<1xi32>, tensor<1xi32>) -> tensor<?xf32>
        %y""",
    ),
    "gather-constant": _program(
        "%x: tensor<?x4xf32>, %i: tensor<?x1xi32>",
        "tensor<?x4xf32>",
        f"""%s = stablehlo.constant dense<[1, 4]> : tensor<2xi32>
        %y = "stablehlo.dynamic_gather"(%x, %i, %s) {{{_GATHER}}}
            : (tensor<?x4xf32>, tensor<?x1xi32>, tensor<2xi32>) -> tensor<?x4xf32>
        %y""",
    ),
    "gather-unknown": _program(
        "%x: tensor<?x4xf32>, %i: tensor<?x1xi32>, %s: tensor<2xi32>",
        "tensor<?x?xf32>",
        f"""%y = "stablehlo.dynamic_gather"(%x, %i, %s) {{{_GATHER}}}
            : (tensor<?x4xf32>, tensor<?x1xi32>, tensor<2xi32>) -> tensor<?x?xf32>
        %y""",
    ),
    "conv-constant": _program(
        "%x: tensor<?x8x3xf32>, %k: tensor<2x3x5xf32>",
        "tensor<?x?x5xf32>",
        f"""%p = stablehlo.constant dense<[[1, 0]]> : tensor<1x2xi32>
        %y = "stablehlo.dynamic_conv"(%x, %k, %p) {{{_CONV}}}
            : (tensor<?x8x3xf32>, tensor<2x3x5xf32>, tensor<1x2xi32>) -> tensor<?x?x5xf32>
        %y""",
    ),
    "conv-unknown": _program(
        "%x: tensor<?x8x3xf32>, %k: tensor<2x3x5xf32>, %p: tensor<1x2xi32>",
        "tensor<?x?x5xf32>",
        f"""%y = "stablehlo.dynamic_conv"(%x, %k, %p) {{{_CONV}}}
            : (tensor<?x8x3xf32>, tensor<2x3x5xf32>, tensor<1x2xi32>) -> tensor<?x?x5xf32>
        %y""",
    ),
    "slice-constant": _program(
        "%x: tensor<?x8xf32>",
        "tensor<?x?xf32>",
        f"""%s = stablehlo.constant dense<[1, 0]> : {_PAIR}
        %l = stablehlo.constant dense<[2, 7]> : {_PAIR}
        %t = stablehlo.constant dense<[1, 2]> : {_PAIR}
        %y = stablehlo.real_dynamic_slice %x, %s, %l, %t : {_SLICED}
        %y""",
    ),
    "slice-of-constant-size": _program(
        f"%x: tensor<?x8xf32>, %s: {_PAIR}",
        "tensor<?x?xf32>",
        f"""%c = stablehlo.constant dense<[1, 3]> : {_PAIR}
        %l = stablehlo.add %s, %c : {_PAIR}
        %t = stablehlo.constant dense<1> : {_PAIR}
        %y = stablehlo.real_dynamic_slice %x, %s, %l, %t : {_SLICED}
        %z = stablehlo.negate %y : tensor<?x?xf32>
        %z""",
    ),
    "slice-of-constant-size-in-effect": _program(
        "%x: tensor<?x8xf32>, %n: tensor<i32>",
        "tensor<?x?xf32>",
        f"""%one = stablehlo.constant dense<1> : tensor<i32>
        %m = stablehlo.add %n, %one : tensor<i32>
        %n1 = stablehlo.reshape %n : (tensor<i32>) -> tensor<1xi32>
        %m1 = stablehlo.reshape %m : (tensor<i32>) -> tensor<1xi32>
        %zero = stablehlo.constant dense<0> : tensor<1xi32>
        %eight = stablehlo.constant dense<8> : tensor<1xi32>
        %s = stablehlo.concatenate %n1, %zero, dim = 0 : (tensor<1xi32>, tensor<1xi32>) -> {_PAIR}
        %l = stablehlo.concatenate %m1, %eight, dim = 0 : (tensor<1xi32>, tensor<1xi32>) -> {_PAIR}
        %t = stablehlo.constant dense<1> : {_PAIR}
        %y = stablehlo.real_dynamic_slice %x, %s, %l, %t : {_SLICED}
        %z = stablehlo.negate %y : tensor<?x?xf32>
        %z""",
    ),
    "slice-of-constant-size-returned": _program(
        f"%x: tensor<?x8xf32>, %s: {_PAIR}",
        "tensor<?x?xf32>",
        f"""%c = stablehlo.constant dense<[1, 3]> : {_PAIR}
        %l = stablehlo.add %s, %c : {_PAIR}
        %t = stablehlo.constant dense<1> : {_PAIR}
        %y = stablehlo.real_dynamic_slice %x, %s, %l, %t : {_SLICED}
        %y""",
    ),
    "slice-with-strides": _program(
        f"%x: tensor<?x8xf32>, %s: {_PAIR}",
        "tensor<?x?xf32>",
        f"""%c = stablehlo.constant dense<[1, 3]> : {_PAIR}
        %l = stablehlo.add %s, %c : {_PAIR}
        %t = stablehlo.constant dense<[1, 2]> : {_PAIR}
        %y = stablehlo.real_dynamic_slice %x, %s, %l, %t : {_SLICED}
        %y""",
    ),
    "slice-unknown": _program(
        f"%x: tensor<?x8xf32>, %s: {_PAIR}, %l: {_PAIR}",
        "tensor<?x?xf32>",
        f"""%t = stablehlo.constant dense<1> : {_PAIR}
        %y = stablehlo.real_dynamic_slice %x, %s, %l, %t : {_SLICED}
        %y""",
    ),
    "size-of-known-dimension": _program(
        "%x: tensor<?x4xf32>, %n: tensor<1xi32>",
        "tensor<?x?xf32>",
        f"""%m = stablehlo.get_dimension_size %x, dim = 1 : (tensor<?x4xf32>) -> tensor<i32>
        %m1 = stablehlo.reshape %m : (tensor<i32>) -> tensor<1xi32>
        %s = stablehlo.concatenate %n, %m1, dim = 0 : (tensor<1xi32>, tensor<1xi32>) -> tensor<2xi32>
        %one = stablehlo.constant dense<1.0> : tensor<f32>
        %y = {_BROADCAST} %one, %s, dims = [] : (tensor<f32>, tensor<2xi32>) -> tensor<?x?xf32>
        %y""",
    ),
    "chain-of-all": _program(
        "%x: tensor<2x3xf32>",
        "tensor<?x?xf32>",
        f"""%n = stablehlo.get_dimension_size %x, dim = 1 : (tensor<2x3xf32>) -> tensor<i32>
        %one = stablehlo.constant dense<1> : tensor<i32>
        %m = stablehlo.add %n, %one : tensor<i32>
        %m1 = stablehlo.reshape %m : (tensor<i32>) -> tensor<1xi32>
        %i = stablehlo.dynamic_iota %m1, dim = 0 : (tensor<1xi32>) -> tensor<?xf32>
        %k = stablehlo.get_dimension_size %i, dim = 0 : (tensor<?xf32>) -> tensor<i32>
        %k1 = stablehlo.reshape %k : (tensor<i32>) -> tensor<1xi32>
        %s = stablehlo.concatenate %m1, %k1, dim = 0 : (tensor<1xi32>, tensor<1xi32>) -> tensor<2xi32>
        %y = {_BROADCAST} %i, %s, dims = [1] : (tensor<?xf32>, tensor<2xi32>) -> tensor<?x?xf32>
        %z = stablehlo.negate %y : tensor<?x?xf32>
        %z""",
    ),
}

DYNAMISM_CASES: Mapping[str, str] = MappingProxyType({**_RESHAPES, **_BROADCASTS, **_OTHERS})
"""StableHLO text by name."""
