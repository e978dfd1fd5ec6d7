"""Do sizes at run time shrink like everything else, and does a program stay dynamic only where it must?"""

import numpy as np
import pytest

from fuzz.case import Case, verdict_text
from fuzz.reduce import reduce_case
from fuzz.reduce.dimensions import smaller_dimensions
from fuzz.reduce.editing import Transformation
from fuzz.reduce.instructions import simpler_instructions
from fuzz.reduce.sizes import clip_sizes, flag_again, is_flagged_as_inferred, smaller_sizes
from hlo import HloModule, IllegalRewrite
from hlo.interchange import read_text
from oracle.judge import judge
from oracle.verdict import Disagree
from passes import parse_pipeline


def ints(*values: object) -> np.ndarray:
    return np.array(values, np.int32)


TWO = read_text("""HloModule m
ENTRY main {
  x = s32[<=8] parameter(0)
  y = s32[<=8] parameter(1)
  ROOT r = s32[<=8] add(x, y)
}""")
SET = read_text("""HloModule m
ENTRY main {
  x = s32[6] parameter(0)
  n = s32[] parameter(1)
  d = s32[<=6] set-dimension-size(x, n), dimensions={0}
  ROOT r = s32[<=6] negate(d)
}""")


def case_of(module: HloModule, *inputs: np.ndarray, passes: str = "dynamic-padder") -> Case:
    return Case(module, parse_pipeline(passes), (inputs,), {})


def made_by(transformation: Transformation, case: Case) -> list[Case]:
    return [made for candidate in transformation(case) if (made := candidate()) is not None]


def arrays(case: Case) -> list[np.ndarray]:
    return [value for value in case.inputs[0] if isinstance(value, np.ndarray)]


def test_one_size_or_all_equal_ones_shrink() -> None:
    case = case_of(TWO, ints(1, 2, 3), ints(4, 5, 6))
    sizes = {tuple(map(len, arrays(made))) for made in made_by(smaller_sizes, case)}
    assert {(0, 0), (2, 2), (2, 3), (3, 2), (1, 1)} <= sizes


def test_a_full_array_becomes_static_and_what_is_made_of_it_too() -> None:
    case = case_of(TWO, ints(*range(8)), ints(*range(8)))
    first = made_by(smaller_sizes, case)[-1]
    assert str(first.module.entry_computation.root.shape) == "s32[<=8]"  # the other one is dynamic still
    second = made_by(smaller_sizes, first)[-1]
    assert str(second.module.entry_computation.root.shape) == "s32[8]"


def test_sizes_that_are_set_shrink_with_their_bound() -> None:
    case = case_of(SET, ints(*range(6)), np.array(5, np.int32))
    sizes = {(len(made[0]), int(made[1])) for made in map(arrays, made_by(smaller_dimensions, case))}
    assert (3, 3) in sizes
    assert (5, 5) in sizes
    assert clip_sizes(case).inputs[0][1] == 5


def test_what_a_size_was_set_of_may_stand_for_it() -> None:
    case = case_of(SET, ints(*range(6)), np.array(5, np.int32))
    texts: set[tuple[str, ...]] = set()
    for candidate in simpler_instructions(case):
        try:
            made = candidate()
        except IllegalRewrite:
            continue  # a constant as large as at run time
        if made is not None and is_flagged_as_inferred(made.module):
            root = made.module.entry_computation.root
            texts.add((str(root.opcode), str(root.shape), *[str(o.shape) for o in root.operands]))
    assert ("negate", "s32[6]", "s32[6]") in texts
    assert ("negate", "s32[<=6]", "s32[<=6]") in texts  # of a new parameter
    assert ("parameter", "s32[<=6]") in texts


def test_a_dynamic_dimension_out_of_nowhere_is_seen() -> None:
    module = SET.clone()
    assert is_flagged_as_inferred(module)
    root = module.entry_computation.root
    root.parent.replace_operand(root, 0, module.entry_computation.parameters[0], accept_different_shape=True)
    assert not is_flagged_as_inferred(module)
    flag_again(module)
    assert is_flagged_as_inferred(module)
    assert str(root.shape) == "s32[6]"


LARGE = read_text("""HloModule m
ENTRY main {
  x = s32[3,8] parameter(0)
  n = s32[] parameter(1)
  y = s32[<=8] parameter(2)
  zero = s32[] constant(0)
  d = s32[3,<=8] set-dimension-size(x, n), dimensions={1}
  t = s32[<=8,3] transpose(d), dimensions={1,0}
  cut = s32[<=3,3] slice(t), slice={[1:4], [0:3]}
  m = s32[<=8] negate(y)
  ROOT r = (s32[<=3,3], s32[<=8]) tuple(cut, m)
}""")


def test_a_finding_about_sizes_is_reduced_to_the_slice_alone() -> None:
    x = np.arange(24, dtype=np.int32).reshape(3, 8)
    case = case_of(LARGE, x, np.array(7, np.int32), ints(1, 2), passes="dynamic-padder{slice_limit=false}")

    def verdict_of(other: Case) -> str:
        verdict = judge(other.module, other.pipeline, other.inputs, {}, use_jax=False).verdict
        return verdict_text(verdict) if isinstance(verdict, Disagree) else ""

    wanted = verdict_of(case)
    assert wanted == "disagree values/size dynamic-padder"
    small = reduce_case(case, lambda other: verdict_of(other) == wanted, seconds=60.0).case
    assert [str(i.opcode) for i in small.module.entry_computation.instructions if i.operands] == ["slice"]


@pytest.mark.parametrize("size", [0, 3])
def test_clipping_leaves_what_fits(size: int) -> None:
    case = case_of(SET.clone(), ints(*range(6)), np.array(size, np.int32))
    assert clip_sizes(case).inputs[0][1] == size
