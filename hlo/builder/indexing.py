"""How are slices, gathers and scatters written down?"""

from __future__ import annotations

from collections.abc import Sequence

from hlo.attributes import GatherDimensions, ScatterDimensions, SliceBounds, SliceSizes
from hlo.builder.base import BaseBuilder, Dims
from hlo.graph import HloComputation, HloInstruction
from hlo.opcode import Opcode


class IndexingBuilder(BaseBuilder):
    """Slices, gathers and scatters."""

    def slice_(
        self,
        x: HloInstruction,
        starts: Dims,
        limits: Dims,
        strides: Dims | None = None,
        name: str | None = None,
    ) -> HloInstruction:
        """`x[starts:limits:strides]`; strides are 1 unless given."""
        bounds = SliceBounds(
            tuple(starts), tuple(limits), (1,) * len(starts) if strides is None else tuple(strides)
        )
        return self.op(Opcode.SLICE, x, attributes=bounds, name=name)

    def dynamic_slice(
        self, x: HloInstruction, starts: Sequence[HloInstruction], sizes: Dims, name: str | None = None
    ) -> HloInstruction:
        """`sizes` elements of `x` from `starts`: one integral scalar for each dimension."""
        return self.op(Opcode.DYNAMIC_SLICE, x, *starts, attributes=SliceSizes(tuple(sizes)), name=name)

    def dynamic_update_slice(
        self,
        x: HloInstruction,
        update: HloInstruction,
        starts: Sequence[HloInstruction],
        name: str | None = None,
    ) -> HloInstruction:
        """`x` with `update` written at `starts`: one integral scalar for each dimension."""
        return self.op(Opcode.DYNAMIC_UPDATE_SLICE, x, update, *starts, name=name)

    def gather(
        self,
        x: HloInstruction,
        indices: HloInstruction,
        numbers: GatherDimensions,
        name: str | None = None,
    ) -> HloInstruction:
        """One slice of `x` for each index vector in `indices`."""
        return self.op(Opcode.GATHER, x, indices, attributes=numbers, name=name)

    def scatter(
        self,
        computation: HloComputation,
        xs: Sequence[HloInstruction],
        indices: HloInstruction,
        updates: Sequence[HloInstruction],
        numbers: ScatterDimensions,
        name: str | None = None,
    ) -> HloInstruction:
        """`xs` with `updates` combined into them, a window for each index vector in `indices`.

        `computation` takes an element of each of `xs`, then of each of `updates`.
        """
        operands = (*xs, indices, *updates)
        return self.op(Opcode.SCATTER, *operands, attributes=numbers, called=(computation,), name=name)
