"""Is anything still dynamic that the Tensorizer is about to get?

Source: `004_a2dddaa7cc47048c.txt`, "The Tensorizer rejection guard": the message is verbatim, and its `${0}` stands for
the tensor's name (`neuron_passes.md` section 7).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from hlo import HloModule, Opcode
from passes.base import Pass, PassError, Trace

MESSAGE = "Input tensor ${0} has dynamic shape"
"""As the compiler has it: `${0}` is where the name goes."""

_SIZES = frozenset({Opcode.GET_DIMENSION_SIZE, Opcode.SET_DIMENSION_SIZE, Opcode.DYNAMIC_RESHAPE})


class StillDynamic(PassError):
    """A tensor has a dynamic dimension, or an operation works on one, where none may."""

    def __init__(self, pass_name: str, instruction: str, opcode: str) -> None:
        self.instruction = instruction
        self.opcode = opcode
        super().__init__(pass_name, MESSAGE.replace("${0}", instruction))


@dataclass(frozen=True)
class TensorizerGuard(Pass):
    """Refuses a module in which any tensor still has a dynamic dimension; changes nothing."""

    name: ClassVar[str] = "tensorizer-guard"

    def run(self, module: HloModule, trace: Trace) -> bool:
        """Raises StillDynamic, naming the first such instruction of the first computation that has one."""
        for computation in module.make_computation_post_order():
            for inst in computation.make_instruction_post_order():
                if not inst.shape.is_static or inst.opcode in _SIZES:
                    raise StillDynamic(self.name, inst.name, inst.opcode)
        return False
