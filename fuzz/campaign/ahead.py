"""What do XLA's passes make of a graph, each alone? Asked in one request, before the judge comes to any of them.

A request for one pass costs a process some milliseconds; a request for many costs hardly more, because most passes
do nothing to most graphs, and those are found out together (`passes.xla.run_passes_each`).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from hlo import HloModule
from oracle.guarded import Crash, run_guarded
from passes import Pass, PassCrashed, Pipeline, Trace
from passes.xla import SPECIAL, Outcome, XlaPass, run_passes_each

_FEWEST = 2
"""Passes that are worth a common request."""


@dataclass(frozen=True)
class Performed:
    """A pass that has run on a module: running it on a copy of that module gives what it gave."""

    outcome: Outcome

    @property
    def did_nothing(self) -> bool:
        """Whether it left the module as it was, and neither refused nor crashed."""
        return self.outcome.error is None and not self.outcome.changed

    def __call__(self, pass_: Pass, module: HloModule, trace: Trace) -> bool | Crash:
        """Do to a copy what `pass_` would: an `oracle.judge.Runner`, good for one copy."""
        return run_guarded(_Stand(pass_, self.outcome), module, trace)


@dataclass(frozen=True)
class _Stand:
    """Runs as the pass did."""

    pass_: Pass
    outcome: Outcome

    def run(self, module: HloModule, trace: Trace) -> bool:
        if self.outcome.error is not None:
            raise self.outcome.error
        if self.outcome.result is None:
            return False
        module.assign(self.outcome.result)
        trace.fire(*self.pass_.rules)
        return True


def lone_xla_pass(pipeline: Pipeline) -> str | None:
    """The pass of XLA, by its name there, that is all of `pipeline`, as it comes; None for other pipelines."""
    match pipeline.passes:
        case (XlaPass() as pass_,) if pass_ == type(pass_)() and pass_.xla_name not in SPECIAL:
            return pass_.xla_name
        case _:
            return None


class Ahead:
    """Runs passes ahead. A pass that has taken XLA along once runs alone ever after: it would take the others along."""

    def __init__(self) -> None:
        self._fatal: set[str] = set()

    def run(self, module: HloModule, pipelines: Mapping[int, Pipeline]) -> dict[int, Performed]:
        """What each of `pipelines` that is a pass of XLA did to `module`, by number; none where there is but one."""
        names = {number: name for number, pipeline in pipelines.items() if (name := lone_xla_pass(pipeline))}
        if len(names) < _FEWEST:
            return {}
        outcomes = self._outcomes(module, [name for name in names.values() if name not in self._fatal])
        for name in self._fatal.intersection(names.values()):
            outcomes |= self._outcomes(module, [name])
        self._fatal |= {name for name, outcome in outcomes.items() if isinstance(outcome.error, PassCrashed)}
        return {number: Performed(outcomes[name]) for number, name in names.items()}

    @staticmethod
    def _outcomes(module: HloModule, names: Sequence[str]) -> dict[str, Outcome]:
        return dict(zip(names, run_passes_each(module, names), strict=True))
