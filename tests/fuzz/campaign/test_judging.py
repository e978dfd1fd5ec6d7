"""What many passes of XLA did is put in their place here: which verdict each of them gets, and at what cost."""

from collections.abc import Sequence

import numpy as np
import pytest

from fuzz.campaign.ahead import Ahead, lone_xla_pass
from fuzz.campaign.judging import Judging
from fuzz.case import Case, verdict_text
from hlo import HloModule
from hlo.interchange import read_text
from oracle.original import Original
from passes import PassCrashed, PassError, Pipeline, parse_pipeline
from passes.xla import Outcome

NEGATE = read_text("HloModule m\nENTRY main {\n  x = s32[2] parameter(0)\n  ROOT r = s32[2] negate(x)\n}\n")
NAMES = ("dce", "cse", "algsimp", "fusion", "copy-insertion")
PIPELINES = dict(enumerate(map(parse_pipeline, (f"xla:{name}" for name in NAMES))))


@pytest.fixture
def asked(monkeypatch) -> list[tuple[str, ...]]:
    """The passes of each request, to an XLA in which cse makes no difference, algsimp is wrong, fusion refuses and
    copy-insertion crashes."""
    requests: list[tuple[str, ...]] = []

    def run(module: HloModule, names: Sequence[str]) -> list[Outcome]:
        requests.append(tuple(names))
        same, wrong = module.clone(), module.clone()
        same.entry_computation.root.name = "s"
        wrong.entry_computation.set_root(wrong.entry_computation.parameters[0])
        outcomes = {
            "dce": Outcome("dce"),
            "cse": Outcome("cse", same),
            "algsimp": Outcome("algsimp", wrong),
            "fusion": Outcome("fusion", error=PassError("xla:fusion", "not this one")),
            "copy-insertion": Outcome("copy-insertion", error=PassCrashed("xla:copy-insertion", "signal 6")),
        }
        return [outcomes[name] for name in names]

    monkeypatch.setattr("fuzz.campaign.ahead.run_passes_each", run)
    return requests


def judging() -> Judging:
    return Judging(Case(NEGATE, Pipeline(), ((np.array([1, 2], np.int32),),), {}), PIPELINES)


def test_each_pass_gets_the_verdict_that_it_would_get_alone(asked) -> None:
    one = judging()
    one.prepare(Ahead())
    verdicts = {name: verdict_text(one.judgement(i).verdict) for i, name in enumerate(NAMES)}
    assert asked == [NAMES]
    assert verdicts == {
        "dce": "agree",
        "cse": "agree",
        "algsimp": "disagree values/value xla:algsimp",
        "fusion": "skip refused by the pass with a documented message",
        "copy-insertion": "disagree crash/crash xla:copy-insertion",
    }
    assert dict(one.judgement(0).fired) == {}


def test_a_pass_that_did_something_fired(asked) -> None:
    one = judging()
    one.prepare(Ahead())
    assert dict(one.judgement(1).fired) == {"xla:cse:rewrite": 1}


def test_the_original_is_evaluated_and_referred_to_once(asked, monkeypatch) -> None:
    seen: list[int] = []
    expected = Original.expected

    def counted(self: Original, number: int):
        seen.append(number)
        return expected(self, number)

    monkeypatch.setattr(Original, "expected", counted)
    one = judging()
    one.prepare(Ahead())
    assert seen == [0]
    one.judgement(0)
    assert seen == [0]  # did nothing: nothing to compare


def test_a_pass_that_took_xla_along_once_runs_alone_from_then_on(asked) -> None:
    ahead = Ahead()
    ahead.run(NEGATE, PIPELINES)
    assert asked == [NAMES]
    found = ahead.run(NEGATE, PIPELINES)
    assert asked[1:] == [NAMES[:-1], NAMES[-1:]]
    assert sorted(found) == [0, 1, 2, 3, 4]


def test_one_pass_alone_does_not_run_ahead(asked) -> None:
    assert Ahead().run(NEGATE, {0: PIPELINES[0], 1: parse_pipeline("dce")}) == {}
    assert asked == []


def test_only_a_lone_pass_of_xla_with_its_usual_options_runs_ahead() -> None:
    texts = ("xla:cse", "xla:cse,dce", "xla:cse{timeout=5}", "dce", "xla:pipeline")
    assert [lone_xla_pass(parse_pipeline(text)) for text in texts] == ["cse", None, None, None, None]
