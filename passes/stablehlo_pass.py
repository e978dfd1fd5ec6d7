"""What is a pass over StableHLO, and how does it run on HLO, and on a program that cannot be HLO?"""

from __future__ import annotations

from abc import abstractmethod
from dataclasses import dataclass

from hlo import HloModule
from hlo.stablehlo import StableHloModule
from passes.base import Pass, Trace
from passes.xla import restored, wrapped

AnyProgram = HloModule | StableHloModule
"""A program in either form."""


@dataclass(frozen=True)
class StableHloPass(Pass):
    """A rewrite of a StableHLO program. On HLO it rewrites the program's StableHLO form, and comes back if it changed.

    On the way back jaxlib folds constants and drops what is dead (`hlo.stablehlo`), and tuples are flattened in
    calls; names, metadata and the entry's signature are as they were.
    """

    @abstractmethod
    def rewrite(self, program: StableHloModule, trace: Trace) -> bool:
        """Rewrite `program` in place. Returns whether anything changed. Raises PassError where upstream fails."""

    def run(self, module: HloModule, trace: Trace) -> bool:
        """Raises what `rewrite` raises, and InvalidInput for a module without a StableHLO form."""
        origin = wrapped(module, wrap=False, guard_calls=False)
        program = StableHloModule.from_proto(origin.proto)
        if not self.rewrite(program, trace):
            return False
        module.assign(restored(program.to_hlo(), module, origin))
        return True


def run_on_program(pass_: Pass, program: AnyProgram, trace: Trace) -> tuple[AnyProgram, bool]:
    """Run one pass on a program in either form. Returns what it became, and whether anything changed.

    A pass over StableHLO keeps the form; a pass over HLO makes HLO of a StableHLO program, which raises InvalidInput
    where a size is neither known nor bounded. `program` itself may be edited, or not.
    """
    if isinstance(program, StableHloModule):
        if isinstance(pass_, StableHloPass):
            return program, pass_.rewrite(program, trace)
        program = program.to_hlo()
    return program, pass_.run(program, trace)
