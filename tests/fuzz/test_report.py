import io

import numpy as np
import pytest

from fuzz.case import Case
from fuzz.report import ProgressLine, render_text, table, value_text, verdict_line
from hlo import TOKEN
from hlo.interchange import read_text
from oracle.verdict import Agree, Disagree, Finding, Kind, Mismatch, Skip, SkipReason
from passes import parse_pipeline

BEFORE = "HloModule m\n\nENTRY main {\n  x = s32[2] parameter(0)\n  ROOT y = s32[2] negate(x)\n}\n"
KILL_SWITCH = "NEURON_DISABLE_MOVEMENT_OF_SLICE_FROM_PARAM"


@pytest.fixture
def finding() -> Finding:
    return Finding(
        check="values",
        kind=Kind.VALUE,
        message="dce: [1] is s32 5, not s32 -2; 1 of 2 differ",
        pass_index=1,
        pass_name="dce",
        before=read_text(BEFORE),
        after=read_text(BEFORE.replace("negate", "abs")),
        inputs=(np.array([1, 2], np.int32),),
        mismatch=Mismatch(
            (0, 1), (1,), "s32 -2", "s32 5", 1, 2, "evaluator, original", "evaluator, result", "odd"
        ),
        details=("confirmed by somebody",),
    )


@pytest.fixture
def case(finding) -> Case:
    pipeline = parse_pipeline("tuple-simplifier,dce")
    return Case(finding.before, pipeline, (finding.inputs,), {KILL_SWITCH: "1"})


def test_a_report_says_everything(finding, case) -> None:
    text = render_text(finding, case, "found/x.hlo")
    assert text.splitlines()[0] == "dce: [1] is s32 5, not s32 -2; 1 of 2 differ"
    for line in (
        "check:          values (value)",
        "first bad pass: dce (number 2 of 2)",
        "passes:         tuple-simplifier,dce",
        f"environment:    {KILL_SWITCH}=1",
        "replay:         hlofuzz replay found/x.hlo",
        "input 0:        s32[2] [1,2]",
        "expected:       s32 -2 (evaluator, original)",
        "actual:         s32 5 (evaluator, result)",
        "where:          at [1] in result 0, 1; 1 of 2 elements differ",
        "note:           odd",
        "confirmed by somebody",
        "before (-) and after (+) dce:",
        "-   ROOT %y = s32[2]{0} negate(%x)",
        "+   ROOT %y = s32[2]{0} abs(%x)",
        "    %x = s32[2]{0} parameter(0)",
    ):
        assert line in text.splitlines()


def test_a_program_that_did_not_change_is_shown_once(finding, case) -> None:
    same = Finding("contracts", Kind.CHANGED_FLAG, "dce: lies", 1, "dce", finding.before, finding.before)
    text = render_text(same, case)
    assert "the program that dce was given:" in text
    assert text.count("negate") == 1


def test_a_long_program_is_shown_where_it_changed(case) -> None:
    body = "".join(f"  v{i} = s32[2] negate({f'v{i - 1}' if i else 'x'})\n" for i in range(300))
    long = (
        f"HloModule m\n\nENTRY main {{\n  x = s32[2] parameter(0)\n{body}  ROOT y = s32[2] negate(v299)\n}}\n"
    )
    before, after = read_text(long), read_text(long.replace("ROOT y = s32[2] negate", "ROOT y = s32[2] abs"))
    text = render_text(Finding("values", Kind.VALUE, "dce: x", 1, "dce", before, after), case)
    assert len(text.splitlines()) < 30
    assert "+   ROOT %y = s32[2]{0} abs(%v299)" in text


def test_a_module_that_jaxlib_cannot_print_is_listed_as_it_stands(finding, case) -> None:
    broken = read_text(BEFORE)
    entry = broken.entry_computation
    entry.set_operands(entry.root, [entry.root])
    text = render_text(Finding("contracts", Kind.INVALID, "dce: x", 1, "dce", finding.before, broken), case)
    assert "+ (jaxlib cannot print it: cycle" in text
    assert f"+   ROOT {entry.root.name} = {entry.root.shape} {entry.root.opcode}({entry.root.name})" in text


def test_verdicts_are_one_line(finding) -> None:
    assert verdict_line(Agree()) == "agree"
    assert verdict_line(Disagree(finding)) == finding.message
    assert verdict_line(Skip(SkipReason.LOOP_LIMIT, "while.1")) == "loop limit reached: while.1"


def test_values_are_shown_short() -> None:
    assert value_text((np.array([1.5, np.nan], np.float32), TOKEN)) == "(f32[2] [1.5,nan], token)"
    assert len(value_text(np.zeros(10_000, np.int8))) < 60


def test_a_table_is_aligned() -> None:
    assert list(table([("a", "1"), ("long", "100")])) == ["  a       1", "  long  100"]
    assert list(table([])) == []


def test_progress_is_a_line_every_five_seconds_where_nobody_watches() -> None:
    stream, times = io.StringIO(), iter([0.0, 1.0, 5.0, 5.0, 6.0])
    line = ProgressLine(stream, lambda: next(times))
    for text in ("one", "two", "three"):
        line.show(text)
    line.end()
    assert stream.getvalue() == "two\n"


def test_progress_on_a_terminal_is_one_line_that_changes(monkeypatch) -> None:
    stream = io.StringIO()
    monkeypatch.setattr(stream, "isatty", lambda: True)
    line = ProgressLine(stream)
    for text in ("longer", "short"):
        line.show(text)
    line.end()
    assert stream.getvalue() == "\rlonger\rshort \n"
