"""Our stock passes, held against XLA's."""

import sys
from collections import Counter
from types import ModuleType

import pytest

from fuzz.generators import draw_sample, programs
from fuzz.generators.graphs import graphs
from hlo import BridgeUnavailable, HloModule, Opcode, Value
from hlo.interchange import read_text, write_text
from oracle import draw_inputs
from oracle.twins import ALONE, TWINS, Comparison, Difference, Outcome, Twin, explained, hold_together
from passes import PassError, parse_pipeline
from passes.stock import STOCK_PASSES
from passes.xla import available_xla_passes

PAIRS = [pytest.param(twin, id=twin.ours) for twin in TWINS]
FOLDABLE = """HloModule m
ENTRY e {
  two = s32[2] constant({2, 3})
  x = s32[2] parameter(0)
  sum = s32[2] add(two, two)
  ROOT r = s32[2] multiply(sum, x)
}
"""


@pytest.fixture(scope="module", autouse=True)
def xla() -> None:
    try:
        available_xla_passes()
    except BridgeUnavailable as error:
        pytest.skip(str(error))


def _report(found: Comparison) -> str:
    return "\n".join([found.detail, *(write_text(m) for m in (found.program, found.ours, found.theirs) if m)])


def held(twin: Twin, count: int) -> Counter[str]:
    outcomes: Counter[str] = Counter()
    for program in [*draw_sample(graphs(), count, 7), *draw_sample(programs(), count, 7)]:
        inputs = draw_inputs(program.module, program.input_seed, 2)
        found = hold_together(twin, program.module, inputs)
        assert found.outcome is not Outcome.DIFFER, _report(found)
        outcomes[found.outcome.value] += 1
        outcomes["both fired"] += found.fired and found.theirs_fired
    return outcomes


@pytest.mark.parametrize("twin", PAIRS)
def test_the_two_agree(twin: Twin) -> None:
    outcomes = held(twin, 17)  # of each generator: 204 programs for the six pairs
    assert outcomes["both fired"] > 0
    assert outcomes[Outcome.SAME_TEXT.value] + outcomes[Outcome.SAME_MEANING.value] > 20


@pytest.mark.slow
@pytest.mark.parametrize("twin", PAIRS)
def test_the_two_agree_on_many(twin: Twin) -> None:
    held(twin, 200)


def test_each_stock_pass_has_a_twin_or_a_reason() -> None:
    paired = {pass_.name for twin in TWINS for pass_ in parse_pipeline(twin.ours).passes}
    assert paired | ALONE.keys() == {cls.name for cls in STOCK_PASSES}
    assert not paired & ALONE.keys()


def subtract(module: HloModule) -> bool:
    for inst in module.entry_computation.instructions:
        if inst.opcode is Opcode.ADD:
            inst.parent.replace_instruction(inst, inst.parent.add(Opcode.SUBTRACT, inst.shape, inst.operands))
    return True


def refuse(module: HloModule) -> bool:
    raise PassError("refuse", "no thank you")


@pytest.fixture
def passes_of_this_test(monkeypatch: pytest.MonkeyPatch) -> None:
    module = ModuleType("twins_passes")
    for function in (subtract, refuse):
        setattr(module, function.__name__, function)
    monkeypatch.setitem(sys.modules, module.__name__, module)


def inputs_of(module: HloModule) -> list[tuple[Value, ...]]:
    return list(draw_inputs(module, 0, 2))


def test_a_pass_that_does_less_than_its_twin_differs() -> None:
    module = read_text(FOLDABLE)
    found = hold_together(Twin("dce", "xla:constant_folding"), module, inputs_of(module))
    assert found.outcome is Outcome.DIFFER
    assert found.detail == "the text differs for no known reason"
    assert (found.fired, found.theirs_fired) == (False, True)


@pytest.mark.usefixtures("passes_of_this_test")
def test_another_value_differs_whatever_the_text() -> None:
    module = read_text(FOLDABLE)
    twin = Twin("py:twins_passes:subtract", "xla:constant_folding", same_text=False)
    found = hold_together(twin, module, inputs_of(module))
    assert found.outcome is Outcome.DIFFER
    assert found.detail.startswith("ours: s32")


@pytest.mark.usefixtures("passes_of_this_test")
def test_where_one_alone_refuses_they_differ() -> None:
    module = read_text(FOLDABLE)
    refusing = "py:twins_passes:refuse"
    assert hold_together(Twin(refusing, "xla:dce"), module, inputs_of(module)).outcome is Outcome.DIFFER
    assert hold_together(Twin(refusing, refusing), module, inputs_of(module)).outcome is Outcome.BOTH_REFUSE


def test_only_the_differences_that_are_needed_are_named() -> None:
    ours, theirs = read_text(FOLDABLE), read_text(FOLDABLE.replace("{2, 3}", "{4, 5}"))

    def copy_literals(one: HloModule, other: HloModule) -> None:
        for mine, yours in zip(
            one.entry_computation.instructions, other.entry_computation.instructions, strict=True
        ):
            yours.attributes = mine.attributes

    needed = Difference("constants", "", copy_literals)
    idle = Difference("nothing", "", lambda _one, _other: None)
    assert explained((idle, needed, idle), ours, theirs) == ("constants",)
    assert explained((idle,), ours, theirs) == ()
