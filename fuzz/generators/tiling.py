"""Which updates write a value piece by piece? Chains of dynamic-update-slices that tile a dimension, or nearly.

A pass that makes a concatenate of such a chain has to see that nothing is left out, written twice or read on the
way, and must not believe an index token that an earlier run left when a start has changed since. The updates stand in
the entry, or each in a computation that it calls, as an unrolled loop has them.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from enum import Enum, auto

from fuzz.generators.draft import Draft
from fuzz.generators.features import Feature
from fuzz.generators.palette import Buffer, Lane
from fuzz.generators.scope import Scope
from fuzz.generators.tape import Tape, weighted
from fuzz.generators.vocabulary import Source
from hlo import HloComputation, HloInstruction, Opcode, TupleShape
from hlo.attributes import Ints

Here = Scope[int]


class Order(Enum):
    """In which order the pieces are written."""

    UP = auto()
    DOWN = auto()
    TURNED = auto()  # from the middle on, and then from the front


class Fault(Enum):
    """What is not as it should be for a concatenate, if anything."""

    NONE = auto()
    MOVED = auto()  # one piece is written where another one is
    SHIFTED = auto()  # … one element beside its place
    LEFT_OUT = auto()
    READ = auto()  # somebody reads the value when some pieces are written
    BEHIND = auto()  # the last piece starts behind the end, from where it is clamped to its place
    BEFORE = auto()  # the first one starts at -1


class Told(Enum):
    """What `op_name` says of the starts: what they were before there was a fault."""

    NOTHING = auto()
    TOKENS = auto()  # as an earlier run left them
    WORDS = auto()  # … at the ends of words of the user's


@dataclass(frozen=True, slots=True)
class Tiling:
    """One chain, or two alike that are written in turn. `calls` has a bit for each piece, `victim` is a byte."""

    lane: Lane
    buffer: Buffer
    source: Source
    axis: int
    pieces: int
    order: Order
    fault: Fault
    victim: int
    told: Told
    calls: int
    shared: bool
    """The calls, as far as their shapes allow it, are of one computation."""
    given: bool
    """Start and piece are computed by the caller, or where a call would be."""
    chains: int


@dataclass(frozen=True, slots=True)
class _Piece:
    """`planned` is its place, `start` where it is written."""

    number: int
    planned: int
    start: int
    size: int


@dataclass(frozen=True, slots=True)
class Written:
    """An update, and the start that was planned for it in each dimension."""

    update: HloInstruction
    planned: Ints


_SOURCES = weighted({Source.PARAMETER: 4, Source.LOOP_RESULT: 3, Source.CONSTANT: 1, Source.COMPUTED: 1})
_ORDERS = weighted({Order.UP: 3, Order.DOWN: 1, Order.TURNED: 1})
_FAULTS = weighted({Fault.NONE: 8, Fault.MOVED: 2, **dict.fromkeys(list(Fault)[2:], 1)})
_TOLD = weighted({Told.NOTHING: 4, Told.TOKENS: 3, Told.WORDS: 1})
_CALLS = (0,) * 4 + (0b1111,) * 3 + (0b0101, 0b0110, 0b1000)
_MOST = 4
_BYTE = tuple(range(256))


def read_tiling(tape: Tape, lane: Lane, present: Sequence[bool]) -> Tiling | None:
    """The tiling that comes next on a tape, if there is one; it takes as many bytes where there is none."""
    choice = tape.choice
    is_there = choice(present)
    buffer = choice([buffer for buffer in lane.buffers if buffer.rank])
    axes = [axis for axis, size in enumerate(buffer.dimensions) if size > 1]
    tiling = Tiling(
        lane=lane,
        buffer=buffer,
        source=choice(_SOURCES),
        axis=choice((axes[0], axes[0], axes[-1] if lane.rich else axes[0])),
        pieces=choice((2, 2, _MOST if lane.rich else 2)),
        order=choice(_ORDERS),
        fault=choice(_FAULTS),
        victim=choice(_BYTE),
        told=choice(_TOLD),
        calls=choice(_CALLS),
        shared=choice((False,) * 9 + (True,)),
        given=choice((False, True)),
        chains=choice((1, 1, 1, 2)),
    )
    return tiling if is_there else None


def write_tiling(draft: Draft, tiling: Tiling) -> list[Written]:
    """Append the updates to the entry, and what they make to the outputs."""
    pieces = _disturbed(tiling, _planned(tiling))
    _note(draft, tiling, pieces)
    scope: Here = Scope(draft, draft.entry, tiling.lane, 0)
    values = [
        draft.buffer(tiling.source, tiling.lane, tiling.buffer.dimensions) for _ in range(tiling.chains)
    ]
    bodies: dict[object, tuple[HloComputation, list[Written]]] = {}
    written: list[Written] = []
    for position, piece in enumerate(pieces):
        # of two chains, each has a piece of its own in every round
        round_ = [replace(piece, number=piece.number + chain * _MOST) for chain in range(tiling.chains)]
        if tiling.calls >> position & 1:
            values, updates = _call(scope, tiling, values, round_, bodies)
        else:
            updates = [
                _update(scope, tiling, value, part) for value, part in zip(values, round_, strict=True)
            ]
            values = [update.update for update in updates]
        written += updates
        if tiling.fault is Fault.READ and position == tiling.victim * (len(pieces) - 1) >> 8:
            draft.outputs.append(values[0])
    draft.outputs.extend(values)
    return written


def tell(tiling: Tiling, written: Sequence[Written]) -> None:
    """Write the planned starts behind whatever the updates have in `op_name`."""
    if tiling.told is Told.NOTHING:
        return
    word = "my_" if tiling.told is Told.WORDS else ""
    for update, planned in {one.update: one.planned for one in reversed(written)}.items():
        keys = ("dusidxnow", "iterationidx")
        entries = [f"{word}{key}={start}" for key in keys for start in planned]
        before = [update.metadata.op_name] if update.metadata.op_name else []
        update.metadata = replace(update.metadata, op_name=",".join([*before, *entries]))


# plan


def _planned(tiling: Tiling) -> list[_Piece]:
    whole = tiling.buffer.dimensions[tiling.axis]
    size = max(whole // tiling.pieces, 1)
    count = min(tiling.pieces, whole)
    starts = [number * size for number in range(count)]
    limits = [*starts[1:], whole]
    pieces = [
        _Piece(number, start, start, limit - start)
        for number, (start, limit) in enumerate(zip(starts, limits, strict=True))
    ]
    match tiling.order:
        case Order.UP:
            return pieces
        case Order.DOWN:
            return pieces[::-1]
        case Order.TURNED:
            return pieces[count // 2 :] + pieces[: count // 2]


def _disturbed(tiling: Tiling, pieces: list[_Piece]) -> list[_Piece]:
    """The pieces as they are written, in order."""
    victim = pieces[tiling.victim * len(pieces) >> 8]
    match tiling.fault:
        case Fault.NONE | Fault.READ:
            return pieces
        case Fault.LEFT_OUT:
            return [piece for piece in pieces if piece is not victim]
        case Fault.MOVED:
            start = pieces[pieces.index(victim) - 1].planned
        case Fault.SHIFTED:
            start = victim.planned - 1 if victim.planned else 1  # not clamped back to its place
        case Fault.BEHIND:
            victim = max(pieces, key=lambda piece: piece.planned)
            start = tiling.buffer.dimensions[tiling.axis]
        case Fault.BEFORE:
            victim = min(pieces, key=lambda piece: piece.planned)
            start = -1
    return [replace(piece, start=start) if piece is victim else piece for piece in pieces]


def _note(draft: Draft, tiling: Tiling, pieces: Sequence[_Piece]) -> None:
    called = any(tiling.calls >> position & 1 for position in range(len(pieces)))
    noted = {
        Feature.TILING_UPDATES: tiling.fault is Fault.NONE,
        Feature.TILING_DISTURBED: tiling.fault is not Fault.NONE,
        Feature.TILING_IN_CALLS: called,
        Feature.TWO_TILINGS_IN_TURN: tiling.chains > 1,
    }
    draft.note(*(feature for feature, has in noted.items() if has))


# instructions


def _sizes(tiling: Tiling, piece: _Piece) -> Ints:
    dimensions = tiling.buffer.dimensions
    return (*dimensions[: tiling.axis], piece.size, *dimensions[tiling.axis + 1 :])


def _start(scope: Here, tiling: Tiling, piece: _Piece) -> HloInstruction:
    if not tiling.given:
        return scope.index(piece.start)
    return scope.builder.op(Opcode.ADD, scope.index(piece.start - 1), scope.index(1))


def _content(scope: Here, tiling: Tiling, piece: _Piece) -> HloInstruction:
    """What is written: no two pieces are alike, and the first is an input where it is given."""
    sizes = _sizes(tiling, piece)
    if tiling.given and piece.number == 0:
        return scope.draft.parameter(tiling.lane.shape(sizes), reuse=True)
    return scope.array(sizes, piece.number + 1)


def _update(
    scope: Here,
    tiling: Tiling,
    base: HloInstruction,
    piece: _Piece,
    given: tuple[HloInstruction, HloInstruction] | None = None,
) -> Written:
    """The update of `base` by a piece; its start and content are made here unless they are given."""
    start, content = given or (_start(scope, tiling, piece), _content(scope, tiling, piece))
    axes = range(tiling.buffer.rank)
    starts = [start if axis == tiling.axis else scope.index(0) for axis in axes]
    planned = tuple(piece.planned if axis == tiling.axis else 0 for axis in axes)
    return Written(scope.builder.dynamic_update_slice(base, content, starts), planned)


def _call(
    scope: Here,
    tiling: Tiling,
    values: Sequence[HloInstruction],
    round_: Sequence[_Piece],
    bodies: dict[object, tuple[HloComputation, list[Written]]],
) -> tuple[list[HloInstruction], list[Written]]:
    """The updates in a computation that takes a tuple of the values, and of what is given, and returns a tuple."""
    given = [
        operand
        for piece in round_
        if tiling.given
        for operand in (_start(scope, tiling, piece), _content(scope, tiling, piece))
    ]
    state = scope.builder.tuple_(*values, *given)
    key = state.shape if tiling.shared and tiling.given else state
    if key not in bodies:
        bodies[key] = _body(scope, tiling, state.tuple_shape, round_)
    body, updates = bodies[key]
    result = scope.builder.call(body, state)
    return [scope.builder.gte(result, index) for index in range(len(values))], updates


def _body(
    scope: Here, tiling: Tiling, state: TupleShape, round_: Sequence[_Piece]
) -> tuple[HloComputation, list[Written]]:
    inner: Here = Scope(scope.draft, scope.draft.computation("piece"), tiling.lane, 0)
    parameter = inner.builder.parameter(0, state)
    elements = [inner.builder.gte(parameter, index) for index in range(len(state.elements))]
    bases, given = elements[: len(round_)], elements[len(round_) :]
    updates = [
        _update(inner, tiling, base, piece, (given[2 * i], given[2 * i + 1]) if given else None)
        for i, (base, piece) in enumerate(zip(bases, round_, strict=True))
    ]
    computation = inner.builder.computation
    computation.set_root(inner.builder.tuple_(*(update.update for update in updates)))
    return computation, updates
