"""What follows from a loop's plan before a line is written: its state, its shapes, which step goes where?"""

from __future__ import annotations

from fuzz.generators.indices import INDICES_LENGTH, ROLES
from fuzz.generators.palette import array_shape
from fuzz.generators.profile import Form
from fuzz.generators.vocabulary import (
    INDEX_ROLES,
    Action,
    Loop,
    Place,
    Role,
    Sink,
    Spelling,
    Step,
    Target,
    Twist,
    Update,
)
from hlo import ArrayShape
from hlo.attributes import Ints

_PASSING = frozenset({Twist.PASS, Twist.PASS_UNREAD, Twist.PASS_BY_SECOND_GTE, Twist.PASS_MARKED})


class Layout:
    """Facts about one loop, worked out once.

    `inline` says that the loop's steps are written where the loop is; otherwise `depth` is the number of wrappers
    around the innermost body. `state` are the roles of the loop's elements, in the order of their tuple; the first
    `split` of them are index elements and the others data, or the other way round. `nested` says that these two
    groups are tuples of their own. `inner` are the steps of the innermost body, `outer` those of the outermost
    wrapper.
    """

    def __init__(self, loop: Loop) -> None:
        self.loop = loop
        self.inline = loop.form is Form.INLINE or (loop.form is Form.ROLLED and loop.depth == 0)
        # A rolled loop's own body is the first of the calls around it.
        self.depth = (
            0 if self.inline else max(loop.depth - (loop.form is Form.ROLLED), loop.form is Form.MIXED)
        )
        self._accumulator = _accumulator_sizes(loop)
        self.state = _state_roles(loop, accumulates=self._accumulator is not None)
        first = self.state[0] in INDEX_ROLES
        self.split = sum((role in INDEX_ROLES) is first for role in self.state)
        # A result that is the next operand is flat.
        nests = Twist.NEST_TUPLE in loop.twists and Twist.REUSE_OPERAND not in loop.twists
        self.nested = nests and self.split < len(self.state)
        # The innermost body keeps the first step: a body has something to return.
        outer = [bool(self.depth and i and step.place is Place.OUTER) for i, step in enumerate(loop.steps)]
        self.outer = tuple(step for step, out in zip(loop.steps, outer, strict=True) if out)
        self.inner = tuple(step for step, out in zip(loop.steps, outer, strict=True) if not out)

    def shape(self, role: Role) -> ArrayShape:
        """The shape of an element of the state."""
        lane = self.loop.lane
        if role is Role.INDICES:
            return array_shape(lane.index, (INDICES_LENGTH,))
        if role in INDEX_ROLES:
            return lane.index_shape
        dimensions = self._accumulator if role is Role.ACCUMULATOR else self.loop.buffer.dimensions
        return lane.shape(dimensions or ())

    def passes(self, role: Role) -> bool:
        """Whether a body returns the element of `role` also where it did not change it."""
        twists = self.loop.twists
        if self.inline:
            return False
        if Twist.REUSE_OPERAND in twists or (role is Role.MAIN and twists & _PASSING):
            return True
        return Twist.PASS_SWAPPED in twists and role in (Role.MAIN, Role.SECOND)

    def cost(self) -> int:
        """About how many instructions one iteration takes."""
        steps = sum(3 if step.spelling is Spelling.LITERAL else 6 for step in self.loop.steps)
        if self.inline:
            return steps
        around = 4 + 2 * len(self.state)  # parameter, reads, tuple, call, reads of the results
        return around if self.loop.form is Form.SHARED else steps + around * (1 + self.depth)


def step_sizes(loop: Loop, step: Step) -> Ints:
    """The slice of the loop's buffer that `step` takes, in elements per dimension."""
    sizes = loop.buffer.sizes
    return sizes[min(step.size, len(sizes) - 1)]


def _accumulator_sizes(loop: Loop) -> Ints | None:
    """The dimensions of the accumulator, or None where no step needs one."""
    for step in loop.steps:
        if step.action is Action.SLICE and step.sink is not Sink.RETURN:
            return step_sizes(loop, step)
        if step.action is Action.UPDATE and step.update is Update.ACCUMULATOR:
            return step_sizes(loop, step)
    return None


def _state_roles(loop: Loop, *, accumulates: bool) -> tuple[Role, ...]:
    roles = {Role.MAIN, Role.COUNTER} if loop.form is Form.ROLLED else {Role.MAIN}
    for step in loop.steps:
        if step.target is Target.SECOND:
            roles.add(Role.SECOND)
        if loop.buffer.rank:
            roles |= ROLES[step.spelling]
    if Twist.PASS_SWAPPED in loop.twists:
        roles.add(Role.SECOND)
    if accumulates:
        roles.add(Role.ACCUMULATOR)
    order = tuple(Role)
    return tuple(role for role in (reversed(order) if loop.reversed_state else order) if role in roles)
