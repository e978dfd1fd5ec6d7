"""Do findings that differ in what they start from only come into one bucket?"""

import pytest

from fuzz.campaign.reducer import opcodes
from hlo.interchange import read_text

SLICE = """HloModule m
ENTRY e {
  x = s32[4] parameter(0)
  i = s32[] START
  ROOT a = s32[2] dynamic-slice(x, i), dynamic_slice_sizes={2}
}
"""


@pytest.mark.parametrize("start", ["parameter(1)", "constant(2)"])
def test_a_bucket_is_told_by_the_operations_that_work(start: str) -> None:
    assert opcodes(read_text(SLICE.replace("START", start))) == ["dynamic-slice"]


def test_each_operation_counts_once_wherever_it_stands() -> None:
    text = """HloModule m
f {
  a = s32[4] parameter(0)
  ROOT n = s32[4] negate(a)
}
ENTRY e {
  x = s32[4] parameter(0)
  n = s32[4] negate(x)
  ROOT c = s32[4] call(n), to_apply=f
}
"""
    assert opcodes(read_text(text)) == ["call", "negate"]
