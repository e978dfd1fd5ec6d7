"""How are `NeuronBoundaryMarker-Start` and `-End` removed? Both Neuron slice passes do it on the way.

Source: page 000, simplifier pass 2 and the mover's same idiom.
"""

from __future__ import annotations

from hlo import HloInstruction, HloModule, IllegalRewrite, Opcode
from passes.base import PassError, Trace

START = "NeuronBoundaryMarker-Start"
END = "NeuronBoundaryMarker-End"
MARKERS = (START, END)


def is_marker(inst: HloInstruction) -> bool:
    """Whether `inst` is one of the two marker custom-calls."""
    return inst.opcode is Opcode.CUSTOM_CALL and inst.custom_call_target in MARKERS


def strip_markers(module: HloModule, trace: Trace, *, pass_name: str, arity_message: str) -> bool:
    """Send every use of each marker to its operand and remove it. Returns whether there was one.

    Raises PassError where a marker has not exactly one operand (`arity_message` and the count) and where the
    marker's type differs from its operand's.
    """
    changed = False
    for computation in module.computations:
        for inst in computation.make_instruction_post_order():
            if not is_marker(inst):
                continue
            if len(inst.operands) != 1:
                raise PassError(pass_name, f"{arity_message}{len(inst.operands)}")
            try:
                computation.replace_all_uses_with(inst, inst.operand(0))
            except IllegalRewrite as error:
                raise PassError(
                    pass_name, f"Failed to replace uses of NeuronBoundaryMarker: {error.message}"
                ) from error
            computation.relay_control_dependencies(inst)
            computation.remove_instruction(inst)
            trace.fire("strip-marker")
            changed = True
    return changed
