import json
import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

import fuzz
from fuzz.__main__ import main
from fuzz.commands.run import programs_for
from passes import DEFAULT_PIPELINE, parse_pipeline

SLICE = """HloModule m

body {
  p = (f32[8], s32[]) parameter(0)
  x = f32[8] get-tuple-element(p), index=0
  i = s32[] get-tuple-element(p), index=1
  ROOT d = f32[3] dynamic-slice(x, i), dynamic_slice_sizes={3}
}

ENTRY main {
  x = f32[8] parameter(0)
  i = s32[] constant(7)
  t = (f32[8], s32[]) tuple(x, i)
  ROOT c = f32[3] call(t), to_apply=body
}
"""
CASE = """// CASE: past-end
// RUN: neuron-dus-ds-index-simplifier,dynamic-slice-mover{clamp_starts=false}
// EXPECT: disagree contracts/invalid module dynamic-slice-mover
// WHY: a token past the end
// INPUT: {"type":"f32","shape":[8],"value":[1,2,3,4,5,6,7,8]}
"""
NO_CLAMP = "neuron-dus-ds-index-simplifier,dynamic-slice-mover{clamp_starts=false}"
KILL_SWITCH = "NEURON_DISABLE_MOVEMENT_OF_SLICE_FROM_PARAM"


@pytest.fixture(autouse=True)
def own_folder(tmp_path, monkeypatch):
    """Each test works in an empty folder, with nothing of ours in the environment."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv(KILL_SWITCH, raising=False)
    (tmp_path / "slice.hlo").write_text(SLICE)
    return tmp_path


def lines(text: str) -> list[str]:
    return text.splitlines()


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ([], "the following arguments are required: COMMAND"),
        (["rnu"], "invalid choice: 'rnu'"),
        (["check"], "the following arguments are required: FILE|package.module:function"),
        (["run", "--passes", "dcee"], "unknown pass 'dcee'; did you mean dce"),
        (["run", "--passes", "dce{x=1}"], "pass dce has no option 'x'"),
        (["run", "--env", f"{KILL_SWITCH}S=1"], f"no pass reads '{KILL_SWITCH}S'; did you mean {KILL_SWITCH}?"),
        (["run", "--env", KILL_SWITCH], f"--env '{KILL_SWITCH}' is not NAME=VALUE"),
        (["run", "--time", "soon"], "'soon' is no duration; write for example 60, 60s, 5m or 1h"),
        (["run", "--time", "0"], "'0' is no duration"),
        (["run", "-n", "0"], "'0' is not at least 1"),
        (["run", "--seed", "-1"], "'-1' is no whole number"),
        (["run", "--examples", "5", "--time", "5"], "not allowed with argument"),
        (["check", "absent.hlo"], "absent.hlo: No such file or directory"),
        (["check", "absent:f"], "absent:f: no module named 'absent'"),
        (["check", "json:dump"], "json:dump: json has no function dump_example_args"),
        (["check", "json:dmup"], "json:dmup: json has no function dmup; did you mean dump?"),
        (["replay", "absent"], "absent: no such file or folder"),
        (["replay", "."], "slice.hlo:1: the recipe has no RUN line"),
        (["replay"], "corpus: no such file or folder"),
    ],
)  # fmt: skip
def test_bad_usage_is_one_line_and_status_2(capsys, arguments: list[str], message: str) -> None:
    assert main(arguments) == 2
    out, err = capsys.readouterr()
    assert out == ""
    assert len(lines(err)) == 1
    assert err.startswith("hlofuzz: ")
    assert message in err


BROKEN = {
    "syntax.hlo": (SLICE.replace("tuple(x, i)", "tuple(x, j)").encode(), "syntax.hlo:13:"),
    "opcode.hlo": (SLICE.replace("f32[3] call", "f32[3] cool").encode(), "opcode.hlo:14:"),
    "shape.hlo": (
        SLICE.replace("ROOT c = f32[3]", "ROOT c = f32[4]").encode(),
        "shape.hlo: not valid HLO: c: shape: ",
    ),
    "size.hlo": (SLICE.replace("sizes={3}", "sizes={9}").encode(), "size.hlo: "),
    "deadly.hlo": (SLICE.replace("parameter(0)", "parameter(5)").encode(), "deadly.hlo: "),
    "truncated.pb": (b"\x0a\x05m", "truncated.pb: "),
    "empty.hlo": (b"", "empty.hlo: the file is empty"),
}


@pytest.mark.parametrize("name", BROKEN)
def test_bad_input_is_one_line_that_names_the_place(capsys, own_folder, name: str) -> None:
    content, message = BROKEN[name]
    (own_folder / name).write_bytes(content)
    assert main(["check", name]) == 2
    out, err = capsys.readouterr()
    assert out == ""
    assert len(lines(err)) == 1
    assert err.startswith(f"hlofuzz: {message}")


def test_a_program_whose_meaning_is_preserved_gives_status_0_and_json(capsys) -> None:
    assert main(["check", "slice.hlo", "--json"]) == 0
    out = lines(capsys.readouterr().out)
    assert out[0] == "slice.hlo: agree"
    assert out[1].startswith("  1 starts resolved, 1 slices made static, 1 slices moved, ")
    last = json.loads(out[-1])
    assert last["verdict"] == "agree"
    assert last["passes"] == "neuron-dus-ds-index-simplifier,dynamic-slice-mover"
    assert last["fired"]["dynamic-slice-mover:move-static"] == 1
    assert last["done"]["slices made static"] == 1
    assert last["left"] == {"loops": 0, "known": {}, "unknown": {}}


def test_a_finding_gives_status_1_and_a_file_that_replays(capsys) -> None:
    assert main(["check", "slice.hlo", "--passes", NO_CLAMP, "--out", "found", "--json"]) == 1
    out = capsys.readouterr().out
    assert lines(out)[0].startswith("slice.hlo: disagree: dynamic-slice-mover: the result is not valid HLO: ")
    assert json.loads(lines(out)[-1])["verdict"] == "disagree"
    (replayed,) = [line.split()[-1] for line in lines(out) if line.startswith("replay:")]
    assert main(["replay", replayed]) == 0
    assert capsys.readouterr().out.startswith(f"ok    {replayed}: disagree contracts/invalid module")


def test_an_opcode_that_is_not_supported_gives_status_3_and_its_name(capsys, own_folder) -> None:
    text = "HloModule m\nENTRY main {\n x = f32[] parameter(0)\n ROOT y = f32[4] rng(x, x), distribution=rng_uniform\n}"
    (own_folder / "rng.hlo").write_text(text)
    assert main(["check", "rng.hlo", "--json"]) == 3
    out = lines(capsys.readouterr().out)
    assert out[0].startswith("rng.hlo: skip: unsupported opcode: ")
    assert "'rng'" in out[0]
    assert json.loads(out[-1])["verdict"] == "skip"


def test_a_switch_is_taken_from_env_and_told(capsys) -> None:
    assert main(["check", "slice.hlo", "--env", f"{KILL_SWITCH}=1"]) == 0
    out = capsys.readouterr().out
    assert out.startswith(f"switches in force: {KILL_SWITCH}=1\n")
    assert "0 slices moved" in out
    assert "  left: 1 dynamic-slice with known starts\n" in out


def test_a_switch_of_the_process_is_told_and_overridden(capsys, monkeypatch) -> None:
    monkeypatch.setenv(KILL_SWITCH, "1")
    assert main(["check", "slice.hlo"]) == 0
    out = capsys.readouterr().out
    assert out.startswith(
        f"switches in force: {KILL_SWITCH}=1 ({KILL_SWITCH} from the environment of this process)\n"
    )
    assert "0 slices moved" in out
    assert main(["check", "slice.hlo", "--env", f"{KILL_SWITCH}=0"]) == 0
    out = capsys.readouterr().out
    assert out.startswith(f"switches in force: {KILL_SWITCH}=0\n")
    assert "1 slices moved" in out


def test_a_replay_sees_no_switch_of_the_process(capsys, own_folder, monkeypatch) -> None:
    monkeypatch.setenv(KILL_SWITCH, "1")
    (own_folder / "case.hlo").write_text(CASE + SLICE)
    assert main(["replay", "case.hlo"]) == 0


def test_a_case_that_behaves_differently_gives_status_1(capsys, own_folder) -> None:
    (own_folder / "case.hlo").write_text((CASE + SLICE).replace("{clamp_starts=false}", ""))
    assert main(["replay", "case.hlo", "--json"]) == 1
    out = lines(capsys.readouterr().out)
    expected = "disagree contracts/invalid module dynamic-slice-mover"
    assert out[0] == f"WRONG case.hlo: expected '{expected}', got 'agree' (agree)"
    told = {"passed": 0, "failed": 1, "wrong": ["case.hlo"], "unreadable": []}
    assert json.loads(out[-1]) == told


def test_a_replay_goes_on_past_files_that_it_cannot_read(capsys, own_folder) -> None:
    folder = own_folder / "cases"
    folder.mkdir()
    (folder / "a.hlo").write_text("HloModule m\nENTRY main {\n")
    (folder / "b.hlo").write_text((CASE + SLICE).replace("RUN: ", "RUN: no-such-pass,"))
    (folder / "c.hlo").write_text(CASE + SLICE)
    assert main(["replay", "cases", "--json"]) == 2
    captured = capsys.readouterr()
    complaints = lines(captured.err)
    assert [line.partition(".hlo")[0] for line in complaints] == ["hlofuzz: cases/a", "hlofuzz: cases/b"]
    out = lines(captured.out)
    assert out[0].startswith("ok    cases/c.hlo: ")
    assert out[1] == "1 as expected, 0 not, 2 unreadable"
    told = {"passed": 1, "failed": 0, "wrong": [], "unreadable": ["cases/a.hlo", "cases/b.hlo"]}
    assert json.loads(out[-1]) == told


def test_a_case_is_reduced_into_another_file(capsys, own_folder) -> None:
    (own_folder / "case.hlo").write_text(CASE + SLICE)
    assert main(["reduce", "case.hlo"]) == 0
    assert capsys.readouterr().out.startswith("case-reduced.hlo: ")
    assert main(["replay", "case-reduced.hlo", "case.hlo"]) == 0


def test_only_a_failure_can_be_reduced(capsys, own_folder) -> None:
    agreeing = (CASE + SLICE).replace("{clamp_starts=false}", "")
    (own_folder / "case.hlo").write_text(agreeing)
    assert main(["reduce", "case.hlo"]) == 2
    assert "case.hlo: the case does not get the verdict that it expects" in capsys.readouterr().err
    (own_folder / "case.hlo").write_text(
        agreeing.replace("disagree contracts/invalid module dynamic-slice-mover", "agree")
    )
    assert main(["reduce", "case.hlo"]) == 2
    assert "case.hlo: the case is expected to agree" in capsys.readouterr().err


def test_a_report_shows_what_the_pass_did(capsys, own_folder) -> None:
    (own_folder / "case.hlo").write_text(CASE + SLICE)
    assert main(["report", "case.hlo"]) == 0
    out = lines(capsys.readouterr().out)
    assert out[0].startswith("dynamic-slice-mover: the result is not valid HLO: ")
    assert "replay:         hlofuzz replay case.hlo" in out


def test_every_pass_is_listed_with_its_guards_and_switches(capsys) -> None:
    assert main(["passes"]) == 0
    out = capsys.readouterr().out
    for name in (
        "neuron-dus-ds-index-simplifier",
        "dynamic-slice-mover",
        "call-inliner",
        "constant-folding",
        "dce",
    ):
        assert f"{name}\n" in out
    assert "  option clamp_starts=true (a guard)\n" in out
    assert f"  switch {KILL_SWITCH}=1 sets disable_movement_of_slice_from_param" in out


def test_a_small_campaign_answers_in_json(capsys) -> None:
    assert main(["run", "--examples", "6", "-n", "1", "--seed", "1", "--json"]) == 0
    last = json.loads(lines(capsys.readouterr().out)[-1])
    assert last["graphs"] == 6
    assert last["findings"] == last["skips"] == 0
    assert last["seed"] == 1
    assert {"generate", "passes", "evaluate", "jax", "compare"} <= last["split"].keys()


@pytest.mark.parametrize("arguments", [["passes"], ["--help"], ["run", "--help"]])
def test_a_reader_that_has_gone_ends_the_command_without_a_word(arguments: list[str]) -> None:
    reader, writer = os.pipe()
    os.close(reader)
    command = [sys.executable, "-m", "fuzz", *arguments]
    # PYTHONUNBUFFERED empty: with a buffer, what could not be written is tried once more at the very end
    environment = os.environ | {
        "PYTHONPATH": str(Path(fuzz.__file__).parents[1]),
        "PYTHONUNBUFFERED": "",
    }
    done = subprocess.run(
        command, stdout=writer, stderr=subprocess.PIPE, text=True, env=environment, check=False
    )
    os.close(writer)
    assert done.stderr == ""
    assert done.returncode == 128 + signal.SIGPIPE


@pytest.mark.parametrize(
    ("passes", "programs"),
    [
        (DEFAULT_PIPELINE, "loops"),
        ("dynamic-slice-mover,dce", "loops"),
        ("neuron", "whiles"),
        ("while-loop-unroller", "whiles"),
        ("neuron-repeated-dus-to-concat", "loops"),
        ("dynamic-padder", "dynamic"),
        ("canonicalize-dynamism,canonicalize-for-tensorizer", "symbolic"),
        ("front-end", "symbolic"),
        ("canonicalize-dynamism,dce", "all"),
        ("dce", "all"),
    ],
)
def test_what_is_drawn_depends_on_the_passes(passes: str, programs: str) -> None:
    assert programs_for(parse_pipeline(passes)) == programs


def test_a_campaign_can_be_told_to_draw_whole_graphs(capsys) -> None:
    arguments = [
        "run",
        "--programs",
        "graphs",
        "--passes",
        "dce",
        "--examples",
        "10",
        "-n",
        "1",
        "--seed",
        "1",
    ]
    assert main([*arguments, "--json"]) == 0
    last = json.loads(lines(capsys.readouterr().out)[-1])
    assert last["graphs"] == 10
    assert not last["features"]  # those of loops
