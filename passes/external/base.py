"""What do all passes have in common whose rewriting we do not see?"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from hlo import HloModule
from hlo.canonical import structure
from passes.base import Exactness, Pass, Trace

REWRITE = "rewrite"


@dataclass(frozen=True)
class ExternalPass(Pass):
    """A pass that somebody else wrote. What it does is one rewrite to us: `rewrite`."""

    bitwise: bool = False
    """Hold it to every output bit. Otherwise floating-point rounding may differ."""

    idempotent: ClassVar[bool] = False  # nobody promised it
    rules: ClassVar[tuple[str, ...]] = (REWRITE,)

    def __post_init__(self) -> None:
        # A promise is the class's, but here an option decides it.
        object.__setattr__(self, "promise", Exactness.BITWISE if self.bitwise else Exactness.REASSOCIATES)


def take_over(module: HloModule, result: HloModule, trace: Trace) -> bool:
    """Make `module` what `result` is. Returns whether that changed anything."""
    if structure(result) == structure(module):
        return False
    module.assign(result)
    trace.fire(REWRITE)
    return True
