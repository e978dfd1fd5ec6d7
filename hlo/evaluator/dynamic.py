"""What do the opcodes of bounded-dynamic shapes give, where every array fills its bounds?

Values here have no sizes beside their shapes: each array is as large as its bound. The rules below are right for
such values, and refuse to go on where a program would make a smaller one.
"""

from __future__ import annotations

import numpy as np

from hlo.errors import UnsupportedOpcode
from hlo.evaluator.kernels import Array, Kernel, Machine, Rule, sealed
from hlo.graph import HloInstruction
from hlo.opcode import Opcode


def _get_dimension_size(inst: HloInstruction, _machine: Machine) -> Kernel:
    (dimension,) = inst.dimensions
    size = inst.operand(0).array_shape.dimensions[dimension]
    value = sealed(np.array(size, inst.array_shape.element_type.numpy))
    return lambda _x: value


def _set_dimension_size(inst: HloInstruction, _machine: Machine) -> Kernel:
    (dimension,) = inst.dimensions
    bound = inst.operand(0).array_shape.dimensions[dimension]

    def set_dimension_size(x: Array, size: Array) -> Array:
        _expect_bound(inst, size, bound)
        return x

    return set_dimension_size


def _dynamic_reshape(inst: HloInstruction, _machine: Machine) -> Kernel:
    bounds = inst.array_shape.dimensions

    def dynamic_reshape(x: Array, *sizes: Array) -> Array:
        for size, bound in zip(sizes, bounds, strict=True):
            _expect_bound(inst, size, bound)
        return sealed(x.reshape(bounds))

    return dynamic_reshape


def _expect_bound(inst: HloInstruction, size: Array, bound: int) -> None:
    if size.item() != bound:
        raise UnsupportedOpcode(
            inst.opcode, f"evaluator (size {size.item()} of a dimension bounded by {bound})"
        )


RULES: dict[Opcode, Rule] = {
    Opcode.GET_DIMENSION_SIZE: _get_dimension_size,
    Opcode.SET_DIMENSION_SIZE: _set_dimension_size,
    Opcode.DYNAMIC_RESHAPE: _dynamic_reshape,
}
