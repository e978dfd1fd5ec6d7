"""What do the operations on sizes themselves give?"""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from hlo import HloInstruction, Opcode
from hlo.evaluator import checked_size
from oracle.true_size.leaf import Sized, UndefinedSizes
from oracle.true_size.rule import Rule
from oracle.true_size.tracing import Tracer, filled


def size_from(tracer: Tracer, inst: HloInstruction, leaf: Sized, dimension: int, bound: int) -> int:
    """The size that the scalar `leaf` gives to `dimension`. Raises SizeOutOfBounds."""
    return checked_size(inst, dimension, tracer.number(leaf), bound)


def _get_dimension_size(tracer: Tracer, inst: HloInstruction, leaves: Sequence[Sized]) -> Sized:
    (leaf,) = leaves
    (dimension,) = inst.dimensions
    return filled(tracer.constant(np.array(leaf.sizes[dimension], np.int32)))


def _set_dimension_size(tracer: Tracer, inst: HloInstruction, leaves: Sequence[Sized]) -> Sized:
    """Nothing is cut off yet: a later size may be greater, up to what the array held at first (section 1.5)."""
    leaf, scalar = leaves
    (dimension,) = inst.dimensions
    bound = inst.operand(0).array_shape.dimensions[dimension]
    size = size_from(tracer, inst, scalar, dimension, bound)
    if size > leaf.inst.array_shape.dimensions[dimension]:
        held = leaf.inst.array_shape.dimensions[dimension]
        raise UndefinedSizes(inst, f"size {size} of dimension {dimension} takes in padding beyond {held}")
    sizes, dynamic = list(leaf.sizes), list(leaf.dynamic)
    sizes[dimension] = size
    dynamic[dimension] = inst.array_shape.is_dynamic_dimension(dimension) or size != bound
    return Sized(leaf.inst, tuple(sizes), tuple(dynamic))


def _dynamic_reshape(tracer: Tracer, inst: HloInstruction, leaves: Sequence[Sized]) -> Sized:
    leaf, *scalars = leaves
    bounds = inst.array_shape.dimensions
    sizes = tuple(size_from(tracer, inst, scalar, d, bounds[d]) for d, scalar in enumerate(scalars))
    if math.prod(sizes) != math.prod(leaf.sizes):
        raise UndefinedSizes(inst, f"sizes {list(sizes)} for {math.prod(leaf.sizes)} elements")
    flags = [inst.array_shape.is_dynamic_dimension(d) for d in range(len(bounds))]
    for d, flag in enumerate(flags):
        if not flag and sizes[d] != bounds[d]:
            raise UndefinedSizes(inst, f"size {sizes[d]} for dimension {d}, which is static")
    shape = inst.array_shape.with_dimensions(sizes)
    return filled(tracer.op(Opcode.RESHAPE, tracer.cut(leaf), shape=shape), flags)


RULES: dict[Opcode, Rule] = {
    Opcode.DYNAMIC_RESHAPE: _dynamic_reshape,
    Opcode.GET_DIMENSION_SIZE: _get_dimension_size,
    Opcode.SET_DIMENSION_SIZE: _set_dimension_size,
}
