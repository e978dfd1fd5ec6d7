"""What is left of dynamic shapes once everything is padded, and where may it stay?

Source: `stock_passes.md` section 5.12 and `004_a2dddaa7cc47048c.txt`, step 5 of its checklist: for a back end that
runs on static arrays only. An array may be dynamic where it comes in (a parameter, and what takes it apart) and where
it goes out, between the bridges and nowhere else.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from hlo import HloInstruction, HloModule, Opcode
from hlo.evaluator import PAD_TO_STATIC, SLICE_TO_DYNAMIC
from passes.base import Pass, Trace
from passes.stock.dce import Dce
from passes.stock.dynamic_dimension_inference import DynamismRefused

_CARRIES = frozenset({Opcode.GET_TUPLE_ELEMENT, Opcode.PARAMETER, Opcode.TUPLE})


@dataclass(frozen=True)
class DynamicShapeRemovingVisitor(Pass):
    """Takes away bridges that lead to a dynamic array and straight back, and refuses dynamic arrays anywhere else."""

    name: ClassVar[str] = "dynamic-shape-removing-visitor"
    rules: ClassVar[tuple[str, ...]] = ("there-and-back",)

    def run(self, module: HloModule, trace: Trace) -> bool:
        """Raises DynamismRefused for an instruction that works on a dynamic array."""
        changed = False
        for computation in module.make_computation_post_order():
            for inst in computation.make_instruction_post_order():
                if inst.opcode is Opcode.GET_TUPLE_ELEMENT and (known := _known(inst)) is not None:
                    computation.replace_instruction(inst, known)
                    trace.fire("there-and-back")
                    changed = True
                else:
                    self._check(inst)
        if changed:
            Dce().run(module, Trace())
        return changed

    def _check(self, inst: HloInstruction) -> None:
        if inst.opcode in _CARRIES or _is_call_of(inst, PAD_TO_STATIC) or _is_call_of(inst, SLICE_TO_DYNAMIC):
            return
        for number, operand in enumerate(inst.operands):
            if not operand.shape.is_static:
                raise DynamismRefused(self.name, inst, f"its operand is {operand.shape}", operand=number)
        if not inst.shape.is_static:
            raise DynamismRefused(self.name, inst, f"it gives {inst.shape}")


def _known(part: HloInstruction) -> HloInstruction | None:
    """What an element of PadToStatic is, where that undoes a SliceToDynamic: the data, or a size.

    The data's padding then is what it was before, instead of anything: nothing may depend on it.
    """
    static = part.operand(0)
    if not _is_call_of(static, PAD_TO_STATIC) or not _is_call_of(static.operand(0), SLICE_TO_DYNAMIC):
        return None
    return static.operand(0).operand(part.tuple_index)


def _is_call_of(inst: HloInstruction, target: str) -> bool:
    return inst.opcode is Opcode.CUSTOM_CALL and inst.custom_call_target == target
