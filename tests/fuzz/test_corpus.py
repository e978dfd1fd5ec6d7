import os

import numpy as np
import pytest

from fuzz.case import Case
from fuzz.corpus import CorpusCase, case_files, load, read_case, save, write_case
from fuzz.replay import replay
from hlo import InvalidInput, same_bits
from hlo.canonical import structure
from hlo.interchange import read_text
from passes import parse_pipeline

PROGRAM = """HloModule m

ENTRY main {
  x = s32[2] parameter(0)
  t = (f32[], token[]) parameter(1)
  ROOT y = s32[2] negate(x)
}
"""
KILL_SWITCH = "NEURON_DISABLE_MOVEMENT_OF_SLICE_FROM_PARAM"
RECIPE = f"""// CASE: small
// RUN: dynamic-slice-mover{{clamp_starts=false}},dce
// ENV: {KILL_SWITCH}= 1
// EXPECT: disagree values/result shape dynamic-slice-mover
// WHY: to see it
"""
INPUTS = """// INPUTS
// INPUT: {"type":"s32","shape":[2],"value":[1,2]}
// INPUT: {"tuple":[{"type":"f32","shape":[],"value":"nan"},{"type":"token"}]}
// INPUTS
// INPUT: {"type":"s32","shape":[2],"value":[-2147483648,0]}
// INPUT: {"tuple":[{"type":"f32","shape":[],"value":-0.0},{"type":"token"}]}
"""


def test_a_file_says_everything_that_a_verdict_depends_on() -> None:
    entry = read_case(RECIPE + INPUTS + PROGRAM)
    assert (entry.name, entry.why) == ("small", "to see it")
    assert entry.expect == "disagree values/result shape dynamic-slice-mover"
    assert str(entry.case.pipeline) == "dynamic-slice-mover{clamp_starts=false},dce"
    assert entry.case.environment == {KILL_SWITCH: " 1"}
    assert same_bits(entry.case.inputs[0][0], np.array([1, 2], np.int32))
    assert same_bits(entry.case.inputs[1][0], np.array([-(2**31), 0], np.int32))
    assert structure(entry.hlo.module) == structure(read_text(PROGRAM))


def test_a_case_comes_back_from_its_file() -> None:
    entry = read_case(RECIPE + INPUTS + PROGRAM)
    again = read_case(write_case(entry, ["a report", "EXPECT: agree", "", "ENTRY main {"]))
    assert (again.name, again.expect, again.why) == (entry.name, entry.expect, entry.why)
    assert str(again.case.pipeline) == str(entry.case.pipeline)
    assert again.case.environment == entry.case.environment
    assert same_bits(again.case.inputs, entry.case.inputs)
    assert structure(again.hlo.module) == structure(entry.hlo.module)


def test_the_inputs_line_may_be_left_out_before_the_first_set() -> None:
    entry = read_case(RECIPE + INPUTS.removeprefix("// INPUTS\n") + PROGRAM)
    assert len(entry.case.inputs) == 2


def test_a_program_without_parameters_needs_no_inputs() -> None:
    entry = read_case(RECIPE + "HloModule m\n\nENTRY main {\n  ROOT c = s32[] constant(1)\n}\n")
    assert entry.case.inputs == ((),)


def test_several_sets_of_no_inputs_come_back() -> None:
    module = read_text("HloModule m\n\nENTRY main {\n  ROOT c = s32[] constant(1)\n}\n")
    entry = CorpusCase("none", Case(module, parse_pipeline("dce"), ((), ()), {}), "agree", "")
    assert read_case(write_case(entry)).case.inputs == ((), ())


@pytest.mark.parametrize(
    ("old", "new", "place"),
    [
        ("dce", "dec", "2: unknown pass 'dec'"),
        (KILL_SWITCH, "NEURON_DISABLE", "3: --env 'NEURON_DISABLE= 1': no pass reads 'NEURON_DISABLE'"),
        (
            "values/result shape",
            "values/shape",
            "4: 'disagree values/shape dynamic-slice-mover' names no kind",
        ),
        (
            "disagree values",
            "differ values",
            "4: 'differ values/result shape dynamic-slice-mover' is no verdict",
        ),
        ("// EXPECT", "// EXPCT", "4: unknown recipe line EXPCT; did you mean EXPECT?"),
        ("// WHY", "// RUN", "5: a second RUN line"),
        ("[1,2]}", "[1,2,3]}", "7: the value does not have the shape"),
        (
            '"shape":[2],"value":[1,2]',
            '"shape":[3],"value":[1,2,3]',
            "7: this input is not the s32[2] that parameter",
        ),
        ('"shape":[2],"value":[-2147483648,0]', '"shape":[],"value":0', "10: this input is not the s32[2]"),
        ("// INPUTS\n// INPUT: {", "// INPUTS\n// INPUTS\n// INPUT: {", "6: 0 inputs for 2 parameters"),
        ("negate(x)", "negate(y)", "17:"),
        ("// RUN: ", "// ", "1: the recipe has no RUN line"),
    ],
)
def test_what_is_wrong_in_a_file_is_named_with_its_line(tmp_path, old: str, new: str, place: str) -> None:
    path = tmp_path / "bad.hlo"
    path.write_text((RECIPE + INPUTS + PROGRAM).replace(old, new, 1))
    with pytest.raises(InvalidInput) as error:
        load(path)
    assert str(error.value).startswith(f"{path}:{place}")
    assert "\n" not in str(error.value)


def test_a_file_that_is_not_there_is_named(tmp_path) -> None:
    with pytest.raises(InvalidInput, match=r"absent\.hlo: No such file"):
        load(tmp_path / "absent.hlo")
    with pytest.raises(InvalidInput, match=r"absent: no such file or folder"):
        case_files([tmp_path / "absent"])


def test_a_folder_gives_its_files_in_order_and_no_half_written_ones(tmp_path) -> None:
    for name in ("b.hlo", "a/c.hlo", ".d.hlo.123", "e.txt"):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text("")
    assert case_files([tmp_path]) == [tmp_path / "a/c.hlo", tmp_path / "b.hlo"]


def test_a_file_is_replaced_whole_or_not_at_all(tmp_path, monkeypatch) -> None:
    path = tmp_path / "case.hlo"
    save(path, "old")

    def fail(_: int) -> None:
        raise OSError("disk full")

    monkeypatch.setattr(os, "fsync", fail)
    with pytest.raises(OSError, match="disk full"):
        save(path, "new")
    assert path.read_text() == "old"
    assert case_files([tmp_path]) == [path]


def test_arrays_in_a_case_cannot_be_written_to() -> None:
    value = read_case(RECIPE + INPUTS + PROGRAM).case.inputs[0][0]
    assert isinstance(value, np.ndarray)
    assert not value.flags.writeable


UPSTREAM = """// RUN: dce
// EXPECT: disagree values/value dce
// JAXLIB: <0.12
HloModule m

ENTRY main {
  ROOT c = s32[] constant(1)
}
"""


@pytest.mark.parametrize(
    ("jaxlib", "expect"),
    [
        ("0.10.2", "disagree values/value dce"),
        ("0.12.0rc1", "agree"),
        ("0.12.0.1", "agree"),
        ("0.11.0.dev20260101", "disagree values/value dce"),
    ],
)
def test_a_case_may_fail_with_some_versions_of_jaxlib_only(jaxlib: str, expect: str) -> None:
    entry = read_case(UPSTREAM)
    assert entry.expected_with(jaxlib) == expect
    assert read_case(write_case(entry)).jaxlib == "<0.12"


def test_without_a_version_a_case_is_expected_to_fail_with_all() -> None:
    entry = read_case(UPSTREAM.replace("// JAXLIB: <0.12\n", ""))
    assert entry.expected_with("0.12.0.1") == entry.expected_here == "disagree values/value dce"


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("<0.12", "0.12", "3: '0.12' is no version specifier; write for example <0.12"),
        ("disagree values/value dce", "agree", "3: JAXLIB says where a case disagrees"),
    ],
)
def test_a_version_that_says_nothing_is_named(old: str, new: str, message: str) -> None:
    with pytest.raises(InvalidInput) as error:
        read_case(UPSTREAM.replace(old, new))
    assert str(error.value).startswith(message)


@pytest.mark.parametrize("run", ["cmd:cat", "py:os:getcwd"])
def test_a_file_runs_no_code_unless_its_reader_allows_it(tmp_path, run: str) -> None:
    path = tmp_path / "case.hlo"
    path.write_text(UPSTREAM.replace("RUN: dce", f"RUN: dce,{run}"))
    with pytest.raises(InvalidInput) as error:
        load(path)
    assert (
        str(error.value)
        == f"{path}:1: {run} would run code of this machine, which is not allowed here without --allow-code"
    )
    assert str(load(path, allow_code=True).case.pipeline) == f"dce,{run}"


@pytest.mark.parametrize(("versions", "as_expected"), [("<0.1", True), (">=0.1", False)])
def test_a_replay_expects_what_the_installed_jaxlib_should_give(
    tmp_path, versions: str, as_expected: bool
) -> None:
    path = tmp_path / "case.hlo"
    path.write_text(UPSTREAM.replace("<0.12", versions))
    assert replay(path).as_expected is as_expected
