"""What do dots and convolutions give on arrays cut to their sizes?

A dimension that both sides share has the size that was set at run time on one of them; the other side is cut to it.
"""

from __future__ import annotations

from collections.abc import Sequence

from hlo import ArrayShape, HloInstruction, Opcode
from hlo.attributes import ConvolutionDimensions, DotDimensions
from hlo.infer import ShapeError, infer_shape
from oracle.true_size.agreement import common_size, cut_to
from oracle.true_size.leaf import Sized, UndefinedSizes
from oracle.true_size.rule import Rule
from oracle.true_size.tracing import Tracer, filled


def _dot(tracer: Tracer, inst: HloInstruction, leaves: Sequence[Sized]) -> Sized:
    lhs, rhs = leaves
    numbers = inst.attributes
    assert isinstance(numbers, DotDimensions)
    left, right = list(lhs.sizes), list(rhs.sizes)
    contracting = list(zip(numbers.lhs_contracting, numbers.rhs_contracting, strict=True))
    batches = list(zip(numbers.lhs_batch, numbers.rhs_batch, strict=True))
    for i, j in (*contracting, *batches):
        left[i] = right[j] = common_size(inst, [(lhs, i), (rhs, j)])
    new = _emitted(tracer, inst, cut_to(tracer, lhs, tuple(left)), cut_to(tracer, rhs, tuple(right)))
    used = {i for i, _ in (*contracting, *batches)}, {j for _, j in (*contracting, *batches)}
    return filled(
        new,
        [
            *(lhs.dynamic[i] or rhs.dynamic[j] for i, j in batches),
            *(flag for i, flag in enumerate(lhs.dynamic) if i not in used[0]),
            *(flag for j, flag in enumerate(rhs.dynamic) if j not in used[1]),
        ],
    )


def _convolution(tracer: Tracer, inst: HloInstruction, leaves: Sequence[Sized]) -> Sized:
    lhs, rhs = leaves
    numbers = inst.attributes
    assert isinstance(numbers, ConvolutionDimensions)
    left, right = list(lhs.sizes), list(rhs.sizes)
    feature, kernel_feature = numbers.input_feature, numbers.kernel_input_feature
    if numbers.feature_group_count == 1:
        left[feature] = right[kernel_feature] = common_size(inst, [(lhs, feature), (rhs, kernel_feature)])
    elif lhs.dynamic[feature] or rhs.dynamic[kernel_feature]:
        raise UndefinedSizes(inst, "the features of groups have a size at run time")
    new = _emitted(tracer, inst, cut_to(tracer, lhs, tuple(left)), cut_to(tracer, rhs, tuple(right)))
    dynamic = [False] * new.array_shape.rank
    dynamic[numbers.output_batch] = lhs.dynamic[numbers.input_batch]
    dynamic[numbers.output_feature] = rhs.dynamic[numbers.kernel_output_feature]
    spatial = zip(numbers.input_spatial, numbers.kernel_spatial, numbers.output_spatial, strict=True)
    for i, j, k in spatial:
        dynamic[k] = lhs.dynamic[i] or rhs.dynamic[j]
    return filled(new, dynamic)


def _emitted(
    tracer: Tracer, inst: HloInstruction, left: HloInstruction, right: HloInstruction
) -> HloInstruction:
    """`inst` on these operands, with its own element type, which theirs do not determine."""
    mine = ArrayShape(inst.array_shape.element_type, ())
    try:
        shape = infer_shape(inst.opcode, [left.shape, right.shape], inst.attributes, declared=mine)
    except ShapeError as error:
        raise UndefinedSizes(inst, error.message) from error
    return tracer.emit(inst, [left, right], shape=shape)


RULES: dict[Opcode, Rule] = {Opcode.CONVOLUTION: _convolution, Opcode.DOT: _dot}
