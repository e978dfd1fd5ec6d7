"""How is a start index spelled? As a literal, as arithmetic that folds once calls are inlined, or from data."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from types import MappingProxyType

from fuzz.generators.features import Feature
from fuzz.generators.scope import Scope
from fuzz.generators.vocabulary import Offset, Rest, Role, Spelling, Step
from hlo import HloInstruction, Opcode, PrimitiveType
from hlo.attributes import Ints

INDICES_LENGTH = 4
_LARGEST = 8  # no dimension of the palette is longer: a start from data is kept to about this size

# What a spelling reads of the loop's state.
ROLES: Mapping[Spelling, frozenset[Role]] = MappingProxyType(
    {
        Spelling.LITERAL: frozenset(),
        Spelling.COUNTER: frozenset({Role.COUNTER}),
        Spelling.ELEMENT: frozenset({Role.START}),
        Spelling.CONVERTED: frozenset({Role.COUNTER}),
        Spelling.CLAMPED: frozenset({Role.COUNTER}),
        Spelling.REMAINDER: frozenset({Role.COUNTER}),
        Spelling.SELECTED: frozenset({Role.COUNTER}),
        Spelling.DYNAMIC: frozenset({Role.DYNAMIC}),
        Spelling.SHIFTED: frozenset({Role.COUNTER, Role.DYNAMIC}),
        Spelling.INDICES: frozenset({Role.INDICES}),
        Spelling.LOADED: frozenset({Role.INDICES, Role.COUNTER}),
        Spelling.DATA: frozenset({Role.MAIN}),
        Spelling.BARRIER: frozenset(),
    }
)

_FEATURES = {
    Spelling.LITERAL: Feature.LITERAL_START,
    Spelling.COUNTER: Feature.COUNTER_START,
    Spelling.ELEMENT: Feature.ELEMENT_START,
    Spelling.CONVERTED: Feature.CONVERTED_START,
    Spelling.CLAMPED: Feature.BOUNDED_START,
    Spelling.REMAINDER: Feature.BOUNDED_START,
    Spelling.SELECTED: Feature.BOUNDED_START,
    Spelling.DYNAMIC: Feature.DYNAMIC_START,
    Spelling.SHIFTED: Feature.SHIFTED_START,
    Spelling.INDICES: Feature.INDEX_VECTOR_START,
    Spelling.LOADED: Feature.LOADED_START,
    Spelling.DATA: Feature.DATA_START,
    Spelling.BARRIER: Feature.BARRIER_START,
}
_OFFSET_FEATURES = {
    Offset.MINUS_ONE: Feature.NEGATIVE_START,
    Offset.PAST: Feature.PAST_END_START,
    Offset.SIZE: Feature.PAST_END_START,
    Offset.BEYOND: Feature.PAST_END_START,
    Offset.TYPE_MIN: Feature.EXTREME_START,
    Offset.TYPE_MAX: Feature.EXTREME_START,
}


def offset_value(offset: Offset, dimension: int, size: int, element_type: PrimitiveType) -> int:
    """The start, in elements, that `offset` names for a slice of `size` out of `dimension` elements."""
    return _OFFSETS[offset](dimension, size, element_type)


_OFFSETS: Mapping[Offset, Callable[[int, int, PrimitiveType], int]] = MappingProxyType(
    {
        Offset.ZERO: lambda n, s, t: 0,
        Offset.ONE: lambda n, s, t: 1,
        Offset.LAST: lambda n, s, t: n - s,
        Offset.PAST: lambda n, s, t: n - s + 1,
        Offset.MINUS_ONE: lambda n, s, t: -1,
        Offset.SIZE: lambda n, s, t: n,
        Offset.BEYOND: lambda n, s, t: n + 1,
        Offset.TYPE_MIN: lambda n, s, t: -(1 << (t.bit_width - 1)) if t.is_signed else 0,
        Offset.TYPE_MAX: lambda n, s, t: (1 << (t.bit_width - t.is_signed)) - 1,
    }
)


def start_indices(scope: Scope, step: Step, dimensions: Ints, sizes: Ints) -> list[HloInstruction]:
    """The starts of `step`, one a dimension, for a slice of `sizes` out of `dimensions`."""
    starts: list[HloInstruction] = []
    for axis, (dimension, size) in enumerate(zip(dimensions, sizes, strict=True)):
        spelling, offset = step.spelling, step.offsets[axis]
        if axis > 0 and step.rest is not Rest.SAME:
            spelling = Spelling.LITERAL
            offset = Offset.ZERO if step.rest is Rest.ZERO else offset
        stride = 0 if axis > 0 and spelling is Spelling.LITERAL else step.stride
        starts.append(start_index(scope, spelling, stride, offset, dimension, size))
    return starts


def start_index(
    scope: Scope, spelling: Spelling, stride: int, offset: Offset, dimension: int, size: int
) -> HloInstruction:
    """One start: iteration × stride + offset, or something that is not constant."""
    scope.draft.note(_FEATURES[spelling])
    if offset in _OFFSET_FEATURES:
        scope.draft.note(_OFFSET_FEATURES[offset])
    value = offset_value(offset, dimension, size, scope.lane.index)
    return _SPELLINGS[spelling](scope, stride, value, dimension)


def affine(scope: Scope, counter: HloInstruction, stride: int, offset: int) -> HloInstruction:
    """`counter` × `stride` + `offset` in as few instructions as it takes."""
    op = scope.builder.op
    if stride == -1:
        return op(Opcode.SUBTRACT, scope.index(offset), counter)
    if stride != 1:
        counter = op(Opcode.MULTIPLY, counter, scope.index(stride))
    return op(Opcode.ADD, counter, scope.index(offset)) if offset else counter


def _literal(scope: Scope, stride: int, offset: int, dimension: int) -> HloInstruction:
    return scope.index(scope.iteration * stride + offset)


def _counter(scope: Scope, stride: int, offset: int, dimension: int) -> HloInstruction:
    return affine(scope, scope.read(Role.COUNTER), stride, offset)


def _element(scope: Scope, stride: int, offset: int, dimension: int) -> HloInstruction:
    return scope.read(Role.START)


def _converted(scope: Scope, stride: int, offset: int, dimension: int) -> HloInstruction:
    there = scope.builder.convert(scope.read(Role.COUNTER), scope.lane.partner)
    return affine(scope, scope.builder.convert(there, scope.lane.index), stride, offset)


def _clamped(scope: Scope, stride: int, offset: int, dimension: int) -> HloInstruction:
    start = affine(scope, scope.read(Role.COUNTER), stride, offset)
    return scope.builder.clamp(scope.index(0), start, scope.index(dimension))


def _remainder(scope: Scope, stride: int, offset: int, dimension: int) -> HloInstruction:
    start = affine(scope, scope.read(Role.COUNTER), stride, offset)
    return scope.builder.op(Opcode.REMAINDER, start, scope.index(dimension))


def _selected(scope: Scope, stride: int, offset: int, dimension: int) -> HloInstruction:
    counter = scope.read(Role.COUNTER)
    first = scope.builder.compare(counter, scope.index(1), "LT")
    return scope.builder.select(first, scope.index(offset), counter)


def _dynamic(scope: Scope, stride: int, offset: int, dimension: int) -> HloInstruction:
    return scope.read(Role.DYNAMIC)


def _shifted(scope: Scope, stride: int, offset: int, dimension: int) -> HloInstruction:
    return scope.builder.op(Opcode.ADD, scope.read(Role.DYNAMIC), _counter(scope, stride, offset, dimension))


def _indices(scope: Scope, stride: int, offset: int, dimension: int) -> HloInstruction:
    place = scope.iteration % 2
    one = scope.builder.slice_(scope.read(Role.INDICES), (place,), (place + 1,))
    return scope.builder.reshape(one, ())


def _loaded(scope: Scope, stride: int, offset: int, dimension: int) -> HloInstruction:
    one = scope.builder.dynamic_slice(scope.read(Role.INDICES), (scope.read(Role.COUNTER),), (1,))
    return scope.builder.reshape(one, ())


def _data(scope: Scope, stride: int, offset: int, dimension: int) -> HloInstruction:
    """The largest element of what was sliced last, or of the whole buffer."""
    value = scope.latest or scope.read(Role.MAIN)
    data, builder = scope.lane.data, scope.builder
    # Either operation may see the initial value any number of times, so every engine agrees.
    opcode = Opcode.OR if data is PrimitiveType.PRED else Opcode.MAXIMUM
    zero = builder.constant(0, data)
    axes = tuple(range(value.array_shape.rank))
    most = builder.reduce(scope.draft.reducer(opcode, data), (value,), (zero,), axes) if axes else value
    if data.is_float:  # what converting a number out of range gives is nobody's promise
        most = builder.clamp(zero, most, builder.constant(_LARGEST, data))
    return builder.convert(most, scope.lane.index) if data is not scope.lane.index else most


def _barrier(scope: Scope, stride: int, offset: int, dimension: int) -> HloInstruction:
    return scope.builder.op(Opcode.OPTIMIZATION_BARRIER, _literal(scope, stride, offset, dimension))


_SPELLINGS: Mapping[Spelling, Callable[[Scope, int, int, int], HloInstruction]] = MappingProxyType(
    {
        Spelling.LITERAL: _literal,
        Spelling.COUNTER: _counter,
        Spelling.ELEMENT: _element,
        Spelling.CONVERTED: _converted,
        Spelling.CLAMPED: _clamped,
        Spelling.REMAINDER: _remainder,
        Spelling.SELECTED: _selected,
        Spelling.DYNAMIC: _dynamic,
        Spelling.SHIFTED: _shifted,
        Spelling.INDICES: _indices,
        Spelling.LOADED: _loaded,
        Spelling.DATA: _data,
        Spelling.BARRIER: _barrier,
    }
)
