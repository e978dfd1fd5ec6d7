"""How are reductions, windows, scans and sorts written down?"""

from __future__ import annotations

from collections.abc import Sequence

from hlo.attributes import Dimensions, ScanOptions, SortDimension, TopKOptions, Window
from hlo.builder.base import BaseBuilder, Dims
from hlo.graph import HloComputation, HloInstruction
from hlo.opcode import Opcode


class ReductionBuilder(BaseBuilder):
    """Reductions, windows, scans and sorts."""

    def reduce(
        self,
        computation: HloComputation,
        inputs: Sequence[HloInstruction],
        inits: Sequence[HloInstruction],
        dimensions: Dims,
        name: str | None = None,
    ) -> HloInstruction:
        """`inputs` reduced over `dimensions`. `computation` takes accumulators, then one element of each."""
        attributes = Dimensions(tuple(dimensions))
        operands = (*inputs, *inits)
        return self.op(Opcode.REDUCE, *operands, attributes=attributes, called=(computation,), name=name)

    def reduce_window(
        self,
        computation: HloComputation,
        inputs: Sequence[HloInstruction],
        inits: Sequence[HloInstruction],
        window: Window,
        name: str | None = None,
    ) -> HloInstruction:
        """`inputs` reduced over each place of `window`; `computation` as for `reduce`."""
        operands = (*inputs, *inits)
        return self.op(Opcode.REDUCE_WINDOW, *operands, attributes=window, called=(computation,), name=name)

    def select_and_scatter(
        self,
        select: HloComputation,
        scatter: HloComputation,
        x: HloInstruction,
        source: HloInstruction,
        init: HloInstruction,
        window: Window,
        name: str | None = None,
    ) -> HloInstruction:
        """`init` everywhere, and each element of `source` added, by `scatter`, where `select` chose in its window."""
        called = (select, scatter)
        return self.op(
            Opcode.SELECT_AND_SCATTER, x, source, init, attributes=window, called=called, name=name
        )

    def scan(
        self,
        computation: HloComputation,
        inputs: Sequence[HloInstruction],
        starts: Sequence[HloInstruction],
        dimension: int,
        *,
        is_reverse: bool = False,
        is_associative: bool | None = False,
        name: str | None = None,
    ) -> HloInstruction:
        """`computation` on one slice of `inputs` along `dimension` after the other, and on what it carries along.

        It takes slices, then carries, and gives a tuple of elements of the outputs, then carries.
        """
        options = ScanOptions(dimension, len(starts), is_reverse, is_associative)
        operands = (*inputs, *starts)
        return self.op(Opcode.SCAN, *operands, attributes=options, called=(computation,), name=name)

    def sort(
        self,
        comparator: HloComputation,
        xs: Sequence[HloInstruction],
        dimension: int,
        *,
        is_stable: bool = False,
        name: str | None = None,
    ) -> HloInstruction:
        """`xs` permuted alike along `dimension`. `comparator` takes two elements of each, side by side."""
        order = SortDimension(dimension, is_stable)
        return self.op(Opcode.SORT, *xs, attributes=order, called=(comparator,), name=name)

    def topk(
        self, x: HloInstruction, k: int, *, largest: bool = True, name: str | None = None
    ) -> HloInstruction:
        """The `k` largest or smallest elements of the last dimension and, s32, where they were."""
        return self.op(Opcode.TOPK, x, attributes=TopKOptions(k, largest), name=name)
