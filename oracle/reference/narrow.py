"""How does the reference calculate with floats of 8 and 4 bits?

XLA CPU converts to some of these types wrongly (jaxlib 0.10.2: it negates the f8e5m2fnuz 3.05e-5 to -6.1e-5, makes
NaN of small negative products in f8e4m3fnuz, and -0 of 48 + 448 in f8e4m3fn). So elements are looked up in a table
of the type's values, computed with in f64, and rounded once, by searching the same table.
"""

from __future__ import annotations

import functools
from dataclasses import dataclass
from typing import Any

import jax.numpy as jnp
import numpy as np
from jax import lax

from hlo import PrimitiveType
from oracle.reference.kernels import JaxFunction

Array = np.ndarray[Any, np.dtype[Any]]


@dataclass(frozen=True, eq=False)
class _Format:
    """A type's values.

    `values` are those of all codes. Codes 0 to n - 1 are the finite numbers without a sign, in order, and a number
    lies between `middles[i]` and `middles[i + 1]` where code i + 1 is the nearest; past the last, it overflows.
    """

    values: Array
    middles: Array
    sign: int
    overflow: int
    nan: int
    ties_up: bool


def is_narrow_float(dtype: Any) -> bool:
    """Whether `dtype` is a float of 8 bits or less."""
    kind = PrimitiveType.of(np.dtype(dtype)) if np.dtype(dtype).itemsize == 1 else None
    return kind is not None and kind.is_float


@functools.cache
def _format(dtype: np.dtype[Any]) -> _Format:
    kind = PrimitiveType.of(dtype)
    count = 1 << kind.bit_width
    values = np.arange(count, dtype=np.uint8).view(dtype).astype(np.float64)
    signed = kind is not PrimitiveType.F8E8M0FNU
    positive = values[: count // 2] if signed else values
    finite = positive[np.isfinite(positive)]
    # past the largest number the distances go on as before it
    beyond = 2 * finite[-1] if not signed else 2 * finite[-1] - finite[-2]
    steps = np.append(finite, beyond)
    nans = np.flatnonzero(np.isnan(values))
    has_infinity = bool(np.isinf(positive).any())
    overflow = len(finite) if has_infinity else int(nans[0]) if nans.size else len(finite) - 1
    return _Format(
        values=values,
        middles=(steps[:-1] + steps[1:]) / 2,
        sign=count // 2 if signed else 0,
        overflow=overflow,
        # f4e2m1fn has none, and takes -0 for it
        nan=int(nans[0]) if nans.size else count // 2,
        ties_up=not signed,
    )


def widened(x: Any) -> Any:
    """The elements of `x`, of a narrow float type, as f64."""
    kind = PrimitiveType.of(np.dtype(x.dtype))
    code = lax.bitcast_convert_type(x, PrimitiveType.U4.numpy if kind.bit_width == 4 else np.uint8)
    return jnp.asarray(_format(np.dtype(x.dtype)).values)[code.astype(np.int32)]


def narrowed(x: Any, dtype: np.dtype[Any]) -> Any:
    """The f64 `x` rounded to the nearest of a narrow float type's values: of two, to the one with the even code."""
    to = _format(dtype)
    middles = jnp.asarray(to.middles)
    magnitude = jnp.abs(x)
    below = jnp.searchsorted(middles, magnitude, side="left", method="compare_all")
    above = jnp.searchsorted(middles, magnitude, side="right", method="compare_all")
    code = jnp.where(below % 2 == 0, below, above) if not to.ties_up else above
    code = jnp.where(code >= len(to.middles), to.overflow, code)
    if to.sign:
        negative = jnp.signbit(x)
        if to.nan == to.sign:
            # there is one zero, and the code of the other is the NaN (or, in f4e2m1fn, taken for it)
            negative &= (code != 0) | (not np.isnan(to.values[to.nan]))
        code = jnp.where(negative, code | to.sign, code)
    else:
        # f8e8m0fnu has no zero: what is smaller than its smallest number becomes that
        code = jnp.where(x > 0, code, to.nan)
    code = jnp.where(jnp.isnan(x), to.nan, code)
    if PrimitiveType.of(dtype).bit_width == 4:
        return lax.bitcast_convert_type(code.astype(PrimitiveType.U4.numpy), dtype)
    return lax.bitcast_convert_type(code.astype(np.uint8), dtype)


def computed_wide(function: JaxFunction) -> JaxFunction:
    """`function`, of arrays of one type, made to work on narrow floats: in f64, and its floats rounded."""

    def call(*operands: Any) -> Any:
        narrow = [np.dtype(x.dtype) for x in operands if is_narrow_float(x.dtype)]
        if not narrow:
            return function(*operands)
        result = function(*[widened(x) if is_narrow_float(x.dtype) else x for x in operands])
        return narrowed(result, narrow[0]) if result.dtype == np.float64 else result

    return call
