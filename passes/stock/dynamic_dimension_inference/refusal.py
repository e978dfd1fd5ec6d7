"""In which words does a pass over dynamic dimensions refuse a program?"""

from __future__ import annotations

from hlo import HloInstruction
from passes.base import PassError


class DynamismRefused(PassError):
    """A dynamic dimension reaches an instruction that cannot be handled, or only wrongly.

    `operand` is the number of the operand that has it, `dimension` the dimension of that operand; None where it is
    not a matter of one.
    """

    def __init__(
        self,
        pass_name: str,
        inst: HloInstruction,
        reason: str,
        *,
        operand: int | None = None,
        dimension: int | None = None,
    ) -> None:
        self.instruction = inst.name
        self.opcode = inst.opcode
        self.operand = operand
        self.dimension = dimension
        place = "" if operand is None else f", operand {operand}"
        place += "" if dimension is None else f", dimension {dimension}"
        super().__init__(pass_name, f"{inst.name} ({inst.opcode}{place}): {reason}")
