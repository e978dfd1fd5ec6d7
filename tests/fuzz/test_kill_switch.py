"""With which values is the kill-switch on? Asked of the command line, as `--env` and as the environment has it."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from fuzz.__main__ import main
from fuzz.settings import Settings, child_environment

VARIABLE = "NEURON_DISABLE_MOVEMENT_OF_SLICE_FROM_PARAM"
HELD_BACK = "dynamic-slice-mover:kill-switch"
MOVED = "dynamic-slice-mover:move-static"
VALUES = [None, "0", "1", "true", "", " 1", "1 ", "01", "TRUE", "yes", "1\n"]
PROGRAM = """HloModule m

body {
  p = (s32[8]) parameter(0)
  x = s32[8] get-tuple-element(p), index=0
  i = s32[] constant(2)
  ROOT d = s32[1] dynamic-slice(x, i), dynamic_slice_sizes={1}
}

ENTRY main {
  x = s32[8] parameter(0)
  t = (s32[8]) tuple(x)
  ROOT c = s32[1] call(t), to_apply=body
}
"""


@pytest.fixture
def program(tmp_path: Path) -> str:
    """A slice of an entry parameter, which the mover moves unless the switch is on."""
    path = tmp_path / "program.hlo"
    path.write_text(PROGRAM, "utf-8")
    return str(path)


def is_held_back(output: str) -> bool:
    """What the last line of `check --json` says happened to the slice."""
    told = json.loads(output.splitlines()[-1])
    assert told["verdict"] == "agree"
    held, moved = told["declined"].get(HELD_BACK, 0), told["fired"].get(MOVED, 0)
    assert (held, moved) in ((1, 0), (0, 1))
    return bool(held)


@pytest.mark.parametrize("value", VALUES)
def test_only_1_switches_on_by_an_option(capsys, monkeypatch, program: str, value: str | None) -> None:
    monkeypatch.delenv(VARIABLE, raising=False)
    given = [] if value is None else ["--env", f"{VARIABLE}={value}"]
    assert main(["check", program, "--json", "--inputs", "1", *given]) == 0
    assert is_held_back(capsys.readouterr().out) == (value == "1")


@pytest.mark.parametrize("value", VALUES)
def test_only_1_switches_on_by_the_environment(capsys, monkeypatch, program: str, value: str | None) -> None:
    monkeypatch.delenv(VARIABLE, raising=False)
    if value is not None:
        monkeypatch.setenv(VARIABLE, value)
    assert main(["check", program, "--json", "--inputs", "1"]) == 0
    assert is_held_back(capsys.readouterr().out) == (value == "1")


@pytest.mark.parametrize(("around", "given"), [("1", "0"), ("0", "1"), ("1", ""), ("true", "1")])
def test_an_option_overrides_the_environment(
    capsys, monkeypatch, program: str, around: str, given: str
) -> None:
    monkeypatch.setenv(VARIABLE, around)
    assert main(["check", program, "--json", "--inputs", "1", "--env", f"{VARIABLE}={given}"]) == 0
    assert is_held_back(capsys.readouterr().out) == (given == "1")


@pytest.mark.parametrize("value", ["0", "1"])
def test_a_process_of_its_own_reads_its_environment(program: str, value: str) -> None:
    """Not the one that the tests of this process have changed."""
    command = [sys.executable, "-m", "fuzz", "check", program, "--json", "--inputs", "1"]
    environment = {**child_environment(), VARIABLE: value}
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=True, timeout=300)
    assert is_held_back(done.stdout) == (value == "1")


def test_settings_take_the_variable_as_it_is() -> None:
    for value in VALUES:
        environment = {"PATH": os.defpath} | ({} if value is None else {VARIABLE: value})
        assert Settings.of(environment).switches == ({} if value is None else {VARIABLE: value})
