"""How does the slice mover find a clone's instruction in the original? By a temporary `instruction_id`.

Source: page 000 "Channel 2"; `neuron_passes.md` section 2: the id is a decimal in the instruction's frontend
attributes, and none is left when the mover returns.
"""

from __future__ import annotations

from hlo import HloInstruction, HloModule
from passes.neuron.tokens import parse_integer

KEY = "instruction_id"


def assign_unique_instruction_ids(module: HloModule) -> dict[int, HloInstruction]:
    """Give every instruction of `module` an id of its own. Returns where each id points."""
    by_id: dict[int, HloInstruction] = {}
    for computation in module.computations:
        for inst in computation.instructions:
            identifier = len(by_id)
            inst.frontend_attributes = {**inst.frontend_attributes, KEY: str(identifier)}
            by_id[identifier] = inst
    return by_id


def get_instruction_id(inst: HloInstruction) -> tuple[bool, int, str]:
    """(whether it has a valid int64 id, the id, otherwise the message upstream logs)."""
    text = inst.frontend_attributes.get(KEY)
    if text is None:
        return False, 0, f"Instruction has no ID attribute: {inst.name}"
    value, ok = parse_integer(text, 64)
    if not ok:
        return False, 0, f"Invalid instruction ID format for instruction: {inst.name}"
    return True, value, ""


def remove_instruction_ids(module: HloModule) -> bool:
    """Take every id off. Returns whether there was one."""
    changed = False
    for computation in module.computations:
        for inst in computation.instructions:
            if KEY in inst.frontend_attributes:
                rest = {key: value for key, value in inst.frontend_attributes.items() if key != KEY}
                inst.frontend_attributes = rest
                changed = True
    return changed
