"""How are arrays multiplied, in JAX?"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from jax import lax

from hlo import HloInstruction, Opcode, UnsupportedOpcode
from hlo.attributes import DotDimensions
from oracle.reference.kernels import WHERE, Kernel
from oracle.reference.rule import Rule, Trace


def _dot(inst: HloInstruction, trace: Trace) -> Kernel:
    """Batch dimensions first, then the free ones of the left and of the right side: HLO's order is JAX's."""
    if len(inst.operands) != 2:
        raise UnsupportedOpcode("dot with sparsity metadata", WHERE)
    dims = inst.attributes
    assert isinstance(dims, DotDimensions)
    dtype = inst.array_shape.element_type.numpy
    numbers = ((dims.lhs_contracting, dims.rhs_contracting), (dims.lhs_batch, dims.rhs_batch))

    def function(left: Any, right: Any) -> Any:
        if left.dtype != right.dtype:
            left, right = lax.convert_element_type(left, dtype), lax.convert_element_type(right, dtype)
        return lax.dot_general(
            left, right, numbers, precision=lax.Precision.HIGHEST, preferred_element_type=dtype
        )

    return Kernel((inst.opcode, dims, dtype), function)


RULES: Mapping[Opcode, Rule] = {Opcode.DOT: _dot}
