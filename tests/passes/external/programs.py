"""A program, and passes of a user's, for tests to name as `py:tests.passes.external.programs:…`."""

from dataclasses import dataclass
from typing import ClassVar

from hlo import HloModule, Opcode
from passes import Exactness, Pass, PassError, Trace

ADD = """HloModule m
ENTRY e {
  x = s32[2] parameter(0)
  y = s32[2] parameter(1)
  ROOT r = s32[2] add(x, y)
}
"""

NUMBER = 3


def add_to_subtract(module: HloModule) -> bool:
    """Make a subtract of each add of the entry."""
    entry = module.entry_computation
    adds = [inst for inst in entry.instructions if inst.opcode is Opcode.ADD]
    for inst in adds:
        entry.replace_instruction(inst, entry.add(Opcode.SUBTRACT, inst.shape, inst.operands))
    return bool(adds)


def quiet_add_to_subtract(module: HloModule) -> None:
    """The same, without saying so."""
    add_to_subtract(module)


def lying_add_to_subtract(module: HloModule) -> bool:
    """The same, denying it."""
    add_to_subtract(module)
    return False


class Rewriter:
    """A pass in a class."""

    @staticmethod
    def run(module: HloModule) -> bool:
        """Change nothing."""
        return False


def bytes_for_bytes(data: bytes) -> bytes:
    """Make an `and` of each `add`; the two are of one length, so that the proto stays one."""
    return data.replace(b"\x12\x03add", b"\x12\x03and")


def same(data: bytes) -> bytes:
    """Change nothing."""
    return data


def refuse(_module: HloModule) -> bool:
    """Refuse everything."""
    raise PassError("refuse", "no thanks")


def stumble(_module: HloModule) -> bool:
    """Fail by accident."""
    raise ZeroDivisionError("oops")


def babble(_argument: object) -> str:
    """Answer nonsense."""
    return "nonsense" * 100


def garble(_data: bytes) -> bytes:
    """Answer bytes that are no module."""
    return b"\xff\xff"


@dataclass(frozen=True)
class DropCopies(Pass):
    """A pass of somebody else's, written as ours are."""

    drop: bool = True

    name: ClassVar[str] = "drop-copies"
    promise: ClassVar[Exactness] = Exactness.BITWISE
    rules: ClassVar[tuple[str, ...]] = ("copy",)
    guards: ClassVar[tuple[str, ...]] = ("drop",)

    def run(self, module: HloModule, trace: Trace) -> bool:
        for inst in module.entry_computation.instructions:
            if inst.opcode is Opcode.ADD and not self.drop:
                trace.decline("drop")
        return False
