"""How do masks of one size come to be written once?

A program has few sizes and many operations on arrays of them. What is the same each time (constants, iotas, what is
compared with a size) is appended once to a computation: less to verify, to run and to read.
"""

from __future__ import annotations

from collections.abc import Sequence

from hlo import HloComputation, HloInstruction, Opcode, Shape
from hlo.attributes import NONE, Attributes
from hlo.builder import Builder

_SHARED = frozenset(
    {
        *(Opcode.CONSTANT, Opcode.IOTA, Opcode.BROADCAST, Opcode.COMPARE, Opcode.CONVERT),
        *(Opcode.AND, Opcode.OR, Opcode.NOT, Opcode.MAXIMUM, Opcode.MINIMUM),
        *(Opcode.ADD, Opcode.SUBTRACT, Opcode.MULTIPLY, Opcode.DIVIDE, Opcode.REMAINDER),
    }
)
"""What masks, sizes and places are made of. Nobody changes such an instruction once it is there."""


class SharingBuilder(Builder):
    """Appends to one computation. What masks and sizes are made of is not appended twice, but found again."""

    def __init__(self, computation: HloComputation) -> None:
        super().__init__(computation)
        self._known: dict[tuple[object, ...], HloInstruction] = {}

    def op(
        self,
        opcode: Opcode,
        *operands: HloInstruction,
        attributes: Attributes = NONE,
        shape: Shape | None = None,
        called: Sequence[HloComputation] = (),
        name: str | None = None,
        like: HloInstruction | None = None,
    ) -> HloInstruction:
        """As any builder's; an instruction that is the same in all of this but its name may be an earlier one."""
        if opcode not in _SHARED or like is not None:
            return super().op(
                opcode, *operands, attributes=attributes, shape=shape, called=called, name=name, like=like
            )
        key = (opcode, operands, attributes, shape)
        known = self._known.get(key)
        if known is None or known.is_removed or known.operands != operands:
            known = super().op(opcode, *operands, attributes=attributes, shape=shape, name=name)
            self._known[key] = known
        return known
