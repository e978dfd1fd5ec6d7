"""What does each elementwise opcode give, element by element?

One table says which function computes an opcode for each kind of element type. Floats narrower than 32 bits are
computed in F32 and rounded once. NumPy's transcendental functions can be several units off, and differ between
vectors and what is left over of them; so these are computed in the next wider type and rounded once. Where NumPy does
not have a function of HLO's meaning, `integers.py`, `floats.py` and `conversion.py` do.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cache

import numpy as np

from hlo.attributes import Comparison, ReducedPrecision
from hlo.evaluator import floats, integers, precision
from hlo.evaluator.carriers import (
    Function,
    contiguous,
    in_bits,
    in_bytes,
    in_float32,
    in_unsigned_exponents,
    precise,
)
from hlo.evaluator.conversion import (
    bitcast_convert,
    bitcast_convert_in_bits,
    convert,
    stochastic_convert,
)
from hlo.evaluator.kernels import Array, Kernel, Machine, Rule, identity, sealed
from hlo.evaluator.limits import UnsupportedType
from hlo.graph import HloInstruction
from hlo.opcode import Opcode
from hlo.primitive_type import PrimitiveType


@dataclass(frozen=True, slots=True)
class Functions:
    """Which function computes an opcode, by the kind of the operands' element type; None where none does.

    Functions get arrays of rank 1 or more and return a fresh array. `wide`: they round in between, so that
    narrow floats are to be computed in F32. `bits`: they look at the top bits, which the byte that holds a 2- or
    4-bit value does not have in the right place.
    """

    predicate: Function | None = None
    integer: Function | None = None
    floating: Function | None = None
    complex_: Function | None = None
    wide: bool = False
    narrow: Function | None = None

    def of(self, element_type: PrimitiveType) -> Function | None:
        """The function for operands of `element_type`."""
        if element_type is PrimitiveType.PRED:
            return self.predicate
        if element_type.is_integral:
            return self._of_integer(element_type)
        if element_type.is_complex:
            return self.complex_ and contiguous(self.complex_)
        if self.floating is not None and element_type is PrimitiveType.F8E8M0FNU:
            return in_unsigned_exponents(self.floating)
        if self.floating is None or not self.wide:
            return self.floating
        return contiguous(self.floating) if element_type.bit_width >= 32 else in_float32(self.floating)

    def _of_integer(self, element_type: PrimitiveType) -> Function | None:
        if element_type.bit_width >= 8 or self.integer is None:
            return self.integer
        if self.narrow is not None:
            return in_bits(self.narrow, element_type)
        return in_bytes(self.integer, element_type)


def _arithmetic(ufunc: np.ufunc, *, predicate: np.ufunc | None = None) -> Functions:
    return Functions(predicate, ufunc, ufunc, ufunc)


def _bitwise(ufunc: np.ufunc) -> Functions:
    return Functions(predicate=ufunc, integer=ufunc)


def _float(function: Function) -> Functions:
    return Functions(floating=function, wide=True)


def _analytic(function: Function, complex_: Function | None = None) -> Functions:
    return Functions(floating=precise(function), complex_=complex_ and precise(complex_))


def _imaginary_of_real(operand: Array) -> Array:
    return np.zeros_like(operand)


def _complex_of_parts(real: Array, imaginary: Array) -> Array:
    result = np.empty(real.shape, np.complex64 if real.dtype == np.float32 else np.complex128)
    result.real, result.imag = real, imaginary  # x + iy would turn an infinite part into NaN in the other
    return result


FUNCTIONS: dict[Opcode, Functions] = {
    Opcode.ABS: Functions(integer=np.absolute, floating=np.absolute, complex_=np.absolute),
    Opcode.ACOS: _analytic(np.arccos, np.arccos),
    Opcode.ACOSH: _analytic(np.arccosh, np.arccosh),
    Opcode.ADD: _arithmetic(np.add, predicate=np.logical_or),
    Opcode.AND: _bitwise(np.bitwise_and),
    Opcode.ASIN: _analytic(np.arcsin, np.arcsin),
    Opcode.ASINH: _analytic(np.arcsinh, np.arcsinh),
    Opcode.ATAN2: _analytic(np.arctan2),
    Opcode.ATANH: _analytic(np.arctanh, np.arctanh),
    Opcode.CBRT: _analytic(np.cbrt),
    Opcode.CEIL: _float(np.ceil),
    Opcode.CLZ: Functions(integer=integers.count_leading_zeros, narrow=integers.narrow_count_leading_zeros),
    Opcode.COMPLEX: Functions(floating=_complex_of_parts),
    Opcode.COS: _analytic(np.cos, np.cos),
    Opcode.COSH: _analytic(np.cosh, np.cosh),
    Opcode.DIVIDE: Functions(None, integers.divide, np.true_divide, precise(np.true_divide)),
    Opcode.ERF: _analytic(floats.erf),
    Opcode.EXP: _analytic(np.exp, np.exp),
    Opcode.EXP2: _analytic(np.exp2, floats.complex_exp2),
    Opcode.EXPM1: _analytic(np.expm1, floats.complex_expm1),
    Opcode.FLOOR: _float(np.floor),
    Opcode.IMAG: Functions(floating=_imaginary_of_real, complex_=np.imag),
    Opcode.IS_FINITE: Functions(floating=np.isfinite),
    Opcode.LOG: _analytic(np.log, np.log),
    Opcode.LOG1P: _analytic(np.log1p, np.log1p),
    Opcode.LOG2: _analytic(np.log2, floats.complex_log2),
    Opcode.LOGISTIC: _analytic(floats.logistic, floats.logistic),
    Opcode.MAXIMUM: Functions(np.maximum, np.maximum, floats.maximum),
    Opcode.MINIMUM: Functions(np.minimum, np.minimum, floats.minimum),
    Opcode.MULHI: Functions(integer=integers.multiply_high, narrow=integers.narrow_multiply_high),
    Opcode.MULTIPLY: _arithmetic(np.multiply, predicate=np.logical_and),
    Opcode.NEGATE: _arithmetic(np.negative),
    Opcode.NOT: _bitwise(np.invert),
    Opcode.OR: _bitwise(np.bitwise_or),
    Opcode.POPULATION_COUNT: Functions(
        integer=integers.population_count, narrow=integers.narrow_population_count
    ),
    Opcode.POWER: Functions(None, integers.power, precise(np.power), precise(np.power)),
    Opcode.REAL: Functions(floating=np.copy, complex_=np.real),
    Opcode.REMAINDER: Functions(integer=integers.remainder, floating=np.fmod, wide=True),
    Opcode.ROUND_NEAREST_AFZ: _float(floats.round_nearest_afz),
    Opcode.ROUND_NEAREST_EVEN: _float(np.rint),
    Opcode.RSQRT: _analytic(floats.rsqrt, floats.rsqrt),
    Opcode.SHIFT_LEFT: Functions(integer=np.left_shift),
    Opcode.SHIFT_RIGHT_ARITHMETIC: Functions(
        integer=integers.shift_right_arithmetic, narrow=integers.narrow_shift_right_arithmetic
    ),
    Opcode.SHIFT_RIGHT_LOGICAL: Functions(
        integer=integers.shift_right_logical, narrow=integers.narrow_shift_right_logical
    ),
    Opcode.SIGN: Functions(None, np.sign, floats.sign, precise(floats.complex_sign)),
    Opcode.SIN: _analytic(np.sin, np.sin),
    Opcode.SINH: _analytic(np.sinh, np.sinh),
    Opcode.SQRT: _analytic(np.sqrt, np.sqrt),
    Opcode.SUBTRACT: _arithmetic(np.subtract),
    Opcode.TAN: _analytic(np.tan, np.tan),
    Opcode.TANH: _analytic(np.tanh, np.tanh),
    Opcode.XOR: _bitwise(np.bitwise_xor),
}


def function_of(opcode: Opcode, element_type: PrimitiveType) -> Function:
    """What computes `opcode` on operands of `element_type`. Raises UnsupportedType."""
    function = FUNCTIONS[opcode].of(element_type)
    if function is None:
        raise UnsupportedType(opcode, element_type)
    return function


def kernel_of(function: Function, is_scalar: bool) -> Kernel:
    """A kernel that applies `function` to arrays, or only to scalars."""
    if not is_scalar:
        return lambda *operands: sealed(function(*operands))
    if isinstance(function, np.ufunc):
        # On arrays of rank 0 a ufunc returns not an array but a NumPy scalar.
        return lambda *operands: sealed(np.asarray(function(*operands)))
    return lambda *operands: sealed(function(*[x.reshape(1) for x in operands]).reshape(()))


def array_function(inst: HloInstruction) -> Function | None:
    """What computes the elementwise `inst` on arrays of rank 1 or more, or None where nothing does.

    Such a function works on arrays of any size: it looks at the instruction's element types, never at its
    dimensions. Raises UnsupportedType.
    """
    if inst.opcode in FUNCTIONS:
        return function_of(inst.opcode, inst.operand(0).array_shape.element_type)
    if inst.opcode is Opcode.BITCAST_CONVERT:
        return _same_size_bitcast(inst)
    make = _SPECIAL.get(inst.opcode)
    return make and make(inst)


@cache
def _elementwise_kernel(opcode: Opcode, element_type: PrimitiveType, is_scalar: bool) -> Kernel:
    return kernel_of(function_of(opcode, element_type), is_scalar)


def _elementwise_rule(inst: HloInstruction, _machine: Machine) -> Kernel:
    shape = inst.operand(0).array_shape
    return _elementwise_kernel(inst.opcode, shape.element_type, shape.is_scalar)


_COMPARE = {
    "EQ": np.equal,
    "NE": np.not_equal,
    "GE": np.greater_equal,
    "GT": np.greater,
    "LE": np.less_equal,
    "LT": np.less,
}


def _comparison(inst: HloInstruction) -> Function:
    comparison = inst.attributes
    if not isinstance(comparison, Comparison):
        raise TypeError(f"{inst.name} has no comparison")
    ufunc = _COMPARE[comparison.direction]
    element_type = inst.operand(0).array_shape.element_type
    if element_type.is_complex and comparison.direction not in ("EQ", "NE"):
        raise UnsupportedType(inst.opcode, element_type)
    if comparison.type != "TOTALORDER" or not element_type.is_float:
        return ufunc
    key = floats.total_order_key_of(element_type)
    return lambda x, y: ufunc(key(x), key(y))


def _select(predicate: Array, on_true: Array, on_false: Array) -> Array:
    result = on_false.copy()
    np.copyto(result, on_true, where=predicate)
    return result


def _select_rule(inst: HloInstruction, _machine: Machine) -> Kernel:
    if inst.operand(0).array_shape.is_scalar:
        return lambda predicate, on_true, on_false: on_true if predicate else on_false
    return lambda predicate, on_true, on_false: sealed(_select(predicate, on_true, on_false))


def _clamp(inst: HloInstruction) -> Function:
    element_type = inst.array_shape.element_type
    maximum = function_of(Opcode.MAXIMUM, element_type)
    minimum = function_of(Opcode.MINIMUM, element_type)
    # In this order: where low is above high, high it is.
    return lambda low, x, high: minimum(maximum(x, low), high)


def _conversion(inst: HloInstruction) -> Function:
    source, target = inst.operand(0).array_shape.element_type, inst.array_shape.element_type
    return (lambda x: x) if source is target else lambda x: convert(x, source, target)


def _stochastic_conversion(inst: HloInstruction) -> Function:
    target = inst.array_shape.element_type
    if not target.is_signed:
        raise UnsupportedType(inst.opcode, target)  # upstream defines it for signed integers only
    return lambda x, random: stochastic_convert(x, random, target)


def _convert_rule(inst: HloInstruction, machine: Machine) -> Kernel:
    if inst.operand(0).array_shape.element_type is inst.array_shape.element_type:
        return identity
    return _special_rule(inst, machine)


def _reduced_precision(inst: HloInstruction) -> Function:
    reduced = inst.attributes
    if not isinstance(reduced, ReducedPrecision):
        raise TypeError(f"{inst.name} has no exponent and mantissa bits")
    element_type = inst.array_shape.element_type
    return precision.reducer(element_type, reduced.exponent_bits, reduced.mantissa_bits)


def _special_rule(inst: HloInstruction, _machine: Machine) -> Kernel:
    return kernel_of(_SPECIAL[inst.opcode](inst), inst.array_shape.is_scalar)


def _bitcast_convert_rule(inst: HloInstruction, _machine: Machine) -> Kernel:
    source, target = inst.operand(0).array_shape.element_type, inst.array_shape.element_type
    if source is target:
        return identity
    dimensions = inst.array_shape.dimensions
    if target is PrimitiveType.PRED or source.is_complex is not target.is_complex:
        raise UnsupportedType(inst.opcode, target)
    if source.bit_width < 8 or target.bit_width < 8:
        return lambda x: sealed(bitcast_convert_in_bits(x, source, target, dimensions))
    return lambda x: sealed(bitcast_convert(x, target.numpy, dimensions))


def _same_size_bitcast(inst: HloInstruction) -> Function | None:
    source, target = inst.operand(0).array_shape.element_type, inst.array_shape.element_type
    if source.bit_width != target.bit_width or PrimitiveType.PRED in (source, target):
        return None
    if source.bit_width < 8:
        return lambda x: bitcast_convert_in_bits(x, source, target, x.shape)
    return lambda x: bitcast_convert(x, target.numpy, x.shape)


_SPECIAL: dict[Opcode, Callable[[HloInstruction], Function]] = {
    Opcode.COMPARE: _comparison,
    Opcode.SELECT: lambda _inst: _select,
    Opcode.CLAMP: _clamp,
    Opcode.CONVERT: _conversion,
    Opcode.COPY: lambda _inst: lambda x: x,
    Opcode.REDUCE_PRECISION: _reduced_precision,
    Opcode.STOCHASTIC_CONVERT: _stochastic_conversion,
}

RULES: dict[Opcode, Rule] = {
    **dict.fromkeys(FUNCTIONS, _elementwise_rule),
    Opcode.COMPARE: _special_rule,
    Opcode.SELECT: _select_rule,
    Opcode.CLAMP: _special_rule,
    Opcode.CONVERT: _convert_rule,
    Opcode.BITCAST_CONVERT: _bitcast_convert_rule,
    Opcode.COPY: lambda _inst, _machine: identity,
    Opcode.REDUCE_PRECISION: _special_rule,
    Opcode.STOCHASTIC_CONVERT: _special_rule,
}
