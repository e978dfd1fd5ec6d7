"""Which dynamic reshapes are none, and who asks for the shape that they were given?

Source: `xla/mlir_hlo/mhlo/IR/hlo_ops.cc` (DynamicReshapeOp), `mhlo_canonicalize.td`, `hlo_patterns.td`. Upstream
compares values, we compare sizes.
"""

from __future__ import annotations

from typing import Any

from hlo.interchange.mlir import dialect
from passes.stock.canonicalize_dynamism.rewriting import (
    Rule,
    can_cast,
    cast,
    has_dimension_type,
    is_bounded,
    is_static,
    replaced,
    scalar_at,
)
from passes.stock.shape_component_analysis import ShapeComponentAnalysis, dimensions, producer_named

_RESHAPE = "stablehlo.dynamic_reshape"


def _not_actually_dynamic(op: Any, rewriter: Any, _analysis: ShapeComponentAnalysis) -> bool:
    """A reshape to sizes that the type says; those of the operand are only known to be as many elements."""
    result = op.results[0]
    if not is_static(result) or is_bounded(op.operands[0]):
        return False
    return replaced(op, rewriter, dialect().reshape(result.type, op.operands[0]))


def _redundant(op: Any, rewriter: Any, analysis: ShapeComponentAnalysis) -> bool:
    """A reshape of a reshape, and a reshape to the shape that there is already."""
    operand, result = op.operands[0], op.results[0]
    if inner := producer_named(operand, _RESHAPE):
        return replaced(
            op, rewriter, dialect().dynamic_reshape(result.type, inner.operands[0], op.operands[1])
        )
    if not can_cast(operand, result.type) or not _is_same_shape(op, analysis):
        return False
    rewriter.replace_op(op, [cast(operand, result.type)])
    return True


def _is_same_shape(op: Any, analysis: ShapeComponentAnalysis) -> bool:
    operand = op.operands[0]
    if len(dimensions(operand)) == len(dimensions(op.results[0])) == 1:  # there are as many elements
        return True
    return analysis.have_same_shape(analysis.sizes(operand), analysis.elements(op.operands[1]))


def _shape_of(op: Any, rewriter: Any, _analysis: ShapeComponentAnalysis) -> bool:
    """`shape.shape_of` a dynamic reshape."""
    reshape = producer_named(op.operands[0], _RESHAPE)
    if reshape is None or reshape.operands[1].type != op.results[0].type:
        return False
    rewriter.replace_op(op, [reshape.operands[1]])
    return True


def _all_sizes(op: Any, rewriter: Any, analysis: ShapeComponentAnalysis) -> bool:
    """The sizes of a dynamic reshape put together, which is the `shape_of` of StableHLO."""
    sizes = [size for part in op.operands if (size := _size_behind(part)) is not None]
    reshape = producer_named(sizes[0].operands[0], _RESHAPE) if sizes else None
    if reshape is None or reshape.operands[1].type != op.results[0].type:
        return False
    if not analysis.have_same_shape(analysis.elements(op.results[0]), analysis.elements(reshape.operands[1])):
        return False
    rewriter.replace_op(op, [reshape.operands[1]])
    return True


def _size_behind(value: Any) -> Any | None:
    """The `get_dimension_size` that `value` is, reshaped and converted."""
    while op := producer_named(value, "stablehlo.reshape", "stablehlo.convert"):
        value = op.operands[0]
    return producer_named(value, "stablehlo.get_dimension_size")


def _size(op: Any, rewriter: Any, _analysis: ShapeComponentAnalysis) -> bool:
    """One size of a dynamic reshape."""
    reshape = producer_named(op.operands[0], _RESHAPE)
    d = int(op.attributes["dimension"])
    if reshape is None or not has_dimension_type(reshape.operands[1]):
        return False
    if dimensions(op.operands[0])[d] is not None:
        return False  # a constant, whatever the reshape is given
    scalar = scalar_at(reshape.operands[1], d)
    wanted = op.results[0].type
    rewriter.replace_op(op, [scalar if scalar.type == wanted else dialect().convert(wanted, scalar)])
    return True


RULES = (
    Rule("dynamic-reshape-op-not-actually-dynamic", _RESHAPE, _not_actually_dynamic),
    Rule("remove-redundant-dynamic-reshape", _RESHAPE, _redundant),
    Rule("shape-of-dynamic-reshape", "shape.shape_of", _shape_of),
    Rule("shape-of-dynamic-reshape", "stablehlo.concatenate", _all_sizes),
    Rule("shape-of-dynamic-reshape", "stablehlo.get_dimension_size", _size),
)
