"""Which dynamic broadcasts are none?

Source: `xla/mlir_hlo/mhlo/IR/hlo_ops.cc` (DynamicBroadcastInDimOp), `hlo_patterns.td`. The four patterns of a broadcast
to its operand's own shape differ by how that shape is written:

| pattern | upstream | here, without the shape dialect |
|---|---|---|
| 1 | `shape.to_extent_tensor` of `shape.shape_of` | the sizes put together, and converted |
| 2 | `shape.shape_of` | the sizes put together |
| 3 | a `tensor.cast` of 1 | 1, of a type that says something else about the sizes |
| 4 | a `tensor.cast` of 2 | 2, of a type that says something else about the sizes |

Upstream compares values, and does not look at the dimensions: it takes a transposition (`dims = [1, 0]`) for a
broadcast to its own shape.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from hlo.interchange.mlir import dialect
from passes.stock.canonicalize_dynamism.rewriting import (
    Rule,
    can_cast,
    cast,
    identity,
    is_bounded,
    is_static,
    replaced,
)
from passes.stock.shape_component_analysis import (
    ShapeComponentAnalysis,
    dimensions,
    producer,
    producer_named,
)

_DYNAMIC, _STATIC = "stablehlo.dynamic_broadcast_in_dim", "stablehlo.broadcast_in_dim"
_CONVERSIONS = frozenset({"shape.to_extent_tensor", "stablehlo.convert", "arith.index_cast"})
_REARRANGED = frozenset({"stablehlo.concatenate", "stablehlo.reshape"})


def _not_actually_dynamic(op: Any, rewriter: Any, _analysis: ShapeComponentAnalysis) -> bool:
    operand, result = op.operands[0], op.results[0]
    if not is_static(operand) or not is_static(result):
        return False
    along = list(op.attributes["broadcast_dimensions"])
    return replaced(op, rewriter, dialect().broadcast_in_dim(result.type, operand, along))


def _chained(op: Any, rewriter: Any, _analysis: ShapeComponentAnalysis) -> bool:
    """A broadcast of a broadcast, of which the inner one may be static."""
    inner = producer_named(op.operands[0], _DYNAMIC, _STATIC)
    if inner is None or is_bounded(inner.operands[0]):
        return False
    along = list(op.attributes["broadcast_dimensions"])
    composed = [along[d] for d in inner.attributes["broadcast_dimensions"]]
    result = op.results[0]
    return replaced(
        op,
        rewriter,
        dialect().dynamic_broadcast_in_dim(result.type, inner.operands[0], op.operands[1], composed),
    )


def _to_own_shape(number: int) -> Callable[[Any, Any, ShapeComponentAnalysis], bool]:
    def rewrite(op: Any, rewriter: Any, analysis: ShapeComponentAnalysis) -> bool:
        operand, shape, result = op.operands[0], op.operands[1], op.results[0]
        if not identity(list(op.attributes["broadcast_dimensions"]), len(dimensions(result))):
            return False
        if not can_cast(operand, result.type) or _written(op) != number:
            return False
        if not analysis.have_same_shape(analysis.sizes(operand), analysis.elements(shape)):
            return False
        rewriter.replace_op(op, [cast(operand, result.type)])
        return True

    return rewrite


def _written(op: Any) -> int:
    """By which of the four patterns the shape of a broadcast is written."""
    shape, other_type = op.operands[1], op.operands[0].type != op.results[0].type
    if inner := producer_named(shape, "tensor.cast"):
        shape, other_type = inner.operands[0], True
    return 1 + (not _is_converted(shape)) + 2 * other_type


def _is_converted(shape: Any) -> bool:
    """Whether some size has been converted, before or after they were put together."""
    op = producer(shape)
    if op is None:
        return False
    if op.name in _CONVERSIONS:
        return True
    return op.name in _REARRANGED and any(map(_is_converted, op.operands))


RULES = (
    Rule("chained-dynamic-broadcast-in-dim-canonicalization", _DYNAMIC, _chained),
    Rule("dynamic-broadcast-in-dim-op-not-actually-dynamic", _DYNAMIC, _not_actually_dynamic),
    *(Rule(f"dynamic-broadcast-to-own-shape-{n}", _DYNAMIC, _to_own_shape(n)) for n in (1, 2, 3, 4)),
)
