"""How is the body of a rolled loop written: its work, and the counter's next value?"""

from __future__ import annotations

from collections.abc import Callable

from fuzz.generators.draft import Draft
from fuzz.generators.palette import combining
from fuzz.generators.scope import Scope
from fuzz.generators.whiles.accesses import State, write_access
from fuzz.generators.whiles.counting import Numbers
from fuzz.generators.whiles.features import WhileFeature
from fuzz.generators.whiles.state import Layout
from fuzz.generators.whiles.vocabulary import Exit, Habit, Part, Spelling, Style, Way, While
from hlo import HloComputation, HloInstruction, Opcode, PrimitiveType, Shape


def add_to_row(scope: State, value: HloInstruction) -> None:
    """Change the row by a value of its shape, in a way that shows how often, and in which order."""
    opcode = combining(scope.lane.data)[1]
    scope.write(Part.ROW, scope.builder.op(opcode, value, scope.read(Part.ROW)))


class BodyWriter:
    """Writes one body. `write_inner` writes a loop into the scope of the body that it is in."""

    def __init__(
        self,
        draft: Draft,
        loop: While,
        numbers: Numbers,
        layout: Layout,
        write_inner: Callable[[Draft, While, State], None],
    ) -> None:
        self.loop = loop
        self.numbers = numbers
        self._draft = draft
        self._note = draft.note
        self._layout = layout
        self._write_inner = write_inner

    def write(self, state: Shape) -> HloComputation:
        """The body of a loop whose state has this shape."""
        loop, draft = self.loop, self._draft
        scope: State = Scope(draft, draft.computation("body"), loop.lane, 0)
        self._layout.offer(scope, scope.builder.parameter(0, state))
        if Habit.STEP_FIRST in loop.habits:
            self._advance(scope)
        if loop.style is Style.SCAN or Habit.CALL in loop.habits:
            self._call_work(scope)
        else:
            self._work(scope)
        if loop.exit in (Exit.FLAG, Exit.DATA):
            self._set_flag(scope)
        if Habit.STEP_FIRST not in loop.habits:
            self._advance(scope)
        if Habit.SWAPPED in loop.habits:
            self._note(WhileFeature.ELEMENTS_SWAPPED)
            main, second = scope.read(Part.MAIN), scope.read(Part.SECOND)
            scope.write(Part.MAIN, second)
            scope.write(Part.SECOND, main)
        scope.builder.computation.set_root(self._layout.tuple_of(scope))
        return scope.builder.computation

    def _call_work(self, scope: State) -> None:
        """The work in a computation of its own, from the state to the state."""
        self._note(WhileFeature.CALL_IN_BODY)
        operand = self._layout.tuple_of(scope)
        inner: State = Scope(self._draft, self._draft.computation("closed_call"), self.loop.lane, 0)
        self._layout.offer(inner, inner.builder.parameter(0, operand.shape))
        self._work(inner)
        inner.builder.computation.set_root(self._layout.tuple_of(inner))
        self._layout.offer(scope, scope.builder.call(inner.builder.computation, operand))

    def _work(self, scope: State) -> None:
        loop = self.loop
        for access in loop.accesses:
            write_access(scope, loop, access)
        if loop.inner:
            self._write_inner(self._draft, loop.inner, scope)
        if Habit.INVARIANT in loop.habits:
            self._note(WhileFeature.INVARIANT_ELEMENT)
            add_to_row(scope, scope.read(Part.INVARIANT))
        if Habit.INVARIANT_CODE in loop.habits:
            self._note(WhileFeature.INVARIANT_CODE)
            opcode = combining(loop.lane.data)[0]
            invariant = scope.builder.op(opcode, scope.read(Part.INVARIANT), scope.array(loop.sizes, 2))
            add_to_row(scope, invariant)
        if Habit.CONDITIONAL in loop.habits:
            self._branch(scope)

    def _branch(self, scope: State) -> None:
        """One of two changes of the row, as the counter says."""
        self._note(WhileFeature.CONDITIONAL_BODY)
        builder, row = scope.builder, scope.read(Part.ROW)
        numbers = self.numbers
        early = builder.compare(
            scope.read(Part.COUNTER), scope.index(numbers.middle, numbers.count.kind), "LT"
        )
        branches: list[HloComputation] = []
        for opcode, salt in zip(combining(self.loop.lane.data), (1, 2), strict=True):
            branch: State = Scope(self._draft, self._draft.computation("branch"), self.loop.lane, 0)
            given = branch.builder.parameter(0, row.shape)
            result = branch.builder.op(opcode, given, branch.array(self.loop.sizes, salt))
            branch.builder.computation.set_root(result)
            branches.append(branch.builder.computation)
        scope.write(Part.ROW, builder.conditional(early, branches, (row, row)))

    def _set_flag(self, scope: State) -> None:
        """Whether to go on."""
        numbers, builder = self.numbers, scope.builder
        if self.loop.exit is Exit.FLAG:
            self._note(WhileFeature.EXIT_BY_FLAG)
            last = scope.index(numbers.middle, numbers.count.kind)
            flag = builder.compare(scope.read(Part.COUNTER), last, "NE")
        else:
            self._note(WhileFeature.EXIT_BY_DATA)
            flag = self._is_small(scope)
        scope.write(Part.FLAG, flag)

    def _is_small(self, scope: State) -> HloInstruction:
        """Whether no element of the row is larger than some number; of predicates, whether none holds."""
        builder, row, kind = scope.builder, scope.read(Part.ROW), self.loop.lane.data
        is_pred = kind is PrimitiveType.PRED
        opcode = Opcode.OR if is_pred else Opcode.MAXIMUM
        zero = builder.constant(0, kind)
        axes = tuple(range(row.array_shape.rank))
        most = builder.reduce(self._draft.reducer(opcode, kind), (row,), (zero,), axes)
        return builder.compare(most, builder.constant(1 if is_pred else 9, kind), "NE" if is_pred else "LT")

    def _advance(self, scope: State) -> None:
        """Give the counter its next value."""
        numbers, op = self.numbers, scope.builder.op
        count, counter = numbers.count, scope.read(Part.COUNTER)
        match count.way:
            case Way.DOUBLING:
                further = op(Opcode.MULTIPLY, counter, scope.index(2, count.kind))
            case Way.HALVING:
                further = op(Opcode.DIVIDE, counter, scope.index(2, count.kind))
            case _:
                further = self._stepped(scope, counter)
        if count.spelling is Spelling.TUPLE:
            self._note(WhileFeature.STEP_THROUGH_TUPLE)
            further = scope.builder.gte(scope.builder.tuple_(counter, further), 1)
        scope.write(Part.COUNTER, further)

    def _stepped(self, scope: State, counter: HloInstruction) -> HloInstruction:
        numbers, op = self.numbers, scope.builder.op
        kind, spelling = numbers.count.kind, numbers.count.spelling
        if scope.has(Part.STEP):
            self._note(WhileFeature.STEP_IN_STATE)
            return op(Opcode.ADD, counter, scope.read(Part.STEP))
        if spelling is Spelling.SUBTRACTED:
            self._note(WhileFeature.STEP_BY_SUBTRACTION)
            return op(Opcode.SUBTRACT, counter, scope.index(-numbers.step, kind))
        step = scope.index(numbers.step, kind)
        if spelling is Spelling.LEFT:
            self._note(WhileFeature.STEP_ON_THE_LEFT)
            return op(Opcode.ADD, step, counter)
        return op(Opcode.ADD, counter, step)
