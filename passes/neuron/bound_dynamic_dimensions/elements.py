"""What are the integers that sizes are computed with, element by element?"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final, Protocol

import numpy as np

from passes.neuron.bound_dynamic_dimensions.extent import Extent, Unknowns

Elements = tuple[Extent, ...]
"""The elements of an integer tensor in row-major order."""

MOST: Final = 64
"""What holds more elements is data, no array of sizes."""


class Known(Protocol):
    """What the rules here ask for."""

    unknowns: Unknowns

    def elements(self, value: Any) -> Elements | None:
        """The elements of an integer tensor; None where they are not followed."""
        ...

    def sizes(self, value: Any) -> Elements:
        """The size of each dimension of a tensor."""
        ...


Rule = Callable[[Known, Any], Elements | None]
"""The elements of an operation's only result, whose type is static and small."""


def _constant(_known: Known, op: Any) -> Elements | None:
    values = np.array(op.attributes["value"])
    count = int(np.prod(op.results[0].type.shape, dtype=np.int64))
    flat = np.broadcast_to(values.reshape(-1), count) if values.size == 1 else values.reshape(-1)
    return tuple(Extent.of(int(value)) for value in flat)


def _same(known: Known, op: Any) -> Elements | None:
    return known.elements(op.operands[0])


def _spread(known: Known, op: Any) -> Elements | None:
    """Of one element; of more it would be no array of sizes."""
    source = known.elements(op.operands[0])
    if source is None or len(source) != 1:
        return None
    return source * int(np.prod(op.results[0].type.shape, dtype=np.int64))


def _concatenate(known: Known, op: Any) -> Elements | None:
    parts = [known.elements(operand) for operand in op.operands]
    found = [part for part in parts if part is not None]
    if len(found) != len(parts) or int(op.attributes["dimension"]):
        return None
    return tuple(element for part in found for element in part)


def _slice(known: Known, op: Any) -> Elements | None:
    source = known.elements(op.operands[0])
    if source is None or op.results[0].type.rank != 1:
        return None
    (start,), (limit,), (stride,) = (
        list(op.attributes[name]) for name in ("start_indices", "limit_indices", "strides")
    )
    return source[start:limit:stride]


def _elementwise(combine: Callable[..., Extent]) -> Rule:
    def rule(known: Known, op: Any) -> Elements | None:
        operands = [known.elements(operand) for operand in op.operands]
        found = [operand for operand in operands if operand is not None]
        if len(found) != len(operands):
            return None
        count = max(map(len, found))
        columns = [operand * count if len(operand) < count else operand for operand in found]
        return tuple(combine(known.unknowns, *row) for row in zip(*columns, strict=True))

    return rule


def _size(known: Known, op: Any) -> Elements | None:
    return (known.sizes(op.operands[0])[int(op.attributes["dimension"])],)


def _select(known: Known, op: Any) -> Elements | None:
    """One of two, nobody knows which: JAX writes floor division and indices from the end so."""
    one, other = known.elements(op.operands[1]), known.elements(op.operands[2])
    if one is None or other is None:
        return None
    return tuple(_either(known.unknowns, a, b) for a, b in zip(one, other, strict=True))


def _either(unknowns: Unknowns, one: Extent, other: Extent) -> Extent:
    if unknowns.same(one, other):
        return one
    (a, b), (c, d) = unknowns.range(one), unknowns.range(other)
    return unknowns.new((min(a, c), max(b, d)))


def _divide(unknowns: Unknowns, one: Extent, other: Extent) -> Extent:
    """Towards zero. By what may be 0 or negative: anything up to the dividend."""
    least, _ = unknowns.range(other)
    if least > 0:
        return unknowns.combined("divide", (one, other), _towards_zero)
    largest = max(map(abs, unknowns.range(one)))
    return unknowns.computed("divide", (one, other), (-largest, largest))


def _towards_zero(a: int, b: int) -> int:
    return abs(a) // b * (1 if a >= 0 else -1)


def _remainder(unknowns: Unknowns, one: Extent, other: Extent) -> Extent:
    largest = max(map(abs, unknowns.range(one)))
    least = 0 if unknowns.range(one)[0] >= 0 else -largest
    return unknowns.computed("remainder", (one, other), (least, largest))


def _sign(value: int) -> int:
    return (value > 0) - (value < 0)


def _limited(name: str, combine: Callable[..., int]) -> Rule:
    return _elementwise(lambda unknowns, *operands: unknowns.combined(name, operands, combine))


def _clamped(least: int, value: int, most: int) -> int:
    return min(max(value, least), most)


RULES: Mapping[str, Rule] = {
    "stablehlo.add": _elementwise(lambda _, a, b: a + b),
    "stablehlo.broadcast_in_dim": _spread,
    "stablehlo.clamp": _limited("clamp", _clamped),
    "stablehlo.concatenate": _concatenate,
    "stablehlo.constant": _constant,
    "stablehlo.convert": _same,
    "stablehlo.divide": _elementwise(_divide),
    "stablehlo.get_dimension_size": _size,
    "stablehlo.maximum": _limited("maximum", max),
    "stablehlo.minimum": _limited("minimum", min),
    "stablehlo.multiply": _elementwise(lambda _, a, b: a * b),
    "stablehlo.negate": _elementwise(lambda _, a: a * Extent.of(-1)),
    "stablehlo.remainder": _elementwise(_remainder),
    "stablehlo.reshape": _same,
    "stablehlo.select": _select,
    "stablehlo.sign": _limited("sign", _sign),
    "stablehlo.slice": _slice,
    "stablehlo.subtract": _elementwise(lambda _, a, b: a - b),
}
"""By the name of the operation. Where there is no rule, nothing is known of the elements."""


_INTEGERS: Final = frozenset(f"{sign}i{bits}" for sign in ("", "u") for bits in (8, 16, 32, 64))


def is_followed(kind: Any) -> bool:
    """Whether a tensor type is one of integers, static and small."""
    if str(kind.element_type) not in _INTEGERS or not kind.has_static_shape:
        return False
    return int(np.prod(kind.shape, dtype=np.int64)) <= MOST


def unknown_elements(unknowns: Unknowns, shape: Sequence[int], within: tuple[int, int]) -> Elements:
    """Elements of which nothing is known but a range."""
    return tuple(unknowns.new(within) for _ in range(int(np.prod(shape, dtype=np.int64))))
