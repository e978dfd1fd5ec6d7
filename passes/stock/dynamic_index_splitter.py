"""Which slices get their start indices in one array, and how does each index become a scalar of its own?

Source: `stock_passes.md` section 6.1 (DynamicIndexSplitter). Each scalar is clamped on its own, before as after.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from hlo import HloInstruction, HloModule, Opcode
from hlo.builder import Builder
from passes.base import Pass, Trace


@dataclass(frozen=True)
class DynamicIndexSplitter(Pass):
    """Gives dynamic-slices and dynamic-update-slices one scalar start index for each dimension.

    A slice of a scalar is the scalar, and an update of one is the update. What is inside fusions stays as it is.
    """

    name: ClassVar[str] = "dynamic-index-splitter"
    rules: ClassVar[tuple[str, ...]] = ("split", "scalar-operand")

    def run(self, module: HloModule, trace: Trace) -> bool:
        """Rewrite every slice outside fusions."""
        changed = False
        fused = {
            callee
            for computation in module.computations
            for inst in computation.instructions
            if inst.opcode is Opcode.FUSION
            for callee in inst.called_computations
        }
        for computation in module.make_computation_post_order():
            if computation in fused:
                continue
            for inst in computation.make_instruction_post_order():
                if inst.opcode in (Opcode.DYNAMIC_SLICE, Opcode.DYNAMIC_UPDATE_SLICE):
                    changed |= _split(inst, trace)
        return changed


def _split(inst: HloInstruction, trace: Trace) -> bool:
    computation, first = inst.parent, inst.first_index_operand
    if inst.operand(0).array_shape.is_scalar:
        computation.replace_instruction(inst, inst.operand(first - 1))
        trace.fire("scalar-operand")
        return True
    vector = inst.operand(first)
    if vector.array_shape.is_scalar:
        return False
    builder = Builder(computation)
    starts: list[HloInstruction] = []
    for dimension in range(inst.operand(0).array_shape.rank):
        one = builder.slice_(vector, (dimension,), (dimension + 1,))
        starts.append(builder.reshape(one, ()))
    new = computation.add_clone(inst, (*inst.operands[:first], *starts))
    computation.replace_instruction(inst, new)
    trace.fire("split")
    return True
