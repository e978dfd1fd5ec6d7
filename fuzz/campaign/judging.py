"""How does a worker judge one graph? By one pipeline after the other, and what they share is worked out once."""

from __future__ import annotations

from collections.abc import Mapping

from fuzz.campaign.ahead import Ahead, Performed
from fuzz.case import AnyCase, Case, SymbolicCase, case_for
from fuzz.generators.stablehlo import AnyDrawn, SymbolicProgram
from oracle.guarded import run_guarded
from oracle.inputs import MIXED, draw_inputs
from oracle.judge import judge_original
from oracle.original import Original
from oracle.stopwatch import Stopwatch
from oracle.symbolic import draw_sized_inputs, judge_symbolic
from oracle.verdict import Judgement
from passes import Pipeline

INPUT_SETS = 3
"""Sets of inputs that each graph is judged with: one of each mode."""

REFERRED_SIZES = 1
"""Sets of sizes with which JAX meets each graph of dynamic arrays."""


def case_of(program: AnyDrawn, pipeline: Pipeline, environment: Mapping[str, str]) -> AnyCase:
    """The case that a drawn program is for a pipeline; `environment` overrides what was drawn."""
    if isinstance(program, SymbolicProgram):
        inputs, _ = draw_sized_inputs(
            program.module, program.input_seed, INPUT_SETS, MIXED, program.assignments
        )
    else:
        inputs = draw_inputs(program.module, program.input_seed, INPUT_SETS, MIXED)
    return case_for(program.module, pipeline, tuple(inputs), {**program.environment, **environment})


def judging_of(case: AnyCase, pipelines: Mapping[int, Pipeline]) -> Judging | SymbolicJudging:
    """How a case in either form is judged by several pipelines."""
    return Judging(case, pipelines) if isinstance(case, Case) else SymbolicJudging(case, pipelines)


class SymbolicJudging:
    """As `Judging`, for a program with unknown sizes. The pipelines have nothing in common."""

    def __init__(self, case: SymbolicCase, pipelines: Mapping[int, Pipeline]) -> None:
        self._case = case
        self._pipelines = pipelines

    def prepare(self, ahead: Ahead) -> Mapping[str, float]:
        """See `Judging.prepare`: no pass over StableHLO runs ahead."""
        return {}

    def judgement(self, number: int) -> Judgement:
        """What is to be said of the pipeline `number`."""
        case = self._case
        return judge_symbolic(case.module, self._pipelines[number], case.inputs, case.environment)


class Judging:
    """One graph on its way past `pipelines`, which have numbers; that of `case` does not matter."""

    def __init__(self, case: Case, pipelines: Mapping[int, Pipeline]) -> None:
        self._pipelines = pipelines
        self._environment = case.environment
        self._original = Original(case.module, case.inputs, most_referred=REFERRED_SIZES)
        self._performed: Mapping[int, Performed] = {}
        self._untouched: Judgement | None = None

    def prepare(self, ahead: Ahead) -> Mapping[str, float]:
        """Run what can be run at once, and judge the graph as it is. Returns seconds, by stage.

        May be left out: then each pass runs when it is its turn.
        """
        watch = Stopwatch()
        with watch.measure("passes"):
            self._performed = ahead.run(self._original.module, self._pipelines)
        if not any(performed.did_nothing for performed in self._performed.values()):
            return watch.seconds
        self._untouched = judge_original(self._original, Pipeline(), self._environment)
        return {**watch.seconds, **self._untouched.seconds}

    def judgement(self, number: int) -> Judgement:
        """What is to be said of the pipeline `number`. A pass that did nothing gets the verdict of no pass at all."""
        performed = self._performed.get(number)
        if performed is not None and performed.did_nothing:
            assert self._untouched is not None
            return Judgement(self._untouched.verdict)
        run = performed or run_guarded
        return judge_original(self._original, self._pipelines[number], self._environment, run=run)
