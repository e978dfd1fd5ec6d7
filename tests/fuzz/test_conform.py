"""What `hlofuzz conform` says of a folder of test programs, and with which status it ends."""

import json
from pathlib import Path

import pytest

from fuzz.__main__ import main

RIGHT = """func.func @main() {
  %x = stablehlo.constant dense<[1, 2]> : tensor<2xi32>
  %y = stablehlo.constant dense<[2, 4]> : tensor<2xi32>
  %z = stablehlo.add %x, %x : tensor<2xi32>
  stablehlo.custom_call @check.expect_eq(%z, %y) {has_side_effect = true} : (tensor<2xi32>, tensor<2xi32>) -> ()
  return
}
"""
WRONG = RIGHT.replace("[2, 4]", "[2, 5]")
FOREIGN = RIGHT.replace("stablehlo.add %x, %x :", "stablehlo.custom_call @mine(%x) : (tensor<2xi32>) ->")


def conform(folder: Path, capsys, **programs: str) -> tuple[int, list[str]]:
    for name, text in programs.items():
        (folder / f"{name}.mlir").write_text(text)
    status = main(["conform", str(folder), "--json"])
    return status, capsys.readouterr().out.splitlines()


def test_programs_that_pass_are_counted(tmp_path, capsys) -> None:
    status, lines = conform(tmp_path, capsys, a=RIGHT, b=RIGHT)
    assert (status, lines[0]) == (0, "2 passed, 0 failed, 0 unsupported")
    assert json.loads(lines[-1]) == {
        "passed": 2,
        "failed": 0,
        "unsupported": 0,
        "details": {name: {"outcome": "passed", "reason": ""} for name in ("a.mlir", "b.mlir")},
    }


def test_a_program_that_fails_is_told_with_its_reason_and_ends_in_status_1(tmp_path, capsys) -> None:
    status, lines = conform(tmp_path, capsys, a=RIGHT, b=WRONG)
    reason = "check.expect_eq: 1 of 2 elements: 4 for 5 at [1]"
    assert status == 1
    assert lines[:2] == [f"b.mlir: failed: {reason}", "1 passed, 1 failed, 0 unsupported"]
    assert json.loads(lines[-1])["details"]["b.mlir"] == {"outcome": "failed", "reason": reason}


def test_what_is_unsupported_has_a_reason_and_is_no_failure(tmp_path, capsys) -> None:
    (tmp_path / "sub").mkdir()
    (tmp_path / "sub" / "c.mlir").write_text("func.func @main(")
    status, lines = conform(tmp_path, capsys, a=RIGHT, b=FOREIGN)
    assert status == 0
    assert lines[0] == "b.mlir: unsupported: evaluator: no rule for opcode 'custom-call mine'"
    assert lines[1].startswith(f"sub/c.mlir: unsupported: {tmp_path}/sub/c.mlir:1:")
    assert lines[2] == "1 passed, 0 failed, 2 unsupported"


def test_nothing_judged_is_no_success(tmp_path, capsys) -> None:
    assert conform(tmp_path, capsys, a=FOREIGN)[0] == 3


@pytest.mark.parametrize(("name", "message"), [("none", "no such folder"), ("empty", "no *.mlir file in it")])
def test_a_folder_without_programs_is_unusable(tmp_path, capsys, name: str, message: str) -> None:
    (tmp_path / "empty").mkdir()
    assert main(["conform", str(tmp_path / name)]) == 2
    assert capsys.readouterr().err == f"hlofuzz: {tmp_path / name}: {message}\n"
