"""What shape does an elementwise instruction have, and which element types does it take?

Element types are those that `ShapeInference` upstream takes, read at openxla/xla 001918b; the operands of one
instruction must agree in element type exactly (its mixed precision is a back-end matter).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from hlo.attributes import Attributes, Comparison, Dimensions, ReducedPrecision
from hlo.infer.common import (
    Rule,
    ShapeError,
    Signature,
    array,
    declared_array,
    expect,
    result,
    with_element_type,
    with_flags_of,
)
from hlo.opcode import Opcode
from hlo.primitive_type import PrimitiveType
from hlo.shape import ArrayShape, Shape

ElementTypes = frozenset[PrimitiveType]

PRED: ElementTypes = frozenset({PrimitiveType.PRED})
INTEGRAL: ElementTypes = frozenset(t for t in PrimitiveType if t.is_integral)
SIGNED: ElementTypes = frozenset(t for t in PrimitiveType if t.is_signed)
FLOAT: ElementTypes = frozenset(t for t in PrimitiveType if t.is_float)
COMPLEX: ElementTypes = frozenset(t for t in PrimitiveType if t.is_complex)
ARITHMETIC = INTEGRAL | FLOAT | COMPLEX
EVERY: ElementTypes = frozenset(PrimitiveType)

COMPONENT = {PrimitiveType.C64: PrimitiveType.F32, PrimitiveType.C128: PrimitiveType.F64}
COMPOSED = {component: composed for composed, component in COMPONENT.items()}

ORDERED = frozenset({"EQ", "NE", "GE", "GT", "LE", "LT"})
UNORDERED = frozenset({"EQ", "NE"})


def _check_type(shape: ArrayShape, allowed: ElementTypes) -> None:
    if shape.element_type not in allowed:
        raise ShapeError(f"element type {shape.element_type.text} is not allowed here")


def _alike(left: Shape, right: Shape) -> ArrayShape:
    """The shape of two operands of equal element type and bounds, with the flags of both."""
    first, second = array(left), array(right)
    if first.element_type is not second.element_type or first.dimensions != second.dimensions:
        raise ShapeError(f"operands differ: {first} and {second}")
    return with_flags_of(first, (second,)) if second.dynamic else first


def _unary(allowed: ElementTypes) -> Rule:
    def rule(operands: Sequence[Shape], _a: Attributes, _c: Sequence[Signature], _d: Shape | None) -> Shape:
        shape = array(operands[0])
        if shape.element_type not in allowed:
            _check_type(shape, allowed)
        return shape

    return rule


def _unary_to(allowed: ElementTypes, to: Callable[[PrimitiveType], PrimitiveType]) -> Rule:
    def rule(
        operands: Sequence[Shape], _a: Attributes, _c: Sequence[Signature], declared: Shape | None
    ) -> Shape:
        shape = array(operands[0])
        _check_type(shape, allowed)
        return with_element_type(shape, to(shape.element_type), declared)

    return rule


def _binary(allowed: ElementTypes) -> Rule:
    def rule(operands: Sequence[Shape], _a: Attributes, _c: Sequence[Signature], _d: Shape | None) -> Shape:
        shape = _alike(operands[0], operands[1])
        if shape.element_type not in allowed:
            _check_type(shape, allowed)
        return shape

    return rule


def _component(element_type: PrimitiveType) -> PrimitiveType:
    return COMPONENT.get(element_type, element_type)


def _complex(
    operands: Sequence[Shape], _a: Attributes, _c: Sequence[Signature], declared: Shape | None
) -> Shape:
    shape = _alike(operands[0], operands[1])
    _check_type(shape, frozenset(COMPOSED))
    return with_element_type(shape, COMPOSED[shape.element_type], declared)


def _comparison_types(element_type: PrimitiveType) -> tuple[str, ...]:
    """The `type=` that a compare of `element_type` may say; "" stands for the first of the others."""
    if element_type.is_float:
        return ("", "FLOAT", "TOTALORDER")
    if element_type.is_complex:
        return ("", "FLOAT")
    return ("", "SIGNED") if element_type.is_signed else ("", "UNSIGNED")


def _compare(
    operands: Sequence[Shape], attributes: Attributes, _c: Sequence[Signature], declared: Shape | None
) -> Shape:
    comparison = expect(attributes, Comparison)
    shape = _alike(operands[0], operands[1])
    element_type = shape.element_type
    if comparison.direction not in (UNORDERED if element_type.is_complex else ORDERED):
        raise ShapeError(f"direction {comparison.direction!r} does not compare {element_type.text}")
    if comparison.type and comparison.type not in _comparison_types(element_type):
        raise ShapeError(f"comparison type {comparison.type!r} does not compare {element_type.text}")
    return with_element_type(shape, PrimitiveType.PRED, declared)


def _select(operands: Sequence[Shape], _a: Attributes, _c: Sequence[Signature], _d: Shape | None) -> Shape:
    """One predicate for each element or, as `InferSelectShape` upstream allows by now, for all of them."""
    predicate = array(operands[0])
    _check_type(predicate, PRED)
    shape = _alike(operands[1], operands[2])
    if predicate.dimensions and predicate.dimensions != shape.dimensions:
        raise ShapeError(f"the predicate {predicate} is neither a scalar nor of the dimensions of {shape}")
    return with_flags_of(shape, (predicate,)) if predicate.dynamic else shape


def _clamp(operands: Sequence[Shape], _a: Attributes, _c: Sequence[Signature], _d: Shape | None) -> Shape:
    shape = array(operands[1])
    for bound in (array(operands[0]), array(operands[2])):
        if bound.element_type is not shape.element_type or bound.dimensions not in ((), shape.dimensions):
            raise ShapeError(f"the bound {bound} is neither a scalar nor of the shape {shape}")
    return shape


def _convert(
    operands: Sequence[Shape], _a: Attributes, _c: Sequence[Signature], declared: Shape | None
) -> Shape:
    shape = array(operands[0])
    return with_element_type(shape, declared_array(declared).element_type, declared)


def _bitcast_convert(
    operands: Sequence[Shape], _a: Attributes, _c: Sequence[Signature], declared: Shape | None
) -> Shape:
    """Widths that differ add or take away the last dimension, whose size is their ratio."""
    shape = array(operands[0])
    new_type = declared_array(declared).element_type
    old, new = shape.element_type.bit_width, new_type.bit_width
    if PrimitiveType.PRED in (shape.element_type, new_type) and shape.element_type is not new_type:
        raise ShapeError(
            f"{shape.element_type.text} and {new_type.text}: a pred counts 1 bit but is stored in 8"
        )
    if shape.element_type.is_complex is not new_type.is_complex:
        raise ShapeError(f"{shape.element_type.text} and {new_type.text}: only one of them is complex")
    if old == new:
        return with_element_type(shape, new_type, declared)
    ratio, rest = divmod(max(old, new), min(old, new))
    if rest:
        raise ShapeError(f"{old} and {new} bits: neither width divides the other")
    if old > new:
        flags = (*shape.dynamic, False) if shape.dynamic else ()
        return result(new_type, (*shape.dimensions, ratio), flags, declared)
    if shape.dimensions[-1:] != (ratio,) or shape.is_dynamic_dimension(shape.rank - 1):
        raise ShapeError(f"the last dimension of {shape} is not {ratio}, the ratio of {new} and {old} bits")
    return ArrayShape(new_type, shape.dimensions[:-1], shape.dynamic[:-1])


def _stochastic_convert(
    operands: Sequence[Shape], _a: Attributes, _c: Sequence[Signature], declared: Shape | None
) -> Shape:
    """Floats and as many random bits, unsigned. Source: `InferStochasticConvertShape` upstream."""
    shape, bits = array(operands[0]), array(operands[1])
    _check_type(shape, FLOAT)
    if not bits.element_type.is_unsigned or bits.element_type.bit_width != shape.element_type.bit_width:
        raise ShapeError(f"{bits} are not random bits for {shape}")
    if bits.dimensions != shape.dimensions:
        raise ShapeError(f"operands differ in dimensions: {shape} and {bits}")
    to = declared_array(declared).element_type
    if not (to.is_signed or to.is_float):
        raise ShapeError(f"a stochastic conversion does not give {to.text}")
    return with_element_type(shape, to, declared)


def _reduce_precision(
    operands: Sequence[Shape], attributes: Attributes, _c: Sequence[Signature], _d: Shape | None
) -> Shape:
    shape = array(operands[0])
    _check_type(shape, FLOAT)
    format_ = expect(attributes, ReducedPrecision)
    if format_.exponent_bits < 1 or format_.mantissa_bits < 0:
        raise ShapeError(f"e{format_.exponent_bits}m{format_.mantissa_bits} is no format of a float")
    return shape


def _copy(operands: Sequence[Shape], _a: Attributes, _c: Sequence[Signature], _d: Shape | None) -> Shape:
    return operands[0]


def _map(
    operands: Sequence[Shape], attributes: Attributes, called: Sequence[Signature], declared: Shape | None
) -> Shape:
    """The callee takes one scalar of each operand and gives a scalar; `dimensions` are all, in order."""
    shapes = [array(operand) for operand in operands]
    if not shapes:
        raise ShapeError("expected at least one operand")
    if any(shape.dimensions != shapes[0].dimensions for shape in shapes):
        raise ShapeError(f"operands differ in dimensions: {', '.join(map(str, shapes))}")
    dimensions = expect(attributes, Dimensions).dimensions
    if dimensions != tuple(range(shapes[0].rank)):
        raise ShapeError(f"dimensions {list(dimensions)} are not all of {shapes[0]} in order")
    function = called[0]
    takes = tuple(ArrayShape(shape.element_type) for shape in shapes)
    if function.parameters != takes:
        raise ShapeError(f"the callee takes {_listed(function.parameters)}, expected {_listed(takes)}")
    gives = array(function.result)
    if gives.dimensions:
        raise ShapeError(f"the callee gives {gives}, expected a scalar")
    return with_element_type(with_flags_of(shapes[0], shapes[1:]), gives.element_type, declared)


def _listed(shapes: Sequence[Shape]) -> str:
    return f"({', '.join(map(str, shapes))})"


_FLOAT_OR_COMPLEX = _unary(FLOAT | COMPLEX)
_FLOAT = _unary(FLOAT)
_LOGICAL = _binary(PRED | INTEGRAL)
_ARITHMETIC = _binary(ARITHMETIC)
_INTEGRAL = _binary(INTEGRAL)

RULES: dict[Opcode, Rule] = {
    Opcode.ABS: _unary_to(SIGNED | FLOAT | COMPLEX, _component),
    Opcode.ACOS: _FLOAT_OR_COMPLEX,
    Opcode.ACOSH: _FLOAT_OR_COMPLEX,
    Opcode.ASIN: _FLOAT_OR_COMPLEX,
    Opcode.ASINH: _FLOAT_OR_COMPLEX,
    Opcode.ATANH: _FLOAT_OR_COMPLEX,
    Opcode.CBRT: _FLOAT_OR_COMPLEX,
    Opcode.CEIL: _FLOAT,
    Opcode.CLZ: _unary(INTEGRAL),
    Opcode.COS: _FLOAT_OR_COMPLEX,
    Opcode.COSH: _FLOAT_OR_COMPLEX,
    Opcode.ERF: _FLOAT,
    Opcode.EXP: _FLOAT_OR_COMPLEX,
    Opcode.EXP2: _FLOAT_OR_COMPLEX,
    Opcode.EXPM1: _FLOAT_OR_COMPLEX,
    Opcode.FLOOR: _FLOAT,
    Opcode.IMAG: _unary_to(FLOAT | COMPLEX, _component),
    Opcode.IS_FINITE: _unary_to(FLOAT, lambda _: PrimitiveType.PRED),
    Opcode.LOG: _FLOAT_OR_COMPLEX,
    Opcode.LOG1P: _FLOAT_OR_COMPLEX,
    Opcode.LOG2: _FLOAT_OR_COMPLEX,
    Opcode.LOGISTIC: _FLOAT_OR_COMPLEX,
    Opcode.NEGATE: _unary(ARITHMETIC),
    Opcode.NOT: _unary(PRED | INTEGRAL),
    Opcode.POPULATION_COUNT: _unary(INTEGRAL),
    Opcode.REAL: _unary_to(FLOAT | COMPLEX, _component),
    Opcode.ROUND_NEAREST_AFZ: _FLOAT,
    Opcode.ROUND_NEAREST_EVEN: _FLOAT,
    Opcode.RSQRT: _FLOAT_OR_COMPLEX,
    Opcode.SIGN: _unary(SIGNED | FLOAT | COMPLEX),
    Opcode.SIN: _FLOAT_OR_COMPLEX,
    Opcode.SINH: _FLOAT_OR_COMPLEX,
    Opcode.SQRT: _FLOAT_OR_COMPLEX,
    Opcode.TAN: _FLOAT_OR_COMPLEX,
    Opcode.TANH: _FLOAT_OR_COMPLEX,
    # PRED adds as OR and multiplies as AND
    Opcode.ADD: _binary(EVERY),
    Opcode.MAXIMUM: _binary(EVERY),
    Opcode.MINIMUM: _binary(EVERY),
    Opcode.MULTIPLY: _binary(EVERY),
    Opcode.AND: _LOGICAL,
    Opcode.OR: _LOGICAL,
    Opcode.XOR: _LOGICAL,
    Opcode.ATAN2: _binary(FLOAT | COMPLEX),
    Opcode.COMPLEX: _complex,
    Opcode.DIVIDE: _ARITHMETIC,
    Opcode.POWER: _ARITHMETIC,
    Opcode.REMAINDER: _ARITHMETIC,
    Opcode.SUBTRACT: _ARITHMETIC,
    Opcode.MULHI: _INTEGRAL,
    Opcode.SHIFT_LEFT: _INTEGRAL,
    Opcode.SHIFT_RIGHT_ARITHMETIC: _INTEGRAL,
    Opcode.SHIFT_RIGHT_LOGICAL: _INTEGRAL,
    Opcode.COMPARE: _compare,
    Opcode.SELECT: _select,
    Opcode.CLAMP: _clamp,
    Opcode.CONVERT: _convert,
    Opcode.BITCAST_CONVERT: _bitcast_convert,
    Opcode.COPY: _copy,
    Opcode.REDUCE_PRECISION: _reduce_precision,
    Opcode.STOCHASTIC_CONVERT: _stochastic_convert,
    Opcode.MAP: _map,
}
