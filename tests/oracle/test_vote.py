"""Engines made up for the purpose vote; what the report says of them is exact."""

import numpy as np
import pytest

from hlo import HloModule, Opcode, Value
from hlo.interchange import read_text
from oracle.engine import Crashed, Lineage, Outcome, Ran, TimedOut, Unsupported
from oracle.judge import judge
from oracle.verdict import Disagree
from oracle.vote import Groups, is_sampled, sample_vote, vote
from passes import Pass, Pipeline, Trace

TANH = read_text("HloModule m\nENTRY main {\n  x = f32[2] parameter(0)\n  ROOT r = f32[2] tanh(x)\n}\n")
NEGATE = read_text("HloModule m\nENTRY main {\n  x = s32[2] parameter(0)\n  ROOT r = s32[2] negate(x)\n}\n")


class Made:
    """An engine that gives what it was made with."""

    lineage = Lineage.XLA

    def __init__(self, name: str, outcome: Outcome | list[float]) -> None:
        self.name = name
        self.outcome = Ran(np.array(outcome, np.float32)) if isinstance(outcome, list) else outcome
        self.seen: list[object] = []

    def run(self, module: HloModule, inputs) -> Outcome:
        self.seen.append(inputs)
        return self.outcome


class AddsOne(Pass):
    """A wrong pass."""

    name = "adds-one"

    def run(self, module: HloModule, trace: Trace) -> bool:
        entry = module.entry_computation
        one = entry.add_constant(np.ones(2, np.int32))
        entry.set_root(entry.add(Opcode.ADD, entry.root.shape, [entry.root, one]))
        return True


def ballot(*engines: Made, module: HloModule = TANH, others: dict[str, Value] | None = None) -> Groups:
    return vote(module, [], engines, others)


def test_engines_within_rounding_are_one_group() -> None:
    groups = ballot(Made("a", [0.5, 1.0]), Made("b", [0.5, np.nextafter(np.float32(1), np.float32(0))]))
    assert groups.is_unanimous
    assert groups.lines() == ("agree: a, b",)


def test_the_groups_the_silent_and_their_reasons_are_listed() -> None:
    groups = ballot(
        Made("a", [0.5, 1.0]),
        Made("b", [0.5, 2.0]),
        Made("c", [0.5, 1.0]),
        Made("d", [0.5, 2.0]),
        Made("e", Unsupported("no topk")),
        Made("f", Crashed("signal 6")),
        Made("g", TimedOut("2 s")),
    )
    assert not groups.is_unanimous
    assert groups.lines() == (
        "agree: a, c",
        "differ: b, d (result[1] is f32 2.0, not f32 1.0; 1 of 2 differ)",
        "unsupported: e (no topk)",
        "crashed: f (signal 6)",
        "timed out: g (2 s)",
    )


def test_a_value_of_somebody_else_votes_along() -> None:
    result = np.array([0.5, 3.0], np.float32)
    groups = ballot(Made("a", [0.5, 1.0]), Made("b", [0.5, 3.0]), others={"result": result})
    assert [group.voters for group in groups.groups] == [("a",), ("b", "result")]


def test_whoever_is_alone_is_said_to_be() -> None:
    assert ballot(Made("a", [0.5, 1.0]), Made("b", Unsupported("no"))).lines()[0] == "alone: a"


@pytest.mark.parametrize("broken", [Crashed("signal 6"), TimedOut("2 s")])
def test_an_engine_that_breaks_is_worth_a_report(broken: Outcome) -> None:
    assert not ballot(Made("a", [0.5, 1.0]), Made("b", broken)).is_unanimous
    assert ballot(Made("a", [0.5, 1.0]), Made("b", Unsupported("no"))).is_unanimous


def test_a_sample_says_nothing_of_engines_that_agree() -> None:
    engines = [Made("a", [0.5, 1.0]), Made("b", [0.5, 1.0])]
    assert sample_vote(TANH, [(), ()], engines) is None
    assert [len(engine.seen) for engine in engines] == [2, 2]


def test_a_sample_in_which_engines_differ_gives_the_inputs_and_the_groups() -> None:
    one_set = (np.zeros(2, np.float32),)
    found = sample_vote(TANH, [one_set], [Made("a", [0.5, 1.0]), Made("b", [0.5, 2.0])])
    assert found is not None
    assert found[0] is one_set
    assert str(found[1]).startswith("alone: a; differ: b (")


def test_sampling_is_a_matter_of_the_seed() -> None:
    drawn = [seed for seed in range(10_000) if is_sampled(seed, 0.02)]
    assert 150 < len(drawn) < 250
    assert drawn == [seed for seed in range(10_000) if is_sampled(seed, 0.02)]
    assert not any(is_sampled(seed, 0.0) for seed in range(100))
    assert all(is_sampled(seed, 1.0) for seed in range(100))


def test_a_finding_about_values_lists_how_engines_voted() -> None:
    right = Ran(np.array([-1, -2], np.int32))
    engines = [Made("a", right), Made("b", right)]
    inputs = [(np.array([1, 2], np.int32),)]
    verdict = judge(NEGATE, Pipeline((AddsOne(),)), inputs, {}, engines=engines).verdict
    assert isinstance(verdict, Disagree)
    assert verdict.finding.details[-2:] == (
        "agree: a, b",
        "differ: result of adds-one (result[0] is s32 0, not s32 -1; 2 of 2 differ)",
    )
    silent = judge(NEGATE, Pipeline((AddsOne(),)), inputs, {}).verdict
    assert isinstance(silent, Disagree)
    assert not any("agree: a" in detail for detail in silent.finding.details)
