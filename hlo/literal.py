"""How is a constant or run-time value held?

A value is a read-only NumPy array of the shape's dtype, or a Python tuple of values for a tuple shape. Tokens
are the empty tuple's cousin: the singleton `TOKEN`.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from hlo.primitive_type import PrimitiveType
from hlo.shape import ArrayShape, Shape, TupleShape


class Token:
    """The value of a token: it has no data, it only orders."""

    def __repr__(self) -> str:
        return "TOKEN"


TOKEN = Token()

Value = np.ndarray[Any, np.dtype[Any]] | tuple["Value", ...] | Token


@dataclass(frozen=True, eq=False, slots=True)
class Literal:
    """A constant's value, compared bit for bit (so that a NaN equals itself and -0.0 differs from 0.0)."""

    value: Value

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Literal) and same_bits(self.value, other.value)

    def __hash__(self) -> int:
        return hash(_key(self.value))


def same_bits(left: Value, right: Value) -> bool:
    """Whether two values have the same structure, dtypes, shapes and bits."""
    if isinstance(left, tuple) or isinstance(right, tuple):
        return (
            isinstance(left, tuple)
            and isinstance(right, tuple)
            and len(left) == len(right)
            and all(same_bits(a, b) for a, b in zip(left, right, strict=True))
        )
    if isinstance(left, Token) or isinstance(right, Token):
        return left is right
    return left.dtype == right.dtype and left.shape == right.shape and left.tobytes() == right.tobytes()


def _key(value: Value) -> object:
    if isinstance(value, tuple):
        return tuple(_key(element) for element in value)
    if isinstance(value, Token):
        return "token"
    return (value.dtype.str, value.shape, value.tobytes())


def frozen(value: np.ndarray[Any, np.dtype[Any]]) -> np.ndarray[Any, np.dtype[Any]]:
    """`value` as a read-only array that owns its data, so that sharing it is safe."""
    if value.flags.writeable:
        value = value.copy()
        value.flags.writeable = False
    return value


def value_shape(value: Value) -> Shape:
    """The static shape of `value`. Raises KeyError for a dtype that HLO does not have."""
    if isinstance(value, tuple):
        return TupleShape(tuple(value_shape(element) for element in value))
    if isinstance(value, Token):
        raise TypeError("a token has no literal")
    return ArrayShape(PrimitiveType.of(value.dtype), value.shape)


def scalar(value: float | bool, element_type: PrimitiveType) -> np.ndarray[Any, np.dtype[Any]]:
    """A rank-0 array of `element_type`; Python integers wrap to the type's width, as a cast would."""
    dtype = element_type.numpy
    if element_type.is_integral:
        width = element_type.bit_width
        wrapped = int(value) & ((1 << width) - 1)
        if element_type.is_signed and wrapped >> (width - 1):
            wrapped -= 1 << width
        value = wrapped
    return frozen(np.array(value, dtype=dtype))
