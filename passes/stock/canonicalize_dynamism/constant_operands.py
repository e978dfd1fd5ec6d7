"""Which dynamic operations have a static form because the operands that make them dynamic are constants?

Source: `stablehlo/transforms/StablehloCanonicalizeDynamism.cpp`. Upstream wants literal constants and, for a slice of
constant sizes, the sum of its starts and a constant; here any operand will do that is a constant in effect.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from hlo.interchange.mlir import dialect, ir
from hlo.stablehlo import integer_constant
from passes.stock.canonicalize_dynamism.rewriting import (
    Rule,
    has_dimension_type,
    is_static,
    replaced,
    scalar_at,
)
from passes.stock.shape_component_analysis import ShapeComponentAnalysis, dimensions

SHAPE_OPERANDS = "indices_of_shape_operands"
"""The attribute of a custom-call that takes the shapes of its results, and which operands these are."""


def _iota(op: Any, rewriter: Any, _analysis: ShapeComponentAnalysis) -> bool:
    result = op.results[0]
    if not is_static(result):
        return False
    return replaced(op, rewriter, dialect().iota(result.type, op.attributes["iota_dimension"]))


def _pad(op: Any, rewriter: Any, analysis: ShapeComponentAnalysis) -> bool:
    low, high, interior = (analysis.integers(operand) for operand in list(op.operands)[2:])
    if low is None or high is None or interior is None:
        return False
    new = _created(
        "stablehlo.pad",
        op,
        list(op.operands)[:2],
        edge_padding_low=_array(low),
        edge_padding_high=_array(high),
        interior_padding=_array(interior),
    )
    return replaced(op, rewriter, new)


def _gather(op: Any, rewriter: Any, analysis: ShapeComponentAnalysis) -> bool:
    sizes = analysis.integers(op.operands[2])
    if sizes is None:
        return False
    new = _created(
        "stablehlo.gather", op, list(op.operands)[:2], **_attributes(op), slice_sizes=_array(sizes)
    )
    return replaced(op, rewriter, new)


def _conv(op: Any, rewriter: Any, analysis: ShapeComponentAnalysis) -> bool:
    padding = analysis.integers(op.operands[2])
    if padding is None:
        return False
    rows = ir().DenseIntElementsAttr.get(np.asarray(padding, np.int64).reshape(-1, 2))
    kept = {name: value for name, value in _attributes(op).items() if name != "padding"}
    return replaced(
        op, rewriter, _created("stablehlo.convolution", op, list(op.operands)[:2], **kept, padding=rows)
    )


def _slice(op: Any, rewriter: Any, analysis: ShapeComponentAnalysis) -> bool:
    starts, limits, strides = (analysis.integers(operand) for operand in list(op.operands)[1:])
    if starts is None or limits is None or strides is None:
        return False
    new = _created(
        "stablehlo.slice",
        op,
        [op.operands[0]],
        start_indices=_array(starts),
        limit_indices=_array(limits),
        strides=_array(strides),
    )
    return replaced(op, rewriter, new)


def _dynamic_slice(op: Any, rewriter: Any, analysis: ShapeComponentAnalysis) -> bool:
    """Of sizes that are constants. Starts that are out of bounds, which alone are clamped, have no meaning before."""
    operand, starts, limits, strides = op.operands
    if set(analysis.integers(strides) or (0,)) != {1} or not has_dimension_type(starts):
        return False
    first, last = analysis.elements(starts), analysis.elements(limits)
    if first is None or last is None:
        return False
    sizes = [(limit - start).extent for start, limit in zip(first, last, strict=True)]
    known = [size for size in sizes if size is not None]
    if len(known) != len(sizes) or not _fit(known, operand):
        return False
    scalars = [scalar_at(starts, d) for d in range(len(known))]
    new = _created("stablehlo.dynamic_slice", op, [operand, *scalars], slice_sizes=_array(known))
    return replaced(op, rewriter, new)


def _fit(sizes: list[int], operand: Any) -> bool:
    return all(bound is None or size <= bound for size, bound in zip(sizes, dimensions(operand), strict=True))


def _custom_call(op: Any, rewriter: Any, analysis: ShapeComponentAnalysis) -> bool:
    """One that is given the shapes of its results, one operand each, after those that its meaning needs."""
    if SHAPE_OPERANDS not in op.attributes or not all(map(is_static, op.results)):
        return False
    shapes = {int(number) for number in op.attributes[SHAPE_OPERANDS]}
    if len(shapes) != len(op.results):
        return False
    for number, result in zip(sorted(shapes), op.results, strict=True):
        if analysis.integers(op.operands[number]) != dimensions(result):
            return False
    kept = {name: value for name, value in _attributes(op).items() if name != SHAPE_OPERANDS}
    if "operand_layouts" in kept:
        layouts = [layout for n, layout in enumerate(kept["operand_layouts"]) if n not in shapes]
        kept["operand_layouts"] = ir().ArrayAttr.get(layouts)
    operands = [operand for n, operand in enumerate(op.operands) if n not in shapes]
    return replaced(op, rewriter, _created("stablehlo.custom_call", op, operands, **kept))


def _size(op: Any, rewriter: Any, _analysis: ShapeComponentAnalysis) -> bool:
    """Of a dimension whose size the type says. A bounded one, whose size only a run tells, stays."""
    size = dimensions(op.operands[0])[int(op.attributes["dimension"])]
    if size is None:
        return False
    rewriter.replace_op(op, [integer_constant(size)])
    return True


def _created(name: str, old: Any, operands: list[Any], **attributes: Any) -> Any:
    """An operation of the results of `old`."""
    return ir().Operation.create(
        name, results=[result.type for result in old.results], operands=operands, attributes=attributes
    )


def _attributes(op: Any) -> dict[str, Any]:
    names = [str(getattr(attribute, "name", attribute)) for attribute in op.attributes]
    return {name: op.attributes[name] for name in names}


def _array(values: tuple[int, ...] | list[int]) -> Any:
    return ir().DenseI64ArrayAttr.get(list(values))


RULES = (
    Rule("dynamic-iota-op-not-actually-dynamic", "stablehlo.dynamic_iota", _iota),
    Rule("dynamic-pad-op-not-actually-dynamic", "stablehlo.dynamic_pad", _pad),
    Rule("dynamic-gather-op-not-actually-dynamic", "stablehlo.dynamic_gather", _gather),
    Rule("dynamic-conv-op-not-actually-dynamic", "stablehlo.dynamic_conv", _conv),
    Rule("real-dynamic-slice-op-to-slice", "stablehlo.real_dynamic_slice", _slice),
    Rule("real-dynamic-slice-op-to-dynamic-slice", "stablehlo.real_dynamic_slice", _dynamic_slice),
    Rule("get-dimension-size-of-static-dimension", "stablehlo.get_dimension_size", _size),
    Rule("custom-call-without-shape-operands", "stablehlo.custom_call", _custom_call),
)
