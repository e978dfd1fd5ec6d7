"""How many places has a window along a dimension of run-time size, and how much padding comes before it?

Source: `stock_passes.md` section 4.9. Where upstream divides negative numbers, these are right: a window that does
not fit has no place.
"""

from __future__ import annotations

from dataclasses import replace

from hlo import HloInstruction
from hlo.attributes import WindowDimension
from passes.stock.dynamic_dimension_inference.arithmetic import SizeArithmetic


def reach(row: WindowDimension) -> int:
    """How many neighbouring elements a window covers, holes included."""
    return (row.size - 1) * row.window_dilation + 1


def places(arithmetic: SizeArithmetic, size: HloInstruction, row: WindowDimension) -> HloInstruction:
    """How many places the window has along a dimension of `size` elements: none where it does not fit."""
    base = size
    if row.base_dilation != 1:
        spread = arithmetic.multiply(arithmetic.subtract(size, 1), row.base_dilation)
        base = arithmetic.maximum(arithmetic.add(spread, 1), 0)
    base = arithmetic.add(base, row.padding_low + row.padding_high + row.stride - reach(row))
    return arithmetic.divide(arithmetic.maximum(base, 0), row.stride)


def valid_places(arithmetic: SizeArithmetic, size: HloInstruction, row: WindowDimension) -> HloInstruction:
    """Upstream's formula (VALID), which knows neither padding nor a window that does not fit."""
    return arithmetic.divide(arithmetic.add(size, row.stride - reach(row)), row.stride)


def same_places(arithmetic: SizeArithmetic, size: HloInstruction, row: WindowDimension) -> HloInstruction:
    """One place for each `stride` elements, however large the window (SAME)."""
    return arithmetic.ceiling_divide(size, row.stride)


def same_padding(arithmetic: SizeArithmetic, size: HloInstruction, row: WindowDimension) -> HloInstruction:
    """How far the first place of `same_places` reaches before the first element: half of what is needed in all."""
    last = arithmetic.multiply(arithmetic.subtract(same_places(arithmetic, size, row), 1), row.stride)
    needed = arithmetic.subtract(arithmetic.add(last, reach(row)), size)
    return arithmetic.divide(arithmetic.maximum(needed, 0), 2)


def without_padding(row: WindowDimension) -> WindowDimension:
    """The window on a base that has been padded and spread already."""
    return replace(row, padding_low=0, padding_high=0, base_dilation=1)
