"""Are bitcasts refused that mean something else in XLA, because StableHLO has no layouts?"""

import numpy as np
import pytest

from hlo.interchange import read_text
from oracle.judge import judge
from oracle.verdict import Agree, Skip, SkipReason
from passes import PassError, Trace, parse_pipeline
from passes.xla import run_passes_each, xla_pass

OF_TRANSPOSE = """HloModule m
ENTRY e {
  x = s32[2,2] parameter(0)
  t = s32[2,2] transpose(x), dimensions={1,0}
  ROOT moved = s32[2,2,1] bitcast(t)
}
"""
"""XLA gives the transpose the layout {0,1}, so that the bitcast there undoes it."""

OF_SUM = OF_TRANSPOSE.replace("transpose(x), dimensions={1,0}", "add(x, x)")
TO_LAYOUT = OF_SUM.replace("s32[2,2,1] bitcast(t)", "s32[2,2]{0,1} bitcast(t)")
FROM_LAYOUT = """HloModule m, entry_computation_layout={(s32[2,2]{0,1})->s32[4]{0}}
ENTRY e {
  x = s32[2,2]{0,1} parameter(0)
  ROOT moved = s32[4]{0} bitcast(x)
}
"""
X = np.arange(4, dtype=np.int32).reshape(2, 2)


@pytest.mark.parametrize("text", [OF_TRANSPOSE, FROM_LAYOUT, TO_LAYOUT])
@pytest.mark.parametrize("name", ["copy-insertion", "dce", "import", "pipeline", "passes"])
def test_a_bitcast_that_reads_other_places_there_is_refused(text: str, name: str) -> None:
    with pytest.raises(PassError, match="moved: layouts are lost in StableHLO"):
        xla_pass(name)().run(read_text(text), Trace())


def test_other_bitcasts_go() -> None:
    verdict = judge(read_text(OF_SUM), parse_pipeline("xla:fusion"), [(X,)], {}).verdict
    assert verdict == Agree()


def test_each_of_many_passes_refuses_by_its_own_name() -> None:
    outcomes = run_passes_each(read_text(OF_TRANSPOSE), ["cse", "dce", "fusion"])
    assert [outcome.result for outcome in outcomes] == [None] * 3
    assert [outcome.error.pass_name for outcome in outcomes if outcome.error] == [
        "xla:cse",
        "xla:dce",
        "xla:fusion",
    ]


def test_such_a_program_is_skipped() -> None:
    verdict = judge(read_text(OF_TRANSPOSE), parse_pipeline("xla:copy-insertion"), [(X,)], {}).verdict
    assert isinstance(verdict, Skip)
    assert verdict.reason is SkipReason.REFUSED
