"""How are sizes computed from sizes? In s32, by instructions of the computation that needs them."""

from __future__ import annotations

from collections.abc import Sequence

from hlo import HloComputation, HloInstruction, Opcode, PrimitiveType
from hlo.builder import Builder


class SizeArithmetic:
    """Appends scalar arithmetic to one computation. Plain integers become constants, one for each value.

    `builder` appends to that computation, too; a plain one unless it is given.
    """

    def __init__(self, computation: HloComputation, builder: Builder | None = None) -> None:
        self._builder = builder or Builder(computation)
        self._constants: dict[int, HloInstruction] = {}

    def constant(self, value: int) -> HloInstruction:
        """`value`, s32[]."""
        known = self._constants.get(value)
        if known is None or known.is_removed:
            known = self._constants[value] = self._builder.constant(value, PrimitiveType.S32)
        return known

    def add(self, left: HloInstruction, right: HloInstruction | int) -> HloInstruction:
        """`left + right`; `left` itself where nothing is added."""
        return left if right == 0 else self._op(Opcode.ADD, left, right)

    def subtract(self, left: HloInstruction, right: HloInstruction | int) -> HloInstruction:
        """`left - right`; `left` itself where nothing is taken away."""
        return left if right == 0 else self._op(Opcode.SUBTRACT, left, right)

    def multiply(self, left: HloInstruction, right: HloInstruction | int) -> HloInstruction:
        """`left * right`."""
        return left if right == 1 else self._op(Opcode.MULTIPLY, left, right)

    def divide(self, left: HloInstruction, right: HloInstruction | int) -> HloInstruction:
        """`left / right`, toward zero."""
        return left if right == 1 else self._op(Opcode.DIVIDE, left, right)

    def maximum(self, left: HloInstruction, right: HloInstruction | int) -> HloInstruction:
        """The larger."""
        return self._op(Opcode.MAXIMUM, left, right)

    def minimum(self, left: HloInstruction, right: HloInstruction | int) -> HloInstruction:
        """The smaller."""
        return self._op(Opcode.MINIMUM, left, right)

    def ceiling_divide(self, left: HloInstruction, right: int) -> HloInstruction:
        """`left / right` rounded up, for what is not negative."""
        return left if right == 1 else self.divide(self.add(left, right - 1), right)

    def fitted(self, left: HloInstruction, right: HloInstruction) -> HloInstruction:
        """What two sizes of one dimension come to: 1 gives way to a larger one, otherwise the smaller counts.

        Source: `stock_passes.md` section 4.7, Binary.
        """
        repeated = self._op(Opcode.OR, self.is_repeated(left, right), self.is_repeated(right, left))
        larger, smaller = self.maximum(left, right), self.minimum(left, right)
        return self._builder.op(Opcode.SELECT, repeated, larger, smaller)

    def is_equal(self, left: HloInstruction, right: HloInstruction) -> HloInstruction:
        """left == right, pred[]."""
        return self._builder.compare(left, right, "EQ")

    def all_of(self, predicates: Sequence[HloInstruction]) -> HloInstruction:
        """Whether every one of `predicates`, pred[], holds."""
        result = predicates[0]
        for predicate in predicates[1:]:
            result = self._op(Opcode.AND, result, predicate)
        return result

    def is_repeated(self, size: HloInstruction, other: HloInstruction) -> HloInstruction:
        """Whether the single element that `size` counts is repeated `other` times: size == 1 and size < other."""
        one = self._builder.compare(size, self.constant(1), "EQ")
        return self._op(Opcode.AND, one, self._builder.compare(size, other, "LT"))

    def _op(self, opcode: Opcode, left: HloInstruction, right: HloInstruction | int) -> HloInstruction:
        operand = self.constant(right) if isinstance(right, int) else right
        return self._builder.op(opcode, left, operand)
