"""What does an instruction remember about where it came from?"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class OpMetadata:
    """The part of upstream's `OpMetadata` that passes read or write.

    `op_name` is channel 1 of the Neuron passes (`neuron_passes.md` section 2). The remaining fields (source file,
    lines, stack frame, …) ride along serialised in `carried`.
    """

    op_name: str = ""
    op_type: str = ""
    carried: bytes = b""

    def __bool__(self) -> bool:
        return bool(self.op_name or self.op_type or self.carried)


NO_METADATA = OpMetadata()
