"""How large are the arrays of an input set whose sizes are only known at run time, and what lies beyond?

Sizes come from the lattice {0, 1, 2, bound - 1, bound}. An array that is given as large as its bound and gets its
size from a scalar has something in its padding: in every other input set NaNs and extreme numbers, in the others
what was drawn as for any array.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from hlo import ArrayShape, HloInstruction, HloModule, Opcode, Shape, TupleShape, Value
from oracle.running import extremes

_SIZES_APART = 96
"""The stream of random numbers for sizes is another than the one for values."""


def size_lattice(least: int, most: int) -> list[int]:
    """The sizes from `least` to `most` at which something changes: 0, 1, 2, and the two greatest."""
    return [size for size in sorted({0, 1, 2, most - 1, most}) if least <= size <= most] or [least]


def with_sizes(module: HloModule, values: Sequence[Value], seed: int, number: int) -> tuple[Value, ...]:
    """The input set `number`, from 0, cut to sizes; its arrays are as large as their bounds before.

    In half of the sets, equal bounds get equal sizes. The first set has no empty array: an empty one leaves many
    programs without meaning, or with nothing to compare.
    """
    rng = np.random.default_rng((seed, number, _SIZES_APART))
    draw = _Sizes(rng, shared=bool(rng.integers(2)), least=1 if number == 0 else 0)
    parameters = module.entry_computation.parameters
    if number % 2 == 0:
        values = _with_poison(parameters, values)
    return tuple(
        draw.cut(value, parameter.shape) for value, parameter in zip(values, parameters, strict=True)
    )


class _Sizes:
    """The sizes of one input set."""

    def __init__(self, rng: np.random.Generator, *, shared: bool, least: int) -> None:
        self._rng = rng
        self._shared = shared
        self._least = least
        self._known: dict[int, int] = {}

    def cut(self, value: Value, shape: Shape) -> Value:
        """The low corner of each array in `value`."""
        if isinstance(value, tuple) and isinstance(shape, TupleShape):
            return tuple(map(self.cut, value, shape.elements))
        if not isinstance(value, np.ndarray) or not isinstance(shape, ArrayShape) or shape.is_static:
            return value
        corner = [
            slice(self._size(bound) if shape.is_dynamic_dimension(d) else bound)
            for d, bound in enumerate(shape.dimensions)
        ]
        array = np.ascontiguousarray(value[tuple(corner)])
        array.flags.writeable = False
        return array

    def _size(self, bound: int) -> int:
        if not self._shared or bound not in self._known:
            sizes = size_lattice(min(self._least, bound), bound)
            self._known[bound] = sizes[int(self._rng.integers(len(sizes)))]
        return self._known[bound]


def _with_poison(parameters: Sequence[HloInstruction], values: Sequence[Value]) -> list[Value]:
    """NaNs and extremes beyond the sizes that a parameter is given, as far as those are parameters or constants."""
    found = list(values)
    for number, parameter in enumerate(parameters):
        value = found[number]
        if isinstance(value, np.ndarray) and (sizes := _sizes_given(parameter, values)):
            array = np.array(value)
            poison = extremes(parameter.array_shape)
            for dimension, size in sizes.items():
                beyond = (slice(None),) * dimension + (slice(size, None),)
                array[beyond] = poison[beyond]
            array.flags.writeable = False
            found[number] = array
    return found


def _sizes_given(parameter: HloInstruction, values: Sequence[Value]) -> dict[int, int]:
    """The greatest size that each dimension is given, where it is known before the program runs."""
    found: dict[int, int] = {}
    unknown: set[int] = set()
    sources: list[HloInstruction] = [parameter]
    for source in sources:  # grows while it is walked
        for user in source.users:
            if user.opcode is Opcode.SET_DIMENSION_SIZE and user.operand(0) is source:
                (dimension,) = user.dimensions
                size = _known(user.operand(1), values)
                if size is None:
                    unknown.add(dimension)
                else:
                    found[dimension] = max(found.get(dimension, 0), size)
                sources.append(user)
    return {d: size for d, size in found.items() if d not in unknown and size >= 0}


def _known(scalar: HloInstruction, values: Sequence[Value]) -> int | None:
    value: Any = None
    if scalar.opcode is Opcode.PARAMETER and scalar.parent.is_entry:
        value = values[scalar.parameter_number]
    elif scalar.opcode is Opcode.CONSTANT:
        value = scalar.literal.value
    return int(value) if isinstance(value, np.ndarray) else None
