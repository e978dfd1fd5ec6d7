"""How is a rolled loop written: its first values, its condition, its body, and what is left of it?"""

from __future__ import annotations

from collections.abc import Iterable
from functools import cache

from fuzz.generators.draft import Draft
from fuzz.generators.palette import array_shape
from fuzz.generators.scope import Scope
from fuzz.generators.whiles.accesses import State
from fuzz.generators.whiles.body import BodyWriter, add_to_row
from fuzz.generators.whiles.counting import FLIPPED, Numbers, features, settled
from fuzz.generators.whiles.features import WhileFeature
from fuzz.generators.whiles.state import SHARED, Layout, changed_parts, elements, shape_of, shared_parts
from fuzz.generators.whiles.vocabulary import (
    Annotation,
    Exit,
    Habit,
    Origin,
    Part,
    Place,
    Style,
    While,
)
from hlo import HloComputation, HloInstruction, Opcode, PrimitiveType
from hlo.interchange import read_text

_STYLE_FEATURES = {Style.FORI: WhileFeature.FORI_LOOP, Style.SCAN: WhileFeature.SCAN}


def write_while(draft: Draft, loop: While) -> None:
    """Append `loop` to the entry, and what it leaves to the outputs."""
    scope: State = Scope(draft, draft.entry, loop.lane, 0)
    writer = _Writer(draft, loop, inside=False)
    for part in writer.taken():
        scope.hold(part, _given(draft, loop, part))
    if loop.place is Place.HERE:
        writer.write(scope)
    else:
        _write_call(scope, writer)
    returned = [part for part in Part if part in scope.changed]
    draft.outputs.extend(scope.read(part) for part in returned)


def _given(draft: Draft, loop: While, part: Part) -> HloInstruction:
    """The first value of an element that does not begin as a constant, in the entry."""
    shape = shape_of(loop, part)
    if part in (Part.MAIN, Part.SECOND):
        source = loop.source if part is Part.MAIN else loop.second_source
        known = {*draft.entry.computation.instructions}
        value = draft.buffer(source, loop.lane, loop.buffer.dimensions)
        draft.note(*([WhileFeature.SHARED_BUFFER] if value in known else []))
        return value
    if part is Part.ROW and not loop.row_is_parameter:
        return _zeros(draft, loop)
    # a bound has a role of its own, and its parameter no other use
    return draft.parameter(shape, reuse=part in (Part.ROW, Part.INVARIANT, Part.START, Part.INDICES))


def _zeros(draft: Draft, loop: While) -> HloInstruction:
    zero = draft.entry.constant(0, loop.lane.data)
    return draft.entry.broadcast(zero, loop.sizes)


def _write_call(scope: State, writer: _Writer) -> None:
    """The loop in a computation that takes what it needs, one by one, and returns what the loop changed."""
    draft, loop = scope.draft, writer.loop
    draft.note(WhileFeature.LOOP_IN_CALL)
    taken = writer.taken()
    inner: State = Scope(draft, draft.computation("looped"), loop.lane, 0)
    for number, part in enumerate(taken):
        inner.hold(part, inner.builder.parameter(number, scope.read(part).shape))
    writer.write(inner)
    returned = [part for part in Part if part in inner.changed]
    inner.builder.computation.set_root(inner.builder.tuple_(*(inner.read(part) for part in returned)))
    if loop.place is Place.CALL_TWICE:
        draft.note(WhileFeature.LOOP_CALLED_TWICE)
    for _ in range(2 if loop.place is Place.CALL_TWICE else 1):
        result = scope.builder.call(inner.builder.computation, *(scope.read(part) for part in taken))
        for index, part in enumerate(returned):
            if part in SHARED or part not in taken:
                scope.write(part, scope.builder.gte(result, index))
            else:  # a first count, which the second call shall have, too
                draft.outputs.append(scope.builder.gte(result, index))


class _Writer:
    """Writes one loop. `inside` says that there is a loop around it, whose values the scope has."""

    def __init__(self, draft: Draft, loop: While, *, inside: bool) -> None:
        self.loop = loop
        self.numbers: Numbers = settled(loop.count)
        self._draft = draft
        self._note = draft.note
        self._inside = inside
        self._layout = Layout(elements(loop, inside=inside), Habit.NESTED_STATE in loop.habits)

    def taken(self) -> list[Part]:
        """What has to be there before the loop, in the entry: no constants."""
        count = self.numbers.count
        given = {Part.COUNTER: count.init, Part.BOUND: count.bound}
        parts = {*shared_parts(self.loop), *(p for p, origin in given.items() if origin is Origin.PARAMETER)}
        return [part for part in Part if part in parts]

    def write(self, scope: State) -> None:
        """Append the loop to a scope that has all of `taken`; it is left with what the loop changed."""
        self._note_features()
        kept = {part: scope.read(part) for part in SHARED if scope.has(part)}
        before = self._first_values(scope)
        init = self._layout.tuple_of(before)
        condition = self._condition(init)
        body = BodyWriter(self._draft, self.loop, self.numbers, self._layout, _write_inner).write(init.shape)
        loop = scope.builder.while_(condition, body, init)
        self._annotate(loop)
        self._leave(scope, loop, kept)

    def _note_features(self) -> None:
        loop, layout, count = self.loop, self._layout, self.numbers.count
        self._note(*features(self.numbers))
        noted = {
            WhileFeature.BOUND_ON_THE_LEFT: count.flipped,
            WhileFeature.BOUND_IN_STATE: count.bound is Origin.ELEMENT,
            WhileFeature.BOUND_FROM_PARAMETER: count.bound is Origin.PARAMETER,
            WhileFeature.START_FROM_PARAMETER: count.init is Origin.PARAMETER,
            WhileFeature.NESTED_STATE: bool(layout.split),
            WhileFeature.COUNTER_NOT_FIRST: layout.parts[0] is not Part.COUNTER,
            WhileFeature.UNUSED_ELEMENT: Part.UNUSED in layout.parts,
            WhileFeature.SAME_VALUE_TWICE: Part.TWIN in layout.parts,
            WhileFeature.NESTED_LOOP: self._inside,
            WhileFeature.NESTED_TRIPS_DEPEND: self._inside and loop.depends,
            WhileFeature.STEP_FIRST: Habit.STEP_FIRST in loop.habits,
        }
        self._note(*(feature for feature, has in noted.items() if has))
        self._note(*([_STYLE_FEATURES[loop.style]] if loop.style in _STYLE_FEATURES else []))

    # before the loop

    def _first_values(self, scope: State) -> State:
        """A scope of the loop's own first values, in the computation of `scope`."""
        numbers, own = self.numbers, Scope[Part](self._draft, scope.builder, scope.lane, 0)
        kind = numbers.count.kind
        given = {Part.COUNTER: numbers.count.init, Part.BOUND: numbers.count.bound}
        constants = {Part.COUNTER: numbers.init, Part.BOUND: numbers.bound, Part.STEP: numbers.step}
        for part in self._layout.parts:
            if part in SHARED or given.get(part) is Origin.PARAMETER:
                own.hold(part, scope.read(part))
            elif part is Part.TWIN:
                own.hold(part, scope.read(Part.MAIN))
            elif part is Part.OUTER or (part is Part.BOUND and self._inside and self.loop.depends):
                own.hold(part, scope.read(Part.COUNTER))
            elif part is Part.FLAG:
                own.hold(part, scope.builder.constant(True, PrimitiveType.PRED))
            else:
                own.hold(part, scope.index(constants.get(part, 7), kind))
        return own

    # condition

    def _condition(self, init: HloInstruction) -> HloComputation:
        scope: State = Scope(self._draft, self._draft.computation("condition"), self.loop.lane, 0)
        builder, numbers, count = scope.builder, self.numbers, self.numbers.count
        self._layout.offer(scope, builder.parameter(0, init.shape))
        counter = scope.read(Part.COUNTER)
        bound = scope.read(Part.BOUND) if scope.has(Part.BOUND) else scope.index(numbers.bound, count.kind)
        if count.flipped:
            goes_on = builder.compare(bound, counter, FLIPPED[count.comparison])
        else:
            goes_on = builder.compare(counter, bound, count.comparison)
        if self.loop.exit in (Exit.FLAG, Exit.DATA):
            goes_on = builder.op(Opcode.AND, goes_on, scope.read(Part.FLAG))
        elif self.loop.exit is Exit.SECOND:
            self._note(WhileFeature.EXIT_BY_SECOND_BOUND)
            other = builder.compare(counter, scope.index(numbers.middle, count.kind), "NE")
            goes_on = builder.op(Opcode.AND, other, goes_on)
        builder.computation.set_root(goes_on)
        return builder.computation

    # after the loop

    def _annotate(self, loop: HloInstruction) -> None:
        annotation, trips = self.loop.annotation, self.numbers.trips
        if annotation is Annotation.NONE:
            return
        right = trips is not None and self.loop.exit is Exit.NONE and not (self._inside and self.loop.depends)
        if annotation is Annotation.WRONG:
            self._note(WhileFeature.WRONG_TRIP_COUNT)
            loop.carried = known_trip_count((trips or 1) + 1)
        elif right:
            self._note(WhileFeature.KNOWN_TRIP_COUNT)
            loop.carried = known_trip_count(trips or 0)

    def _leave(self, scope: State, loop: HloInstruction, kept: dict[Part, HloInstruction]) -> None:
        """Take over what the loop changed; hold on to what it cannot have changed, except by way of its result."""
        result: State = Scope(self._draft, scope.builder, scope.lane, 0)
        self._layout.offer(result, loop)
        changed = changed_parts(self.loop)
        if self.loop.habits & {Habit.INVARIANT, Habit.UNUSED, Habit.TWICE} and not self._inside:
            changed |= {Part.INVARIANT, Part.UNUSED, Part.TWIN} & {*self._layout.parts}
        if Habit.RETURN_COUNTER in self.loop.habits and not self._inside:
            self._note(WhileFeature.COUNTER_RETURNED)
            changed.add(Part.COUNTER)
        for part in _in_order(changed):
            scope.write(part, result.read(part))
        for part in kept.keys() - changed:
            scope.hold(part, kept[part])
        if Habit.EDGE in self.loop.habits and not self._inside:
            self._note(WhileFeature.EDGE_AFTER_LOOP)
            scope.builder.computation.add_control_dependency(loop, self._after(scope))

    def _after(self, scope: State) -> HloInstruction:
        """An instruction that only an edge makes wait for the loop."""
        later = scope.builder.op(Opcode.COPY, scope.array(self.loop.sizes, 1))
        add_to_row(scope, later)
        return later


def _write_inner(draft: Draft, loop: While, scope: State) -> None:
    """The loop in a body."""
    _Writer(draft, loop, inside=True).write(scope)


def _in_order(parts: Iterable[Part]) -> list[Part]:
    found = {*parts}
    return [part for part in Part if part in found]


@cache
def known_trip_count(trips: int) -> bytes:
    """The carried fields of a `while` whose backend_config tells a number of trips."""
    scalar = array_shape(PrimitiveType.PRED, ())
    config = f'{{"known_trip_count":{{"n":"{trips}"}}}}'
    module = read_text(
        f"HloModule m\nb {{ ROOT p = ({scalar}) parameter(0) }}\n"
        f"c {{ p = ({scalar}) parameter(0)\n ROOT g = {scalar} get-tuple-element(p), index=0 }}\n"
        f"ENTRY e {{ p = ({scalar}) parameter(0)\n"
        f" ROOT w = ({scalar}) while(p), condition=c, body=b, backend_config={config} }}\n"
    )
    return module.entry_computation.root.carried
