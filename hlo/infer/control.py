"""What shape do parameters, constants, tuples and calls have, and do callees fit?

Shapes meet where `compatible`: a callee may know a dimension as static that its caller knows as dynamic
(`stock_passes.md` section 3.7).
"""

from __future__ import annotations

from collections.abc import Sequence

from hlo.attributes import (
    Attributes,
    ConstantValue,
    CustomCallTarget,
    FusionKind,
    ParameterNumber,
    RandomAlgorithm,
    TupleIndex,
)
from hlo.infer.common import Rule, ShapeError, Signature, array, declared_array, expect, merge_flags
from hlo.literal import Token, Value, value_shape
from hlo.opcode import Opcode
from hlo.primitive_type import PrimitiveType
from hlo.shape import ArrayShape, Shape, TokenShape, TupleShape, compatible, leaves

PRED_SCALAR = ArrayShape(PrimitiveType.PRED)
INDEX_SCALAR = ArrayShape(PrimitiveType.S32)

FUSION_KINDS = ("kLoop", "kInput", "kOutput", "kCustom")
PADDING_TYPES = ("", "VALID", "SAME")
RANDOM_ALGORITHMS = ("rng_default", "rng_three_fry", "rng_philox")


def _declared(declared: Shape | None) -> Shape:
    if declared is None:
        raise ShapeError("nothing determines the result: declare its shape")
    for _, leaf in leaves(declared):
        if isinstance(leaf, ArrayShape):
            declared_array(leaf)
    return declared


def _parameter(
    _o: Sequence[Shape], attributes: Attributes, _c: Sequence[Signature], declared: Shape | None
) -> Shape:
    if expect(attributes, ParameterNumber).number < 0:
        raise ShapeError("the parameter number is negative")
    return _declared(declared)


def _constant(
    _o: Sequence[Shape], attributes: Attributes, _c: Sequence[Signature], declared: Shape | None
) -> Shape:
    value = expect(attributes, ConstantValue).literal.value
    if declared is None:
        return _value_shape(value)
    if not _holds(declared, value):
        raise ShapeError(f"the literal is {_value_shape(value)}, declared {declared}")
    return declared


def _value_shape(value: Value) -> Shape:
    try:
        return value_shape(value)
    except (KeyError, TypeError) as error:
        raise ShapeError(f"a literal cannot hold this value: {error}") from None


def _holds(shape: Shape, value: Value) -> bool:
    """Whether `shape`, at its bounds, is the shape of `value`."""
    if isinstance(value, tuple):
        return (
            isinstance(shape, TupleShape)
            and len(shape.elements) == len(value)
            and all(_holds(s, v) for s, v in zip(shape.elements, value, strict=True))
        )
    return (
        isinstance(shape, ArrayShape)
        and not isinstance(value, Token)
        and value.shape == shape.dimensions
        and value.dtype == shape.element_type.numpy
    )


def _tuple(
    operands: Sequence[Shape], _a: Attributes, _c: Sequence[Signature], declared: Shape | None
) -> Shape:
    elements = tuple(operands)
    if isinstance(declared, TupleShape) and declared.elements == elements:
        return declared
    return TupleShape(elements)


def _get_tuple_element(
    operands: Sequence[Shape], attributes: Attributes, _c: Sequence[Signature], _d: Shape | None
) -> Shape:
    source = operands[0]
    index = expect(attributes, TupleIndex).index
    if not isinstance(source, TupleShape):
        raise ShapeError(f"expected a tuple, got {source}")
    if not 0 <= index < len(source.elements):
        raise ShapeError(f"index {index} is not in {source}")
    return source.elements[index]


def _check_arguments(arguments: Sequence[Shape], callee: Signature, what: str) -> None:
    if len(arguments) != len(callee.parameters):
        raise ShapeError(f"{what} takes {len(callee.parameters)} arguments, got {len(arguments)}")
    for i, (argument, parameter) in enumerate(zip(arguments, callee.parameters, strict=True)):
        if argument is not parameter and not compatible(argument, parameter):
            raise ShapeError(f"argument {i} is {argument}, but parameter {i} of {what} is {parameter}")


def _call(operands: Sequence[Shape], _a: Attributes, called: Sequence[Signature], _d: Shape | None) -> Shape:
    _check_arguments(operands, called[0], "the callee")
    return called[0].result


def _fusion(
    operands: Sequence[Shape], attributes: Attributes, called: Sequence[Signature], declared: Shape | None
) -> Shape:
    kind = expect(attributes, FusionKind).kind
    if kind not in FUSION_KINDS:
        raise ShapeError(f"fusion kind {kind!r} is none of {', '.join(FUSION_KINDS)}")
    return _call(operands, attributes, called, declared)


def _while(operands: Sequence[Shape], _a: Attributes, called: Sequence[Signature], _d: Shape | None) -> Shape:
    """The result is the initial value's shape, flags included."""
    body, condition = called
    _check_arguments(operands, body, "the body")
    _check_arguments(operands, condition, "the condition")
    if not compatible(body.result, operands[0]):
        raise ShapeError(f"the body gives {body.result}, but takes {operands[0]}")
    if condition.result != PRED_SCALAR:
        raise ShapeError(f"the condition gives {condition.result}, not pred[]")
    return operands[0]


def _conditional(
    operands: Sequence[Shape], _a: Attributes, called: Sequence[Signature], _d: Shape | None
) -> Shape:
    """pred[] chooses between two branches (true, then false), s32[] between any number of them."""
    if not operands or not called:
        raise ShapeError("expected a selector and at least one branch")
    selector = array(operands[0])
    if selector == PRED_SCALAR:
        if len(called) != 2:
            raise ShapeError(f"pred[] chooses between two branches, got {len(called)}")
    elif selector != INDEX_SCALAR:
        raise ShapeError(f"the selector is {selector}, neither pred[] nor s32[]")
    if len(operands) != len(called) + 1:
        raise ShapeError(f"{len(operands) - 1} arguments for {len(called)} branches")
    shape = called[0].result
    for i, branch in enumerate(called):
        _check_arguments(operands[i + 1 : i + 2], branch, f"branch {i}")
        if not compatible(branch.result, shape):
            raise ShapeError(f"branch {i} gives {branch.result}, branch 0 {shape}")
        shape = merge_flags(shape, branch.result)
    return shape


def _custom_call(
    _o: Sequence[Shape], attributes: Attributes, _c: Sequence[Signature], declared: Shape | None
) -> Shape:
    call = expect(attributes, CustomCallTarget)
    if call.padding_type not in PADDING_TYPES:
        raise ShapeError(f"padding type {call.padding_type!r} is none of {', '.join(PADDING_TYPES)}")
    for count in (call.feature_group_count, call.batch_group_count):
        if type(count) is not int or count < 1:
            raise ShapeError(f"group count {count} is not positive")
    return _declared(declared)


def _rng_bit_generator(
    operands: Sequence[Shape], attributes: Attributes, _c: Sequence[Signature], declared: Shape | None
) -> Shape:
    """A state gives the next state and the declared array of random bits."""
    algorithm = expect(attributes, RandomAlgorithm).algorithm
    if algorithm not in RANDOM_ALGORITHMS:
        raise ShapeError(f"algorithm {algorithm!r} is none of {', '.join(RANDOM_ALGORITHMS)}")
    shape = _declared(declared)
    if not isinstance(shape, TupleShape) or len(shape.elements) != 2:
        raise ShapeError(f"declared {shape}, not the next state and the bits")
    state = array(operands[0])
    if not state.element_type.is_unsigned:
        raise ShapeError(f"the state {state} is not unsigned")
    bits = array(shape.elements[1])
    if not (bits.element_type.is_integral or bits.element_type.is_float):
        raise ShapeError(f"random bits do not make {bits.element_type.text}")
    return TupleShape((state, bits))


def _first_operand(
    operands: Sequence[Shape], _a: Attributes, _c: Sequence[Signature], _d: Shape | None
) -> Shape:
    return operands[0]


def _after_all(operands: Sequence[Shape], _a: Attributes, _c: Sequence[Signature], _d: Shape | None) -> Shape:
    for operand in operands:
        if not isinstance(operand, TokenShape):
            raise ShapeError(f"expected tokens, got {operand}")
    return TokenShape()


def _add_dependency(
    operands: Sequence[Shape], _a: Attributes, _c: Sequence[Signature], _d: Shape | None
) -> Shape:
    if not isinstance(operands[1], TokenShape):
        raise ShapeError(f"expected a token, got {operands[1]}")
    return operands[0]


RULES: dict[Opcode, Rule] = {
    Opcode.PARAMETER: _parameter,
    Opcode.CONSTANT: _constant,
    Opcode.TUPLE: _tuple,
    Opcode.GET_TUPLE_ELEMENT: _get_tuple_element,
    Opcode.CALL: _call,
    Opcode.FUSION: _fusion,
    Opcode.WHILE: _while,
    Opcode.CONDITIONAL: _conditional,
    Opcode.CUSTOM_CALL: _custom_call,
    Opcode.RNG_BIT_GENERATOR: _rng_bit_generator,
    Opcode.OPTIMIZATION_BARRIER: _first_operand,
    Opcode.DOMAIN: _first_operand,
    Opcode.AFTER_ALL: _after_all,
    Opcode.ADD_DEPENDENCY: _add_dependency,
}
