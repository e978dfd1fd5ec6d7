"""On which inputs is a program judged?

Values are exact: integers, and floats that are small whole numbers, so that results can be demanded bit for bit.
The first input set is the simple one: all elements count up, so that one in the wrong place shows; later sets are
random. Starts of slices go where clamping matters: half of the time they come from the lattice
{type min, -1, 0, 1, dim - size, dim - size + 1, dim, type max}. A set depends on the module, the seed and its
number, on nothing else.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from hlo import (
    TOKEN,
    ArrayShape,
    HloModule,
    PrimitiveType,
    Shape,
    TokenShape,
    TupleShape,
    UnsupportedOpcode,
    Value,
)
from hlo.evaluator import Limits
from oracle.roles import Index, Leaf, Role, Use, roles_of

Array = np.ndarray[Any, np.dtype[Any]]

_COUNT_MODULUS = 97
"""Counting starts again here: prime, so that no row length divides it; exact in every type of 8 bits or more."""
_SMALL = 8
_LONGEST_LOOP = 5
_MOST_ELEMENTS = Limits().elements
_EXTREMES = 0.1
"""How often a random integer is not small but at the end of its type."""


def draw_inputs(module: HloModule, seed: int, count: int) -> list[tuple[Value, ...]]:
    """`count` input sets for the entry of `module`, each with a value for every parameter, by number.

    Arrays are read-only, of the parameters' bounds where those are dynamic. Raises UnsupportedOpcode for a
    parameter of unbounded size or of a type that has no values (opaque).
    """
    roles = roles_of(module)
    shapes = [parameter.shape for parameter in module.entry_computation.parameters]
    return [_Draw(seed, number, roles).values(shapes) for number in range(count)]


class _Draw:
    """One input set in the making."""

    def __init__(self, seed: int, number: int, roles: Mapping[Leaf, tuple[Role, ...]]) -> None:
        self._rng = np.random.default_rng((seed, number))
        self._simple = number == 0
        self._roles = roles
        self._next = 0

    def values(self, shapes: Sequence[Shape]) -> tuple[Value, ...]:
        return tuple(self._value(shape, number, ()) for number, shape in enumerate(shapes))

    def _value(self, shape: Shape, parameter: int, index: Index) -> Value:
        if isinstance(shape, TupleShape):
            return tuple(self._value(s, parameter, (*index, i)) for i, s in enumerate(shape.elements))
        if isinstance(shape, TokenShape):
            return TOKEN
        if not isinstance(shape, ArrayShape):
            raise UnsupportedOpcode(f"parameter of type {shape}", "oracle.inputs")
        if any(size < 0 for size in shape.dimensions):
            raise UnsupportedOpcode(f"parameter of unbounded size ({shape})", "oracle.inputs")
        if shape.element_count > _MOST_ELEMENTS:
            # nothing can run on it, and a verdict that says so needs no memory
            return np.broadcast_to(np.zeros((), shape.element_type.numpy), shape.dimensions)
        # operations on rank 0 give NumPy scalars, which are no arrays
        array = np.asarray(self._array(shape, self._roles.get((parameter, index), ())))
        array.flags.writeable = False
        return array

    def _array(self, shape: ArrayShape, roles: tuple[Role, ...]) -> Array:
        kind = shape.element_type
        uses = {role.use for role in roles}
        if kind is PrimitiveType.PRED:
            return self._rng.integers(0, 2, shape.dimensions).astype(np.bool_)
        if Use.BOUND in uses:
            # before anything else: whatever else it is used for, the loop must end
            array = self._rng.integers(1, _LONGEST_LOOP + 1, shape.dimensions).astype(kind.numpy)
        elif Use.START in uses and kind.is_integral:
            array = self._starts(shape, [role for role in roles if role.use is Use.START])
        elif self._simple:
            array = self._counting(shape)
        elif kind.is_integral:
            array = self._integers(shape)
        else:
            array = self._floats(shape)
        if Use.DIVISOR in uses:
            array = np.where(array == 0, np.array(3).astype(kind.numpy), array)
        return array

    def _counting(self, shape: ArrayShape) -> Array:
        first = self._next
        self._next += shape.element_count
        numbers = (
            np.arange(first, self._next) % (_COUNT_MODULUS if shape.element_type.bit_width >= 8 else 2) + 1
        )
        return numbers.reshape(shape.dimensions).astype(shape.element_type.numpy)

    def _starts(self, shape: ArrayShape, roles: Sequence[Role]) -> Array:
        role = roles[int(self._rng.integers(len(roles)))]
        room = role.dimension - role.size
        low, high = _limits(shape.element_type)
        if self._rng.random() < 0.5:
            lattice = [low, -1, 0, 1, room, room + 1, role.dimension, high]
            choices = np.array([n for n in lattice if low <= n <= high], shape.element_type.numpy)
            return choices[self._rng.integers(choices.size, size=shape.dimensions)]
        numbers = self._rng.integers(0, min(room, high) + 1, shape.dimensions)
        return numbers.astype(shape.element_type.numpy)

    def _integers(self, shape: ArrayShape) -> Array:
        low, high = _limits(shape.element_type)
        small = self._rng.integers(max(low, -_SMALL), min(high, _SMALL) + 1, shape.dimensions)
        array = small.astype(shape.element_type.numpy)
        if self._rng.random() < 0.5:
            return array
        ends = np.array([low, high, max(low, -1)], shape.element_type.numpy)
        picked = ends[self._rng.integers(ends.size, size=shape.dimensions)]
        return np.where(self._rng.random(shape.dimensions) < _EXTREMES, picked, array)

    def _floats(self, shape: ArrayShape) -> Array:
        numbers = self._rng.integers(-_SMALL, _SMALL + 1, shape.dimensions).astype(np.float64)
        if self._rng.random() < 0.25:
            numbers = numbers * 2.0 ** self._rng.integers(-2, 3)
        # a complex array gets whole real parts; 4-bit floats round, which is as exact as they are
        return numbers.astype(shape.element_type.numpy)


def _limits(element_type: PrimitiveType) -> tuple[int, int]:
    width = element_type.bit_width
    return (-(1 << (width - 1)), (1 << (width - 1)) - 1) if element_type.is_signed else (0, (1 << width) - 1)
