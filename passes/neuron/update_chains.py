"""Which dynamic-update-slices follow each other on one value, through the calls of an unrolled loop too?

A link of a chain is an update in the computation itself, or one in a body that it calls:

    call(tuple(…, base, …)), body: tuple(…, dynamic-update-slice(get-tuple-element(p, k), update, …), …)

whose result leaves as an element of the body's root, and whose base came in as an element of the call's tuple. Seen
from the caller, both make a new value out of a base. Source: `neuron_passes.md` section 6, whose condition "each with
one user but the last" is read here.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass

from hlo import ArrayShape, HloComputation, HloInstruction, HloModule, Opcode


@dataclass(frozen=True)
class Element:
    """A value of a computation: an instruction's, or the element `index` of a call's result."""

    inst: HloInstruction
    index: int | None = None

    @staticmethod
    def of(inst: HloInstruction) -> Element:
        """What `inst` holds, past the get-tuple-element that takes it out of a call's result."""
        if inst.opcode is Opcode.GET_TUPLE_ELEMENT and inst.operand(0).opcode is Opcode.CALL:
            return Element(inst.operand(0), inst.tuple_index)
        return Element(inst)

    @property
    def readers(self) -> tuple[HloInstruction, ...]:
        """The instructions that hold the value itself: the instruction, or the get-tuple-elements of the call."""
        if self.index is None:
            return (self.inst,)
        return tuple(
            user
            for user in self.inst.users
            if user.opcode is Opcode.GET_TUPLE_ELEMENT and user.tuple_index == self.index
        )

    @property
    def is_read_whole(self) -> bool:
        """Whether somebody takes the call's whole result, this element among the others."""
        if self.index is None:
            return False
        return self.inst.is_root or any(
            user.opcode is not Opcode.GET_TUPLE_ELEMENT for user in self.inst.users
        )

    @property
    def has_one_use(self) -> bool:
        """Whether exactly one operand slot, and no result, takes the value."""
        if self.is_read_whole or any(reader.is_root for reader in self.readers):
            return False
        return sum(reader.use_count for reader in self.readers) == 1


@dataclass(frozen=True)
class Link:
    """One update. `result` and `base` are values of the caller, or of the update's own computation without a call.

    `position` is where the base lies in `operands`, the tuple that the call takes.
    """

    update: HloInstruction
    result: Element
    base: HloInstruction
    operands: HloInstruction | None = None
    position: int = 0

    @property
    def call(self) -> HloInstruction | None:
        """The call in whose body the update is."""
        return self.result.inst if self.operands is not None else None

    @property
    def has_control_dependencies(self) -> bool:
        """Whether an instruction that would go has an order to keep."""
        involved = [self.update, self.result.inst, *self.result.readers]
        return any(inst.has_control_dependencies for inst in involved)

    @property
    def is_static(self) -> bool:
        """Whether all sizes are known."""
        return self.update.shape.is_static and self.update.operand(1).shape.is_static


class UpdateChains:
    """The chains of one module, which must not change in the meantime."""

    def __init__(self, module: HloModule) -> None:
        self._sites = Counter(
            callee
            for computation in module.computations
            for inst in computation.instructions
            for callee in inst.called_computations
        )

    def ends(self, computation: HloComputation) -> Iterator[Link]:
        """Every update that `computation` makes or has a call make, last first."""
        for inst in reversed(computation.make_instruction_post_order()):
            if inst.opcode is Opcode.CALL and inst.called_computations[0].root.opcode is Opcode.TUPLE:
                values = [Element(inst, index) for index in range(len(inst.tuple_shape.elements))]
            else:
                values = [Element(inst)]
            yield from (link for value in values if (link := self._link(value)))

    def links_before(self, link: Link) -> Iterator[Link | str]:
        """The links on whose results `link` builds, last first; then, if the chain is broken off, why."""
        while True:
            before = self._link(Element.of(link.base))
            if before is None:
                return
            if not before.result.has_one_use or not _is_only_updated(link):
                yield "other-users"
                return
            yield before
            link = before

    def _link(self, value: Element) -> Link | None:
        if value.index is None:
            update = value.inst
            return Link(update, value, update.operand(0)) if _is_update(update) else None
        (body,) = value.inst.called_computations
        if body.root.opcode is not Opcode.TUPLE or self._sites[body] != 1:
            return None
        update = body.root.operand(value.index)
        if not _is_update(update) or update.use_count != 1:
            return None
        read = update.operand(0)
        if read.opcode is not Opcode.GET_TUPLE_ELEMENT or read.operand(0).opcode is not Opcode.PARAMETER:
            return None
        operands = value.inst.operand(read.operand(0).parameter_number)
        if operands.opcode is not Opcode.TUPLE:
            return None
        return Link(update, value, operands.operand(read.tuple_index), operands, read.tuple_index)


def _is_update(inst: HloInstruction) -> bool:
    if inst.opcode is not Opcode.DYNAMIC_UPDATE_SLICE or not isinstance(inst.shape, ArrayShape):
        return False
    return inst.shape.rank == len(inst.index_operands) > 0


def _is_only_updated(link: Link) -> bool:
    """Whether nothing on the way from the base to the update reads the base in another way."""
    if link.operands is None:
        return True
    read = link.update.operand(0)
    parameter = read.operand(0)
    if link.operands.use_count != 1 or link.operands.is_root or parameter.is_root:
        return False
    for user in parameter.users:
        if user.opcode is not Opcode.GET_TUPLE_ELEMENT:
            return False
        if user.tuple_index == link.position and (user.is_root or user.use_count > (user is read)):
            return False
    return True
