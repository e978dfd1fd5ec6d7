"""How far does evaluation go, and in which ways does it stop short of a value?"""

from __future__ import annotations

from dataclasses import dataclass

from hlo.errors import HloFuzzError, UnsupportedOpcode
from hlo.primitive_type import PrimitiveType


@dataclass(frozen=True, slots=True)
class Limits:
    """What one evaluation may spend.

    `while_iterations` counts over all loops of the evaluation together; `elements` bounds the elements of any one
    array (and, with a factor of 64, the multiplications of one dot, and the steps of a window or of a sort);
    `instructions` counts every execution of an instruction, those of called computations included, but not those of
    computations that are applied to whole arrays of elements at once.
    """

    while_iterations: int = 10_000
    elements: int = 4_000_000
    instructions: int = 5_000_000


DEFAULT_LIMITS = Limits()

WORK_PER_ELEMENT = 64  # of `Limits.elements`: arrays of a size may take so many element operations to make


class EvaluationLimit(HloFuzzError):
    """An evaluation would spend more than `Limits` lets it. Not the program's fault.

    `kind` is the name of the field of `Limits`; `where` the instruction or computation that asked for more.
    """

    def __init__(self, kind: str, where: str) -> None:
        self.kind = kind
        self.where = where
        super().__init__(f"{where}: evaluation stopped at the limit of {kind.replace('_', ' ')}")


class UnsupportedType(UnsupportedOpcode):
    """There is a rule for the opcode, but not for this element type."""

    def __init__(self, opcode: str, element_type: PrimitiveType, where: str = "evaluator") -> None:
        self.element_type = element_type
        super().__init__(f"{opcode} on {element_type.text}", where)


class ForeignCustomCall(UnsupportedOpcode):
    """A custom-call whose meaning only its owner knows."""

    def __init__(self, target: str, where: str = "evaluator") -> None:
        self.target = target
        super().__init__(f"custom-call {target}", where)
