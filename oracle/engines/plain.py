"""What of a module does an engine get to see? Only operations: no custom-call ever reaches one.

A custom-call's target may take raw pointers from the module. Those that do nothing to a value (the boundary markers
of the Neuron passes, sharding annotations) are taken out; any other makes the program one that engines do not do.
"""

from __future__ import annotations

from hlo import ArrayShape, HloModule, Opcode, leaves
from hlo.evaluator import is_identity
from hlo.verify import verify


class NotForEngines(Exception):
    """The program is not one that engines get; the message says why."""


def without_identities(module: HloModule) -> HloModule:
    """`module`, or a copy without the custom-calls that do nothing. Raises NotForEngines where there are others."""
    calls = [i for c in module.computations for i in c.instructions if i.opcode is Opcode.CUSTOM_CALL]
    for call in calls:
        if not is_identity(call):
            raise NotForEngines(f"custom-call {call.custom_call_target}")
    if not calls:
        return module
    copy, mapping = module.clone_with_mapping()
    for call in calls:
        twin = mapping[call]
        twin.parent.replace_instruction(twin, twin.operand(0))
    return copy


def without_fusions(module: HloModule) -> HloModule:
    """`module`, or a copy in which each fusion is a call: it means the same."""
    fusions = [i for c in module.computations for i in c.instructions if i.opcode is Opcode.FUSION]
    if not fusions:
        return module
    copy, mapping = module.clone_with_mapping()
    for fusion in (mapping[f] for f in fusions):
        called = fusion.called_computations
        call = fusion.parent.add(Opcode.CALL, fusion.shape, fusion.operands, called_computations=called)
        fusion.parent.replace_instruction(fusion, call)
    return copy


def refuse_foreign(module: HloModule) -> None:
    """Raises NotForEngines for a module that jaxlib, which trusts what it is given, may take the wrong way."""
    entry = module.entry_computation
    for border in (*entry.parameters, entry.root):
        for _, shape in leaves(border.shape):
            # XLA CPU has no PadToStatic for a dynamic parameter; of a dynamic result only the bounds would come back
            if not isinstance(shape, ArrayShape) or not shape.is_static:
                raise NotForEngines(f"{shape} as parameter or result")
    if violations := verify(module):
        raise NotForEngines(f"not valid HLO: {violations[0]}")


def without_bitcasts(module: HloModule) -> HloModule:
    """`module`, or a copy in which each bitcast of default layouts is a reshape or a bitcast-convert.

    It means the same. A bitcast is a compiler's own word: XLA knows it only behind layout assignment.
    """
    bitcasts = [
        i
        for c in module.computations
        for i in c.instructions
        if i.opcode is Opcode.BITCAST and not (i.array_shape.layout or i.operand(0).array_shape.layout)
    ]
    if not bitcasts:
        return module
    copy, mapping = module.clone_with_mapping()
    for twin in (mapping[bitcast] for bitcast in bitcasts):
        same_type = twin.array_shape.element_type is twin.operand(0).array_shape.element_type
        opcode = Opcode.RESHAPE if same_type else Opcode.BITCAST_CONVERT
        twin.parent.replace_instruction(twin, twin.parent.add(opcode, twin.shape, twin.operands))
    return copy
