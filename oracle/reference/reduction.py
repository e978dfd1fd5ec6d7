"""How are dimensions folded away, in JAX?"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from jax import lax

from hlo import HloInstruction, Opcode, TupleShape
from oracle.reference.kernels import Kernel
from oracle.reference.rule import Rule, Trace


def _reduce(inst: HloInstruction, trace: Trace) -> Kernel:
    """Operands first, then as many initial values. HLO leaves the order of the reduction open, so does JAX.

    The computation (accumulators, then elements) may take other precisions than the reduce is given.
    """
    computation, key = trace(inst.called_computations[0])
    dims = inst.dimensions
    count = len(inst.operands) // 2
    takes = [p.array_shape.element_type.numpy for p in inst.called_computations[0].parameters]
    elements, accumulators = takes[count:], takes[:count]
    whole = isinstance(inst.shape, TupleShape)

    def fold(left: Any, right: Any) -> Any:
        folded = computation(*left, *right)
        return folded if isinstance(folded, tuple) else (folded,)

    def function(*operands: Any) -> Any:
        arrays = tuple(map(lax.convert_element_type, operands, (*elements, *accumulators)))
        reduced = lax.reduce(arrays[:count], arrays[count:], fold, dims)
        return tuple(reduced) if whole else reduced[0]

    return Kernel((inst.opcode, dims, whole, *takes, key), function)


RULES: Mapping[Opcode, Rule] = {Opcode.REDUCE: _reduce}
