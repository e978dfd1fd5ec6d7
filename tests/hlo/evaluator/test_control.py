"""Tuples, calls, branches and loops."""

from typing import Any, cast

import numpy as np
import pytest

from hlo import TOKEN, UnsupportedOpcode
from hlo.evaluator import EvaluationLimit, ForeignCustomCall, Limits, evaluate
from hlo.interchange import read_text

CALLS = """square { a = s32[] parameter(0)
  ROOT r = s32[] multiply(a, a) }
twice { a = s32[] parameter(0)
  s = s32[] call(a), to_apply=square
  ROOT r = s32[] call(s), to_apply=square }
ENTRY e { x = s32[] parameter(0)
  a = s32[] call(x), to_apply=twice
  b = s32[] call(a), to_apply=square
  n = (s32[]) tuple(x)
  ROOT t = (s32[], s32[], (s32[])) tuple(a, b, n) }"""


def test_calls_nest_and_tuples_too(run_text) -> None:
    a, b, (x,) = run_text(CALLS, np.array(3, np.int32))
    assert (a.item(), b.item(), x.item()) == (81, 6561, 3)


WHILE = """body { s = (s32[], s32[]) parameter(0)
  i = s32[] get-tuple-element(s), index=0
  sum = s32[] get-tuple-element(s), index=1
  one = s32[] constant(1)
  j = s32[] add(i, one)
  total = s32[] add(sum, i)
  ROOT t = (s32[], s32[]) tuple(j, total) }
condition { s = (s32[], s32[]) parameter(0)
  i = s32[] get-tuple-element(s), index=0
  n = s32[] constant(LIMIT)
  ROOT c = pred[] compare(i, n), direction=LT }
ENTRY e { x = s32[] parameter(0)
  zero = s32[] constant(0)
  init = (s32[], s32[]) tuple(x, zero)
  ROOT w = (s32[], s32[]) while(init), condition=condition, body=body }"""


@pytest.mark.parametrize(("start", "expected"), [(0, (5, 10)), (3, (5, 7)), (5, (5, 0)), (9, (9, 0))])
def test_a_loop_runs_while_its_condition_holds(run_text, start: int, expected: tuple[int, int]) -> None:
    i, total = run_text(WHILE.replace("LIMIT", "5"), np.array(start, np.int32))
    assert (i.item(), total.item()) == expected


def test_a_loop_that_does_not_end_is_stopped() -> None:
    module = read_text("HloModule m\n" + WHILE.replace("LIMIT", "100"))
    limits = Limits(while_iterations=100)
    i, _ = cast(Any, evaluate(module, [np.array(0, np.int32)], limits=limits))
    assert i.item() == 100
    with pytest.raises(EvaluationLimit, match=r"^w: .*while iterations") as error:
        evaluate(module, [np.array(-1, np.int32)], limits=limits)
    assert (error.value.kind, error.value.where) == ("while_iterations", "w")


SWITCH = """zero { a = s32[] parameter(0)
  ROOT r = s32[] add(a, a) }
one { a = s32[] parameter(0)
  ROOT r = s32[] negate(a) }
two { a = s32[] parameter(0)
  ROOT r = s32[] copy(a) }
ENTRY e { i = s32[] parameter(0)
  x = s32[] constant(10)
  y = s32[] constant(20)
  z = s32[] constant(30)
  ROOT c = s32[] conditional(i, x, y, z), branch_computations={zero, one, two} }"""


@pytest.mark.parametrize(
    ("index", "expected"), [(0, 20), (1, -20), (2, 30), (3, 30), (2**31 - 1, 30), (-1, 30), (-(2**31), 30)]
)
def test_an_index_without_a_branch_takes_the_last_one(run_text, index: int, expected: int) -> None:
    assert run_text(SWITCH, np.array(index, np.int32)).item() == expected


@pytest.mark.parametrize(("predicate", "expected"), [(True, 20), (False, -20)])
def test_a_true_predicate_takes_the_first_branch(run_text, predicate: bool, expected: int) -> None:
    text = SWITCH.replace("i = s32[]", "i = pred[]").replace(
        "(i, x, y, z), branch_computations={zero, one, two}",
        "(i, x, y), true_computation=zero, false_computation=one",
    )
    assert run_text(text, np.array(predicate)).item() == expected


def test_a_branch_not_taken_need_not_be_supported(run_text) -> None:
    text = SWITCH.replace(
        "ROOT r = s32[] negate(a)", 'ROOT r = s32[] custom-call(a), custom_call_target="whose"'
    )
    assert run_text(text, np.array(0, np.int32)).item() == 20
    with pytest.raises(ForeignCustomCall, match="custom-call whose") as error:
        run_text(text, np.array(1, np.int32))
    assert isinstance(error.value, UnsupportedOpcode)
    assert error.value.target == "whose"


@pytest.mark.parametrize("target", ["NeuronBoundaryMarker-Start", "NeuronBoundaryMarker-End"])
def test_a_boundary_marker_passes_its_operand_on(run_text, target: str) -> None:
    x, (y,) = run_text(
        f"""ENTRY e {{ x = s32[2] parameter(0)
          inner = (s32[2]) tuple(x)
          t = (s32[2], (s32[2])) tuple(x, inner)
          ROOT m = (s32[2], (s32[2])) custom-call(t), custom_call_target="{target}" }}""",
        np.array([1, 2], np.int32),
    )
    assert x.tolist() == y.tolist() == [1, 2]


ANNOTATIONS = [
    "Sharding",
    "SPMDFullToShardShape",
    "SPMDShardToFullShape",
    "xla.sdy.FuncResultSharding",
    "xla.sdy.GlobalToLocalShape",
    "xla.sdy.PropagationBarrier",
    "annotate_device_placement",
]


@pytest.mark.parametrize("target", ANNOTATIONS)
def test_an_annotation_of_where_a_value_is_passes_it_on(run_text, target: str) -> None:
    text = f'ENTRY e {{ x = s32[2] parameter(0)\n ROOT r = s32[2] custom-call(x), custom_call_target="{target}" }}'
    value = np.array([1, 2], np.int32)
    assert run_text(text, value).tolist() == [1, 2]
    with pytest.raises(ForeignCustomCall):  # a shard of a whole is not the whole
        run_text(text.replace("ROOT r = s32[2]", "ROOT r = s32[1]"), value)
    with pytest.raises(ForeignCustomCall):
        run_text(text.replace("call(x)", "call(x, x)"), value)


def test_a_fusion_means_what_its_computation_does(run_text) -> None:
    text = """f { a = s32[] parameter(0)
      ROOT r = s32[] negate(a) }
    ENTRY e { x = s32[] parameter(0)
      ROOT y = s32[] fusion(x), kind=kLoop, calls=f }"""
    assert run_text(text, np.array(4, np.int32)).item() == -4


def test_tokens_and_barriers_change_nothing(run_text) -> None:
    token, x, y = run_text(
        """ENTRY e { x = s32[] parameter(0)
          a = token[] after-all()
          b = token[] after-all(a)
          d = s32[] add-dependency(x, b)
          t = (s32[], s32[]) tuple(x, d)
          o = (s32[], s32[]) opt-barrier(t)
          p = s32[] get-tuple-element(o), index=0
          q = s32[] get-tuple-element(o), index=1
          ROOT r = (token[], s32[], s32[]) tuple(b, p, q) }""",
        np.array(4, np.int32),
    )
    assert token is TOKEN
    assert (x.item(), y.item()) == (4, 4)


@pytest.mark.parametrize(("predicate", "expected"), [(True, [1, 2]), (False, [3, 4])])
def test_a_scalar_predicate_selects_all_or_nothing(run_text, predicate: bool, expected: list[int]) -> None:
    text = """ENTRY e { p = pred[] parameter(0)
      x = s32[2] constant({1, 2})
      y = s32[2] constant({3, 4})
      ROOT s = s32[2] select(p, x, y) }"""
    assert run_text(text, np.array(predicate)).tolist() == expected


def test_select_takes_each_element_from_its_side(run_text) -> None:
    text = """ENTRY e { p = pred[2] parameter(0)
      x = s32[2] constant({1, 2})
      y = s32[2] constant({3, 4})
      s = s32[2] select(p, x, y)
      ROOT t = (s32[2], s32[2], s32[2]) tuple(s, x, y) }"""
    s, x, y = run_text(text, np.array([False, True]))
    assert (s.tolist(), x.tolist(), y.tolist()) == ([3, 2], [1, 2], [3, 4])
