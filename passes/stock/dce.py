"""Which instructions and computations can nobody notice? Dead code elimination.

Source: `stock_passes.md` section 9 (HloDCE). Not done here: trimming fusions (unused outputs and parameters),
and removing unused parameters of called computations, which upstream does on request only.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from hlo import HloComputation, HloInstruction, HloModule, Opcode
from passes.base import Pass, Trace

SHARDING_TARGET = "Sharding"
KEEP_LOOP = "xla_disable_while_loop_dce"
"""The frontend attribute by which a while says "true" to being kept."""


@dataclass(frozen=True)
class Dce(Pass):
    """Removes instructions without users or effects, and computations that the entry cannot reach."""

    name: ClassVar[str] = "dce"
    rules: ClassVar[tuple[str, ...]] = ("dead-instruction", "dead-computation")

    def run(self, module: HloModule, trace: Trace) -> bool:
        """Control predecessors of what goes are relayed to its control successors."""
        changed = False
        # A removal can free another instruction that was looked at before: a `Sharding` custom-call stays
        # only while its operand has other users.
        while _sweep(module, trace):
            changed = True
        before = len(module.computations)
        if module.remove_unused_computations():
            trace.fired["dead-computation"] += before - len(module.computations)
            changed = True
        return changed


def _sweep(module: HloModule, trace: Trace) -> bool:
    changed = False
    for computation in module.make_computation_post_order():
        # users before operands, so that an operand is looked at after its last user went
        for inst in reversed(computation.make_instruction_post_order()):
            if _is_removable(computation, inst):
                computation.relay_control_dependencies(inst)
                computation.remove_instruction(inst)
                trace.fire("dead-instruction")
                changed = True
    return changed


def _is_removable(computation: HloComputation, inst: HloInstruction) -> bool:
    if inst.use_count or inst is computation.root or inst.opcode is Opcode.PARAMETER:
        return False
    if inst.opcode is Opcode.WHILE and inst.frontend_attributes.get(KEEP_LOOP) == "true":
        return False
    return not inst.has_side_effect and not _is_sharding_annotation_in_use(inst)


def _is_sharding_annotation_in_use(inst: HloInstruction) -> bool:
    """Whether `inst` says how a value that lives on is sharded: then it is kept although nothing reads it."""
    if inst.opcode is not Opcode.CUSTOM_CALL or inst.custom_call_target != SHARDING_TARGET:
        return False
    operand = inst.operand(0)
    return operand.is_root or operand.opcode is Opcode.PARAMETER or len(operand.users) != 1
