"""What does each elementwise opcode give, element by element?

One table says which function computes an opcode for each kind of element type. Floats narrower than 32 bits are
computed in F32 and rounded once; where NumPy does not have a function of HLO's meaning, `integers.py`, `floats.py`
and `conversion.py` do.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cache

import numpy as np

from hlo.attributes import Comparison
from hlo.evaluator import floats, integers
from hlo.evaluator.conversion import bitcast_convert, convert, wrap_narrow
from hlo.evaluator.kernels import Array, Kernel, Machine, Rule, identity, sealed
from hlo.evaluator.limits import UnsupportedType
from hlo.evaluator.mapping import map_rule
from hlo.graph import HloInstruction
from hlo.opcode import Opcode
from hlo.primitive_type import PrimitiveType

Function = Callable[..., Array]


@dataclass(frozen=True, slots=True)
class Functions:
    """Which function computes an opcode, by the kind of the operands' element type; None where none does.

    Functions get arrays of rank 1 or more and return a fresh array. `wide`: they round in between, so that
    narrow floats are to be computed in F32. `bits`: they look at the top bits, which the byte
    that holds a 2- or 4-bit value does not have in the right place.
    """

    predicate: Function | None = None
    integer: Function | None = None
    floating: Function | None = None
    complex_: Function | None = None
    wide: bool = False
    bits: bool = False

    def of(self, element_type: PrimitiveType) -> Function | None:
        """The function for operands of `element_type`."""
        if element_type is PrimitiveType.PRED:
            return self.predicate
        if element_type.is_integral:
            return self._of_integer(element_type)
        if element_type.is_complex:
            return self.complex_ and _contiguous(self.complex_)
        if self.floating is None or not self.wide:
            return self.floating
        return _contiguous(self.floating) if element_type.bit_width >= 32 else _in_float32(self.floating)

    def _of_integer(self, element_type: PrimitiveType) -> Function | None:
        if element_type.bit_width >= 8 or self.integer is None:
            return self.integer
        return None if self.bits else _in_bytes(self.integer, element_type)


def _in_float32(function: Function) -> Function:
    def narrow(*operands: Array) -> Array:
        return function(*[operand.astype(np.float32) for operand in operands]).astype(operands[0].dtype)

    return narrow


def _contiguous(function: Function) -> Function:
    # NumPy may take another algorithm, which rounds differently, for what lies backwards in memory. The value of
    # an instruction must not depend on how its operand was made.
    def in_order(*operands: Array) -> Array:
        return function(*[np.ascontiguousarray(operand) for operand in operands])

    return in_order


def _in_bytes(function: Function, element_type: PrimitiveType) -> Function:
    carrier = np.int8 if element_type.is_signed else np.uint8

    def narrow(*operands: Array) -> Array:
        return wrap_narrow(function(*[operand.astype(carrier) for operand in operands]), element_type)

    return narrow


def _arithmetic(ufunc: np.ufunc, *, predicate: np.ufunc | None = None) -> Functions:
    return Functions(predicate, ufunc, ufunc, ufunc)


def _bitwise(ufunc: np.ufunc) -> Functions:
    return Functions(predicate=ufunc, integer=ufunc)


def _float(function: Function, complex_: Function | None = None) -> Functions:
    return Functions(floating=function, complex_=complex_, wide=True)


def _analytic(ufunc: np.ufunc) -> Functions:
    return _float(ufunc, ufunc)


def _imaginary_of_real(operand: Array) -> Array:
    return np.zeros_like(operand)


def _complex_of_parts(real: Array, imaginary: Array) -> Array:
    result = np.empty(real.shape, np.complex64 if real.dtype == np.float32 else np.complex128)
    result.real, result.imag = real, imaginary  # x + iy would turn an infinite part into NaN in the other
    return result


FUNCTIONS: dict[Opcode, Functions] = {
    Opcode.ABS: Functions(integer=np.absolute, floating=np.absolute, complex_=np.absolute),
    Opcode.ACOS: _analytic(np.arccos),
    Opcode.ACOSH: _analytic(np.arccosh),
    Opcode.ADD: _arithmetic(np.add, predicate=np.logical_or),
    Opcode.AND: _bitwise(np.bitwise_and),
    Opcode.ASIN: _analytic(np.arcsin),
    Opcode.ASINH: _analytic(np.arcsinh),
    Opcode.ATAN2: _float(np.arctan2),
    Opcode.ATANH: _analytic(np.arctanh),
    Opcode.CBRT: _float(np.cbrt),
    Opcode.CEIL: _float(np.ceil),
    Opcode.CLZ: Functions(integer=integers.count_leading_zeros, bits=True),
    Opcode.COMPLEX: Functions(floating=_complex_of_parts),
    Opcode.COS: _analytic(np.cos),
    Opcode.COSH: _analytic(np.cosh),
    Opcode.DIVIDE: Functions(None, integers.divide, np.true_divide, np.true_divide),
    Opcode.ERF: _float(floats.erf),
    Opcode.EXP: _analytic(np.exp),
    Opcode.EXPM1: _analytic(np.expm1),
    Opcode.FLOOR: _float(np.floor),
    Opcode.IMAG: Functions(floating=_imaginary_of_real, complex_=np.imag),
    Opcode.IS_FINITE: Functions(floating=np.isfinite),
    Opcode.LOG: _analytic(np.log),
    Opcode.LOG1P: _analytic(np.log1p),
    Opcode.LOGISTIC: _float(floats.logistic, floats.logistic),
    Opcode.MAXIMUM: Functions(np.maximum, np.maximum, floats.maximum),
    Opcode.MINIMUM: Functions(np.minimum, np.minimum, floats.minimum),
    Opcode.MULHI: Functions(integer=integers.multiply_high, bits=True),
    Opcode.MULTIPLY: _arithmetic(np.multiply, predicate=np.logical_and),
    Opcode.NEGATE: _arithmetic(np.negative),
    Opcode.NOT: _bitwise(np.invert),
    Opcode.OR: _bitwise(np.bitwise_or),
    Opcode.POPULATION_COUNT: Functions(integer=integers.population_count, bits=True),
    Opcode.POWER: Functions(integer=integers.power, floating=np.power, complex_=np.power, wide=True),
    Opcode.REAL: Functions(floating=np.copy, complex_=np.real),
    Opcode.REMAINDER: Functions(integer=integers.remainder, floating=np.fmod, wide=True),
    Opcode.ROUND_NEAREST_AFZ: _float(floats.round_nearest_afz),
    Opcode.ROUND_NEAREST_EVEN: _float(np.rint),
    Opcode.RSQRT: _float(floats.rsqrt, floats.rsqrt),
    Opcode.SHIFT_LEFT: Functions(integer=np.left_shift),
    Opcode.SHIFT_RIGHT_ARITHMETIC: Functions(integer=integers.shift_right_arithmetic, bits=True),
    Opcode.SHIFT_RIGHT_LOGICAL: Functions(integer=integers.shift_right_logical, bits=True),
    Opcode.SIGN: Functions(None, np.sign, floats.sign, floats.complex_sign),
    Opcode.SIN: _analytic(np.sin),
    Opcode.SINH: _analytic(np.sinh),
    Opcode.SQRT: _analytic(np.sqrt),
    Opcode.SUBTRACT: _arithmetic(np.subtract),
    Opcode.TAN: _analytic(np.tan),
    Opcode.TANH: _analytic(np.tanh),
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


def _compare_rule(inst: HloInstruction, _machine: Machine) -> Kernel:
    comparison = inst.attributes
    if not isinstance(comparison, Comparison):
        raise TypeError(f"{inst.name} has no comparison")
    ufunc = _COMPARE[comparison.direction]
    element_type = inst.operand(0).array_shape.element_type
    if element_type.is_complex and comparison.direction not in ("EQ", "NE"):
        raise UnsupportedType(inst.opcode, element_type)
    if comparison.type != "TOTALORDER" or not element_type.is_float:
        return kernel_of(ufunc, inst.array_shape.is_scalar)
    if element_type.bit_width < 8 or element_type is PrimitiveType.F8E8M0FNU:  # no sign bit at the top
        raise UnsupportedType(inst.opcode, element_type)
    key = floats.total_order_key
    return kernel_of(lambda x, y: ufunc(key(x), key(y)), inst.array_shape.is_scalar)


def _select_rule(inst: HloInstruction, _machine: Machine) -> Kernel:
    if inst.operand(0).array_shape.is_scalar:
        return lambda predicate, on_true, on_false: on_true if predicate else on_false

    def select(predicate: Array, on_true: Array, on_false: Array) -> Array:
        result = on_false.copy()
        np.copyto(result, on_true, where=predicate)
        return sealed(result)

    return select


def _clamp_rule(inst: HloInstruction, _machine: Machine) -> Kernel:
    element_type = inst.array_shape.element_type
    maximum = function_of(Opcode.MAXIMUM, element_type)
    minimum = function_of(Opcode.MINIMUM, element_type)
    # In this order: where low is above high, high it is.
    return kernel_of(lambda low, x, high: minimum(maximum(x, low), high), inst.array_shape.is_scalar)


def _convert_rule(inst: HloInstruction, _machine: Machine) -> Kernel:
    source, target = inst.operand(0).array_shape.element_type, inst.array_shape.element_type
    if source is target:
        return identity
    return kernel_of(lambda x: convert(x, source, target), inst.array_shape.is_scalar)


def _bitcast_convert_rule(inst: HloInstruction, _machine: Machine) -> Kernel:
    source, target = inst.operand(0).array_shape.element_type, inst.array_shape.element_type
    if source is target:
        return identity
    if source.bit_width < 8 or target.bit_width < 8 or target is PrimitiveType.PRED:
        raise UnsupportedType(inst.opcode, target)  # a byte holds more than their values
    dimensions = inst.array_shape.dimensions
    return lambda x: sealed(bitcast_convert(x, target.numpy, dimensions))


RULES: dict[Opcode, Rule] = {
    **dict.fromkeys(FUNCTIONS, _elementwise_rule),
    Opcode.COMPARE: _compare_rule,
    Opcode.SELECT: _select_rule,
    Opcode.CLAMP: _clamp_rule,
    Opcode.CONVERT: _convert_rule,
    Opcode.BITCAST_CONVERT: _bitcast_convert_rule,
    Opcode.COPY: lambda _inst, _machine: identity,
    Opcode.MAP: map_rule,
}

GAPS: dict[Opcode, str] = {
    Opcode.REDUCE_PRECISION: "the IR does not model exponent_bits and mantissa_bits",
    Opcode.STOCHASTIC_CONVERT: "not in scope: rounding by random bits, which no generator makes",
}
