"""Which values does a computation have at hand while a loop's iteration is written into it?

The entry, a wrapper and a body are all scopes: each holds the elements of the loop's state by role, either as a
value or as the place in a tuple where a get-tuple-element will find it when somebody asks.
"""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from typing import Generic, TypeVar

from fuzz.generators.draft import Draft
from fuzz.generators.palette import Lane, filled
from hlo import HloInstruction, PrimitiveType
from hlo.attributes import Ints
from hlo.builder import Builder

Role = TypeVar("Role", bound=Hashable)


class Scope(Generic[Role]):
    """The state of a loop inside one computation. `Role` names what an element of it is for.

    `iteration` is what literals count with. `changed` are the roles that got another value here. `latest` is the
    array that the last step gave. `loose` are values that nothing has used yet: they must be returned.
    """

    def __init__(self, draft: Draft, builder: Builder, lane: Lane, iteration: int) -> None:
        self.draft = draft
        self.builder = builder
        self.lane = lane
        self.iteration = iteration
        self.changed: set[Role] = set()
        self.latest: HloInstruction | None = None
        self.loose: dict[HloInstruction, None] = {}
        self._values: dict[Role, HloInstruction] = {}
        self._places: dict[Role, tuple[HloInstruction, int]] = {}
        self._constants: dict[tuple[int, PrimitiveType], HloInstruction] = {}

    def begin(self, iteration: int) -> None:
        """Start another iteration in the same computation."""
        self.iteration = iteration
        self.latest = None

    def hold(self, role: Role, value: HloInstruction) -> None:
        """`role` is `value` from now on."""
        self._values[role] = value
        self._places.pop(role, None)

    def write(self, role: Role, value: HloInstruction) -> None:
        """`role` is changed to `value`."""
        self.hold(role, value)
        self.changed.add(role)

    def offer(self, role: Role, source: HloInstruction, index: int) -> None:
        """`role` is element `index` of the tuple `source` from now on."""
        self._places[role] = (source, index)
        self._values.pop(role, None)

    def read(self, role: Role, *, again: bool = False) -> HloInstruction:
        """The value of `role`; with `again` through a get-tuple-element of its own, where it comes from a tuple."""
        value = self._values.get(role)
        if value is not None and not (again and role in self._places):
            return value
        source, index = self._places[role]
        element = self.builder.gte(source, index)
        if value is None:
            self._values[role] = element
        return element

    def has(self, role: Role) -> bool:
        """Whether the loop's state has an element of this role."""
        return role in self._values or role in self._places

    def whole_tuple(self, roles: Sequence[Role]) -> HloInstruction | None:
        """The tuple whose elements are exactly the values of `roles` in this order, if there is one."""
        places = [self._places.get(role) for role in roles]
        if places[0] is None or places[0][0].tuple_shape.elements[len(roles) :]:
            return None
        source = places[0][0]
        return source if places == [(source, index) for index in range(len(roles))] else None

    def use(self, value: HloInstruction) -> HloInstruction:
        """`value`, which need not be returned for its own sake any more."""
        self.loose.pop(value, None)
        return value

    def index(self, value: int, element_type: PrimitiveType | None = None) -> HloInstruction:
        """An integer constant, of the index type unless another is given; it wraps to the width of its type."""
        key = (value, element_type or self.lane.index)
        found = self._constants.get(key)
        if found is None:
            found = self._constants[key] = self.builder.constant(*key)
        return found

    def array(self, dimensions: Ints, salt: int) -> HloInstruction:
        """A constant array of data."""
        return self.builder.constant(filled(self.lane.data, dimensions, salt))


def mark(scope: Scope, value: HloInstruction, end: str) -> HloInstruction:
    """`value` behind a NeuronBoundaryMarker; `end` is Start or End."""
    return scope.builder.custom_call(f"NeuronBoundaryMarker-{end}", (value,), value.shape)
