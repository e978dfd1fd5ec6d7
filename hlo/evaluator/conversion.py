"""What does a number become in another element type?

Source: `convert` and `bitcast-convert` of the operation semantics, with the choices that XLA makes where they
leave room: a float that an integer type cannot hold saturates, NaN becomes 0, a fraction is cut off.
"""

from __future__ import annotations

import numpy as np

from hlo.evaluator.kernels import Array
from hlo.primitive_type import PrimitiveType


def convert(operand: Array, source: PrimitiveType, target: PrimitiveType) -> Array:
    """`operand`, whose elements are of `source`, as an array of `target`: of the same shape, and fresh.

    An integer wraps to a narrower integer. A complex number becomes its real part. Anything but zero, NaN
    included, is true. To BF16, F64 and the large integers go by way of F32, rounding at both steps, as
    upstream's evaluator and XLA CPU do; every other conversion to a float rounds once.
    """
    if source.is_complex and not target.is_complex and target is not PrimitiveType.PRED:
        source = PrimitiveType.F32 if source is PrimitiveType.C64 else PrimitiveType.F64
        operand = np.real(operand)
    if target.is_integral:
        if source.is_float:
            return _saturate(operand, target)
        return _wrap(operand.astype(np.int64 if source.is_signed else np.uint64), target)
    if source.bit_width <= 8 and source.is_float:
        # exact; not all of these types convert to each other, and not all have a zero
        operand = operand.astype(np.float32)
    if target is PrimitiveType.PRED:
        return operand != np.zeros((), operand.dtype)
    if source is PrimitiveType.F64 and target.bit_width <= 8:
        return _round_to_odd(operand).astype(target.numpy)
    if source.bit_width < 8 and source.is_integral:
        operand = operand.astype(np.int8)
    return operand.astype(target.numpy)


def _wrap(wide: Array, target: PrimitiveType) -> Array:
    if target.bit_width >= 8:
        return wide.astype(target.numpy)
    return wrap_narrow(wide.astype(np.int8 if target.is_signed else np.uint8), target)


def wrap_narrow(bytes_: Array, target: PrimitiveType) -> Array:
    """The low bits of each byte as the 2- or 4-bit integer `target`, of the byte's own signedness."""
    unused = 8 - target.bit_width
    return ((bytes_ << unused) >> unused).astype(target.numpy)


def _saturate(operand: Array, target: PrimitiveType) -> Array:
    value = operand.astype(np.float64)  # exact for every float type
    width = target.bit_width
    low, high = (-(1 << (width - 1)), (1 << (width - 1)) - 1) if target.is_signed else (0, (1 << width) - 1)
    # Compared as floats, which hold both high + 1 and, up to 32 bits, low - 1. For 64 bits low - 1 rounds to
    # low itself, which is in range either way.
    too_high = value >= float(high + 1)
    too_low = value <= float(low - 1)
    inside = np.where(too_high | too_low | np.isnan(value), 0.0, value)
    carrier = target if width >= 8 else PrimitiveType.S8
    result = inside.astype(np.uint64 if target is PrimitiveType.U64 else np.int64).astype(carrier.numpy)
    result[too_high] = high
    result[too_low] = low
    return result.astype(target.numpy)


def stochastic_convert(operand: Array, random: Array, target: PrimitiveType) -> Array:
    """Floats as signed integers of `target`: up in magnitude where `random`, as a part of 1, is below the fraction.

    What the type cannot hold saturates and NaN becomes 0. Upstream defines no conversion to floats.
    Source: `HandleStochasticConvert` of its HloEvaluator.
    """
    value = operand.astype(np.float64)  # exact for every float type
    finite = np.isfinite(value)
    size = np.abs(np.where(finite, value, 0.0))
    whole = np.floor(size)
    part = np.ldexp(size - whole, PrimitiveType.of(random.dtype).bit_width).astype(np.uint64)
    away = random.astype(np.uint64) < part
    # nothing is lost: numbers that large have no fraction
    return _saturate(np.where(finite, np.copysign(whole + away, value), value), target)


def _round_to_odd(operand: Array) -> Array:
    """F64 as F32 such that rounding once more, to a narrower type, is as good as rounding once.

    Cut off towards zero and, if anything was cut off, with the last bit set (Boldo and Melquiond, "When double
    rounding is odd", 2005).
    """
    nearest = operand.astype(np.float32)
    back = nearest.astype(np.float64)
    bits = nearest.view(np.uint32)  # `nearest` is ours: written through this view
    inexact = (back != operand) & ~np.isnan(operand)
    bits[inexact & (np.abs(back) > np.abs(operand))] -= 1
    bits[inexact] |= 1
    return nearest


def bitcast_convert(operand: Array, target: np.dtype[np.generic], dimensions: tuple[int, ...]) -> Array:
    """The bits of `operand` as elements of `target`, in row-major order, in the shape `dimensions`.

    A narrower target adds a last dimension, least significant part first; a wider one takes it away.
    """
    flat = np.ascontiguousarray(operand).reshape(-1)
    return flat.view(target).reshape(dimensions)


def bitcast_convert_in_bits(
    operand: Array, source: PrimitiveType, target: PrimitiveType, dimensions: tuple[int, ...]
) -> Array:
    """As `bitcast_convert`, where an element of `source` or `target` is 2 or 4 bits of a byte of its own."""
    words = _words_of(np.ascontiguousarray(operand), source).reshape(-1)
    old, new = source.bit_width, target.bit_width
    if old < new:
        shifts = np.arange(new // old, dtype=np.uint64) * np.uint64(old)
        words = np.bitwise_or.reduce(words.reshape(-1, new // old) << shifts, axis=1)
    elif old > new:
        shifts = np.arange(old // new, dtype=np.uint64) * np.uint64(new)
        words = (words[:, None] >> shifts).reshape(-1)
    if target.is_float and new >= 8:
        return words.astype(f"u{new // 8}").view(target.numpy).reshape(dimensions)
    if target.is_float:
        return (words & np.uint64(0xF)).astype(np.uint8).view(target.numpy).reshape(dimensions)
    return _wrap(words, target).reshape(dimensions)


def _words_of(operand: Array, source: PrimitiveType) -> Array:
    """The bits of each element, as U64."""
    if source.is_integral:
        mask = np.uint64((1 << source.bit_width) - 1)
        return operand.astype(np.int64 if source.is_signed else np.uint64).astype(np.uint64) & mask
    return operand.view(f"u{operand.dtype.itemsize}").astype(np.uint64)
