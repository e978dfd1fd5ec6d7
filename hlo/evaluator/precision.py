"""What is left of a float in a format with fewer exponent and mantissa bits?

Source: `reduce-precision` of the operation semantics. Where they leave room, as XLA CPU does: a number rounds to
nearest, ties to even; one whose exponent the smaller format does not have becomes a signed infinity or a signed zero,
the smaller format's subnormal numbers included; NaN stays NaN, also where no mantissa is left to tell it by.
"""

from __future__ import annotations

from collections.abc import Callable

import ml_dtypes
import numpy as np

from hlo.evaluator.kernels import UNSIGNED_OF_SIZE, Array
from hlo.evaluator.limits import UnsupportedType
from hlo.opcode import Opcode
from hlo.primitive_type import PrimitiveType

_WITHOUT_SIGN = frozenset({PrimitiveType.F8E8M0FNU, PrimitiveType.F4E2M1FN})


def reducer(element_type: PrimitiveType, exponent_bits: int, mantissa_bits: int) -> Callable[[Array], Array]:
    """What rounds an array of `element_type` to so many bits, at least one and at least none. Raises UnsupportedType.

    A type that has no infinity has NaN in its place; one that has no negative zero has the other.
    """
    if not element_type.is_float or element_type in _WITHOUT_SIGN:
        raise UnsupportedType(Opcode.REDUCE_PRECISION, element_type)
    dtype = element_type.numpy
    bits = UNSIGNED_OF_SIZE[dtype.itemsize]
    width = element_type.bit_width
    limits = ml_dtypes.finfo(dtype)
    mantissa = int(limits.nmant)
    one, largest, infinity = (np.array(x).astype(dtype).view(bits).item() for x in (1.0, limits.max, np.inf))
    bias = one >> mantissa
    cut = max(mantissa - mantissa_bits, 0)
    reach = (1 << (exponent_bits - 1)) - 1  # of the smaller format's exponents, to either side of 0
    narrows = exponent_bits < width - 1 - mantissa
    lowest = ((bias - reach + 1) << mantissa) if narrows else 0
    highest = min(largest, ((bias + reach + 1) << mantissa) - 1) if narrows else largest
    negative_zero = np.array(-0.0).astype(dtype).view(bits).item()

    def reduce(x: Array) -> Array:
        pattern = x.view(bits)
        sign = pattern & bits(1 << (width - 1))
        size = pattern ^ sign  # without the sign there is a bit to spare: rounding up cannot overflow
        if cut:
            is_odd = (size >> bits(cut)) & bits(1)
            size = (size + is_odd + bits((1 << (cut - 1)) - 1)) >> bits(cut) << bits(cut)
        sign = np.where(size < lowest, sign & bits(negative_zero), sign)
        size = np.where(size < lowest, bits(0), size)
        size = np.where(size > highest, bits(infinity), size)
        return np.where(np.isnan(x), x, (size | sign).view(dtype))

    return reduce
