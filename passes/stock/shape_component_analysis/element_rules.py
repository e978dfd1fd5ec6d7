"""What are the elements of an array of sizes, by the operation that computes it?

A rule gives each element in row-major order, None for one that stays a symbol; the analysis then wraps it to the
integers of the type. Operations of the dialects shape, tensor and arith are those by which MHLO writes shapes.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from math import prod
from typing import Any, Final

from hlo.interchange.mlir import dialect, ir
from passes.stock.shape_component_analysis.dimension_rules import Sizes
from passes.stock.shape_component_analysis.size import Size
from passes.stock.shape_component_analysis.values import dimensions, integer_type, is_ranked

Rule = Callable[[Sizes, Any, Any], "tuple[Size | None, ...] | None"]


def _constant(attribute: str) -> Rule:
    def rule(_at: Sizes, op: Any, _value: Any) -> tuple[Size | None, ...] | None:
        value = op.attributes[attribute]
        if isinstance(value, ir().IntegerAttr):
            return (Size.of(int(value)),)
        if isinstance(value, ir().DenseIntElementsAttr):
            return tuple(Size.of(int(element)) for element in value)
        return None

    return rule


def _get_dimension_size(at: Sizes, op: Any, _value: Any) -> tuple[Size | None, ...]:
    return (at.sizes(op.operands[0])[int(op.attributes["dimension"])],)


def _dim(at: Sizes, op: Any, _value: Any) -> tuple[Size | None, ...] | None:
    """`tensor.dim`, whose dimension is an operand."""
    number, source = at.integers(op.operands[1]), op.operands[0]
    if number is None or not is_ranked(source):
        return None
    sizes = at.sizes(source)
    return (sizes[number[0]],) if number[0] in range(len(sizes)) else None


def _shape_of(at: Sizes, op: Any, _value: Any) -> tuple[Size | None, ...] | None:
    return at.sizes(op.operands[0]) if is_ranked(op.operands[0]) else None


def _same(at: Sizes, op: Any, _value: Any) -> tuple[Size | None, ...] | None:
    """The elements of the operand in the same order, in another shape or type."""
    return at.elements(op.operands[0])


def _convert(at: Sizes, op: Any, _value: Any) -> tuple[Size | None, ...] | None:
    """Between integers. What a narrow one holds is a symbol of its own, unless it is a constant."""
    return at.elements(op.operands[0]) if integer_type(op.operands[0]) is not None else None


def _concatenate(at: Sizes, op: Any, _value: Any) -> tuple[Size | None, ...] | None:
    if int(op.attributes["dimension"]) != 0:
        return None
    joined: list[Size] = []
    for operand in op.operands:
        elements = at.elements(operand)
        if elements is None:
            return None
        joined += elements
    return tuple(joined)


def _from_elements(at: Sizes, op: Any, _value: Any) -> tuple[Size | None, ...] | None:
    found = [at.elements(operand) for operand in op.operands]
    return tuple(elements[0] if elements else None for elements in found)


def _extract(at: Sizes, op: Any, _value: Any) -> tuple[Size | None, ...] | None:
    elements = at.elements(op.operands[0])
    places = [at.integers(operand) for operand in list(op.operands)[1:]]
    if elements is None or len(places) != 1 or places[0] is None:
        return None
    place = places[0][0]
    return (elements[place],) if place in range(len(elements)) else None


def _slice(at: Sizes, op: Any, _value: Any) -> tuple[Size | None, ...] | None:
    elements = at.elements(op.operands[0])
    if elements is None or len(dimensions(op.operands[0])) != 1:
        return None
    ((start,), (limit,), (stride,)) = (
        list(op.attributes[name]) for name in ("start_indices", "limit_indices", "strides")
    )
    return elements[start:limit:stride]


def _broadcast_in_dim(at: Sizes, op: Any, value: Any) -> tuple[Size | None, ...] | None:
    """Of one element only."""
    elements = at.elements(op.operands[0])
    if elements is None or len(elements) != 1:
        return None
    return elements * prod(size or 0 for size in dimensions(value))


def _iota(_at: Sizes, op: Any, value: Any) -> tuple[Size | None, ...] | None:
    sizes = dimensions(value)
    return tuple(map(Size.of, range(sizes[0] or 0))) if len(sizes) == 1 else None


def _polynomial(combine: Callable[[Size, Size], Size]) -> Rule:
    def rule(at: Sizes, op: Any, _value: Any) -> tuple[Size | None, ...] | None:
        left, right = at.elements(op.operands[0]), at.elements(op.operands[1])
        if left is None or right is None:
            return None
        return tuple(combine(one, other) for one, other in zip(left, right, strict=True))

    return rule


def _negate(at: Sizes, op: Any, _value: Any) -> tuple[Size | None, ...] | None:
    elements = at.elements(op.operands[0])
    return None if elements is None else tuple(-element for element in elements)


def _maximum(at: Sizes, op: Any, _value: Any) -> tuple[Size | None, ...] | None:
    """Of constants; and of a size and what is not positive, which is the size."""
    left, right = at.elements(op.operands[0]), at.elements(op.operands[1])
    if left is None or right is None:
        return None
    return tuple(_larger(one, other) for one, other in zip(left, right, strict=True))


def _larger(one: Size, other: Size) -> Size | None:
    if one.exact is not None and other.exact is not None:
        return Size.of(max(one.exact, other.exact))
    for size, limit in ((one, other), (other, one)):
        if size.is_dimension and limit.exact is not None and limit.exact <= 0:
            return size
    return None


def _of_constants(compute: Callable[..., int | None]) -> Rule:
    """Element by element, where each operand is a constant there."""

    def rule(at: Sizes, op: Any, _value: Any) -> tuple[Size | None, ...] | None:
        operands = [at.elements(operand) for operand in op.operands]
        if any(elements is None for elements in operands):
            return None
        found: list[Size | None] = []
        for group in zip(*(elements or () for elements in operands), strict=True):
            known = [size.exact for size in group if size.exact is not None]
            value = compute(*known) if len(known) == len(group) else None
            found.append(None if value is None else Size.of(value))
        return tuple(found)

    return rule


def _divided(dividend: int, divisor: int) -> int | None:
    """Towards zero."""
    if divisor == 0:
        return None
    quotient = abs(dividend) // abs(divisor)
    return quotient if (dividend < 0) == (divisor < 0) else -quotient


def _remainder(dividend: int, divisor: int) -> int | None:
    """Of the sign of the dividend."""
    if divisor == 0:
        return None
    rest = abs(dividend) % abs(divisor)
    return -rest if dividend < 0 else rest


_COMPARISONS: Final[Mapping[str, Callable[[int, int], bool]]] = {
    "EQ": lambda one, other: one == other,
    "NE": lambda one, other: one != other,
    "LT": lambda one, other: one < other,
    "LE": lambda one, other: one <= other,
    "GT": lambda one, other: one > other,
    "GE": lambda one, other: one >= other,
}


def _compare(at: Sizes, op: Any, value: Any) -> tuple[Size | None, ...] | None:
    direction = dialect().ComparisonDirectionAttr(op.attributes["comparison_direction"]).value
    return _of_constants(lambda one, other: int(_COMPARISONS[direction](one, other)))(at, op, value)


def _select(at: Sizes, op: Any, _value: Any) -> tuple[Size | None, ...] | None:
    """By a predicate that is a constant, or between equals."""
    which, yes, no = (at.elements(operand) for operand in op.operands)
    if which is None or yes is None or no is None:
        return None
    if len(which) == 1:
        which *= len(yes)
    return tuple(
        one if one == other else None if test.exact is None else (one if test.exact else other)
        for test, one, other in zip(which, yes, no, strict=True)
    )


ELEMENT_RULES: Final[dict[str, Rule]] = {
    "stablehlo.constant": _constant("value"),
    "arith.constant": _constant("value"),
    "shape.const_shape": _constant("shape"),
    "stablehlo.get_dimension_size": _get_dimension_size,
    "tensor.dim": _dim,
    "shape.shape_of": _shape_of,
    "shape.to_extent_tensor": _same,
    "tensor.cast": _same,
    "stablehlo.reshape": _same,
    "stablehlo.convert": _convert,
    "arith.index_cast": _convert,
    "stablehlo.concatenate": _concatenate,
    "tensor.from_elements": _from_elements,
    "tensor.extract": _extract,
    "stablehlo.slice": _slice,
    "stablehlo.broadcast_in_dim": _broadcast_in_dim,
    "stablehlo.iota": _iota,
    "stablehlo.add": _polynomial(lambda one, other: one + other),
    "stablehlo.subtract": _polynomial(lambda one, other: one - other),
    "stablehlo.multiply": _polynomial(lambda one, other: one * other),
    "arith.addi": _polynomial(lambda one, other: one + other),
    "arith.subi": _polynomial(lambda one, other: one - other),
    "arith.muli": _polynomial(lambda one, other: one * other),
    "stablehlo.negate": _negate,
    "stablehlo.maximum": _maximum,
    "stablehlo.minimum": _of_constants(min),
    "stablehlo.divide": _of_constants(_divided),
    "stablehlo.remainder": _of_constants(_remainder),
    "stablehlo.abs": _of_constants(lambda one: abs(one)),
    "stablehlo.sign": _of_constants(lambda one: (one > 0) - (one < 0)),
    "stablehlo.and": _of_constants(lambda one, other: one & other),
    "stablehlo.or": _of_constants(lambda one, other: one | other),
    "stablehlo.compare": _compare,
    "stablehlo.select": _select,
}
