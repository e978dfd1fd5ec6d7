import sys

import pytest

import fuzz.isolate
from fuzz.corpus import read_case
from fuzz.isolate import ChildFailed, judge_in_child

CASE = """// RUN: dce
// EXPECT: agree
// INPUT: {"type":"s32","shape":[],"value":1}
HloModule m

ENTRY main {
  x = s32[] parameter(0)
  dead = s32[] abs(x)
  ROOT y = s32[] negate(x)
}
"""


def child(monkeypatch, code: str) -> None:
    """Let the child be this Python program."""
    monkeypatch.setattr(fuzz.isolate, "COMMAND", (sys.executable, "-c", code))


def test_a_child_gives_the_verdict_that_this_process_would() -> None:
    assert judge_in_child(read_case(CASE)).verdict == "agree"


@pytest.mark.parametrize(
    ("code", "detail"),
    [
        ("import os; os._exit(1)", "the process ended itself with status 1"),
        ("import os, signal; os.kill(os.getpid(), signal.SIGSEGV)", "the process was ended by signal 11"),
    ],
)
def test_the_death_of_the_child_is_a_verdict(monkeypatch, code: str, detail: str) -> None:
    child(monkeypatch, code)
    verdict = judge_in_child(read_case(CASE))
    assert (verdict.verdict, verdict.detail) == ("disagree process/crash pipeline", detail)


def test_a_child_that_hangs_is_a_verdict(monkeypatch) -> None:
    child(monkeypatch, "import time; time.sleep(60)")
    verdict = judge_in_child(read_case(CASE), time_limit=0.5)
    assert verdict.verdict == "disagree time-limit/crash pipeline"
    assert verdict.detail == "no verdict after 0.5 s"


def test_an_error_of_ours_in_the_child_is_raised_here(monkeypatch) -> None:
    code = "from fuzz.isolate import report_errors_as_json as r; r(); raise RuntimeError('ours')"
    child(monkeypatch, code)
    with pytest.raises(ChildFailed, match="RuntimeError: ours"):
        judge_in_child(read_case(CASE))


def test_a_child_ends_itself_should_nobody_else_do_it(monkeypatch) -> None:
    code = "import sys; from fuzz.isolate import end_after; end_after(0.2); import time; time.sleep(60)"
    child(monkeypatch, code)
    assert judge_in_child(read_case(CASE), time_limit=30).verdict == "disagree process/crash pipeline"
