"""Is a failure of XLA as a whole cut to the passes that it needs?"""

from collections.abc import Sequence
from pathlib import Path

import pytest

from fuzz.case import Case, verdict_text
from fuzz.corpus import CorpusCase, load
from fuzz.reduce import save_reduced
from fuzz.reduce.narrowing import narrowed, stages_of
from oracle.judge import judge

TEXT = "HloModule m\nENTRY e {\n  x = s32[4] parameter(0)\n  ROOT r = s32[4] negate(x)\n}\n"
EXPECT = "disagree execution/value xla:cpu (algsimp)"
WANTED = "disagree values/value xla:algsimp"
STAGES = ("import", "cse", "algsimp", "dce", "algsimp", "fusion")


class Needs:
    """Stands in for the judge: a case fails where its passes have `needed` among them, in order and at the end."""

    def __init__(self, *needed: str, verdict: str = WANTED) -> None:
        self.needed = [f"xla:{name}" for name in needed]
        self.verdict = verdict
        self.asked: list[str] = []

    def __call__(self, case: Case) -> str:
        names = [pass_.name for pass_ in case.pipeline.passes]
        self.asked.append(str(case.pipeline))
        rest = iter(names)
        found = all(name in rest for name in self.needed) and names[-1] == self.needed[-1]
        return self.verdict if found else "agree"


def cut(
    make_case, needs: Needs, stages: Sequence[str] = STAGES, expect: str = EXPECT
) -> tuple[str, str] | None:
    found = narrowed(make_case(TEXT, "xla:cpu"), expect, needs, lambda _case: stages)
    return None if found is None else (str(found[0].pipeline), found[1])


def test_a_pass_that_fails_alone_is_all_that_stays(make_case) -> None:
    needs = Needs("algsimp")
    assert cut(make_case, needs) == ("xla:algsimp", WANTED)
    assert needs.asked == ["xla:algsimp"]


def test_what_a_pass_needs_before_it_stays(make_case) -> None:
    assert cut(make_case, Needs("cse", "algsimp")) == ("xla:cse,xla:algsimp", WANTED)
    assert cut(make_case, Needs("import", "algsimp", "algsimp")) == (
        "xla:import,xla:algsimp,xla:algsimp",
        WANTED,
    )


def test_a_list_ends_in_the_pass_that_is_to_blame(make_case) -> None:
    needs = Needs("dce", "algsimp")
    assert cut(make_case, needs) == ("xla:dce,xla:algsimp", WANTED)
    assert all(asked.endswith("xla:algsimp") for asked in needs.asked)


def test_another_failure_does_not_count(make_case) -> None:
    assert cut(make_case, Needs("algsimp", verdict="disagree contracts/invalid module xla:algsimp")) is None


@pytest.mark.parametrize(
    "expect",
    [
        "disagree execution/value xla:cpu (code generation)",
        "disagree execution/value xla:cpu (code generation of power)",
        "disagree crash/crash xla:cpu (code generation)",
        "disagree values/value xla:algsimp",
        "disagree values/value dce",
        "agree",
    ],
)
def test_a_verdict_that_names_no_pass_inside_is_left_alone(make_case, expect: str) -> None:
    needs = Needs("algsimp")
    assert cut(make_case, needs, expect=expect) is None
    assert not needs.asked


def test_a_program_that_fails_only_as_a_whole_is_left_alone(make_case) -> None:
    assert cut(make_case, Needs("cholesky_expander")) is None
    assert cut(make_case, Needs("cse", "algsimp"), stages=()) is None


def test_the_stages_are_those_of_the_real_pipeline(make_case) -> None:
    assert stages_of(make_case(TEXT, "xla:cpu"))[0] == "import"
    assert stages_of(make_case(TEXT, "dce,xla:cpu")) == []


UNSIGNED_START = """HloModule m
ENTRY e {
  x = s32[4] parameter(0)
  i = u8[] constant(255)
  ROOT d = s32[1] dynamic-slice(x, i), dynamic_slice_sizes={1}
}
"""


@pytest.mark.parametrize("passes", ["xla:cpu", "xla:pipeline"])
def test_a_reduced_case_is_written_with_the_pass_that_fails(make_case, tmp_path: Path, passes: str) -> None:
    case = make_case(UNSIGNED_START, passes)
    verdict = judge(case.module, case.pipeline, case.inputs, case.environment).verdict
    expect = verdict_text(verdict)
    if expect == "agree":
        pytest.skip("this jaxlib reads large unsigned starts right")
    assert expect.endswith(f"{passes} (import)")
    path = save_reduced(CorpusCase("c", case, expect, ""), case, tmp_path / "c.hlo")
    entry = load(path)
    assert str(entry.case.pipeline) == "xla:import"
    assert entry.expect == "disagree values/value xla:import"
    assert f"// | found with {passes}, which ends in: {expect}" in path.read_text()
