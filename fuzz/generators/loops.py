"""How is an unrolled loop written: inline, as one body called many times, as one body an iteration?

This is the entry's side: first values, counting, one iteration after the other, and what is left at the end.
"""

from __future__ import annotations

from fuzz.generators.bodies import Bodies, next_count, write_iteration
from fuzz.generators.draft import Draft
from fuzz.generators.features import Feature
from fuzz.generators.indices import offset_value
from fuzz.generators.layout import Layout, step_sizes
from fuzz.generators.profile import Form
from fuzz.generators.scope import Scope, mark
from fuzz.generators.vocabulary import Counting, Loop, Role, Spelling, Twist
from hlo import HloInstruction, Opcode

_FORM_FEATURES = {
    Form.INLINE: Feature.INLINE_LOOP,
    Form.PER_ITERATION: Feature.BODY_PER_ITERATION,
    Form.SHARED: Feature.SHARED_BODY,
    Form.MIXED: Feature.MIXED_BODIES,
    Form.ROLLED: Feature.ROLLED_LOOP,
}
_LONG = 8


def write_loop(draft: Draft, loop: Loop, budget: int) -> None:
    """Append `loop` to the entry, with at most `budget` instructions or so, and its results to the outputs."""
    layout = Layout(loop)
    bodies = Bodies(draft, layout)
    scope = Scope(draft, draft.entry, loop.lane, 0)
    draft.note(_FORM_FEATURES[loop.form])
    for role in layout.state:
        _begin(scope, layout, role)
    if loop.form is Form.ROLLED:
        _write_rolled(scope, layout, bodies)
    else:
        iterations = max(1, min(loop.iterations, budget // layout.cost()))
        _write_unrolled(scope, layout, bodies, iterations)
    returned = [role for role in layout.state if role in scope.changed or layout.passes(role)]
    draft.outputs.extend(scope.read(role) for role in returned if role is not Role.COUNTER)
    draft.outputs.extend(scope.loose)


def _write_unrolled(scope: Scope, layout: Layout, bodies: Bodies, iterations: int) -> None:
    scope.draft.note(*([Feature.SINGLE_ITERATION] if iterations == 1 else []))
    scope.draft.note(*([Feature.LONG_LOOP] if iterations >= _LONG else []))
    for iteration in range(iterations):
        scope.begin(iteration)
        _count(scope, layout)
        _write_iteration(scope, layout, bodies)
    if Twist.CALL_ELSEWHERE in layout.loop.twists and not layout.inline:
        for role in (Role.COUNTER, Role.START):
            if role in layout.state:
                scope.hold(role, scope.index(iterations + 1))
        bodies.call_last_again(scope)


def _write_rolled(scope: Scope, layout: Layout, bodies: Bodies) -> None:
    """A while whose state is the loop's: the counter is constant to nobody, the calls are in the while's body."""
    draft, loop = scope.draft, layout.loop
    draft.note(*([] if layout.inline else [Feature.CALL_IN_ROLLED_LOOP]))
    _count(scope, layout)
    init = scope.builder.tuple_(*(scope.read(role) for role in layout.state))
    body = Scope(draft, draft.computation("rolled"), loop.lane, 0)
    parameter = body.builder.parameter(0, init.shape)
    for index, role in enumerate(layout.state):
        body.offer(role, parameter, index)
    _write_iteration(body, layout, bodies)
    body.builder.computation.set_root(body.builder.tuple_(*(body.read(role) for role in layout.state)))

    condition = Scope(draft, draft.computation("condition"), loop.lane, 0)
    counter = condition.builder.gte(
        condition.builder.parameter(0, init.shape), layout.state.index(Role.COUNTER)
    )
    condition.builder.computation.set_root(
        condition.builder.compare(counter, condition.index(loop.iterations), "LT")
    )
    result = scope.builder.while_(condition.builder.computation, body.builder.computation, init)
    for index, role in enumerate(layout.state):
        scope.offer(role, result, index)
    scope.changed |= body.changed


def _write_iteration(scope: Scope, layout: Layout, bodies: Bodies) -> None:
    if layout.inline:
        write_iteration(scope, layout, 0)
    else:
        bodies.call(scope, layout.depth)


def _begin(scope: Scope, layout: Layout, role: Role) -> None:
    """Give `role` its first value, in the entry. A start gets one before each iteration instead."""
    loop, draft, shape = layout.loop, scope.draft, layout.shape(role)
    if role in (Role.MAIN, Role.SECOND):
        source = loop.source if role is Role.MAIN else loop.second_source
        value = draft.buffer(source, loop.lane, loop.buffer.dimensions)
        if role is Role.MAIN and Twist.MARK_SOURCE in loop.twists:
            draft.note(Feature.MARKED_SOURCE)
            value = mark(scope, value, "Start")
    elif role is Role.START:
        return
    elif role is Role.COUNTER and loop.counting is not Counting.DYNAMIC:
        value = scope.index(0)
    elif role is Role.ACCUMULATOR and not loop.accumulates_parameter:
        value = scope.array(shape.dimensions, 0)
    else:
        value = draft.parameter(shape, reuse=True)
    if role is Role.COUNTER and loop.counting is Counting.DYNAMIC:
        draft.note(Feature.DYNAMIC_COUNTER)
    scope.hold(role, value)


def _count(scope: Scope, layout: Layout) -> None:
    """Give the counted roles their values for the scope's iteration, as far as the caller is who gives them."""
    counting = layout.loop.counting
    if Role.COUNTER in layout.state and scope.iteration:
        if counting is Counting.LITERAL:
            scope.hold(Role.COUNTER, scope.index(scope.iteration))
        elif counting is Counting.ADDED:
            scope.hold(Role.COUNTER, next_count(scope))
    if Role.START in layout.state:
        scope.hold(Role.START, _start(scope, layout.loop))


def _start(scope: Scope, loop: Loop) -> HloInstruction:
    """The start element: that of the first step which reads it."""
    step = next(step for step in loop.steps if step.spelling is Spelling.ELEMENT)
    dimension, size = loop.buffer.dimensions[0], step_sizes(loop, step)[0]
    offset = offset_value(step.offsets[0], dimension, size, loop.lane.index)
    if not loop.spelled_start:
        return scope.index(scope.iteration * step.stride + offset)
    op = scope.builder.op
    scaled = op(Opcode.MULTIPLY, scope.index(scope.iteration), scope.index(step.stride))
    return op(Opcode.ADD, scaled, scope.index(offset))
