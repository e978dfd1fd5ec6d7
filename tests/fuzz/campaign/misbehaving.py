"""The child processes of a campaign, with passes that no registry has: run as a script by the tests beside it."""

import os
import sys
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar

import fuzz.campaign.reducer
import fuzz.campaign.worker
import fuzz.isolate
import fuzz.judging
import passes.registry
from fuzz.campaign import Programs
from fuzz.generators import Program
from hlo import HloModule, Opcode, Value
from oracle.engines import Crashed, Lineage, NumpyEvaluator, Outcome, Unsupported
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
        del trace.fired
        return False


def dying_worker() -> None:
    """A worker that ends between two graphs, as often as the arguments say; a file holds how often it did."""
    marker, times = Path(sys.argv[1]), int(sys.argv[2])
    draw = fuzz.campaign.worker.for_each_program

    def draw_and_die(
        seed: int, batch: int, size: int, visit: Callable[[int, Program], None], kind: Programs
    ) -> None:
        def visit_and_die(number: int, program: Program) -> None:
            visit(number, program)
            deaths = len(marker.read_text()) if marker.exists() else 0
            if number == 5 and deaths < times:
                marker.write_text("x" * (deaths + 1))
                os._exit(9)

        draw(seed, batch, size, visit_and_die, kind)

    fuzz.campaign.worker.for_each_program = draw_and_die
    fuzz.campaign.worker.main()


class Contrary:
    """An engine that gets everything wrong that adds."""

    name = "contrary"
    lineage = Lineage.XLA

    def run(self, module: HloModule, inputs: Sequence[Value]) -> Outcome:
        opcodes = {inst.opcode for computation in module.computations for inst in computation.instructions}
        return Crashed("it adds") if Opcode.ADD in opcodes else Unsupported("it does not add")


def with_contrary_engine(main: Callable[[], None]) -> Callable[[], None]:
    """A process in which few engines vote, one of which is wrong."""

    def run() -> None:
        for module in (fuzz.campaign.worker, fuzz.judging):
            vars(module)["ENGINES"] = (NumpyEvaluator(), Contrary())
        main()

    return run


PASSES = {pass_.name: pass_ for pass_ in (Exits, Sleeps, DropsUpdates, HarnessFault)}
ROLES = {
    "dying-worker": dying_worker,
    "worker": fuzz.campaign.worker.main,
    "reducer": fuzz.campaign.reducer.main,
    "contrary-worker": with_contrary_engine(fuzz.campaign.worker.main),
    "contrary-reducer": with_contrary_engine(fuzz.campaign.reducer.main),
    "judge": fuzz.isolate.main,
}

if __name__ == "__main__":
    passes.registry.PASSES = {**passes.registry.PASSES, **PASSES}
    script, role = sys.argv[:2]
    fuzz.isolate.COMMAND = (sys.executable, script, "judge")
    del sys.argv[1]
    ROLES[role]()
