"""Does a finding say which layer failed, sizes or values, and is nothing said where sizes make no sense?"""

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
import pytest

from hlo import HloModule, Opcode, Value
from hlo.interchange import read_text
from hlo.parameter_binding import NO_BINDING, DynamicDimension, DynamicSizeParameter
from oracle import Agree, Disagree, Kind, Skip, SkipReason, draw_inputs, judge
from oracle.engines import NumpyEvaluator
from oracle.judge import judge_original
from oracle.original import Original
from passes import Pass, Pipeline, Trace, parse_pipeline

PADDER = parse_pipeline("dynamic-padder")

SLICE_AND_SUM = """HloModule m
add { a = s32[] parameter(0)
 b = s32[] parameter(1)
 ROOT r = s32[] add(a, b) }
ENTRY main {
  x = s32[<=4] parameter(0)
  y = s32[4] parameter(1)
  n = s32[] parameter(2)
  five = s32[] constant(5)
  d = s32[<=4] set-dimension-size(y, n), dimensions={0}
  total = s32[] reduce(d, five), dimensions={0}, to_apply=add
  part = s32[<=2] slice(x), slice={[0:2]}
  ROOT r = (s32[], s32[<=2], s32[<=4]) tuple(total, part, d)
}"""


def subject() -> HloModule:
    return read_text(SLICE_AND_SUM)


def ints(*values: object) -> np.ndarray:
    return np.array(values, np.int32)


def number(value: int) -> np.ndarray:
    return np.array(value, np.int32)


def inputs(given: int = 3, size: int = 2) -> tuple[np.ndarray, ...]:
    return ints(*range(1, given + 1)), ints(1, 2, 3, 4), number(size)


@dataclass(frozen=True)
class Shrink(Pass):
    """Give the first set size one less."""

    name: ClassVar[str] = "shrink"

    def run(self, module: HloModule, trace: Trace) -> bool:
        for inst in module.entry_computation.instructions:
            if inst.opcode is Opcode.SET_DIMENSION_SIZE:
                one = inst.parent.add_constant(number(1))
                less = inst.parent.add(Opcode.SUBTRACT, one.shape, (inst.operand(1), one))
                inst.parent.replace_operand(inst, 1, less)
                return True
        return False


def verdict(text: str, *sets: tuple[np.ndarray, ...]):
    pipeline = PADDER if text == "" else parse_pipeline(text)
    return judge(subject(), pipeline, sets or (inputs(),), {}).verdict


def test_a_lowered_program_is_held_to_what_the_dynamic_one_means() -> None:
    # without JAX, which forgets the initial value where there is one element to reduce
    sets = [inputs(given, size) for given in range(5) for size in range(5)]
    assert judge(subject(), PADDER, sets, {}, use_jax=False).verdict == Agree()


@pytest.mark.parametrize("name", ["dynamic", "dynamic-upstream"])
def test_the_named_pipelines_keep_the_meaning(name: str) -> None:
    assert verdict(name, inputs(), inputs(4, 4), inputs(0, 0)) == Agree()


def test_sizes_that_differ_are_the_inference_and_come_before_values() -> None:
    # total is wrong as well, and comes first in the result
    finding = judge(subject(), Pipeline((Shrink(),)), [inputs()], {}, use_jax=False).verdict
    assert isinstance(finding, Disagree)
    assert (finding.finding.kind, finding.finding.pass_name) == (Kind.SIZE, "shrink")
    assert "of size [1], not of size [2]" in finding.finding.message


def test_a_size_beyond_the_bound_of_the_result_is_one_of_inference() -> None:
    found = verdict("dynamic-padder{slice_limit=false}")
    assert isinstance(found, Disagree)
    assert found.finding.kind is Kind.SIZE
    assert found.finding.inputs


def test_values_that_differ_where_sizes_agree_are_padding() -> None:
    found = verdict("dynamic-padder{reducer_identity=false}")
    assert isinstance(found, Disagree)
    assert found.finding.kind is Kind.VALUE
    assert "the padding holds NaNs and extremes" in found.finding.details
    assert any(line.startswith("confirmed: JAX") for line in found.finding.details)


def test_of_a_result_that_is_left_static_only_the_live_part_counts() -> None:
    assert verdict("dynamic-padder{slice_dynamic_output=false}") == Agree()


def test_nothing_is_said_of_sizes_out_of_bounds() -> None:
    found = verdict("", inputs(3, 9))
    assert isinstance(found, Skip)
    assert found.reason is SkipReason.SIZE_OUT_OF_BOUNDS
    assert found.detail == "d (set-dimension-size): size 9 of dimension 0 is not in [0, 4]"


NEEDS_AN_ELEMENT = """HloModule m
ENTRY main {
  x = s32[<=4] parameter(0)
  zero = s32[] constant(0)
  ROOT r = s32[1] dynamic-slice(x, zero), dynamic_slice_sizes={1}
}"""


def test_input_sets_that_leave_the_program_without_meaning_are_left_out() -> None:
    judgement = judge(read_text(NEEDS_AN_ELEMENT), PADDER, [(ints(),), (ints(7),)], {})
    assert judgement.verdict == Agree()
    assert any("left out: 1 sets of inputs" in line for line in judgement.messages)
    found = judge(read_text(NEEDS_AN_ELEMENT), PADDER, [(ints(),)], {}).verdict
    assert isinstance(found, Skip)
    assert found.reason is SkipReason.UNDEFINED_SIZES


def test_engines_vote_on_the_static_program() -> None:
    engines = (NumpyEvaluator(), NumpyEvaluator())
    judgement = judge(subject(), PADDER, [inputs()], {}, engines=engines, ask_engines=True)
    assert judgement.verdict == Agree()


def test_drawn_sizes_are_within_their_bounds_and_what_lies_beyond_is_poisoned() -> None:
    seen: set[tuple[int, int]] = set()
    poisoned = 0
    for seed in range(40):
        for count, (x, y, n) in enumerate(draw_inputs(subject(), seed, 3)):
            assert isinstance(x, np.ndarray)
            assert isinstance(y, np.ndarray)
            assert isinstance(n, np.ndarray)
            size = int(n)
            seen.add((len(x), size))
            limits = np.iinfo(np.int32)
            tail = set(y[size:].tolist())
            poisoned += bool(tail) and count % 2 == 0
            assert count % 2 or tail <= {limits.max, limits.min}
    assert {a for a, _ in seen} == {b for _, b in seen} == {0, 1, 2, 3, 4}
    assert poisoned > 20


def test_the_first_input_set_has_no_empty_parameter() -> None:
    assert all(len(draw_inputs(subject(), seed, 1)[0][0]) for seed in range(30))  # pyright: ignore[reportArgumentType]


BOUND = """HloModule m
add { a = s32[] parameter(0)
 b = s32[] parameter(1)
 ROOT r = s32[] add(a, b) }
ENTRY main {
  y = s32[6] parameter(0)
  n = s32[] parameter(1)
  zero = s32[] constant(0)
  sum = s32[] reduce(y, zero), dimensions={0}, to_apply=add
  z = (s32[5], s32[]) parameter(2)
  part = s32[5] get-tuple-element(z), index=0
  other = s32[] reduce(part, zero), dimensions={0}, to_apply=add
  ROOT r = (s32[], s32[]) tuple(sum, other)
}"""


def bound() -> HloModule:
    """Two sums, of as many elements as are counted beside each array."""
    module = read_text(BOUND)
    binding = module.dynamic_parameter_binding.bind(DynamicSizeParameter(1), DynamicDimension(0, (), 0))
    binding = binding.bind(DynamicSizeParameter(2, (1,)), DynamicDimension(2, (0,), 0))
    module.dynamic_parameter_binding = binding
    return module


def test_a_parameter_that_is_the_size_of_another_is_drawn_as_a_size() -> None:
    seen: tuple[set[int], set[int]] = set(), set()
    poisoned = 0
    for seed in range(40):
        for number_of_set, (y, n, z) in enumerate(draw_inputs(bound(), seed, 3)):
            assert isinstance(y, np.ndarray)
            assert isinstance(n, np.ndarray)
            assert isinstance(z, tuple)
            size, other = int(n), int(z[1])  # pyright: ignore[reportArgumentType]
            seen[0].add(size)
            seen[1].add(other)
            assert y.shape == (6,)
            tail = set(y[size:].tolist())
            poisoned += number_of_set % 2 == 0 and bool(tail) and tail <= {2**31 - 1, -(2**31)}
    assert seen == ({0, 1, 2, 5, 6}, {0, 1, 2, 4, 5})
    assert poisoned > 20


def test_a_parameter_to_which_an_array_is_cut_is_drawn_as_a_size() -> None:
    module = read_text(
        """HloModule m
        ENTRY main { x = s32[6] parameter(0)
                     n = s32[] parameter(1)
                     ROOT d = s32[<=6] custom-call(x, n), custom_call_target="SliceToDynamic" }"""
    )
    drawn = [int(one[1]) for seed in range(30) for one in draw_inputs(module, seed, 3)]  # pyright: ignore[reportArgumentType]
    assert set(drawn) == {0, 1, 2, 5, 6}


@pytest.mark.parametrize("pipeline", ["dynamic", "dynamic-upstream", "dynamic-padder"])
def test_programs_of_bound_parameters_are_judged(pipeline: str) -> None:
    module = bound()
    judgement = judge(module, parse_pipeline(pipeline), draw_inputs(module, 3, 6), {})
    assert judgement.verdict == Agree()
    assert sum(count for rule, count in judgement.fired.items() if rule.endswith(":bound")) == 2


def test_a_bound_size_that_is_forgotten_is_seen() -> None:
    @dataclass(frozen=True)
    class Forget(Pass):
        """Drop the binding."""

        name: ClassVar[str] = "forget"

        def run(self, module: HloModule, trace: Trace) -> bool:
            module.dynamic_parameter_binding = NO_BINDING
            return True

    module = bound()
    verdict = judge(module, Pipeline((Forget(),)), draw_inputs(module, 3, 6), {}, use_jax=False).verdict
    assert isinstance(verdict, Disagree)
    assert verdict.finding.kind is Kind.VALUE


def test_jax_meets_every_set_of_sizes_unless_told_to_meet_fewer() -> None:
    sets = [inputs(given, size) for given in range(5) for size in range(5)]
    assert list(Original(subject(), sets).referred) == list(range(25))
    few = Original(subject(), sets, most_referred=2)
    assert len(set(few.referred)) == 2
    assert set(few.referred) <= set(range(25))
    assert few.referred == Original(subject(), sets, most_referred=2).referred
    firsts = {Original(subject(), [one, *sets], most_referred=1).referred[0] for one in sets}
    assert len(firsts) > 5


def test_a_static_program_meets_jax_with_all_inputs() -> None:
    module = read_text("HloModule m\nENTRY e {\n x = s32[4] parameter(0)\n ROOT y = s32[4] negate(x)\n}")
    sets = [(ints(*range(first, first + 4)),) for first in range(6)]
    assert list(Original(module, sets, most_referred=1).referred) == list(range(6))


def test_jax_is_asked_for_the_sets_that_it_is_to_meet_only(monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[int] = []
    expected = Original.expected

    def noting(self: Original, number: int) -> Value:
        asked.append(number)
        return expected(self, number)

    monkeypatch.setattr(Original, "expected", noting)
    original = Original(subject(), [inputs(given) for given in range(1, 5)], most_referred=1)
    assert judge_original(original, PADDER, {}).verdict == Agree()
    assert asked == list(original.referred)
