"""What do dots give whose operands are divided into groups of rows, or scaled by blocks?"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import numpy as np

from hlo.attributes import DotDimensions, RaggedDotDimensions
from hlo.evaluator.contraction import as_type, product
from hlo.evaluator.kernels import Array, Kernel, Machine, Rule, sealed
from hlo.graph import HloInstruction
from hlo.opcode import Opcode
from hlo.primitive_type import PrimitiveType
from hlo.shape import ArrayShape


def _ragged_dot(inst: HloInstruction, machine: Machine) -> Kernel:
    """Group g has as many elements of the ragged dimension as the sizes say, from where group g - 1 ends.

    What is in no group takes no part. Sizes that are negative or reach beyond the dimension are read as
    `ragged_dot_rewriter.cc` upstream reads them: an element is in each group that begins at or before it and
    ends after it.
    """
    numbers = inst.attributes
    if not isinstance(numbers, RaggedDotDimensions):
        raise TypeError(f"{inst.name} has no ragged dot dimensions")
    (ragged,) = numbers.lhs_ragged
    if ragged in numbers.dot.lhs_batch:
        left, right = inst.operand(0).array_shape, inst.operand(1).array_shape
        dot = product(inst, machine, left, right, numbers.dot)
        return lambda x, y, _sizes: sealed(dot(x, y))
    contracted = ragged in numbers.dot.lhs_contracting
    return (_group_by_group if contracted else _row_by_row)(inst, machine, numbers)


def _row_by_row(inst: HloInstruction, machine: Machine, numbers: RaggedDotDimensions) -> Kernel:
    """Each row of the left operand times the slice of the right one that is its group's; zero without a group."""
    left, right = inst.operand(0).array_shape, inst.operand(1).array_shape
    (group,) = numbers.rhs_group
    part = right.with_dimensions(right.dimensions[:group] + right.dimensions[group + 1 :])
    dot = numbers.dot
    dot = replace(
        dot, rhs_contracting=_without(dot.rhs_contracting, group), rhs_batch=_without(dot.rhs_batch, group)
    )
    multiply = product(inst, machine, left, part, dot)
    shape = inst.array_shape
    spread = _spread(left, numbers)
    add = np.logical_or if shape.element_type is PrimitiveType.PRED else np.add

    def ragged_dot(x: Array, y: Array, sizes: Array) -> Array:
        total = np.zeros(shape.dimensions, shape.element_type.numpy)
        for number, members in enumerate(_groups(sizes, spread)):
            members = members.reshape(members.shape + (1,) * (shape.rank - members.ndim))
            term = multiply(x, y.take(number, group))
            np.copyto(total, np.asarray(add(total, term)).astype(total.dtype), where=members)
        return sealed(total)

    return ragged_dot


def _group_by_group(inst: HloInstruction, machine: Machine, numbers: RaggedDotDimensions) -> Kernel:
    """One product a group, of what both operands have in it."""
    left, right = inst.operand(0).array_shape, inst.operand(1).array_shape
    dot = numbers.dot
    multiply = product(inst, machine, left, right, dot)
    lefts = (*numbers.outside(left.rank), *numbers.lhs_ragged)
    pairs = dict(
        zip((*dot.lhs_batch, *dot.lhs_contracting), (*dot.rhs_batch, *dot.rhs_contracting), strict=True)
    )
    rights = tuple(pairs[d] for d in lefts)
    shape, spread = inst.array_shape, _spread(left, numbers)

    def ragged_dot(x: Array, y: Array, sizes: Array) -> Array:
        result = np.empty(shape.dimensions, shape.element_type.numpy)
        for number, members in enumerate(_groups(sizes, spread)):
            result[number] = multiply(_only(x, members, lefts), _only(y, members, rights))
        return sealed(result)

    return ragged_dot


def _without(dimensions: tuple[int, ...], removed: int) -> tuple[int, ...]:
    return tuple(d - (d > removed) for d in dimensions)


def _spread(left: ArrayShape, numbers: RaggedDotDimensions) -> tuple[int, ...]:
    """The sizes of the dimensions outside of the ragged one, and its own."""
    dimensions = (*numbers.outside(left.rank), *numbers.lhs_ragged)
    return tuple(left.dimensions[d] for d in dimensions)


def _groups(sizes: Array, spread: tuple[int, ...]) -> Iterator[Array]:
    """For each group, which elements of the ragged dimension (the last of `spread`) are in it."""
    ends = np.cumsum(sizes.astype(np.int64), axis=-1)
    starts = np.concatenate([np.zeros_like(ends[..., :1]), ends[..., :-1]], axis=-1)
    places = np.arange(spread[-1])
    for number in range(sizes.shape[-1]):
        members = (starts[..., number, None] <= places) & (places < ends[..., number, None])
        yield np.broadcast_to(members, spread)


def _only(x: Array, members: Array, dimensions: tuple[int, ...]) -> Array:
    """`x` with zeros where `members`, which has `dimensions` of `x` in this order, does not hold."""
    order = sorted(range(len(dimensions)), key=dimensions.__getitem__)
    sizes = [x.shape[d] if d in dimensions else 1 for d in range(x.ndim)]
    return np.where(members.transpose(order).reshape(sizes), x, np.zeros((), x.dtype))


def _scaled_dot(inst: HloInstruction, machine: Machine) -> Kernel:
    """The dot of both operands, each of whose blocks is multiplied by its own scale first.

    That product is rounded: to BF16 where operand and scale are of 8 bits or less; to F32 where they are different
    types of one width; else to the wider of the two. Source: `scaled_dot_rewriter.cc` upstream.
    """
    numbers = inst.attributes
    if not isinstance(numbers, DotDimensions):
        raise TypeError(f"{inst.name} has no dot dimensions")
    left, right, *scales = (operand.array_shape for operand in inst.operands)
    wide = [_scaled_type(*pair) for pair in zip((left, right), scales, strict=True)]
    dot = product(inst, machine, left.with_element_type(wide[0]), right.with_element_type(wide[1]), numbers)

    def scaled(
        x: Array, scale: Array, shape: ArrayShape, scale_shape: ArrayShape, to: PrimitiveType
    ) -> Array:
        x = as_type(x, shape.element_type, to)
        if scale_shape.is_scalar:
            return x
        scale = as_type(scale, scale_shape.element_type, to)
        for d, size in enumerate(shape.dimensions):
            if size != scale.shape[d]:
                scale = scale.repeat(size // scale.shape[d], d)
        return np.multiply(x, scale)

    def scaled_dot(x: Array, y: Array, x_scale: Array, y_scale: Array) -> Array:
        x = scaled(x, x_scale, left, scales[0], wide[0])
        return sealed(dot(x, scaled(y, y_scale, right, scales[1], wide[1])))

    return scaled_dot


def _scaled_type(operand: ArrayShape, scale: ArrayShape) -> PrimitiveType:
    if scale.is_scalar:
        return operand.element_type
    first, second = operand.element_type, scale.element_type
    if max(first.bit_width, second.bit_width) < PrimitiveType.BF16.bit_width:
        return PrimitiveType.BF16
    if first.bit_width == second.bit_width and first is not second:
        return PrimitiveType.F32
    return first if first.bit_width >= second.bit_width else second


RULES: dict[Opcode, Rule] = {Opcode.RAGGED_DOT: _ragged_dot, Opcode.SCALED_DOT: _scaled_dot}
