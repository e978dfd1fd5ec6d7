"""How is a case judged that is expected to get a certain verdict? All engines vote where the verdict is about them."""

from __future__ import annotations

from fuzz.case import Case
from oracle.checks.engines import CHECK
from oracle.engines import ENGINES
from oracle.judge import judge
from oracle.verdict import Judgement, Kind


def asks_engines(expect: str) -> bool:
    """Whether only a vote of all engines can come to this verdict."""
    return expect.startswith(f"disagree {CHECK}/{Kind.ENGINES.value} ")


def judge_case(case: Case, expect: str, *, use_jax: bool = True, voting: bool = False) -> Judgement:
    """Judge a case. `voting`: all engines vote on a finding about values, too."""
    asked = asks_engines(expect)
    return judge(
        case.module,
        case.pipeline,
        case.inputs,
        case.environment,
        use_jax=use_jax,
        engines=ENGINES if asked or voting else (),
        ask_engines=asked,
    )
