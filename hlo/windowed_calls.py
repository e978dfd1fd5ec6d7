"""Is a custom-call well formed whose padding depends on sizes at run time?

Nobody else asks: what a custom-call has, and what it gives, is as its text declares. Source of the targets:
`stock_passes.md` sections 4.11 and 5.16.
"""

from __future__ import annotations

from hlo.attributes import ConvolutionDimensions, CustomCallTarget
from hlo.graph import HloInstruction
from hlo.shape import ArrayShape

REDUCE_WINDOW, SELECT_AND_SCATTER = "DynamicReduceWindowSamePadding", "DynamicSelectAndScatterSamePadding"
FORWARD, INPUT_GRADIENT = "DynamicConvolutionForward", "DynamicConvolutionInputGrad"
KERNEL_GRADIENT = "DynamicConvolutionKernelGrad"

_COUNTS = {
    REDUCE_WINDOW: (2, 1),
    SELECT_AND_SCATTER: (3, 2),
    FORWARD: (2, 0),
    INPUT_GRADIENT: (3, 0),
    KERNEL_GRADIENT: (2, 0),
}
"""Operands and called computations."""

WINDOWED_CALLS = frozenset(_COUNTS)


def complaint(inst: HloInstruction) -> str:
    """What is wrong with a custom-call to one of WINDOWED_CALLS, element types aside; "" if nothing is."""
    call = inst.attributes
    assert isinstance(call, CustomCallTarget)
    operands, called = _COUNTS[call.target]
    if (len(inst.operands), len(inst.called_computations)) != (operands, called):
        return f"it has not {operands} operands and {called} called computations"
    shapes = [operand.shape for operand in inst.operands]
    arrays = [shape for shape in (*shapes, inst.shape) if isinstance(shape, ArrayShape)]
    if len(arrays) != operands + 1:
        return "it takes or gives a tuple"
    if call.target in (REDUCE_WINDOW, SELECT_AND_SCATTER):
        fits = call.window is not None and len(call.window.dimensions) == arrays[0].rank == arrays[-1].rank
        return "" if fits else "its window does not fit its operand"
    if call.convolution is None:
        return "it has no window or no dimension numbers"
    if call.target == INPUT_GRADIENT and arrays[0].dimensions != (arrays[-1].rank,):
        return "it has not one size for each dimension of the result"
    ranks = [shape.rank for shape in arrays[-3:]]
    return "" if _fit(call.convolution, ranks) else "its dimension numbers do not fit its operands"


def _fit(numbers: ConvolutionDimensions, ranks: list[int]) -> bool:
    """Whether the dimension numbers name each dimension of image, kernel and result once."""
    sides = (
        (numbers.input_batch, numbers.input_feature, *numbers.input_spatial),
        (numbers.kernel_input_feature, numbers.kernel_output_feature, *numbers.kernel_spatial),
        (numbers.output_batch, numbers.output_feature, *numbers.output_spatial),
    )
    return all(sorted(side) == list(range(rank)) for side, rank in zip(sides, ranks, strict=True)) and all(
        len(side) == len(numbers.window) + 2 for side in sides
    )
