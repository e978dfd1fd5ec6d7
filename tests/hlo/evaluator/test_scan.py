"""Scans, against the loop that defines them."""

import numpy as np
import pytest

from hlo.evaluator import EvaluationLimit, Limits, evaluate
from hlo.interchange import read_text

CROSSED = """f {
 x = s32[2] parameter(0)
 y = f32[2] parameter(1)
 c = s32[2] parameter(2)
 n = s32[] parameter(3)
 d = s32[2] subtract(x, c)
 m = f32[2] negate(y)
 w = f32[2,3] broadcast(m), dimensions={0}
 one = s32[] constant(1)
 k = s32[] add(n, one)
 kk = s32[2] broadcast(k), dimensions={}
 ROOT t = (s32[2], f32[2,3], s32[2], s32[2], s32[]) tuple(c, w, kk, d, k)
}
ENTRY e {
 a = s32[2,4] parameter(0)
 b = f32[2,4] parameter(1)
 c = s32[2] parameter(2)
 n = s32[] parameter(3)
 ROOT r = (s32[2,4], f32[2,4,3], s32[2,4], s32[2], s32[]) scan(a, b, c, n), dimensions={1}, OPTIONS
}"""


@pytest.mark.parametrize("options", ["", "is_reverse=true, ", "is_associative=true, "])
def test_a_scan_takes_slices_in_order_and_carries_on(run_text, options: str) -> None:
    text = CROSSED.replace("OPTIONS", f"{options}num_carries=2, to_apply=f")
    a = np.array([[1, 5, 2, 9], [0, 3, 7, 1]], np.int32)
    b = np.arange(8, dtype=np.float32).reshape(2, 4)
    carry, count = np.array([10, 20], np.int32), 3
    before, spread, counts, last, total = run_text(text, a, b, carry, np.array(count, np.int32))
    for place in [3, 2, 1, 0] if "reverse" in options else range(4):
        assert before[:, place].tolist() == carry.tolist()
        assert (spread[:, place] == -b[:, place, None]).all()
        carry, count = a[:, place] - carry, count + 1
        assert counts[:, place].tolist() == [count, count]
    assert (last.tolist(), total.item()) == (carry.tolist(), count)


SUM = """f {
 x = s32[] parameter(0)
 c = s32[] parameter(1)
 s = s32[] add(x, c)
 ROOT t = (s32[], s32[]) tuple(s, s)
}
ENTRY e {
 a = s32[N] parameter(0)
 c = s32[] parameter(1)
 ROOT r = (s32[N], s32[]) scan(a, c), dimensions={0}, num_carries=1, to_apply=f
}"""


def test_a_scan_of_nothing_gives_what_it_started_from(run_text) -> None:
    outputs, last = run_text(SUM.replace("[N]", "[0]"), np.zeros(0, np.int32), np.array(7, np.int32))
    assert (outputs.shape, last.item()) == ((0,), 7)


def test_a_computation_that_gives_an_array_makes_a_scan_of_an_array(run_text) -> None:
    text = """f {
 x = f32[2] parameter(0)
 ROOT n = f32[2] negate(x)
}
ENTRY e {
 a = f32[2,3] parameter(0)
 ROOT r = f32[2,3] scan(a), dimensions={1}, num_carries=0, to_apply=f
}"""
    value = np.arange(6, dtype=np.float32).reshape(2, 3)
    assert run_text(text, value).tolist() == (-value).tolist()


def test_steps_are_iterations() -> None:
    module = read_text("HloModule m\n" + SUM.replace("[N]", "[5]"))
    inputs = (np.ones(5, np.int32), np.array(0, np.int32))
    result = evaluate(module, inputs, limits=Limits(while_iterations=5))
    assert isinstance(result, tuple)
    assert result[1] == 5
    with pytest.raises(EvaluationLimit, match="while iterations"):
        evaluate(module, inputs, limits=Limits(while_iterations=4))
