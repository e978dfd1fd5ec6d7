"""Does asking many passes at once give what asking one by one gives, and does one that dies leave the others alone?"""

import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from hlo import HloModule
from hlo.canonical import structure
from hlo.interchange import export_proto, read_text
from passes import PassCrashed, PassError, Trace
from passes.xla import Outcome, process, run_passes_each, xla_pass
from passes.xla.process import XlaProcess, end_warm_process, warm_process
from passes.xla.wrapping import INLINER, wrapped
from tests.passes.xla.programs import CALLS, DEAD, FOLDABLE, NESTED_SLICES, REDUCER, child_that

NAMES = (
    "dce",
    "algsimp",
    "cholesky_expander",
    "call-inliner",
    "constant_folding",
    "cse",
    "flatten-call-graph",
)


@pytest.fixture
def odd_child(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """The file of the child, for a test to write, instead of the real one."""
    end_warm_process()
    path = tmp_path / "child.py"
    monkeypatch.setattr(process, "CHILD", path)
    yield path
    end_warm_process()


def alone(module: HloModule, name: str) -> HloModule | None:
    copy = module.clone()
    return copy if xla_pass(name)().run(copy, Trace()) else None


def changed(outcomes: list[Outcome]) -> set[str]:
    return {outcome.name for outcome in outcomes if outcome.changed}


@pytest.mark.parametrize("text", [FOLDABLE, CALLS, REDUCER, DEAD, NESTED_SLICES])
def test_each_gives_what_the_pass_gives_alone(text: str) -> None:
    module = read_text(text)
    before = structure(module)
    outcomes = run_passes_each(module, NAMES)
    assert structure(module) == before
    assert [outcome.name for outcome in outcomes] == list(NAMES)
    assert changed(outcomes)
    for outcome in outcomes:
        expected = alone(module, outcome.name)
        assert outcome.error is None
        assert outcome.changed is (expected is not None)
        if expected is not None and outcome.result is not None:
            assert structure(outcome.result, names=False) == structure(expected, names=False)


def test_a_pass_that_only_another_gives_work_changes_nothing() -> None:
    text = FOLDABLE.replace("constant(2)", "add(one, one)")
    text = f"{text.rstrip()[:-1]}}}\n".replace("back = ", "same = s32[4] add(wide, zero)\n  back = ")
    text = text.replace(
        "ROOT forth = s32[4] reshape(back)",
        "forth = s32[4] reshape(back)\n  ROOT r = s32[4] add(forth, same)",
    )
    module = read_text(text)
    outcomes = run_passes_each(module, ["cse", "algsimp", "reshape-mover"])
    assert {name for name in ("cse", "algsimp", "reshape-mover") if alone(module, name)} == changed(outcomes)


def test_the_child_tells_only_of_passes_that_did_something() -> None:
    found = warm_process().run_each(
        wrapped(read_text(FOLDABLE)).proto, ["cholesky_expander", "algsimp"], [INLINER], 60.0
    )
    assert set(found) == {"algsimp"}


def test_a_name_that_is_no_pass_is_an_error_of_its_own() -> None:
    (known, unknown) = run_passes_each(read_text(DEAD), ["dce", "algsim"])
    assert known.changed
    assert isinstance(unknown.error, PassError)
    assert unknown.error.message.endswith("has no pass algsim; did you mean algsimp?")


def test_a_pass_that_refuses_leaves_the_others_alone() -> None:
    outcomes = run_passes_each(read_text(CALLS), ["copy-insertion", "flatten-call-graph"])
    assert isinstance(outcomes[0].error, PassError)
    assert outcomes[0].error.message.startswith("FAILED_PRECONDITION: Call graph must be flattened")
    assert changed(outcomes) == {"flatten-call-graph"}


def test_a_custom_call_of_others_is_refused_for_each() -> None:
    text = 'HloModule m\nENTRY e {\n  ROOT c = s32[] custom-call(), custom_call_target="launch"\n}\n'
    errors = [outcome.error for outcome in run_passes_each(read_text(text), ["algsimp", "cse"])]
    assert [str(error) for error in errors] == ["xla:algsimp: c calls launch", "xla:cse: c calls launch"]


def test_a_pass_that_takes_xla_along_leaves_the_others_alone(odd_child: Path) -> None:
    odd_child.write_text(child_that("if passes and 'cse' in passes: os.abort()"))
    outcomes = run_passes_each(read_text(FOLDABLE), ["cse", "algsimp", "constant_folding"])
    assert isinstance(outcomes[0].error, PassCrashed)
    assert outcomes[0].error.message == "the XLA process ended with signal 6"
    assert changed(outcomes) == {"algsimp", "constant_folding"}


def test_passes_that_do_nothing_share_one_run(tmp_path: Path) -> None:
    runs = tmp_path / "runs"
    xla = XlaProcess((sys.executable, "-c", child_that(f"open({str(runs)!r}, 'a').write('.')")))
    before = len(runs.read_text())
    idle = ["cholesky_expander", "qr_expander", "eigh_expander", "scatter_expander"]
    assert xla.run_each(export_proto(read_text(DEAD)), idle, [], 60.0) == {}
    assert len(runs.read_text()) == before + 1
    xla.close()
