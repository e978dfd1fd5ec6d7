"""Engines made up for the purpose are asked about programs that all checks passed."""

import numpy as np

from hlo import HloModule
from hlo.interchange import read_text
from oracle.engines import Crashed, Lineage, NumpyEvaluator, Outcome, Ran
from oracle.judge import judge
from oracle.verdict import Agree, Disagree, Kind, Verdict
from passes import Pipeline

NEGATE = read_text("HloModule m\nENTRY main {\n  x = s32[2] parameter(0)\n  ROOT r = s32[2] negate(x)\n}\n")
SLICE = """HloModule m
ENTRY main {
  x = s32[2] parameter(0)
  start = u8[] constant(START)
  ROOT r = s32[1] dynamic-slice(x, start), dynamic_slice_sizes={1}
}"""


class Says:
    """An engine that always gives the same."""

    lineage = Lineage.XLA

    def __init__(self, name: str, outcome: Outcome) -> None:
        self.name = name
        self.outcome = outcome

    def run(self, module: HloModule, inputs) -> Outcome:
        return self.outcome


RIGHT, WRONG = (Ran(np.array(numbers, np.int32)) for numbers in ([-1, -2], [1, 2]))


def asked(*outcomes: Outcome, module: HloModule = NEGATE, ask: bool = True) -> Verdict:
    engines = [NumpyEvaluator(), *(Says(f"engine{i}", outcome) for i, outcome in enumerate(outcomes))]
    inputs = [(np.array([1, 2], np.int32),)]
    return judge(module, Pipeline(), inputs, {}, use_jax=False, engines=engines, ask_engines=ask).verdict


def test_engines_that_agree_with_us_leave_the_verdict_alone() -> None:
    assert asked(RIGHT, RIGHT) == Agree()


def test_an_engine_that_sees_the_original_differently_is_a_finding_that_names_it_and_no_pass() -> None:
    verdict = asked(RIGHT, WRONG)
    assert isinstance(verdict, Disagree)
    finding = verdict.finding
    assert finding.identity == ("vote", Kind.ENGINES, "engine1")
    assert finding.pass_index == -1
    assert (
        finding.message
        == "engine1 sees the original differently: result[0] is s32 1, not s32 -1; 2 of 2 differ"
    )
    assert finding.details[0] == "agree: evaluator, engine0"


def test_an_engine_that_crashes_is_such_a_finding_too() -> None:
    verdict = asked(RIGHT, Crashed("signal 6"))
    assert isinstance(verdict, Disagree)
    assert verdict.finding.message == "engine1 sees the original differently: signal 6"


def test_engines_vote_where_they_are_asked_only() -> None:
    assert asked(WRONG, ask=False) == Agree()


def test_no_vote_is_taken_on_starts_that_foreign_engines_are_known_to_misread() -> None:
    wrong = Ran(np.array([7], np.int32))
    assert asked(wrong, module=read_text(SLICE.replace("START", "200"))) == Agree()
    assert isinstance(asked(wrong, module=read_text(SLICE.replace("START", "100"))), Disagree)
