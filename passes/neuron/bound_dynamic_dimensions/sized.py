"""Which size has what an operation gives that is told its sizes, by an array of integers?"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from passes.neuron.bound_dynamic_dimensions.dimensions import Rule, gathered, padded
from passes.neuron.bound_dynamic_dimensions.elements import Elements, Known
from passes.neuron.bound_dynamic_dimensions.extent import Extent


def _as_told(number: int) -> Rule:
    def rule(known: Known, op: Any) -> Sequence[Elements] | None:
        sizes = known.elements(op.operands[number])
        return None if sizes is None else [sizes]

    return rule


def _dynamic_broadcast_in_dim(known: Known, op: Any) -> Sequence[Elements] | None:
    """As told; and a dimension that is known, and is not 1, is not spread."""
    told = known.elements(op.operands[1])
    if told is None:
        return None
    sizes = list(told)
    into = [int(d) for d in op.attributes["broadcast_dimensions"]]
    for size, d in zip(known.sizes(op.operands[0]), into, strict=True):
        if size.constant not in (None, 1):
            sizes[d] = size
    return [tuple(sizes)]


def _set_dimension_size(known: Known, op: Any) -> Sequence[Elements]:
    """Anything up to what the array holds: the array stays as large as that."""
    sizes, d = list(known.sizes(op.operands[0])), int(op.attributes["dimension"])
    sizes[d] = known.unknowns.new((0, known.unknowns.range(sizes[d])[1]))
    return [tuple(sizes)]


def _real_dynamic_slice(known: Known, op: Any) -> Sequence[Elements] | None:
    starts, limits, strides = (known.elements(operand) for operand in op.operands[1:])
    if starts is None or limits is None or strides is None:
        return None
    return [
        tuple(
            limit - start
            if stride.constant == 1
            else known.unknowns.combined("ceiling of", (limit - start, stride), _ceiling_divide)
            for start, limit, stride in zip(starts, limits, strides, strict=True)
        )
    ]


def _ceiling_divide(length: int, stride: int) -> int:
    return -(-length // stride) if stride > 0 else length


def _dynamic_pad(known: Known, op: Any) -> Sequence[Elements] | None:
    lows, highs, interiors = (known.elements(operand) for operand in op.operands[2:])
    if lows is None or highs is None or interiors is None:
        return None
    between = [interior.constant for interior in interiors]
    if None in between:
        return None
    rows = zip(known.sizes(op.operands[0]), lows, highs, between, strict=True)
    return [tuple(padded(known.unknowns, size, low, high, gap or 0) for size, low, high, gap in rows)]


def _dynamic_gather(known: Known, op: Any) -> Sequence[Elements] | None:
    sizes = known.elements(op.operands[2])
    return None if sizes is None else [gathered(known, op, sizes)]


def is_reduce_window(op: Any) -> bool:
    """Whether a custom-call is the only one with a rule here: a `reduce_window` that is told all its numbers."""
    return op.attributes["call_target_name"].value == "stablehlo.dynamic_reduce_window"


def window_of_cumulation(known: Known, op: Any) -> int | None:
    """The one dimension that a `stablehlo.dynamic_reduce_window` cumulates along, as `cumsum` of JAX does; else None.

    Every element there meets all before it and itself: the window is as long as the dimension, and so is, but for one,
    the padding in front.
    """
    told = [known.elements(operand) for operand in op.operands[2:]]
    found = [operand for operand in told if operand is not None]
    if len(op.results) != 1 or len(found) != 5 or len(told) != 5:
        return None
    windows, strides, bases, dilations, padding = found
    if any(size.constant != 1 for size in (*strides, *bases, *dilations)):
        return None
    sizes, zero, one = known.sizes(op.operands[0]), Extent.of(0), Extent.of(1)
    along = [d for d, window in enumerate(windows) if window.constant != 1]
    if len(along) != 1 or not known.unknowns.same(windows[along[0]], sizes[along[0]]):
        return None
    for d in range(len(sizes)):
        low = sizes[d] - one if d == along[0] else zero
        if not known.unknowns.same(padding[2 * d], low) or not known.unknowns.same(padding[2 * d + 1], zero):
            return None
    return along[0]


def _custom_call(known: Known, op: Any) -> Sequence[Elements] | None:
    return None if window_of_cumulation(known, op) is None else [known.sizes(op.operands[0])]


RULES: Mapping[str, Rule] = {
    "stablehlo.custom_call": _custom_call,
    "stablehlo.dynamic_broadcast_in_dim": _dynamic_broadcast_in_dim,
    "stablehlo.dynamic_gather": _dynamic_gather,
    "stablehlo.dynamic_iota": _as_told(0),
    "stablehlo.dynamic_pad": _dynamic_pad,
    "stablehlo.dynamic_reshape": _as_told(1),
    "stablehlo.real_dynamic_slice": _real_dynamic_slice,
    "stablehlo.set_dimension_size": _set_dimension_size,
}
"""By the name of the operation."""
