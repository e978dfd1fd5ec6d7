"""Are two values the same, as far as may be asked, and where do they first differ?

Shape and dtype come first. Integers and predicates must be equal; a NaN equals any NaN and nothing else; floats
may differ by what the `Tolerance` allows.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

import ml_dtypes
import numpy as np

from hlo import PrimitiveType, Token, Value, same_bits
from oracle.verdict import Mismatch

Array = np.ndarray[Any, np.dtype[Any]]
Index = tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Tolerance:
    """How far apart two floats may be.

    By `relative` × the larger of the two + `absolute` + `of_largest` × the largest finite element of the expected
    array (where sums cancel, errors are relative to what was summed). `signed_zeros`: -0.0 is not 0.0. `flushed`:
    a subnormal and zero count as the same, for an engine that flushes subnormals. Neither allows a NaN or an
    infinity for a number.
    """

    relative: float = 0.0
    absolute: float = 0.0
    of_largest: float = 0.0
    signed_zeros: bool = False
    flushed: bool = False

    @property
    def allows_rounding(self) -> bool:
        """Whether numbers may differ at all."""
        return bool(self.relative or self.absolute or self.of_largest)


BITWISE = Tolerance(signed_zeros=True)
"""Bit for bit, NaN payloads aside."""

EQUAL = Tolerance()
"""The same numbers."""


def compare(
    expected: Value,
    actual: Value,
    *,
    tolerance: Tolerance | Mapping[Index, Tolerance],
    left: str,
    right: str,
) -> Mismatch | None:
    """The first place where `actual` (of the engine `right`) differs from `expected` (of `left`), or None.

    A mapping gives each leaf of the result, by shape index, a tolerance of its own (EQUAL where it has none).
    """
    # the common case costs one comparison of bytes
    return None if same_bits(expected, actual) else _compare(expected, actual, tolerance, (left, right), ())


def _compare(
    expected: Value,
    actual: Value,
    tolerance: Tolerance | Mapping[Index, Tolerance],
    engines: tuple[str, str],
    leaf: Index,
) -> Mismatch | None:
    if isinstance(expected, tuple) and isinstance(actual, tuple) and len(expected) == len(actual):
        for i, (e, a) in enumerate(zip(expected, actual, strict=True)):
            if found := _compare(e, a, tolerance, engines, (*leaf, i)):
                return found
        return None
    if isinstance(expected, Token) and isinstance(actual, Token):
        return None
    if (
        not isinstance(expected, np.ndarray)
        or not isinstance(actual, np.ndarray)
        or expected.dtype != actual.dtype
        or expected.shape != actual.shape
    ):
        return Mismatch(leaf, (), _kind(expected), _kind(actual), 1, 1, *engines, note="another shape")
    allowed = tolerance if isinstance(tolerance, Tolerance) else tolerance.get(leaf, EQUAL)
    wrong = differences(expected, actual, allowed)
    count = int(np.count_nonzero(wrong))
    if not count:
        return None
    index = tuple(int(i) for i in np.unravel_index(int(np.argmax(wrong)), expected.shape))
    return Mismatch(
        leaf,
        index,
        element_text(expected, index),
        element_text(actual, index),
        count,
        expected.size,
        *engines,
    )


def differences(expected: Array, actual: Array, tolerance: Tolerance) -> Array:
    """A mask of the elements that differ by more than `tolerance`. Both arrays have one dtype and shape."""
    kind = PrimitiveType.of(expected.dtype)
    if kind.is_complex:
        exact = replace(tolerance, relative=0.0, absolute=0.0, of_largest=0.0)
        parts = ((np.real(expected), np.real(actual)), (np.imag(expected), np.imag(actual)))
        wrong = np.logical_or(*[_float_differences(e, a, exact) for e, a in parts])
        return (
            wrong & ~_near(*_without_nans(expected, actual), tolerance)
            if tolerance.allows_rounding
            else wrong
        )
    if kind.is_float:
        return _float_differences(expected, actual, tolerance)
    return expected != actual


def _float_differences(expected: Array, actual: Array, tolerance: Tolerance) -> Array:
    smallest = ml_dtypes.finfo(expected.dtype).smallest_normal
    # Every float type that HLO has is exact in float64, and signs of zeros survive.
    e, a = expected.astype(np.float64), actual.astype(np.float64)
    # before subnormals are taken for zeros: next to the least normal number rounding is a matter of subnormals
    near = _near(e, a, tolerance) if tolerance.allows_rounding else False
    if tolerance.flushed:
        e, a = (np.where(np.abs(x) < float(smallest), 0.0, x) for x in (e, a))
    same = (e == a) | near
    if tolerance.allows_rounding:
        same |= _near(e, a, tolerance)
    if tolerance.signed_zeros:
        same &= np.signbit(e) == np.signbit(a)
    return ~(same | (np.isnan(e) & np.isnan(a)))


def _without_nans(expected: Array, actual: Array) -> tuple[Array, Array]:
    """Complex arrays with zeros for the parts that are NaN in both, which then agree."""
    e, a = expected.copy(), actual.copy()
    for left, right in ((np.real(e), np.real(a)), (np.imag(e), np.imag(a))):  # views
        both = np.isnan(left) & np.isnan(right)
        left[both] = right[both] = 0
    return e, a


def _near(expected: Array, actual: Array, tolerance: Tolerance) -> Array:
    with np.errstate(invalid="ignore", over="ignore"):
        sizes = np.abs(expected)
        larger = np.maximum(sizes, np.abs(actual))
        largest = np.max(sizes, initial=0.0, where=np.isfinite(sizes))
        allowed = tolerance.relative * larger + tolerance.absolute + tolerance.of_largest * largest
        # an infinity is near nothing but itself
        return (np.abs(expected - actual) <= allowed) & np.isfinite(larger)


def element_text(array: Array, index: Index) -> str:
    """One element with its type, e.g. `f32 -0.0`: the fewest digits that tell it from its neighbours."""
    element = array[index]
    kind = PrimitiveType.of(array.dtype)
    if kind is PrimitiveType.PRED:
        return f"pred {'true' if element else 'false'}"
    if kind.is_integral:
        return f"{kind.text} {int(element)}"
    if kind.is_complex:
        return f"{kind.text} {complex(element)}"
    return f"{kind.text} {_float_text(element)}"


def _float_text(element: Any) -> str:
    # str() of a NumPy or ml_dtypes scalar is short, but drops the fraction of whole numbers in ml_dtypes
    text = str(element)
    return text if any(c in text for c in ".en") else f"{text}.0"


def _kind(value: Value) -> str:
    if isinstance(value, tuple):
        return f"({', '.join(map(_kind, value))})"
    if isinstance(value, Token):
        return "token[]"
    return f"{PrimitiveType.of(value.dtype).text}[{','.join(map(str, value.shape))}]"
