"""The child processes of a campaign, with passes that no registry has: run as a script by the tests beside it."""

import os
import sys
import time
from dataclasses import dataclass
from typing import ClassVar

import fuzz.campaign.reducer
import fuzz.campaign.worker
import fuzz.isolate
import passes.registry
from hlo import HloModule, Opcode
from passes import Pass, Trace


@dataclass(frozen=True)
class Exits(Pass):
    """Ends the process where the module has a given number of instructions."""

    instructions: int = 0
    name: ClassVar[str] = "test-exits"

    def run(self, module: HloModule, trace: Trace) -> bool:
        if module.instruction_count == self.instructions:
            os._exit(7)
        return False


@dataclass(frozen=True)
class Sleeps(Pass):
    """Never comes back where the module has a given number of instructions."""

    instructions: int = 0
    name: ClassVar[str] = "test-sleeps"

    def run(self, module: HloModule, trace: Trace) -> bool:
        while module.instruction_count == self.instructions:
            time.sleep(0.01)
        return False


@dataclass(frozen=True)
class DropsUpdates(Pass):
    """Replaces a dynamic-update-slice by what it updates."""

    name: ClassVar[str] = "test-drops-updates"
    rules: ClassVar[tuple[str, ...]] = ("drop",)

    def run(self, module: HloModule, trace: Trace) -> bool:
        for computation in module.computations:
            for inst in computation.instructions:
                if inst.opcode is Opcode.DYNAMIC_UPDATE_SLICE:
                    computation.replace_instruction(inst, inst.operand(0))
                    trace.fire("drop")
        return bool(trace.fired)


@dataclass(frozen=True)
class HarnessFault(Pass):
    """Has a rule that the statistics cannot count: an error of ours, not of a pass."""

    name: ClassVar[str] = "test-harness-fault"

    def run(self, module: HloModule, trace: Trace) -> bool:
        trace.fired = None  # type: ignore[assignment]
        return False


PASSES = {pass_.name: pass_ for pass_ in (Exits, Sleeps, DropsUpdates, HarnessFault)}
ROLES = {
    "worker": fuzz.campaign.worker.main,
    "reducer": fuzz.campaign.reducer.main,
    "judge": fuzz.isolate.main,
}

if __name__ == "__main__":
    passes.registry.PASSES = {**passes.registry.PASSES, **PASSES}
    script, role = sys.argv[:2]
    fuzz.isolate.COMMAND = (sys.executable, script, "judge")
    del sys.argv[1]
    ROLES[role]()
