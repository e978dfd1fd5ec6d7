"""On which inputs is a program judged?

Values follow what each input is used for (`oracle.roles`) and the set's mode. EXACT: integers, and floats that are
small whole numbers, so that results can be demanded bit for bit. The first such set is the simple one: all elements
count up, so that one in the wrong place shows; later sets are random. Starts of slices go where clamping matters:
half of the time they come from the lattice {type min, -1, 0, 1, dim - size, dim - size + 1, dim, type max}. A set
depends on the module, the seed, its number and its mode, on nothing else.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from enum import Enum
from typing import Any

import ml_dtypes
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
from hlo.bound_parameters import materialised
from hlo.evaluator import Limits
from oracle.drawn_sizes import size_lattice, with_sizes
from oracle.matrices import definite_matrices, triangular_matrices
from oracle.reducers import identity
from oracle.roles import Index, Leaf, Role, Use, roles_of
from oracle.true_size import is_dynamic

Array = np.ndarray[Any, np.dtype[Any]]

_COUNT_MODULUS = 97
"""Counting starts again here: prime, so that no row length divides it; exact in every type of 8 bits or more."""
_SMALL = 8
_LONGEST_LOOP = 5
_MOST_ELEMENTS = Limits().elements
_EXTREMES = 0.1
"""How often a random integer is not small but at the end of its type."""


class Mode(Enum):
    """Which values an input set has where they are only data."""

    EXACT = "exact-float"
    INTEGER_EXTREME = "integer-extreme"
    SPECIAL = "special-value"


MIXED = (Mode.EXACT, Mode.INTEGER_EXTREME, Mode.SPECIAL)
"""One set of each mode after the other: what a campaign draws. Whatever is not a mode's business is as in EXACT."""


def draw_inputs(
    module: HloModule, seed: int, count: int, modes: Sequence[Mode] = (Mode.EXACT,)
) -> list[tuple[Value, ...]]:
    """`count` input sets for the entry of `module`, each with a value for every parameter, by number.

    The `modes` take turns. INTEGER_EXTREME: half of all integers are from the ends of their type, and divisors may
    be zero. SPECIAL: a third of all floats are signed zeros, infinities, NaNs, and next to zero: subnormals and the
    least normal number. Where a value is computed with, only those that arithmetic does not leave open
    (`oracle.open_cases`): nothing next to zero, and no infinity or NaN in complex arithmetic and long algorithms.

    Arrays are read-only; where dimensions are dynamic, they are as large as at run time (`oracle.drawn_sizes`). Raises
    UnsupportedOpcode for a parameter of unbounded size or of a type that has no values (opaque).
    """
    module = materialised(module)  # a parameter that another is bound to is a size
    roles = roles_of(module)
    shapes = [parameter.shape for parameter in module.entry_computation.parameters]
    sets = [_Draw(seed, number, roles, modes[number % len(modes)]).values(shapes) for number in range(count)]
    if is_dynamic(module):
        return [with_sizes(module, values, seed, number) for number, values in enumerate(sets)]
    return sets


class _Draw:
    """One input set in the making."""

    def __init__(self, seed: int, number: int, roles: Mapping[Leaf, tuple[Role, ...]], mode: Mode) -> None:
        self._rng = np.random.default_rng((seed, number))
        self._mode = mode
        self._simple = number == 0 and mode is Mode.EXACT
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
            fixed = self._fixed(shape, roles)
            return self._rng.integers(0, 2, shape.dimensions).astype(np.bool_) if fixed is None else fixed
        if Use.BOUND in uses:
            # before anything else: whatever else it is used for, the loop must end
            array = self._rng.integers(1, _LONGEST_LOOP + 1, shape.dimensions).astype(kind.numpy)
        elif {Use.BRANCH, Use.SIZE} & uses and kind.is_integral:
            array = self._between(shape, roles)
        elif Use.START in uses and kind.is_integral:
            array = self._starts(shape, [role for role in roles if role.use is Use.START])
        else:
            array = self._fixed(shape, roles)
        if array is None:
            array = self._data(shape, roles)
        if Use.DIVISOR in uses and self._mode is not Mode.INTEGER_EXTREME:
            array = np.where(array == 0, np.array(3).astype(kind.numpy), array)
        if Use.VARIANCE in uses:
            array = np.where(array <= 0, np.array(3).astype(kind.numpy), array)
        return array

    def _fixed(self, shape: ArrayShape, roles: tuple[Role, ...]) -> Array | None:
        """What a role that leaves little choice asks for; None where none does, or not of such a shape."""
        kind = shape.element_type
        for role in roles:
            match role.use:
                case Use.INIT if role.opcode is not None and shape.element_count == 1:
                    # how often a reduction uses its initial value is open, unless it changes nothing
                    start = identity(role.opcode, kind)
                    return None if start is None else np.broadcast_to(start, shape.dimensions)
                case Use.DEFINITE if _is_square(shape):
                    return definite_matrices(self._rng, shape)
                case Use.TRIANGULAR if _is_square(shape):
                    return triangular_matrices(self._rng, shape)
                case Use.KEY if role.unique and (kind.is_integral or kind.is_float):
                    return self._unique(shape)
                case _:
                    pass
        return None

    def _data(self, shape: ArrayShape, roles: tuple[Role, ...]) -> Array:
        if self._simple:
            return self._counting(shape)
        if shape.element_type.is_integral:
            return self._integers(shape)
        array = self._floats(shape)
        return array if self._mode is not Mode.SPECIAL else self._with_specials(array, shape, roles)

    def _with_specials(self, array: Array, shape: ArrayShape, roles: tuple[Role, ...]) -> Array:
        """A third of the elements replaced. Of a complex array the real parts."""
        dtype = shape.element_type.numpy
        limits = ml_dtypes.finfo(dtype)
        uses = {role.use for role in roles}
        numbers = [-0.0, 0.0]
        if Use.FINITE not in uses:
            numbers += [np.inf, -np.inf, np.nan]
        if Use.COMPUTED not in uses:
            least = float(limits.smallest_subnormal)
            numbers += [least, -least, float(limits.smallest_normal)]
        with np.errstate(all="ignore"):
            choices = np.array(numbers).astype(dtype)
        if Use.FINITE in uses or any(role.unordered for role in roles):
            # also where a type has no infinity, or no zero, and gives a NaN for it
            choices = choices[~np.isnan(choices.astype(np.complex64))]
        if not choices.size:
            return array
        picked = choices[self._rng.integers(choices.size, size=array.shape)]
        return np.where(self._rng.random(array.shape) < 1 / 3, picked, array)

    def _between(self, shape: ArrayShape, roles: tuple[Role, ...]) -> Array:
        """Sizes that a dimension may have, or numbers of branches and those before and after (the last again)."""
        least, most = _limits(shape.element_type)
        for role in roles:
            if role.use is Use.SIZE:
                least, most = max(least, role.size), min(most, role.dimension)
            elif role.use is Use.BRANCH:
                least, most = max(least, -1), min(most, role.dimension)
        if all(role.use is not Use.BRANCH for role in roles):
            sizes = np.array(size_lattice(least, most), shape.element_type.numpy)
            return np.asarray(sizes[self._rng.integers(sizes.size, size=shape.dimensions)])
        return self._rng.integers(least, max(least, most) + 1, shape.dimensions).astype(
            shape.element_type.numpy
        )

    def _unique(self, shape: ArrayShape) -> Array:
        """No two equal in a row, as far as the type has so many numbers; in no order."""
        kind = shape.element_type
        first = -(shape.element_count // 2) if kind.is_signed or kind.is_float else 0
        numbers = self._rng.permutation(np.arange(first, first + shape.element_count))
        if kind.is_integral:
            low, high = _limits(kind)
            numbers = (numbers - low) % (high - low + 1) + low
        return numbers.reshape(shape.dimensions).astype(kind.numpy)

    def _counting(self, shape: ArrayShape) -> Array:
        first = self._next
        self._next += shape.element_count
        numbers = (
            np.arange(first, self._next) % (_COUNT_MODULUS if shape.element_type.bit_width >= 8 else 2) + 1
        )
        return numbers.reshape(shape.dimensions).astype(shape.element_type.numpy)

    def _starts(self, shape: ArrayShape, roles: Sequence[Role]) -> Array:
        array = self._some_starts(shape, roles[int(self._rng.integers(len(roles)))])
        for role in roles:
            # the components of index vectors each have their own dimension
            if 0 <= role.axis < shape.rank and role.component < shape.dimensions[role.axis]:
                part = (*[slice(None)] * role.axis, role.component)
                array[part] = self._some_starts(shape.with_dimensions(array[part].shape), role)
        return array

    def _some_starts(self, shape: ArrayShape, role: Role) -> Array:
        room = max(role.dimension - role.size, 0)
        low, high = _limits(shape.element_type)
        if self._rng.random() < 0.5:
            lattice = [low, -1, 0, 1, room, room + 1, role.dimension, high]
            choices = np.array([n for n in lattice if low <= n <= high], shape.element_type.numpy)
            return np.asarray(choices[self._rng.integers(choices.size, size=shape.dimensions)])
        numbers = self._rng.integers(0, min(room, high) + 1, shape.dimensions)
        return np.asarray(numbers).astype(shape.element_type.numpy)

    def _integers(self, shape: ArrayShape) -> Array:
        low, high = _limits(shape.element_type)
        small = self._rng.integers(max(low, -_SMALL), min(high, _SMALL) + 1, shape.dimensions)
        array = small.astype(shape.element_type.numpy)
        extreme = self._mode is Mode.INTEGER_EXTREME
        if not extreme and self._rng.random() < 0.5:
            return array
        ends = np.array(
            [low, high, max(low, -1), *((low + 1, high - 1) if extreme else ())], shape.element_type.numpy
        )
        picked = ends[self._rng.integers(ends.size, size=shape.dimensions)]
        return np.where(self._rng.random(shape.dimensions) < (0.5 if extreme else _EXTREMES), picked, array)

    def _floats(self, shape: ArrayShape) -> Array:
        numbers = self._rng.integers(-_SMALL, _SMALL + 1, shape.dimensions).astype(np.float64)
        if self._rng.random() < 0.25:
            numbers = numbers * 2.0 ** self._rng.integers(-2, 3)
        # a complex array gets whole real parts; 4-bit floats round, which is as exact as they are
        return numbers.astype(shape.element_type.numpy)


def _limits(element_type: PrimitiveType) -> tuple[int, int]:
    width = element_type.bit_width
    return (-(1 << (width - 1)), (1 << (width - 1)) - 1) if element_type.is_signed else (0, (1 << width) - 1)


def _is_square(shape: ArrayShape) -> bool:
    floats = shape.element_type.is_float or shape.element_type.is_complex
    return floats and shape.rank >= 2 and shape.dimensions[-1] == shape.dimensions[-2]
