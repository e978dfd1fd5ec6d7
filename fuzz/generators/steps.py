"""What does one step of an iteration do? A slice or an update, written into whatever scope it is given."""

from __future__ import annotations

from fuzz.generators.features import Feature
from fuzz.generators.indices import start_index, start_indices
from fuzz.generators.layout import step_sizes
from fuzz.generators.palette import combining
from fuzz.generators.scope import Scope, mark
from fuzz.generators.vocabulary import Action, Loop, Offset, Role, Sink, Spelling, Step, Target, Twist, Update
from hlo import HloInstruction, Opcode
from hlo.attributes import Ints

_CHAINS = {
    (Action.UPDATE, Opcode.DYNAMIC_UPDATE_SLICE): Feature.UPDATE_OF_UPDATE,
    (Action.UPDATE, Opcode.DYNAMIC_SLICE): Feature.UPDATE_OF_SLICE,
    (Action.SLICE, Opcode.DYNAMIC_UPDATE_SLICE): Feature.SLICE_OF_UPDATE,
    (Action.SLICE, Opcode.DYNAMIC_SLICE): Feature.SLICE_OF_SLICE,
}
_RANKS = (Feature.RANK_0, Feature.RANK_1, Feature.RANK_2, Feature.RANK_3, Feature.RANK_4)


def write_step(scope: Scope, loop: Loop, step: Step) -> None:
    """Append what `step` does to the scope's computation."""
    value, role, dimensions, sizes = _aim(scope, loop, step)
    scope.draft.note(_RANKS[len(dimensions)])
    if step.action is Action.UPDATE:
        _write_update(scope, step, value, role, dimensions, sizes)
    else:
        _write_slice(scope, loop, step, value, role, dimensions, sizes)


def _aim(scope: Scope, loop: Loop, step: Step) -> tuple[HloInstruction, Role | None, Ints, Ints]:
    """What the step works on: its value, its role unless it is the latest value, its bounds, the slice's sizes."""
    latest = scope.latest if step.target is Target.LATEST and loop.lane.rich else None
    if latest is not None and 0 not in latest.array_shape.dimensions:
        dimensions = latest.array_shape.dimensions
        # one element of the first dimension that has several, so that there is something to be wrong about
        axis = next((axis for axis, size in enumerate(dimensions) if size > 1), -1)
        sizes = tuple(1 if i == axis else size for i, size in enumerate(dimensions))
        return latest, None, dimensions, sizes
    role = Role.SECOND if step.target is Target.SECOND else Role.MAIN
    return scope.read(role), role, loop.buffer.dimensions, step_sizes(loop, step)


def _write_update(
    scope: Scope, step: Step, value: HloInstruction, role: Role | None, dimensions: Ints, sizes: Ints
) -> None:
    _note_chain(scope, step, value)
    update = _update(scope, step, value, sizes)
    starts = start_indices(scope, step, dimensions, sizes)
    result = scope.builder.dynamic_update_slice(scope.use(value), update, starts)
    scope.latest = result
    if role is None:
        scope.loose[result] = None
    else:
        scope.draft.note(Feature.ELEMENT_UPDATED)
        scope.write(role, result)


def _note_chain(scope: Scope, step: Step, operand: HloInstruction) -> None:
    if operand.opcode in (Opcode.DYNAMIC_SLICE, Opcode.DYNAMIC_UPDATE_SLICE):
        scope.draft.note(_CHAINS[step.action, operand.opcode])


def _update(scope: Scope, step: Step, value: HloInstruction, sizes: Ints) -> HloInstruction:
    latest = scope.latest
    fits = latest is not None and latest is not value and latest.array_shape.dimensions == sizes
    if step.update is Update.LATEST and latest is not None and fits:
        scope.draft.note(Feature.UPDATE_WITH_SLICE)
        return scope.use(latest)
    if step.update is Update.ACCUMULATOR and scope.has(Role.ACCUMULATOR):
        accumulator = scope.read(Role.ACCUMULATOR)
        if accumulator.array_shape.dimensions == sizes:
            return accumulator
    return scope.array(sizes, step.salt + scope.iteration % 4)


def _write_slice(
    scope: Scope,
    loop: Loop,
    step: Step,
    value: HloInstruction,
    role: Role | None,
    dimensions: Ints,
    sizes: Ints,
) -> None:
    note = scope.draft.note
    if sizes == dimensions:
        note(Feature.WHOLE_SIZE_SLICE)
    if 0 in sizes:
        note(Feature.EMPTY_SLICE)
    starts = start_indices(scope, step, dimensions, sizes)
    twists = loop.twists if role is Role.MAIN else frozenset()
    source = _detour(scope, scope.use(value), twists)
    _note_chain(scope, step, source)
    result = scope.builder.dynamic_slice(source, starts, sizes)
    if Twist.MARK_SLICE in twists:
        note(Feature.MARKED_SLICE)
        result = mark(scope, result, "End")
    if role is Role.MAIN:
        _slice_again(scope, loop, value, starts, sizes)
    scope.latest = result
    _sink(scope, step, result, sizes)


def _detour(scope: Scope, value: HloInstruction, twists: frozenset[Twist]) -> HloInstruction:
    """`value`, or the same with something between it and the slice."""
    note, builder = scope.draft.note, scope.builder
    if twists & {Twist.COPY_INPUT, Twist.BARRIER_INPUT, Twist.TUPLE_INPUT}:
        note(Feature.INPUT_NOT_GTE)
    if Twist.COPY_INPUT in twists:
        value = builder.op(Opcode.COPY, value)
    if Twist.BARRIER_INPUT in twists:
        value = builder.op(Opcode.OPTIMIZATION_BARRIER, value)
    if Twist.TUPLE_INPUT in twists:
        value = builder.gte(builder.tuple_(value), 0)
    if Twist.MARK_INPUT in twists:
        note(Feature.MARKED_SLICE_INPUT)
        value = mark(scope, value, "Start")
    return value


def _slice_again(
    scope: Scope, loop: Loop, value: HloInstruction, starts: list[HloInstruction], sizes: Ints
) -> None:
    """A second slice of the same element: at other starts where there is a dimension to choose."""
    if not loop.twists & {Twist.SLICE_AGAIN, Twist.SLICE_AGAIN_BY_GTE}:
        return
    if Twist.SLICE_AGAIN_BY_GTE in loop.twists:
        scope.draft.note(Feature.SLICED_BY_TWO_GTES)
        if not scope.changed & {Role.MAIN}:
            value = scope.read(Role.MAIN, again=True)
    else:
        scope.draft.note(Feature.SLICED_TWICE)
    if starts:
        offset = Offset.LAST if scope.iteration == 0 else Offset.ONE
        first = start_index(scope, Spelling.LITERAL, 0, offset, loop.buffer.dimensions[0], sizes[0])
        starts = [first, *starts[1:]]
    scope.loose[scope.builder.dynamic_slice(value, starts, sizes)] = None


def _sink(scope: Scope, step: Step, result: HloInstruction, sizes: Ints) -> None:
    """Let the result of a slice flow on: into the accumulator where it fits, otherwise out of the computation."""
    if step.sink is not Sink.RETURN and scope.has(Role.ACCUMULATOR):
        accumulator = scope.read(Role.ACCUMULATOR)
        if accumulator.array_shape.dimensions == sizes:
            first = scope.lane.rich and step.sink is Sink.ADD
            opcode = combining(scope.lane.data)[0 if first else 1]
            scope.write(Role.ACCUMULATOR, scope.builder.op(opcode, result, accumulator))
            return
    scope.loose[result] = None
