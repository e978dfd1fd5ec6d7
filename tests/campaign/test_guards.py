"""Does the campaign find by itself what each guard is for, and shrink it to a program to read at a glance?"""

from dataclasses import replace

import pytest

from fuzz.campaign.source import StopDrawing, for_each_program
from fuzz.campaign.worker import case_of
from fuzz.case import Case, verdict_text
from fuzz.generators import Program
from fuzz.reduce import reduce_case, working_instructions
from oracle.judge import judge
from oracle.verdict import Disagree
from passes import DEFAULT_PIPELINE, Pipeline, parse_pipeline

GRAPHS = 2_000
WORKING = 12
SEED = 20
PIPELINE = parse_pipeline(DEFAULT_PIPELINE)
GUARDS = [(pass_.name, guard) for pass_ in PIPELINE.passes for guard in pass_.guards]


def without(pass_name: str, guard: str) -> Pipeline:
    return Pipeline(
        tuple(
            replace(pass_, **{guard: False}) if pass_.name == pass_name else pass_
            for pass_ in PIPELINE.passes
        )
    )


def verdict_of(case: Case) -> str:
    # every finding here is one of the evaluator or of a contract: JAX would only cost time
    verdict = judge(case.module, case.pipeline, case.inputs, case.environment, use_jax=False).verdict
    return verdict_text(verdict) if isinstance(verdict, Disagree) else ""


def first_finding(pipeline: Pipeline) -> Case | None:
    found: list[Case] = []

    def visit(number: int, program: Program) -> None:
        case = case_of(program, pipeline, {})
        if verdict_of(case):
            found.append(case)
            raise StopDrawing

    for_each_program(SEED, 0, GRAPHS, visit)
    return found[0] if found else None


@pytest.mark.parametrize(("pass_name", "guard"), GUARDS)
def test_a_guard_is_missed_and_the_program_that_misses_it_is_small(pass_name: str, guard: str) -> None:
    case = first_finding(without(pass_name, guard))
    assert case is not None
    wanted = verdict_of(case)
    small = reduce_case(case, lambda other: verdict_of(other) == wanted, seconds=60.0).case
    assert working_instructions(small.module) <= WORKING
