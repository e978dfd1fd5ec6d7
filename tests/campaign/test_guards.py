"""Does the campaign find by itself what each guard is for, and shrink it to a program to read at a glance?"""

from dataclasses import replace

import pytest

from fuzz.campaign.plan import Programs
from fuzz.campaign.source import StopDrawing, for_each_program
from fuzz.campaign.worker import case_of
from fuzz.case import AnyCase, Case, verdict_text
from fuzz.generators.stablehlo import AnyDrawn
from fuzz.judging import judge_any
from fuzz.reduce import reduce_case, reduce_symbolic, working_instructions
from oracle.verdict import Disagree
from passes import DEFAULT_PIPELINE, Pipeline, parse_pipeline

GRAPHS = 2_000
WORKING = 12
SEED = 20
SLICES = parse_pipeline(DEFAULT_PIPELINE)
UNROLLER = parse_pipeline("neuron:1")
PADDER = parse_pipeline("dynamic-padder")
CONCAT = parse_pipeline("neuron-repeated-dus-to-concat")
TENSORIZER = parse_pipeline("canonicalize-for-tensorizer")
GUARDS = [
    *((SLICES, Programs.LOOPS, pass_.name, guard) for pass_ in SLICES.passes for guard in pass_.guards),
    (UNROLLER, Programs.WHILES, "while-loop-unroller", "no_wrap"),
    (UNROLLER, Programs.WHILES, "while-loop-unroller", "zero_trips"),
    *((PADDER, Programs.DYNAMIC, pass_.name, guard) for pass_ in PADDER.passes for guard in pass_.guards),
    (UNROLLER, Programs.WRONG_COUNTS, "while-loop-unroller", "check_known_trip_count"),
    (CONCAT, Programs.LOOPS, "neuron-repeated-dus-to-concat", "fresh_tokens"),
    (TENSORIZER, Programs.DYNAMIC, "canonicalize-for-tensorizer", "static_dims_only"),
    (TENSORIZER, Programs.SYMBOLIC, "canonicalize-for-tensorizer", "static_dims_only"),
]


def without(pipeline: Pipeline, pass_name: str, guard: str) -> Pipeline:
    return Pipeline(
        tuple(
            replace(pass_, **{guard: False}) if pass_.name == pass_name else pass_
            for pass_ in pipeline.passes
        )
    )


def verdict_of(case: AnyCase) -> str:
    # every finding here is one of the evaluator or of a contract: JAX would only cost time
    verdict = judge_any(case, use_jax=False).verdict
    return verdict_text(verdict) if isinstance(verdict, Disagree) else ""


def first_finding(
    pipeline: Pipeline, kind: Programs, *, seed: int = SEED, graphs: int = GRAPHS
) -> AnyCase | None:
    found: list[AnyCase] = []

    def visit(number: int, program: AnyDrawn) -> None:
        case = case_of(program, pipeline, {})
        if verdict_of(case):
            found.append(case)
            raise StopDrawing

    for_each_program(seed, 0, graphs, visit, kind)
    return found[0] if found else None


@pytest.mark.parametrize(
    ("pipeline", "kind", "pass_name", "guard"), GUARDS, ids=[f"{row[2]}-{row[3]}-{row[1]}" for row in GUARDS]
)
def test_a_guard_is_missed_and_the_program_that_misses_it_is_small(
    pipeline: Pipeline, kind: Programs, pass_name: str, guard: str
) -> None:
    case = first_finding(without(pipeline, pass_name, guard), kind)
    assert case is not None
    wanted = verdict_of(case)
    reduction = (
        reduce_case(case, lambda other: verdict_of(other) == wanted, seconds=60.0)
        if isinstance(case, Case)
        else reduce_symbolic(case, lambda other: verdict_of(other) == wanted, seconds=60.0)
    )
    assert working_instructions(reduction.case.module) <= WORKING


@pytest.mark.parametrize("kind", [Programs.DYNAMIC, Programs.SYMBOLIC])
@pytest.mark.parametrize("seed", range(1, 6))
def test_folding_the_size_of_a_dynamic_dimension_is_found_within_500_graphs(
    seed: int, kind: Programs
) -> None:
    # the source page calls this fold the trap
    folding = without(TENSORIZER, "canonicalize-for-tensorizer", "static_dims_only")
    assert first_finding(folding, kind, seed=seed, graphs=500) is not None
