"""What do the fields that the IR does not model say, where a pass must ask?

`HloInstruction.carried` is a serialised `HloInstructionProto`; passes that upstream steers by such a field
read it here, and nothing else does.
"""

from __future__ import annotations

from functools import lru_cache

from hlo import HloInstruction
from hlo.interchange.schema import HloInstructionProto


def has_backend_config(inst: HloInstruction) -> bool:
    """Whether the instruction has a non-empty `backend_config`."""
    return bool(inst.carried) and _read(inst.carried)[0]


def sharding(inst: HloInstruction) -> bytes:
    """The serialised `OpSharding` of the instruction, empty where it has none; equal for equal shardings."""
    return _read(inst.carried)[1] if inst.carried else b""


@lru_cache(maxsize=1024)
def _read(carried: bytes) -> tuple[bool, bytes]:
    proto = HloInstructionProto.FromString(carried)
    sharding = proto.sharding.SerializeToString(deterministic=True) if proto.HasField("sharding") else b""
    return bool(proto.backend_config), sharding
