"""What does a loop's body do with its buffers, and where?"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from types import MappingProxyType

from fuzz.generators.palette import combining
from fuzz.generators.scope import Scope
from fuzz.generators.whiles.counting import limits
from fuzz.generators.whiles.features import WhileFeature
from fuzz.generators.whiles.vocabulary import Access, Action, Index, Part, While
from hlo import HloInstruction, Opcode

State = Scope[Part]

OFFSETS = 8
INDICES_LENGTH = 4

_INDEX_FEATURES = {index: WhileFeature[f"{index.name}_INDEX"] for index in Index}


def write_access(scope: State, loop: While, access: Access) -> None:
    """Append one use of a buffer, at a place that the counter says."""
    _ACTIONS[access.action](scope, loop, access)


def parts_of(access: Access) -> set[Part]:
    """What of the state an access looks at, beside the counter and the row."""
    both = access.action in (Action.MOVE,)
    parts = {Part.SECOND if access.second or both else Part.MAIN, *([Part.MAIN] if both else [])}
    if access.action is Action.STACK:
        parts = {Part.SECOND}
    if access.index is Index.PARAMETER:
        parts.add(Part.START)
    if access.index is Index.LOADED:
        parts.add(Part.INDICES)
    return parts


def written_by(access: Access) -> Part:
    """What of the state an access changes."""
    match access.action:
        case Action.READ:
            return Part.ROW
        case Action.STACK | Action.MOVE:
            return Part.SECOND
        case _:
            return _buffer(access)


# actions


def _buffer(access: Access) -> Part:
    return Part.SECOND if access.second else Part.MAIN


def _row_at(scope: State, loop: While, access: Access, part: Part) -> HloInstruction:
    return scope.builder.dynamic_slice(scope.read(part), _starts(scope, loop, access), loop.sizes)


def _put(
    scope: State, loop: While, access: Access, part: Part, row: HloInstruction, *, shifted: bool = False
) -> None:
    starts = _starts(scope, loop, access)
    if shifted:
        starts[0] = scope.builder.op(Opcode.ADD, starts[0], scope.index(1))
    scope.write(part, scope.builder.dynamic_update_slice(scope.read(part), row, starts))


def _read(scope: State, loop: While, access: Access) -> None:
    """Rows are put together so that one left out, or out of order, shows."""
    scope.draft.note(WhileFeature.READS_ROW)
    row = _row_at(scope, loop, access, _buffer(access))
    opcode = combining(loop.lane.data)[access.offset % 2]
    scope.write(Part.ROW, scope.builder.op(opcode, row, scope.read(Part.ROW)))


def _write(scope: State, loop: While, access: Access) -> None:
    scope.draft.note(WhileFeature.WRITES_ROW)
    _put(scope, loop, access, _buffer(access), _changed_row(scope, loop, access))


def _stack(scope: State, loop: While, access: Access) -> None:
    """As a scan does with what each step gives: without the leading dimension, which comes back for the update."""
    scope.draft.note(WhileFeature.STACKS_ROW)
    row = _changed_row(scope, loop, access)
    if loop.sizes[0] == 1:
        flat = scope.builder.reshape(row, loop.sizes[1:])
        row = scope.builder.broadcast(flat, loop.sizes, tuple(range(1, len(loop.sizes))))
    _put(scope, loop, access, Part.SECOND, row)


def _move(scope: State, loop: While, access: Access) -> None:
    scope.draft.note(WhileFeature.MOVES_ROW)
    _put(scope, loop, access, Part.SECOND, _row_at(scope, loop, access, Part.MAIN))


def _shift(scope: State, loop: While, access: Access) -> None:
    scope.draft.note(WhileFeature.SHIFTS_ROW)
    part = _buffer(access)
    _put(scope, loop, access, part, _row_at(scope, loop, access, part), shifted=True)


def _changed_row(scope: State, loop: While, access: Access) -> HloInstruction:
    """The row; at times another one each trip."""
    row = scope.read(Part.ROW)
    if access.offset % 4 != 3:
        return row
    row = scope.builder.op(combining(loop.lane.data)[1], row, scope.array(loop.sizes, 1))
    scope.write(Part.ROW, row)
    return row


_ACTIONS: Mapping[Action, Callable[[State, While, Access], None]] = MappingProxyType(
    {Action.READ: _read, Action.WRITE: _write, Action.STACK: _stack, Action.MOVE: _move, Action.SHIFT: _shift}
)


# indices


def index_of(scope: State, part: Part = Part.COUNTER) -> HloInstruction:
    """A counter as the type that starts have."""
    counter = scope.read(part)
    kind = scope.lane.index
    return (
        counter
        if counter.array_shape.element_type is kind
        else scope.builder.convert(counter, scope.lane.index)
    )


def _starts(scope: State, loop: While, access: Access) -> list[HloInstruction]:
    dimensions = loop.buffer.dimensions
    first = _start(scope, access, dimensions[0], loop.sizes[0])
    others = [
        _start(scope, access, dimensions[axis], loop.sizes[axis]) if access.everywhere else scope.index(0)
        for axis in range(1, len(dimensions))
    ]
    return [first, *others]


def _start(scope: State, access: Access, n: int, s: int) -> HloInstruction:
    scope.draft.note(_INDEX_FEATURES[access.index])
    offset = (1, -1, n - s, n - s + 1, n, n + 1, 2, 0)[access.offset]
    if access.index in (Index.OFFSET, Index.LITERAL) and not 0 <= offset <= n - s:
        scope.draft.note(WhileFeature.OUT_OF_RANGE_INDEX)
    if access.index is Index.EXTREME:
        scope.draft.note(WhileFeature.OUT_OF_RANGE_INDEX)
    return _INDICES[access.index](scope, offset, n, s)


def _counter(scope: State, offset: int, n: int, s: int) -> HloInstruction:
    return index_of(scope)


def _offset(scope: State, offset: int, n: int, s: int) -> HloInstruction:
    return scope.builder.op(Opcode.ADD, index_of(scope), scope.index(offset))


def _reversed(scope: State, offset: int, n: int, s: int) -> HloInstruction:
    return scope.builder.op(Opcode.SUBTRACT, scope.index(n - 1), index_of(scope))


def _ring(scope: State, offset: int, n: int, s: int) -> HloInstruction:
    return scope.builder.op(Opcode.REMAINDER, index_of(scope), scope.index(n))


def _scaled(scope: State, offset: int, n: int, s: int) -> HloInstruction:
    return scope.builder.op(Opcode.MULTIPLY, index_of(scope), scope.index(-1 if offset == -1 else 2))


def _clamped(scope: State, offset: int, n: int, s: int) -> HloInstruction:
    return scope.builder.clamp(scope.index(0), index_of(scope), scope.index(n - s))


def _normalised(scope: State, offset: int, n: int, s: int) -> HloInstruction:
    counter = index_of(scope)
    negative = scope.builder.compare(counter, scope.index(0), "LT")
    return scope.builder.select(negative, scope.builder.op(Opcode.ADD, counter, scope.index(n)), counter)


def _literal(scope: State, offset: int, n: int, s: int) -> HloInstruction:
    return scope.index(offset)


def _extreme(scope: State, offset: int, n: int, s: int) -> HloInstruction:
    least, most = limits(scope.lane.index)
    return scope.builder.op(Opcode.ADD, index_of(scope), scope.index(least if offset % 2 else most))


def _parameter(scope: State, offset: int, n: int, s: int) -> HloInstruction:
    return scope.read(Part.START)


def _loaded(scope: State, offset: int, n: int, s: int) -> HloInstruction:
    one = scope.builder.dynamic_slice(scope.read(Part.INDICES), (index_of(scope),), (1,))
    return scope.builder.reshape(one, ())


def _outer(scope: State, offset: int, n: int, s: int) -> HloInstruction:
    if not scope.has(Part.OUTER):
        return index_of(scope)
    return scope.builder.op(Opcode.ADD, index_of(scope), index_of(scope, Part.OUTER))


_INDICES: Mapping[Index, Callable[[State, int, int, int], HloInstruction]] = MappingProxyType(
    {
        Index.COUNTER: _counter,
        Index.OFFSET: _offset,
        Index.REVERSED: _reversed,
        Index.RING: _ring,
        Index.SCALED: _scaled,
        Index.CLAMPED: _clamped,
        Index.NORMALISED: _normalised,
        Index.LITERAL: _literal,
        Index.EXTREME: _extreme,
        Index.PARAMETER: _parameter,
        Index.LOADED: _loaded,
        Index.OUTER: _outer,
    }
)
