"""What else happens to values around the loops? Operations of the other families, so that values flow through them.

They work on arrays of one shape, in the two element types of the rich lanes: an operation here tests what
surrounds a slice, and each further shape would cost a compile for each operation.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from types import MappingProxyType

from fuzz.generators.draft import Draft
from fuzz.generators.features import Feature
from fuzz.generators.palette import VECTOR, array_shape, filled
from fuzz.generators.profile import Extra
from fuzz.generators.tape import Tape
from hlo import HloInstruction, Opcode, PrimitiveType
from hlo.builder import Builder

_LENGTH = VECTOR.dimensions[0]
_TYPES = (PrimitiveType.S32, PrimitiveType.F32)
_SHAPES = tuple(array_shape(element_type, VECTOR.dimensions) for element_type in _TYPES)
_BYTE = tuple(range(256))
_S32 = array_shape(PrimitiveType.S32, ())

Operation = Callable[[Draft, HloInstruction], HloInstruction]


def write_extra(draft: Draft, extra: Extra | None, tape: Tape) -> None:
    """Put an output, or a parameter where no output has the shape, through one operation of family `extra`.

    Reads two bytes of `tape`, also where `extra` is None and nothing is done.
    """
    operation = tape.choice(_OPERATIONS[extra] if extra else (None,))
    place = tape.choice(_BYTE)
    if extra is None or operation is None:
        return
    candidates = [output for output in reversed(draft.outputs) if output.shape in _SHAPES]
    value = (
        candidates[place * len(candidates) >> 8] if candidates else draft.parameter(_SHAPES[0], reuse=True)
    )
    result = operation(draft, value)
    if value in draft.outputs:
        draft.outputs.remove(value)
    draft.outputs.append(result)
    draft.note(_FEATURES.get(extra, Feature.OTHER_OPERATIONS))


def _type(value: HloInstruction) -> PrimitiveType:
    return value.array_shape.element_type


def _constant(builder: Builder, value: HloInstruction, salt: int) -> HloInstruction:
    return builder.constant(filled(_type(value), value.array_shape.dimensions, salt))


def _limit(draft: Draft, value: HloInstruction) -> HloInstruction:
    low, high = (draft.entry.constant(limit, _type(value)) for limit in (0, 4))
    return draft.entry.clamp(low, value, high)


def _choose(draft: Draft, value: HloInstruction) -> HloInstruction:
    other = _constant(draft.entry, value, 1)
    return draft.entry.select(draft.entry.compare(value, other, "LT"), value, other)


def _widen(draft: Draft, value: HloInstruction) -> HloInstruction:
    wide = PrimitiveType.F64 if _type(value).is_float else PrimitiveType.S64
    return draft.entry.convert(draft.entry.convert(value, wide), _type(value))


def _binary(opcode: Opcode) -> Operation:
    def operation(draft: Draft, value: HloInstruction) -> HloInstruction:
        return draft.entry.op(opcode, value, _constant(draft.entry, value, 2))

    return operation


def _unary(opcode: Opcode) -> Operation:
    def operation(draft: Draft, value: HloInstruction) -> HloInstruction:
        return draft.entry.op(opcode, value)

    return operation


def _turn(draft: Draft, value: HloInstruction) -> HloInstruction:
    return draft.entry.reverse(value, (0,))


def _shift(draft: Draft, value: HloInstruction) -> HloInstruction:
    """One element in at the front, one out at the back."""
    return draft.entry.pad(value, draft.entry.constant(1, _type(value)), (1,), (-1,))


def _fold(draft: Draft, value: HloInstruction) -> HloInstruction:
    """The second half of the array twice as long."""
    twice = draft.entry.concatenate((value, _constant(draft.entry, value, 1)), 0)
    return draft.entry.slice_(twice, (_LENGTH // 2,), (_LENGTH // 2 + _LENGTH,))


def _shuffle(draft: Draft, value: HloInstruction) -> HloInstruction:
    """Through a table and its transpose."""
    table = draft.entry.reshape(value, (_LENGTH // 2, 2))
    return draft.entry.reshape(draft.entry.transpose(table, (1, 0)), (_LENGTH,))


def _number(draft: Draft, value: HloInstruction) -> HloInstruction:
    return draft.entry.op(Opcode.ADD, value, draft.entry.iota(value.array_shape, 0))


def _spread_maximum(draft: Draft, value: HloInstruction) -> HloInstruction:
    builder, element_type = draft.entry, _type(value)
    reducer = draft.reducer(Opcode.MAXIMUM, element_type)
    most = builder.reduce(reducer, (value,), (builder.constant(0, element_type),), (0,))
    return builder.op(Opcode.SUBTRACT, builder.broadcast(most, (_LENGTH,)), value)


def _dot(draft: Draft, value: HloInstruction) -> HloInstruction:
    return draft.entry.dot(_limit(draft, value), _constant(draft.entry, value, 1), ((0,), (0,)))


def _conditional(draft: Draft, value: HloInstruction) -> HloInstruction:
    """A branch for an index, out of range included: each moves one element, from a literal or a given place."""
    selector = draft.parameter(_S32, reuse=True)
    operand = draft.entry.tuple_(selector, value)
    branches = []
    for literal in (True, False):
        builder = draft.computation("branch")
        parameter = builder.parameter(0, operand.shape)
        given, array = (builder.gte(parameter, index) for index in range(2))
        place = builder.constant(5, PrimitiveType.S32) if literal else given
        one = builder.dynamic_slice(array, (place,), (1,))
        start = builder.constant(0, PrimitiveType.S32)
        builder.computation.set_root(builder.dynamic_update_slice(array, one, (start,)))
        branches.append(builder.computation)
    return draft.entry.conditional(selector, branches, (operand, operand))


_OPERATIONS: Mapping[Extra, tuple[Operation, ...]] = MappingProxyType(
    {
        Extra.ELEMENTWISE: (
            _binary(Opcode.ADD),
            _binary(Opcode.MAXIMUM),
            _binary(Opcode.MULTIPLY),
            _unary(Opcode.ABS),
            _unary(Opcode.COPY),
            _unary(Opcode.OPTIMIZATION_BARRIER),
            _limit,
            _choose,
            _widen,
        ),
        Extra.SHAPE: (_turn, _shift, _fold, _shuffle, _number),
        Extra.REDUCTION: (_spread_maximum,),
        Extra.CONTRACTION: (_dot,),
        Extra.CONDITIONAL: (_conditional,),
    }
)
_FEATURES = {Extra.CONDITIONAL: Feature.CONDITIONAL}
