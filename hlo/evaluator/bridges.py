"""What do the custom-calls give that lead between arrays of a size known at run time and static ones?

The value of an array with dynamic dimensions is as large as the array is, at most the bounds: what the packed buffer
of `stock_passes.md` section 2 holds, sizes included.
"""

from __future__ import annotations

import numpy as np

from hlo.errors import HloFuzzError
from hlo.evaluator.kernels import Array, Kernel, Machine, Rule, identity, sealed
from hlo.graph import HloInstruction
from hlo.opcode import Opcode
from hlo.shape import ArrayShape

PAD_TO_STATIC, SLICE_TO_DYNAMIC, SET_BOUND = "PadToStatic", "SliceToDynamic", "SetBound"


class SizeOutOfBounds(HloFuzzError):
    """A size at run time is negative or above its bound. Upstream leaves that undefined (section 2.5)."""

    def __init__(self, inst: HloInstruction, dimension: int, size: int, bound: int) -> None:
        self.instruction, self.dimension, self.size, self.bound = inst.name, dimension, size, bound
        super().__init__(
            f"{inst.name} ({inst.opcode}): size {size} of dimension {dimension} is not in [0, {bound}]"
        )


def zeros(shape: ArrayShape) -> Array:
    """Nothing but zeros."""
    return np.zeros(shape.dimensions, shape.element_type.numpy)


def checked_size(inst: HloInstruction, dimension: int, size: int, bound: int) -> int:
    """`size`, which `inst` gives to `dimension`. Raises SizeOutOfBounds."""
    if not 0 <= size <= bound:
        raise SizeOutOfBounds(inst, dimension, size, bound)
    return size


def _pad_to_static(inst: HloInstruction, machine: Machine) -> Kernel:
    """The data in the low corner of a static array, then the size of every dimension, s32[] (section 2.3)."""
    bounds = inst.operand(0).array_shape.to_static()

    def pad_to_static(x: Array) -> tuple[Array, ...]:
        sizes = [sealed(np.array(size, np.int32)) for size in x.shape]
        if x.shape == bounds.dimensions:
            return (x, *sizes)
        data = np.array(machine.fill(bounds))
        data[tuple(map(slice, x.shape))] = x
        return (sealed(data), *sizes)

    return pad_to_static


def _slice_to_dynamic(inst: HloInstruction, _machine: Machine) -> Kernel:
    """The low corner of a static array, as large as the sizes that follow it say (section 2.4)."""
    bounds = inst.array_shape.dimensions

    def slice_to_dynamic(data: Array, *sizes: Array) -> Array:
        corner = [
            slice(checked_size(inst, d, size.item(), bound))
            for d, (size, bound) in enumerate(zip(sizes, bounds, strict=True))
        ]
        return data[tuple(corner)]

    return slice_to_dynamic


BRIDGES: dict[str, Rule] = {
    PAD_TO_STATIC: _pad_to_static,
    SLICE_TO_DYNAMIC: _slice_to_dynamic,
    SET_BOUND: lambda _inst, _machine: identity,
}

_PASSED_ON = frozenset(
    {
        Opcode.ADD_DEPENDENCY,
        Opcode.CALL,
        Opcode.CONDITIONAL,
        Opcode.COPY,
        Opcode.CUSTOM_CALL,
        Opcode.DOMAIN,
        Opcode.FUSION,
        Opcode.GET_TUPLE_ELEMENT,
        Opcode.OPTIMIZATION_BARRIER,
        Opcode.TUPLE,
        Opcode.WHILE,
    }
)
"""What hands arrays on without asking how large they are."""


def asks_for_sizes(inst: HloInstruction) -> bool:
    """Whether `inst` computes with an array whose size is known at run time only."""
    return inst.opcode not in _PASSED_ON and not all(operand.shape.is_static for operand in inst.operands)
