"""Is every program whose sizes make no sense said to be just that, and never right or a fault of a pass?"""

from collections import Counter

import numpy as np
import pytest

from fuzz.generators import Program, draw_sample
from fuzz.generators.draft import Draft
from fuzz.generators.dynamic import DynamicProfile, dynamics
from fuzz.generators.dynamic.graph import DynamicGraph
from fuzz.generators.dynamic.outside import size_outside
from hlo.evaluator import evaluate
from hlo.verify import verify
from oracle import Skip, SkipReason, draw_inputs, judge
from passes import parse_pipeline

PROFILE = DynamicProfile(refused=(False,), sizes_outside=True)
CLEAR = "is not in [0, "
BY = ("set-dimension-size", "dynamic-reshape", "custom-call")
"""What can give an array such a size."""


@pytest.fixture(scope="module")
def drawn() -> list[Program]:
    return draw_sample(dynamics(PROFILE), 90)


def test_the_programs_are_valid_and_say_what_they_are(drawn: list[Program]) -> None:
    for program in drawn:
        assert not verify(program.module)
        assert "size-outside" in program.features


@pytest.mark.parametrize("pipeline", ["dynamic", "dynamic-upstream"])
def test_every_such_program_is_skipped_with_the_size_and_its_bound(
    drawn: list[Program], pipeline: str
) -> None:
    passes = parse_pipeline(pipeline)
    reasons: Counter[SkipReason] = Counter()
    clear: Counter[str] = Counter()
    for program in drawn:
        inputs = draw_inputs(program.module, program.input_seed, 2)
        verdict = judge(program.module, passes, inputs, {}, use_jax=False).verdict
        assert isinstance(verdict, Skip), verdict
        reasons[verdict.reason] += 1
        clear.update(opcode for opcode in BY if CLEAR in verdict.detail and f"({opcode}" in verdict.detail)
    # the others leave all inputs without meaning before the size is asked for
    assert clear.total() > 0.9 * len(drawn)
    assert min(clear[opcode] for opcode in BY) > 5
    assert set(reasons) <= {
        SkipReason.SIZE_OUT_OF_BOUNDS,
        SkipReason.REFUSED,  # a constant shows before the program runs
        SkipReason.UNDEFINED_SIZES,
    }
    assert reasons[SkipReason.SIZE_OUT_OF_BOUNDS] > 15
    assert reasons[SkipReason.REFUSED] > 15


@pytest.mark.parametrize("beyond", [0, 200])
@pytest.mark.parametrize("given", [-(2**31), -1, 0, 2, 4, 5, 2**31 - 1])
def test_a_size_that_is_computed_is_outside_whatever_is_given(beyond: int, given: int) -> None:
    draft = Draft("outside")
    graph = DynamicGraph(draft, draft.entry)
    graph.read(bytes([beyond, 100]))  # of the ways the second
    draft.entry.computation.set_root(size_outside(graph, 4))
    assert len(draft.entry.computation.parameters) == 1
    size = evaluate(draft.module, [np.array(given, np.int32)])
    assert isinstance(size, np.ndarray)
    assert not 0 <= size.item() <= 4
    assert (size.item() > 4) == (beyond == 0)


def test_a_program_of_good_sizes_is_judged() -> None:
    """The other side of the fence: the same draws without the last operation."""
    passes = parse_pipeline("dynamic")
    skipped = 0
    for program in draw_sample(dynamics(DynamicProfile(refused=(False,))), 40):
        inputs = draw_inputs(program.module, program.input_seed, 2)
        verdict = judge(program.module, passes, inputs, {}, use_jax=False).verdict
        skipped += isinstance(verdict, Skip)
    assert skipped < 5
