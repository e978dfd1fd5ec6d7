"""What does the shrinker end with? Programs that a person would have written to show the same thing."""

import random
from collections.abc import Callable

import pytest
from hypothesis import HealthCheck, Phase, find, settings

from fuzz.generators import Feature, Program, programs
from hlo import HloInstruction, Opcode
from hlo.canonical import structure
from hlo.interchange import read_text


def smallest(condition: Callable[[Program], object]) -> Program:
    return find(
        programs(),
        lambda program: bool(condition(program)),
        settings=settings(
            max_examples=20_000,
            database=None,
            deadline=None,
            phases=[Phase.generate, Phase.shrink],
            suppress_health_check=[HealthCheck.too_slow],
        ),
        random=random.Random(1),
    )


def instructions(program: Program) -> list[HloInstruction]:
    return [inst for computation in program.module.computations for inst in computation.instructions]


def size(program: Program) -> int:
    """Instructions outside parameters and constants."""
    return sum(i.opcode not in (Opcode.PARAMETER, Opcode.CONSTANT) for i in instructions(program))


def sliced_in_a_body(program: Program) -> bool:
    return any(i.opcode is Opcode.DYNAMIC_SLICE and not i.parent.is_entry for i in instructions(program))


def test_the_simplest_program_is_one_slice_of_a_parameter() -> None:
    program = smallest(lambda program: True)
    expected = read_text("""
        HloModule fuzz
        ENTRY main {
          p0 = s32[8] parameter(0)
          constant = s32[] constant(0)
          ROOT dynamic-slice = s32[1] dynamic-slice(p0, constant), dynamic_slice_sizes={1}
        }""")
    assert structure(program.module) == structure(expected)
    assert program.input_seed == 0
    assert not program.environment


def test_a_slice_in_a_body_is_left_with_nothing_but_its_call() -> None:
    program = smallest(sliced_in_a_body)
    assert size(program) == 6  # gte, slice, tuple; tuple, call, gte


def test_two_calls_of_one_body_are_left_with_one_slice() -> None:
    program = smallest(lambda p: Feature.CALLED_TWICE in p.features)
    assert size(program) <= 10
    assert sum(i.opcode is Opcode.CALL for i in instructions(program)) == 2
    assert sum(i.opcode is Opcode.DYNAMIC_SLICE for i in instructions(program)) == 1


def test_a_long_loop_is_no_longer_than_it_has_to_be() -> None:
    program = smallest(lambda p: sum(i.opcode is Opcode.DYNAMIC_SLICE for i in instructions(p)) >= 9)
    assert size(program) <= 10  # nine slices and the root


def test_decisions_shrink_each_by_itself() -> None:
    wanted = {Feature.KILL_SWITCH_ON, Feature.UNIQUE_OP_NAMES, Feature.CONVERTED_START}
    program = smallest(lambda p: wanted <= p.features)
    assert size(program) == 3  # there, back, slice
    assert program.features == wanted | {
        Feature.INLINE_LOOP,
        Feature.SINGLE_ITERATION,
        Feature.RANK_1,
        Feature.PARAMETER_SOURCE,
        Feature.ARRAY_ROOT,
    }


@pytest.mark.parametrize("feature", [Feature.NESTED_CALLS, Feature.PASSED_THROUGH, Feature.ROLLED_LOOP])
def test_a_feature_shrinks_to_a_program_to_read_at_a_glance(feature: Feature) -> None:
    assert size(smallest(lambda program: feature in program.features)) <= 16


@pytest.mark.slow
@pytest.mark.parametrize("feature", Feature)
def test_every_feature_does(feature: Feature) -> None:
    assert size(smallest(lambda program: feature in program.features)) <= 20
