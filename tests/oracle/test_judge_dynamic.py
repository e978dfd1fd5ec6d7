"""Does a finding say which layer failed, sizes or values, and is nothing said where sizes make no sense?"""

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
import pytest

from hlo import HloModule, Opcode
from hlo.interchange import read_text
from oracle import Agree, Disagree, Kind, Skip, SkipReason, draw_inputs, judge
from oracle.engines import NumpyEvaluator
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
