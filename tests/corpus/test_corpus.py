"""Every file of corpus/ is a test: its header says what must come out."""

from pathlib import Path

import pytest

from fuzz.case import case_for, verdict_text
from fuzz.corpus import case_files, load
from fuzz.judging import judge_any
from fuzz.reduce import working_instructions
from fuzz.replay import replay
from passes import PASSES, parse_pipeline

CORPUS = Path(__file__).resolve().parents[2] / "corpus"
FILES = sorted(path.relative_to(CORPUS).as_posix() for path in case_files([CORPUS]))


def test_there_is_a_corpus() -> None:
    assert FILES


@pytest.mark.parametrize("name", FILES)
def test_a_case_gets_the_verdict_that_its_file_expects(name: str) -> None:
    result = replay(CORPUS / name)
    assert result.verdict == result.expect, f"{result.why}\n{result.detail}"


@pytest.mark.parametrize("name", FILES)
def test_with_its_guards_on_the_same_program_keeps_its_meaning(name: str) -> None:
    case = load(CORPUS / name).case
    guarded = parse_pipeline(",".join(pass_.name for pass_ in case.pipeline.passes))
    if str(guarded) == str(case.pipeline):
        return  # nothing is switched off
    verdict = judge_any(case_for(case.module, guarded, case.inputs, case.environment)).verdict
    assert verdict_text(verdict) == "agree"


@pytest.mark.parametrize("name", FILES)
def test_a_case_says_why_it_is_there(name: str) -> None:
    text = (CORPUS / name).read_text("utf-8")
    assert any(
        line.startswith("// WHY: ") and line.removeprefix("// WHY: ").strip() for line in text.splitlines()
    )


@pytest.mark.parametrize(
    ("pass_name", "guard"),
    [(name, guard) for name, pass_ in PASSES.items() for guard in pass_.guards],
)
def test_each_guard_has_a_case_that_is_read_at_a_glance(pass_name: str, guard: str) -> None:
    cases = [load(CORPUS / name).case for name in FILES if name.startswith("guards/")]
    sizes = [
        working_instructions(case.module)
        for case in cases
        for pass_ in case.pipeline.passes
        if pass_.name == pass_name and not getattr(pass_, guard)
    ]
    assert sizes
    assert max(sizes) <= 12
