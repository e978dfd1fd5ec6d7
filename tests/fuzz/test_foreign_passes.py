"""Passes of others on the command line."""

import json
import sys

import pytest

from fuzz.__main__ import main
from fuzz.isolate import TIME_LIMIT, case_limit
from hlo import BridgeUnavailable
from passes import parse_pipeline
from passes.external import python_pass
from passes.xla import xla_pass

ADD = """HloModule m

ENTRY e {
  x = s32[2] parameter(0)
  y = s32[2] parameter(1)
  ROOT r = s32[2] add(x, y)
}
"""
THEIRS = """
from hlo import Opcode

def subtract(module):
    all_of_them = [inst for computation in module.computations for inst in computation.instructions]
    adds = [inst for inst in all_of_them if inst.opcode is Opcode.ADD]
    for inst in adds:
        inst.parent.replace_instruction(inst, inst.parent.add(Opcode.SUBTRACT, inst.shape, inst.operands))
    return bool(adds)
"""
PASS = "py:my_own_passes:subtract"


@pytest.fixture(autouse=True)
def own_folder(tmp_path, monkeypatch):
    """Each test works in a folder with a pass of the user's."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", [entry for entry in sys.path if entry])
    (tmp_path / "add.hlo").write_text(ADD)
    (tmp_path / "my_own_passes.py").write_text(THEIRS)
    yield tmp_path
    sys.modules.pop("my_own_passes", None)


def test_a_pass_of_the_users_is_checked_and_its_finding_replayed_where_allowed(
    capsys, monkeypatch, own_folder
) -> None:
    assert main(["check", "add.hlo", "--passes", PASS, "--out", "found"]) == 1
    (replayed,) = [
        line.split()[-1] for line in capsys.readouterr().out.splitlines() if line.startswith("replay:")
    ]
    sys.modules.pop("my_own_passes")
    python_pass.cache_clear()
    for command in ("replay", "reduce", "report"):
        monkeypatch.setattr(sys, "path", [entry for entry in sys.path if entry != str(own_folder)])
        assert main([command, replayed]) == 2
        complaint = capsys.readouterr().err
        assert len(complaint.splitlines()) == 1
        assert "would run code of this machine, which is not allowed here without --allow-code" in complaint
        assert main([command, replayed, "--allow-code"]) == 0
        capsys.readouterr()


def test_the_workers_of_a_campaign_find_the_users_modules(capsys) -> None:
    arguments = [
        "run",
        "--passes",
        PASS,
        "--examples",
        "25",
        "-n",
        "1",
        "--seed",
        "1",
        "--programs",
        "loops",
    ]
    assert main([*arguments, "--json"]) == 1
    last = json.loads(capsys.readouterr().out.splitlines()[-1])
    assert last["passes"] == PASS
    assert last["fired"][f"{PASS}:rewrite"] > 0
    assert main(["replay", "--allow-code", last["buckets"][0]["path"]]) == 0


def test_a_command_is_a_pass_of_check(capsys) -> None:
    assert main(["check", "add.hlo", "--passes", "cmd:cat"]) == 0
    assert capsys.readouterr().out.startswith("add.hlo: agree")


def test_a_case_has_more_time_than_its_passes() -> None:
    assert case_limit(parse_pipeline("dce")) == TIME_LIMIT
    patient = parse_pipeline("xla:dce{timeout=100},dce")
    assert case_limit(patient) >= 100 + TIME_LIMIT
    assert case_limit(parse_pipeline("xla:dce")) > 2 * xla_pass("dce")().timeout


def test_the_passes_of_the_installed_xla_are_listed(capsys) -> None:
    assert main(["passes"]) == 0
    out = capsys.readouterr().out
    assert "xla:algsimp\n  Simplifies algebra" in out
    assert "  xla:* leaves it out: " in out
    assert "xla:pipeline\n" in out
    assert 'cmd:"COMMAND {input} {output}"\n' in out
    assert "py:package.module:callable\n" in out


def test_a_jaxlib_without_the_hook_is_named(capsys, monkeypatch) -> None:
    def unavailable() -> tuple[str, ...]:
        raise BridgeUnavailable("the hook", "0.9")

    monkeypatch.setattr("fuzz.commands.passes.available_xla_passes", unavailable)
    assert main(["passes"]) == 0
    out = capsys.readouterr().out
    assert "xla:NAME is not to be had: jaxlib 0.9 has no the hook\n" in out
    assert "py:package.module:callable\n" in out


def test_the_opcodes_are_listed_with_who_agrees(capsys) -> None:
    assert main(["passes", "--opcodes"]) == 0
    out = capsys.readouterr().out.splitlines()
    (add,) = [line for line in out if line.startswith("add ")]
    assert " trusted" in add
    assert " jax " in add
