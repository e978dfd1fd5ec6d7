"""How are a called body, its wrappers and the calls to them written?

Entry, wrappers and body share one vocabulary (`scope.Scope`), so a call at any depth is written by the same few
functions: `_operands` makes the arguments out of the caller's scope, `_body` writes the callee, `_receive` takes
its results back into the caller's scope.
"""

from __future__ import annotations

from dataclasses import dataclass

from fuzz.generators.draft import Draft
from fuzz.generators.features import Feature
from fuzz.generators.layout import Layout
from fuzz.generators.palette import combining
from fuzz.generators.profile import Form
from fuzz.generators.scope import Scope, mark
from fuzz.generators.steps import write_step
from fuzz.generators.vocabulary import Counting, Role, Twist
from hlo import HloComputation, HloInstruction, Opcode, TupleShape


@dataclass(frozen=True, eq=False)
class Body:
    """A computation that a loop calls. `results` says for each of its results which role it updates, if any."""

    computation: HloComputation
    results: tuple[Role | None, ...]
    changed: frozenset[Role]
    bare: bool  # the root is the only result itself, not a tuple


def write_iteration(scope: Scope, layout: Layout, level: int) -> None:
    """Append the steps that belong into a scope at `level` (0 is the innermost)."""
    loop = layout.loop
    if level == 0:
        for step in layout.inner:
            write_step(scope, loop, step)
        if Twist.USE_WHOLE in loop.twists:
            scope.draft.note(Feature.USED_WHOLE)
            main = scope.read(Role.MAIN)
            scope.loose[scope.builder.op(combining(loop.lane.data)[0], main, main)] = None
        carried = loop.counting in (Counting.CARRIED, Counting.DYNAMIC)
        if carried and Role.COUNTER in layout.state:
            scope.draft.note(Feature.CARRIED_COUNTER)
            scope.write(Role.COUNTER, next_count(scope))
    if level == layout.depth:
        for step in layout.outer:
            write_step(scope, loop, step)


def next_count(scope: Scope) -> HloInstruction:
    """The counter plus 1."""
    return scope.builder.op(Opcode.ADD, scope.read(Role.COUNTER), scope.index(1))


class Bodies:
    """The computations of one loop, each written when it is first called."""

    def __init__(self, draft: Draft, layout: Layout) -> None:
        self._note = draft.note
        self._draft = draft
        self._layout = layout
        self._twists = layout.loop.twists
        self._form = layout.loop.form
        self._written: dict[tuple[int, int], Body] = {}

    def call(self, scope: Scope, level: int) -> None:
        """Call the body of `level` with the scope's state, and take its results back."""
        own = self._form is Form.PER_ITERATION or (self._form is Form.MIXED and level > 0)
        key = (level, scope.iteration if own else 0)
        body = self._written.get(key)
        if body is None:
            body = self._written[key] = self._body(level, key[1])
        else:
            self._note(Feature.CALLED_TWICE)
        self._call(scope, body)

    def call_last_again(self, scope: Scope) -> None:
        """One more call of the outermost body that was called last."""
        self._note(Feature.CALLED_ELSEWHERE, Feature.CALLED_TWICE)
        self._call(scope, list(self._written.values())[-1])

    # the caller's side

    def _call(self, scope: Scope, body: Body) -> None:
        self._receive(scope, body, scope.builder.call(body.computation, *self._operands(scope)))

    def _operands(self, scope: Scope) -> list[HloInstruction]:
        state, builder = self._layout.state, scope.builder
        if Twist.SEPARATE_OPERANDS in self._twists:
            self._note(Feature.SEPARATE_OPERANDS, Feature.OPERAND_NOT_TUPLE)
            return [scope.read(role) for role in state]
        if Twist.REUSE_OPERAND in self._twists and (whole := scope.whole_tuple(state)):
            self._note(Feature.OPERAND_NOT_TUPLE)
            if whole.opcode is Opcode.PARAMETER:
                self._note(Feature.PARAMETER_PASSED_ON)
            return [whole]
        values = [scope.read(role) for role in state]
        if self._layout.nested:
            split = self._layout.split
            values = [builder.tuple_(*group) for group in (values[:split], values[split:])]
        operand = builder.tuple_(*values)
        if Twist.BARRIER_OPERAND in self._twists:
            self._note(Feature.OPERAND_NOT_TUPLE)
            operand = builder.op(Opcode.OPTIMIZATION_BARRIER, operand)
        if Twist.MARK_OPERAND in self._twists:
            self._note(Feature.MARKED_OPERAND)
            operand = mark(scope, operand, "Start")
        return [operand]

    def _receive(self, scope: Scope, body: Body, result: HloInstruction) -> None:
        if body.bare:
            (role,) = body.results
            if role is None:
                scope.loose[result] = None
            else:
                scope.hold(role, result)
        else:
            if Twist.MARK_RESULT in self._twists:
                self._note(Feature.MARKED_RESULT)
                result = mark(scope, result, "End")
            self._offer_results(scope, body, result)
        scope.changed |= body.changed

    def _offer_results(self, scope: Scope, body: Body, result: HloInstruction) -> None:
        for index, role in enumerate(body.results):
            kept = role is Role.MAIN and role not in body.changed and Twist.PASS_UNREAD in self._twists
            if kept:  # the caller goes on with its own value, and yet the passed one is returned
                self._note(Feature.PASSED_UNREAD)
            if role is None or kept:
                scope.loose[scope.builder.gte(result, index)] = None
            else:
                scope.offer(role, result, index)

    # the callee's side

    def _body(self, level: int, iteration: int) -> Body:
        builder = self._draft.computation("wrapper" if level else "body")
        scope = Scope(self._draft, builder, self._layout.loop.lane, iteration)
        parameter = self._declare(scope)
        if level:
            self._note(Feature.NESTED_CALLS)
            self.call(scope, level - 1)
        write_iteration(scope, self._layout, level)
        return self._finish(scope, parameter)

    def _declare(self, scope: Scope) -> HloInstruction | None:
        """Write the parameters and offer the state's elements. Returns the tuple parameter, if it is one."""
        layout, builder = self._layout, scope.builder
        shapes = [layout.shape(role) for role in layout.state]
        if Twist.SEPARATE_OPERANDS in self._twists:
            for number, role in enumerate(layout.state):
                scope.hold(role, builder.parameter(number, shapes[number]))
            return None
        groups = [TupleShape(tuple(group)) for group in (shapes[: layout.split], shapes[layout.split :])]
        source = parameter = builder.parameter(0, TupleShape(tuple(groups if layout.nested else shapes)))
        if Twist.MARK_PARAMETER in self._twists:
            self._note(Feature.MARKED_PARAMETER)
            source = mark(scope, parameter, "Start")
        sources = [source]
        if layout.nested:
            self._note(Feature.NESTED_TUPLE)
            sources = [builder.gte(source, 0), builder.gte(source, 1)]
        for number, role in enumerate(layout.state):
            behind = layout.nested and number >= layout.split
            scope.offer(role, sources[behind], number - layout.split if behind else number)
        return parameter

    def _finish(self, scope: Scope, parameter: HloInstruction | None) -> Body:
        """Write the root out of what changed, what passes through and what is loose."""
        results: list[tuple[Role | None, HloInstruction]] = []
        for role in self._layout.state:
            if role in scope.changed:
                results.append((role, scope.read(role)))
            elif self._layout.passes(role):
                results.append((role, self._passed(scope, role)))
        results.extend((None, value) for value in scope.loose)
        if Twist.RETURN_PARAMETER in self._twists and parameter is not None:
            self._note(Feature.PARAMETER_RETURNED)
            results.append((None, parameter))
        bare = Twist.BARE_ROOT in self._twists and len(results) == 1
        if bare:
            self._note(Feature.BARE_ROOT)
            root = results[0][1]
        else:
            root = scope.builder.tuple_(*(value for _, value in results))
            if Twist.MARK_ROOT in self._twists:
                self._note(Feature.MARKED_ROOT)
                root = mark(scope, root, "End")
        computation = scope.builder.computation
        computation.set_root(root)
        return Body(computation, tuple(role for role, _ in results), frozenset(scope.changed), bare)

    def _passed(self, scope: Scope, role: Role) -> HloInstruction:
        if Twist.PASS_SWAPPED in self._twists and role in (Role.MAIN, Role.SECOND):
            self._note(Feature.PASSED_TO_OTHER_INDEX)
            return scope.read(Role.SECOND if role is Role.MAIN else Role.MAIN)
        self._note(Feature.PASSED_THROUGH)
        if role is not Role.MAIN:
            return scope.read(role)
        if Twist.PASS_BY_SECOND_GTE in self._twists:
            self._note(Feature.PASSED_BY_SECOND_GTE)
            return scope.read(role, again=True)
        value = scope.read(role)
        if Twist.PASS_MARKED in self._twists:
            self._note(Feature.MARKED_PASS_THROUGH)
            value = mark(scope, value, "End")
        return value
