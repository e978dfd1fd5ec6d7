"""Is a Python callable a pass, over our IR and over bytes?"""

import numpy as np
import pytest

from hlo import InvalidInput, Opcode
from hlo.canonical import structure
from hlo.interchange import read_text
from oracle.judge import judge
from oracle.verdict import Disagree, Kind, Skip, SkipReason, Verdict
from passes import Exactness, PassCrashed, Pipeline, Trace, parse_pipeline
from tests.passes.external.programs import ADD

HERE = "tests.passes.external.programs"
INPUTS = [(np.array([1, 2], np.int32), np.array([3, 4], np.int32))]


def pipeline(function: str, options: str = "") -> Pipeline:
    return parse_pipeline(f"py:{HERE}:{function}{options}", allow_code=True)


def verdict(function: str, options: str = "") -> Verdict:
    return judge(read_text(ADD), pipeline(function, options), INPUTS, {}).verdict


def test_a_callable_rewrites_in_place() -> None:
    module, trace = read_text(ADD), Trace()
    assert pipeline("add_to_subtract").run(module, trace) is True
    assert module.entry_computation.root.opcode is Opcode.SUBTRACT
    assert trace.fired == {"rewrite": 1}
    assert pipeline("add_to_subtract").run(module, trace) is False


def test_one_that_does_not_say_whether_it_changed_anything_is_looked_at() -> None:
    module = read_text(ADD)
    assert pipeline("quiet_add_to_subtract").run(module, Trace()) is True
    assert pipeline("quiet_add_to_subtract").run(module, Trace()) is False


def test_one_that_says_the_wrong_thing_is_a_finding() -> None:
    found = judge(
        read_text(ADD), pipeline("lying_add_to_subtract"), [tuple(np.zeros((2, 2), np.int32))], {}
    ).verdict
    assert isinstance(found, Disagree)
    assert found.finding.kind is Kind.CHANGED_FLAG


def test_a_callable_in_a_class_is_found() -> None:
    assert pipeline("Rewriter.run").run(read_text(ADD), Trace()) is False


def test_a_callable_over_bytes_gives_bytes() -> None:
    module = read_text(ADD)
    assert pipeline("bytes_for_bytes", "{over=proto}").run(module, Trace()) is True
    assert module.entry_computation.root.opcode is Opcode.AND
    before = structure(module)
    assert pipeline("same", "{over=proto}").run(module, Trace()) is False
    assert structure(module) == before


def test_the_judge_names_it() -> None:
    found = verdict("add_to_subtract")
    assert isinstance(found, Disagree)
    assert found.finding.identity == ("values", Kind.VALUE, f"py:{HERE}:add_to_subtract")


def test_what_it_raises_is_a_finding_unless_it_refuses() -> None:
    found = verdict("stumble")
    assert isinstance(found, Disagree)
    assert found.finding.message == f"py:{HERE}:stumble raised ZeroDivisionError: oops"
    refused = verdict("refuse")
    assert isinstance(refused, Skip)
    assert refused.reason is SkipReason.REFUSED


@pytest.mark.parametrize(
    ("function", "options", "message"),
    [
        ("babble", "", "it returned 'nonsensenonsense.*…; whether it changed anything, or None"),
        ("babble", "{over=proto}", "it returned 'nonsense.*…, not the bytes of a module"),
        ("garble", "{over=proto}", "its output cannot be read: not an HLO module proto"),
    ],
)
def test_an_answer_that_makes_no_sense_is_a_crash(function: str, options: str, message: str) -> None:
    with pytest.raises(PassCrashed, match=message):
        pipeline(function, options).run(read_text(ADD), Trace())


def test_its_text_is_read_back() -> None:
    text = f"py:{HERE}:same{{bitwise=true,over=proto}},dce"
    parsed = parse_pipeline(text, allow_code=True)
    assert str(parsed) == text
    assert parsed == parse_pipeline(text, allow_code=True)
    assert parsed.passes[0].promise is Exactness.BITWISE
    assert parsed.passes[0].description() == f"The Python callable {HERE}:same."


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("py:no_such_package.module:f", "py:no_such_package.module:f: no module named 'no_such_package'"),
        ("py:hlo.no_such:f", "py:hlo.no_such:f: no module named 'hlo.no_such'"),
        (f"py:{HERE}:refuze", f"py:{HERE}:refuze: there is no refuze; did you mean refuse?"),
        (f"py:{HERE}:Rewriter.rum", f"py:{HERE}:Rewriter.rum: there is no rum; did you mean run?"),
        (f"py:{HERE}:NUMBER", f"py:{HERE}:NUMBER is not callable"),
        ("py:os.path", "py:os.path: write py:package.module:callable"),
        (f"py:{HERE}:same{{over=text}}", f"py:{HERE}:same: option over is module or proto, not 'text'"),
    ],
)
def test_a_callable_that_is_not_there_is_refused_in_one_line(text: str, message: str) -> None:
    with pytest.raises(InvalidInput) as caught:
        parse_pipeline(text, allow_code=True)
    assert str(caught.value) == message


def test_a_pass_class_keeps_its_options_and_rules() -> None:
    off = pipeline("DropCopies", "{drop=false}")
    assert str(off) == f"py:{HERE}:DropCopies{{drop=false}}"
    assert parse_pipeline(str(off), allow_code=True) == off
    (pass_,) = off.passes
    assert (pass_.promise, pass_.guards) == (Exactness.BITWISE, ("drop",))
    trace = Trace()
    assert pass_.run(read_text(ADD), trace) is False
    assert trace.declined == {"drop": 1}
    with pytest.raises(InvalidInput, match="drop"):
        pipeline("DropCopies", "{dorp=false}")
