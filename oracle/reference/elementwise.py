"""What do the elementwise opcodes compute, in JAX?

Every kernel here is FLAT: it works on arrays of any one shape. Most are one `jax.lax` function; the rest say
where HLO means more than `lax` accepts.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax

from hlo import HloInstruction, Opcode, PrimitiveType
from hlo.attributes import Comparison, ReducedPrecision
from hlo.evaluator import UnsupportedType
from oracle.reference.kernels import WHERE, JaxFunction, Kernel, Layout
from oracle.reference.narrow import computed_wide, is_narrow_float, narrowed, widened
from oracle.reference.rule import Rule, Trace

Array = Any


def _plain(function: JaxFunction) -> Rule:
    """An opcode that is one function of its operands, whatever their types."""

    wide = computed_wide(function)

    def rule(inst: HloInstruction, trace: Trace) -> Kernel:
        return Kernel(inst.opcode, wide, Layout.FLAT)

    return rule


def _real(function: JaxFunction) -> Rule:
    """An opcode that JAX has for real numbers only."""
    wide = computed_wide(function)

    def rule(inst: HloInstruction, trace: Trace) -> Kernel:
        element_type = inst.array_shape.element_type
        if element_type.is_complex:
            raise UnsupportedType(inst.opcode, element_type, WHERE)
        return Kernel(inst.opcode, wide, Layout.FLAT)

    return rule


def _to_result(function: Callable[[Array, np.dtype[Any]], Array]) -> Rule:
    """An opcode whose meaning depends on its result's element type."""

    def rule(inst: HloInstruction, trace: Trace) -> Kernel:
        dtype = inst.array_shape.element_type.numpy
        return Kernel((inst.opcode, dtype), lambda x: function(x, dtype), Layout.FLAT)

    return rule


def _is_unsigned_or_bool(x: Array) -> bool:
    return x.dtype == np.bool_ or jnp.issubdtype(x.dtype, jnp.unsignedinteger)


def _is_narrow(x: Array) -> bool:
    """An integer of 4 or 2 bits, for which some functions of `lax` are not made."""
    return np.dtype(x.dtype).kind not in "biufc" and jnp.issubdtype(x.dtype, jnp.integer)


def _of_bits(function: JaxFunction, narrow: Callable[..., Array]) -> Rule:
    """An opcode that looks at all bits of an integer.

    `narrow(width, signed, *operands)` does so for 2 and 4 bits, which come as S32 with zeros above.
    """

    def call(*operands: Array) -> Array:
        if not _is_narrow(operands[0]):
            return function(*operands)
        kind = PrimitiveType.of(np.dtype(operands[0].dtype))
        mask = (1 << kind.bit_width) - 1
        low = [lax.bitwise_and(x.astype(np.int32), lax.full_like(x, mask, np.int32)) for x in operands]
        return narrow(kind.bit_width, kind.is_signed, *low).astype(kind.numpy)

    return _plain(call)


def _sign_extended(width: int, x: Array) -> Array:
    return jnp.where(x >= 1 << (width - 1), x - (1 << width), x)


def _narrow_mulhi(width: int, is_signed: bool, x: Array, y: Array) -> Array:
    if is_signed:
        x, y = _sign_extended(width, x), _sign_extended(width, y)
    return jnp.floor_divide(x * y, 1 << width)


def _narrow_arithmetic_shift(width: int, is_signed: bool, x: Array, y: Array) -> Array:
    return jnp.floor_divide(_sign_extended(width, x), 1 << y)


def _abs(x: Array) -> Array:
    if _is_unsigned_or_bool(x):
        return x
    return lax.select(lax.lt(x, lax.full_like(x, 0)), lax.neg(x), x) if _is_narrow(x) else lax.abs(x)


def _add(x: Array, y: Array) -> Array:
    # HLO adds and multiplies predicates in the Boolean semiring.
    return lax.bitwise_or(x, y) if x.dtype == np.bool_ else lax.add(x, y)


def _multiply(x: Array, y: Array) -> Array:
    return lax.bitwise_and(x, y) if x.dtype == np.bool_ else lax.mul(x, y)


def _real_part(x: Array) -> Array:
    return lax.real(x) if jnp.iscomplexobj(x) else x


def _imaginary_part(x: Array) -> Array:
    return lax.imag(x) if jnp.iscomplexobj(x) else lax.full_like(x, 0)


def _round_away(x: Array) -> Array:
    return lax.round(x, lax.RoundingMethod.AWAY_FROM_ZERO)


def _round_even(x: Array) -> Array:
    return lax.round(x, lax.RoundingMethod.TO_NEAREST_EVEN)


def _power(x: Array, y: Array) -> Array:
    return lax.pow(x, y) if jnp.issubdtype(x.dtype, jnp.inexact) else _integer_power(x, y)


def _integer_power(base: Array, exponent: Array) -> Array:
    """`base ** exponent` modulo 2^width; `lax.pow` takes no integer base.

    A negative exponent gives what is left of 1 / base^n: 1 for 1, ±1 for -1, 0 otherwise, as XLA CPU does.
    (XLA CPU itself looks at six bits of the exponent only: it says 2^70 is 64.)
    """
    width = np.dtype(base.dtype).itemsize * 8
    one = lax.full_like(base, 1)
    zero = lax.full_like(base, 0)

    def square_and_multiply(_: Array, state: tuple[Array, Array, Array]) -> tuple[Array, Array, Array]:
        result, factor, left = state
        odd = lax.ne(lax.bitwise_and(left, one), zero)
        result = lax.select(odd, lax.mul(result, factor), result)
        return result, lax.mul(factor, factor), lax.shift_right_logical(left, one)

    result, _, _ = lax.fori_loop(0, width, square_and_multiply, (one, base, exponent))
    if _is_unsigned_or_bool(base):
        return result
    minus_one = lax.full_like(base, -1)
    parity = lax.select(lax.ne(lax.bitwise_and(exponent, one), zero), minus_one, one)
    inverse = lax.select(lax.eq(base, minus_one), parity, zero)
    inverse = lax.select(lax.eq(base, one), one, inverse)
    return lax.select(lax.lt(exponent, zero), inverse, result)


_COMPARISONS: Mapping[str, JaxFunction] = {
    "EQ": lax.eq,
    "NE": lax.ne,
    "GE": lax.ge,
    "GT": lax.gt,
    "LE": lax.le,
    "LT": lax.lt,
}


# -NaN < -Inf < … < -0 < +0 < … < +Inf < +NaN
_TOTAL_ORDER: Mapping[str, JaxFunction] = {
    "EQ": lambda x, y: lax.eq_to_p.bind(x, y),
    "NE": lambda x, y: lax.bitwise_not(lax.eq_to_p.bind(x, y)),
    "GE": lambda x, y: lax.le_to_p.bind(y, x),
    "GT": lambda x, y: lax.lt_to_p.bind(y, x),
    "LE": lambda x, y: lax.le_to_p.bind(x, y),
    "LT": lambda x, y: lax.lt_to_p.bind(x, y),
}


def _compare(inst: HloInstruction, trace: Trace) -> Kernel:
    comparison = inst.attributes
    assert isinstance(comparison, Comparison)
    is_float = inst.operand(0).array_shape.element_type.is_float
    total = comparison.type == "TOTALORDER" and is_float
    table = _TOTAL_ORDER if total else _COMPARISONS
    function = computed_wide(table[comparison.direction])
    return Kernel((inst.opcode, comparison.direction, total), function, Layout.FLAT)


def _select(inst: HloInstruction, trace: Trace) -> Kernel:
    return Kernel(inst.opcode, lax.select, Layout.FLAT)


def _clamp(low: Array, x: Array, high: Array) -> Array:
    # XLA CPU has no clamp of predicates
    return lax.min(lax.max(x, low), high) if x.dtype == np.bool_ else lax.clamp(low, x, high)


def _convert(x: Array, dtype: np.dtype[Any]) -> Array:
    if jnp.iscomplexobj(x) and dtype == np.bool_:
        return lax.ne(x, lax.full_like(x, 0))
    # Dropping an imaginary part is what HLO means, and what JAX warns about.
    if jnp.iscomplexobj(x) and not jnp.issubdtype(dtype, jnp.complexfloating):
        x = lax.real(x)
    if is_narrow_float(x.dtype):
        x = widened(x)
    if is_narrow_float(dtype):
        return narrowed(lax.convert_element_type(x, np.float64), dtype)
    return lax.convert_element_type(x, dtype)


def _bitcast_convert(inst: HloInstruction, trace: Trace) -> Kernel:
    """Not FLAT: the last dimension comes or goes with a change of width."""
    to = inst.array_shape.element_type
    if to is PrimitiveType.PRED and inst.operand(0).array_shape.element_type is not PrimitiveType.PRED:
        raise UnsupportedType(f"{inst.opcode} of other bytes than 0 and 1", to, WHERE)

    def function(x: Array) -> Array:
        if x.dtype == np.bool_ and to is not PrimitiveType.PRED:
            x = lax.convert_element_type(x, np.uint8)  # a predicate is a byte that is 0 or 1
        return x if x.dtype == to.numpy else lax.bitcast_convert_type(x, to.numpy)

    return Kernel((inst.opcode, to.numpy), function)


def _map(inst: HloInstruction, trace: Trace) -> Kernel:
    function, key = trace(inst.called_computations[0])
    return Kernel((inst.opcode, key), jax.vmap(function), Layout.FLAT)


def _stochastic_convert(inst: HloInstruction, trace: Trace) -> Kernel:
    """Signed integers: away from zero where the random bits, as a part of 1, are below the fraction."""
    to = inst.array_shape.element_type
    if not to.is_signed:
        raise UnsupportedType(inst.opcode, to, WHERE)
    width = inst.operand(1).array_shape.element_type.bit_width
    limits = jnp.iinfo(to.numpy)

    def function(x: Array, random: Array) -> Array:
        x = widened(x) if is_narrow_float(x.dtype) else x.astype(np.float64)
        fraction = jnp.abs(x) - jnp.floor(jnp.abs(x))
        up = lax.lt(random.astype(np.uint64), (fraction * 2.0**width).astype(np.uint64))
        # the least is taken off the magnitude's side, which has one number less
        whole = jnp.where(jnp.isfinite(x), lax.clamp(float(limits.min), jnp.trunc(x), float(limits.max)), 0)
        stepped = whole.astype(np.int64) + jnp.where(up, jnp.where(x < 0, -1, 1), 0)
        inside = jnp.clip(stepped, limits.min, limits.max)
        beyond = jnp.where(x >= float(limits.max), limits.max, inside)
        return jnp.where(x <= float(limits.min), limits.min, beyond).astype(to.numpy)

    return Kernel((inst.opcode, to, width), function, Layout.FLAT)


def _in_double_precision(function: JaxFunction) -> Rule:
    """A function that JAX composes of others, each rounded: in twice the precision, and rounded once."""

    def wide(x: Array) -> Array:
        return function(x.astype(np.complex128 if jnp.iscomplexobj(x) else np.float64)).astype(x.dtype)

    return _plain(wide)


def _reduce_precision(inst: HloInstruction, trace: Trace) -> Kernel:
    bits = inst.attributes
    assert isinstance(bits, ReducedPrecision)

    def function(x: Array) -> Array:
        return lax.reduce_precision(x, bits.exponent_bits, bits.mantissa_bits)

    return Kernel((inst.opcode, bits), function, Layout.FLAT)


RULES: Mapping[Opcode, Rule] = {
    Opcode.ABS: _plain(_abs),
    Opcode.ACOS: _plain(lax.acos),
    Opcode.ACOSH: _plain(lax.acosh),
    Opcode.ADD: _plain(_add),
    Opcode.AND: _plain(lax.bitwise_and),
    Opcode.ASIN: _plain(lax.asin),
    Opcode.ASINH: _plain(lax.asinh),
    Opcode.ATAN2: _plain(lax.atan2),
    Opcode.ATANH: _plain(lax.atanh),
    Opcode.BITCAST_CONVERT: _bitcast_convert,
    Opcode.CBRT: _real(lax.cbrt),
    Opcode.CEIL: _plain(lax.ceil),
    Opcode.CLAMP: _plain(_clamp),
    Opcode.CLZ: _of_bits(lax.clz, lambda width, _, x: lax.clz(x) - (32 - width)),
    Opcode.COMPARE: _compare,
    Opcode.COMPLEX: _plain(lax.complex),
    Opcode.CONVERT: _to_result(_convert),
    Opcode.COS: _plain(lax.cos),
    Opcode.COSH: _plain(lax.cosh),
    Opcode.DIVIDE: _plain(lax.div),
    Opcode.ERF: _real(lax.erf),
    Opcode.EXP: _plain(lax.exp),
    Opcode.EXP2: _in_double_precision(jnp.exp2),
    Opcode.EXPM1: _plain(lax.expm1),
    Opcode.FLOOR: _plain(lax.floor),
    Opcode.IMAG: _plain(_imaginary_part),
    Opcode.IS_FINITE: _plain(lax.is_finite),
    Opcode.LOG: _plain(lax.log),
    Opcode.LOG1P: _plain(lax.log1p),
    Opcode.LOG2: _in_double_precision(jnp.log2),
    Opcode.LOGISTIC: _plain(lax.logistic),
    Opcode.MAP: _map,
    Opcode.MAXIMUM: _plain(lax.max),
    Opcode.MINIMUM: _plain(lax.min),
    Opcode.MULHI: _of_bits(lambda x, y: lax.mulhi(x, y), _narrow_mulhi),
    Opcode.MULTIPLY: _plain(_multiply),
    Opcode.NEGATE: _plain(lax.neg),
    Opcode.NOT: _plain(lax.bitwise_not),
    Opcode.OR: _plain(lax.bitwise_or),
    Opcode.POPULATION_COUNT: _of_bits(lax.population_count, lambda _w, _s, x: lax.population_count(x)),
    Opcode.POWER: _plain(_power),
    Opcode.REAL: _plain(_real_part),
    Opcode.REDUCE_PRECISION: _reduce_precision,
    Opcode.REMAINDER: _plain(lax.rem),
    Opcode.ROUND_NEAREST_AFZ: _plain(_round_away),
    Opcode.ROUND_NEAREST_EVEN: _plain(_round_even),
    Opcode.RSQRT: _plain(lax.rsqrt),
    Opcode.SELECT: _select,
    Opcode.SHIFT_LEFT: _plain(lax.shift_left),
    Opcode.SHIFT_RIGHT_ARITHMETIC: _of_bits(lax.shift_right_arithmetic, _narrow_arithmetic_shift),
    Opcode.SHIFT_RIGHT_LOGICAL: _of_bits(lax.shift_right_logical, lambda _w, _s, x, y: x // (1 << y)),
    Opcode.SIGN: _plain(lax.sign),
    Opcode.SIN: _plain(lax.sin),
    Opcode.SINH: _plain(lax.sinh),
    Opcode.SQRT: _plain(lax.sqrt),
    Opcode.STOCHASTIC_CONVERT: _stochastic_convert,
    Opcode.SUBTRACT: _plain(lax.sub),
    Opcode.TAN: _plain(lax.tan),
    Opcode.TANH: _plain(lax.tanh),
    Opcode.XOR: _plain(lax.bitwise_xor),
}
