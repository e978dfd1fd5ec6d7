"""What shape does a convolution have, and which dimension numbers and groups may it have?

Source: `InferConvolveShape` upstream, dynamic flags included.
"""

from __future__ import annotations

from collections.abc import Sequence

from hlo.attributes import Attributes, ConvolutionDimensions
from hlo.infer.common import Rule, ShapeError, Signature, array, expect, result
from hlo.infer.contraction import product_type
from hlo.infer.windows import window_counts
from hlo.opcode import Opcode
from hlo.shape import ArrayShape, Shape


def _check_numbers(numbers: ConvolutionDimensions, rank: int) -> None:
    """Each of the three lists names every one of the `rank` dimensions once."""
    for what, dimensions in (
        ("input", (numbers.input_batch, numbers.input_feature, *numbers.input_spatial)),
        (
            "kernel",
            (numbers.kernel_input_feature, numbers.kernel_output_feature, *numbers.kernel_spatial),
        ),
        ("output", (numbers.output_batch, numbers.output_feature, *numbers.output_spatial)),
    ):
        if sorted(dimensions) != list(range(rank)):
            raise ShapeError(f"{what} dimensions {list(dimensions)} are not each of {rank} once")


def _check_groups(numbers: ConvolutionDimensions, left: ArrayShape, right: ArrayShape) -> None:
    features, batches = numbers.feature_group_count, numbers.batch_group_count
    if features < 1 or batches < 1 or (features > 1 and batches > 1):
        raise ShapeError(f"feature_group_count {features} and batch_group_count {batches} do not go together")
    given = left.dimensions[numbers.input_feature]
    taken = right.dimensions[numbers.kernel_input_feature]
    if given != taken * features:
        raise ShapeError(f"{given} input features are not {features} groups of {taken}")
    made = right.dimensions[numbers.kernel_output_feature]
    if made % features or made % batches:
        raise ShapeError(f"{made} output features do not divide into {max(features, batches)} groups")
    if left.dimensions[numbers.input_batch] % batches:
        raise ShapeError(f"a batch of {left.dimensions[numbers.input_batch]} is not {batches} groups")


def _flagged(numbers: ConvolutionDimensions, left: ArrayShape, right: ArrayShape) -> set[int]:
    """The output dimensions that are dynamic because the batch or a spatial dimension of either side is."""
    if right.is_dynamic_dimension(numbers.kernel_output_feature):
        raise ShapeError(f"the output features of {right} are dynamic")
    flagged = {numbers.output_batch} if left.is_dynamic_dimension(numbers.input_batch) else set[int]()
    spatial = zip(numbers.input_spatial, numbers.kernel_spatial, numbers.output_spatial, strict=True)
    for mine, theirs, output in spatial:
        if left.is_dynamic_dimension(mine) or right.is_dynamic_dimension(theirs):
            flagged.add(output)
    return flagged


def _convolution(
    operands: Sequence[Shape], attributes: Attributes, _c: Sequence[Signature], declared: Shape | None
) -> Shape:
    """Batch over its groups, output features, and as many places as the window has in each spatial dimension."""
    left, right = array(operands[0]), array(operands[1])
    numbers = expect(attributes, ConvolutionDimensions)
    if left.rank != right.rank:
        raise ShapeError(f"{left} and {right} differ in rank")
    _check_numbers(numbers, left.rank)
    _check_groups(numbers, left, right)
    kernel = tuple(right.dimensions[d] for d in numbers.kernel_spatial)
    if kernel != tuple(row.size for row in numbers.window):
        raise ShapeError(f"the window is not of the size {list(kernel)} of the kernel")
    spatial = tuple(left.dimensions[d] for d in numbers.input_spatial)
    sizes = [0] * left.rank
    sizes[numbers.output_batch] = left.dimensions[numbers.input_batch] // numbers.batch_group_count
    sizes[numbers.output_feature] = right.dimensions[numbers.kernel_output_feature]
    for d, count in zip(numbers.output_spatial, window_counts(spatial, numbers.window), strict=True):
        sizes[d] = count
    flagged = _flagged(numbers, left, right)
    flags = tuple(d in flagged for d in range(left.rank)) if flagged else ()
    return result(product_type(left, right, declared), tuple(sizes), flags, declared)


RULES: dict[Opcode, Rule] = {Opcode.CONVOLUTION: _convolution}
