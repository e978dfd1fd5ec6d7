"""Bounded-dynamic shapes: right where every array fills its bounds, refused elsewhere."""

import numpy as np
import pytest

from hlo import UnsupportedOpcode

SIZES = """ENTRY e { x = s32[2,<=4] parameter(0)
  n = s32[] parameter(1)
  s = s32[2,<=4] set-dimension-size(x, n), dimensions={1}
  a = s32[] get-dimension-size(s), dimensions={0}
  b = s32[] get-dimension-size(s), dimensions={1}
  ROOT t = (s32[2,<=4], s32[], s32[]) tuple(s, a, b) }"""


def test_a_size_that_is_the_bound_changes_nothing(run_text) -> None:
    x = np.arange(8, dtype=np.int32).reshape(2, 4)
    same, rows, columns = run_text(SIZES, x, np.array(4, np.int32))
    assert same.tolist() == x.tolist()
    assert (rows.item(), columns.item()) == (2, 4)


@pytest.mark.parametrize("size", [3, 0, -1, 5])
def test_another_size_is_refused(run_text, size: int) -> None:
    with pytest.raises(UnsupportedOpcode, match=f"size {size} of a dimension bounded by 4"):
        run_text(SIZES, np.zeros((2, 4), np.int32), np.array(size, np.int32))


RESHAPE = """ENTRY e { x = s32[6] parameter(0)
  n = s32[] parameter(1)
  three = s32[] constant(3)
  ROOT r = s32[<=2,3] dynamic-reshape(x, n, three) }"""


def test_a_dynamic_reshape_to_its_bounds_is_a_reshape(run_text) -> None:
    assert run_text(RESHAPE, np.arange(6, dtype=np.int32), np.array(2, np.int32)).tolist() == [
        [0, 1, 2],
        [3, 4, 5],
    ]
    with pytest.raises(UnsupportedOpcode, match="dynamic-reshape"):
        run_text(RESHAPE, np.arange(6, dtype=np.int32), np.array(1, np.int32))
