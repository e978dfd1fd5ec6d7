"""What is left of the dynamic opcodes where every size is known, in JAX?

Programs whose sizes are known only at run time are judged on arrays cut to their true sizes.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from jax import lax

from hlo import ArrayShape, HloInstruction, Opcode, UnsupportedOpcode
from oracle.reference.kernels import WHERE, Kernel, Layout
from oracle.reference.rule import Rule, Trace


def _static(inst: HloInstruction) -> ArrayShape:
    """The shape of the array that `inst` works on. Raises UnsupportedOpcode where its sizes are not known."""
    shape = inst.operand(0).array_shape
    if not shape.is_static or not inst.shape.is_static:
        raise UnsupportedOpcode(f"{inst.opcode} of sizes known only at run time", WHERE)
    return shape


def _get_dimension_size(inst: HloInstruction, trace: Trace) -> Kernel:
    (dim,) = inst.dimensions
    size = _static(inst).dimensions[dim]
    return Kernel((inst.opcode, size), lambda: np.int32(size), prepare=lambda x: ())


def _set_dimension_size(inst: HloInstruction, trace: Trace) -> Kernel:
    """A result without a dynamic dimension says that the size is the bound: nothing changes."""
    _static(inst)
    return Kernel(inst.opcode, lambda x: x, Layout.BITS, lambda x, size: (x,))


def _dynamic_reshape(inst: HloInstruction, trace: Trace) -> Kernel:
    """The sizes that are handed in are those of the result's shape."""
    _static(inst)
    dims = inst.array_shape.dimensions

    def function(x: Any) -> Any:
        return lax.reshape(x, dims)

    return Kernel((Opcode.RESHAPE, dims), function, Layout.BITS, lambda x, *sizes: (x,))


RULES: Mapping[Opcode, Rule] = {
    Opcode.DYNAMIC_RESHAPE: _dynamic_reshape,
    Opcode.GET_DIMENSION_SIZE: _get_dimension_size,
    Opcode.SET_DIMENSION_SIZE: _set_dimension_size,
}
