"""Does a program get to XLA's passes with the layouts that it means?

StableHLO has none, so that they are lost on the way: each array gets the default layout, and the result of a transpose
that of its operand with the dimensions permuted. Only a bitcast reads where in memory an element lies, and means
something else then.
"""

from __future__ import annotations

from hlo import HloInstruction, HloModule, Opcode
from hlo.interchange import import_proto
from hlo.isolation import ChildDied
from hlo.shape import layouts
from passes.xla.process import XlaRefused, warm_process
from passes.xla.wrapping import INLINER, Wrapped


def moved_bitcast(module: HloModule, origin: Wrapped, timeout: float) -> str:
    """Which bitcast of `module`, of which `origin` is made, reads other places in XLA, and why; empty where none does.

    Costs a request to XLA, within `timeout` seconds, where there is a bitcast. Raises BridgeUnavailable.
    """
    if not any(inst.opcode is Opcode.BITCAST for c in module.computations for inst in c.instructions):
        return ""
    try:
        arrived = import_proto(warm_process().run(origin.proto, (INLINER,), timeout).proto)
    except (XlaRefused, ChildDied):
        return ""  # so it will with passes, and that says whose fault it is
    for computation in arrived.computations:
        for inst in computation.instructions:
            original = origin.original_of(inst.metadata.op_name)
            if original is None or not original.opcode is inst.opcode is Opcode.BITCAST:
                continue
            if _layouts(inst) != _layouts(original):
                return f"{original.name}: layouts are lost in StableHLO, and this bitcast depends on them"
    return ""


def _layouts(bitcast: HloInstruction) -> tuple[object, object]:
    return layouts(bitcast.operand(0).shape), layouts(bitcast.shape)
