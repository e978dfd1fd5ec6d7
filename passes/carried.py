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


def backend_config(inst: HloInstruction) -> bytes:
    """The instruction's `backend_config`, empty where it has none."""
    return HloInstructionProto.FromString(inst.carried).backend_config if inst.carried else b""


def has_channel(inst: HloInstruction) -> bool:
    """Whether the instruction talks to other devices over a channel, by its `channel_id`, which is its own."""
    return bool(inst.carried) and HloInstructionProto.FromString(inst.carried).channel_id != 0


def only_sharding(carried: bytes) -> bytes:
    """`carried` without everything but the sharding: what an instruction of another opcode may take over."""
    proto = HloInstructionProto.FromString(carried)
    kept = HloInstructionProto()
    if proto.HasField("sharding"):
        kept.sharding.CopyFrom(proto.sharding)
    return kept.SerializeToString(deterministic=True)


def sharding(inst: HloInstruction) -> bytes | None:
    """The serialised `OpSharding` of the instruction (empty for "replicated"), None where it has none."""
    return _read(inst.carried)[1] if inst.carried else None


@lru_cache(maxsize=1024)
def _read(carried: bytes) -> tuple[bool, bytes | None]:
    proto = HloInstructionProto.FromString(carried)
    sharding = proto.sharding.SerializeToString(deterministic=True) if proto.HasField("sharding") else None
    return bool(proto.backend_config), sharding
