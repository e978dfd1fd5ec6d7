"""How is a case judged that is expected to get a certain verdict? All engines vote where the verdict is about them."""

from __future__ import annotations

from collections.abc import Sequence

from fuzz.case import AnyCase, Case
from hlo import HloModule, Value
from oracle.checks.engines import CHECK
from oracle.engine import Engine
from oracle.engines import ENGINES
from oracle.judge import judge
from oracle.symbolic import assignment_of, judge_symbolic, specialise
from oracle.verdict import Judgement, Kind


def asks_engines(expect: str) -> bool:
    """Whether only a vote of all engines can come to this verdict."""
    return expect.startswith(f"disagree {CHECK}/{Kind.ENGINES.value} ")


def judge_case(case: AnyCase, expect: str, *, use_jax: bool = True, voting: bool = False) -> Judgement:
    """Judge a case. `voting`: all engines vote on a finding about values, too."""
    asked = asks_engines(expect)
    return judge_any(case, use_jax=use_jax, engines=ENGINES if asked or voting else (), ask_engines=asked)


def static_form(case: AnyCase, inputs: tuple[Value, ...]) -> HloModule:
    """The program of a case as HLO: with unknown sizes, that for the sizes of `inputs`."""
    if isinstance(case, Case):
        return case.module
    return specialise(case.module, assignment_of(case.module, inputs))


def judge_any(
    case: AnyCase, *, use_jax: bool = True, engines: Sequence[Engine] = (), ask_engines: bool = False
) -> Judgement:
    """Judge a case by the judge of its form (`oracle.judge.judge`, `oracle.symbolic.judge_symbolic`)."""
    if isinstance(case, Case):
        return judge(
            case.module,
            case.pipeline,
            case.inputs,
            case.environment,
            use_jax=use_jax,
            engines=engines,
            ask_engines=ask_engines,
        )
    return judge_symbolic(
        case.module,
        case.pipeline,
        case.inputs,
        case.environment,
        use_jax=use_jax,
        engines=engines,
        ask_engines=ask_engines,
    )
