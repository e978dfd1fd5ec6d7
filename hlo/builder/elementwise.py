"""How are elementwise instructions written down that carry more than their operands?"""

from __future__ import annotations

from hlo.attributes import NONE, Comparison, Dimensions, ReducedPrecision
from hlo.builder.base import BaseBuilder
from hlo.graph import HloComputation, HloInstruction
from hlo.infer import infer_shape
from hlo.opcode import Opcode
from hlo.primitive_type import PrimitiveType
from hlo.shape import ArrayShape


class ElementwiseBuilder(BaseBuilder):
    """Conversions, comparisons and choices; `op` does for the others."""

    def convert(
        self, x: HloInstruction, element_type: PrimitiveType, name: str | None = None
    ) -> HloInstruction:
        """`x` with each value taken over to `element_type`."""
        shape = x.shape.with_element_type(element_type) if isinstance(x.shape, ArrayShape) else x.shape
        return self.op(Opcode.CONVERT, x, shape=shape, name=name)

    def bitcast_convert(
        self, x: HloInstruction, element_type: PrimitiveType, name: str | None = None
    ) -> HloInstruction:
        """The bits of `x` read as `element_type`; unlike widths add or take away the last dimension."""
        # only the element type of a declared shape is read here, so any dimensions do
        operands = [x.shape]
        shape = infer_shape(Opcode.BITCAST_CONVERT, operands, NONE, (), ArrayShape(element_type))
        return self.op(Opcode.BITCAST_CONVERT, x, shape=shape, name=name)

    def compare(
        self,
        left: HloInstruction,
        right: HloInstruction,
        direction: str,
        *,
        type: str = "",
        name: str | None = None,
    ) -> HloInstruction:
        """`left direction right`, for EQ NE GE GT LE LT."""
        return self.op(Opcode.COMPARE, left, right, attributes=Comparison(direction, type), name=name)

    def select(
        self,
        predicate: HloInstruction,
        on_true: HloInstruction,
        on_false: HloInstruction,
        name: str | None = None,
    ) -> HloInstruction:
        """Each element from `on_true` where `predicate` holds, else from `on_false`; a scalar speaks for all."""
        return self.op(Opcode.SELECT, predicate, on_true, on_false, name=name)

    def clamp(
        self, low: HloInstruction, x: HloInstruction, high: HloInstruction, name: str | None = None
    ) -> HloInstruction:
        """`min(max(low, x), high)`; each bound is a scalar or of `x`'s shape."""
        return self.op(Opcode.CLAMP, low, x, high, name=name)

    def map_(
        self, computation: HloComputation, *operands: HloInstruction, name: str | None = None
    ) -> HloInstruction:
        """`computation`, of scalars, on each element of the operands."""
        rank = operands[0].shape.rank if operands and isinstance(operands[0].shape, ArrayShape) else 0
        dimensions = Dimensions(tuple(range(rank)))
        return self.op(Opcode.MAP, *operands, attributes=dimensions, called=(computation,), name=name)

    def reduce_precision(
        self, x: HloInstruction, exponent_bits: int, mantissa_bits: int, name: str | None = None
    ) -> HloInstruction:
        """`x` rounded as a float of that format would be, in the type of `x`."""
        bits = ReducedPrecision(exponent_bits, mantissa_bits)
        return self.op(Opcode.REDUCE_PRECISION, x, attributes=bits, name=name)
