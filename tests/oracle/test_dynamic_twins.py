"""Our padder, held against XLA's."""

from collections import Counter
from importlib.metadata import version
from pathlib import Path

import numpy as np
import pytest

from fuzz.corpus import load
from fuzz.generators import draw_sample
from fuzz.generators.dynamic import CUSTOM_CALLS, DynamicProfile, dynamics
from hlo import BridgeUnavailable, HloModule, Opcode
from hlo.interchange import read_text, write_text
from oracle import draw_inputs
from oracle.twins import DEPARTURES, DynamicOutcome, PaddersCompared, compare_padders
from passes import Trace
from passes.stock import DynamicPadder
from passes.xla import available_xla_passes

CORPUS = Path(__file__).resolve().parents[2] / "corpus"
PADDER_GUARDS = sorted(path.name for path in (CORPUS / "guards").glob("padder-*.hlo"))
NEW = [departure.name for departure in DEPARTURES if not departure.guard and not departure.items]

MENDED = frozenset({"slice-limit", "window-padding"})
"""The guards whose programs XLA gets right as of jaxlib 0.12."""


@pytest.fixture(scope="module", autouse=True)
def xla() -> None:
    try:
        available_xla_passes()
    except BridgeUnavailable as error:
        pytest.skip(str(error))


def report(found: PaddersCompared) -> str:
    return "\n".join([found.ours, found.theirs, write_text(found.program) if found.program else ""])


def held(count: int) -> Counter[DynamicOutcome]:
    outcomes: Counter[DynamicOutcome] = Counter()
    for program in draw_sample(dynamics(DynamicProfile(without=CUSTOM_CALLS)), count, 11):
        found = compare_padders(program.module, draw_inputs(program.module, program.input_seed, 3))
        outcomes[found.outcome] += 1
        assert found.outcome is not DynamicOutcome.WE_DEPART, report(found)
        if found.outcome in (DynamicOutcome.THEY_DEPART, DynamicOutcome.THEY_FAIL):
            assert found.departure is not None, report(found)
    return outcomes


def test_where_the_two_padders_differ_there_is_a_reason() -> None:
    outcomes = held(60)
    assert outcomes[DynamicOutcome.BOTH_RIGHT] > 20
    assert outcomes[DynamicOutcome.THEY_DEPART] > 0


@pytest.mark.slow
def test_where_the_two_padders_differ_there_is_a_reason_on_many() -> None:
    held(1000)


def compared(module: HloModule, *arrays: np.ndarray) -> PaddersCompared:
    return compare_padders(module, [arrays] if arrays else draw_inputs(module, 3, 3))


def program(entry: str, *computations: str) -> HloModule:
    return read_text("HloModule m\n" + "".join(computations) + f"ENTRY main {{ {entry} }}\n")


@pytest.mark.parametrize("name", PADDER_GUARDS)
def test_xla_goes_wrong_as_ours_does_without_the_guard(name: str) -> None:
    case = load(CORPUS / "guards" / name).hlo
    found = compare_padders(case.module, case.inputs)
    expected = name.removeprefix("padder-").removesuffix(".hlo")
    if expected in MENDED and version("jaxlib") >= "0.12":
        assert found.outcome is DynamicOutcome.BOTH_RIGHT, report(found)
        return
    assert found.outcome is DynamicOutcome.THEY_DEPART, report(found)
    assert found.departure is not None
    assert found.departure.name == expected


WINDOWS = """HloModule m
add { a = s32[] parameter(0)
  b = s32[] parameter(1)
  ROOT r = s32[] add(a, b) }
ENTRY main {
  x = s32[<=2] parameter(0)
  zero = s32[] constant(0)
  ROOT r = s32[<=BOUND] reduce-window(x, zero), window={WINDOW}, to_apply=add
}
"""


@pytest.mark.parametrize(
    ("window", "bound", "size", "name"),
    [("size=1 pad=1_0 lhs_dilate=2", 4, 2, "base-dilation"), ("size=1 pad=0_1", 3, 0, "window-of-one")],
)
def test_windows_go_wrong_in_more_than_one_way(window: str, bound: int, size: int, name: str) -> None:
    """Until jaxlib 0.12 all of it is one thing: neither padding nor base dilation counts."""
    found = compared(
        read_text(WINDOWS.replace("BOUND", str(bound)).replace("WINDOW", window)), np.ones(size, np.int32)
    )
    assert found.outcome is DynamicOutcome.THEY_DEPART, report(found)
    assert found.departure is not None
    assert found.departure.name == (name if version("jaxlib") >= "0.12" else "window-padding")


@pytest.mark.parametrize("name", NEW)
def test_what_is_new_has_a_program_in_the_corpus(name: str) -> None:
    case = load(CORPUS / "upstream" / f"xla-dynamic-padder-{name}.hlo").hlo
    found = compare_padders(case.module, case.inputs)
    assert found.outcome in (DynamicOutcome.THEY_DEPART, DynamicOutcome.THEY_FAIL), report(found)
    assert found.departure is not None
    assert found.departure.name == name


def test_an_update_given_as_a_dynamic_parameter_is_no_failure() -> None:
    module = program(
        "x = s32[3] parameter(0)\n u = s32[<=2] parameter(1)\n zero = s32[] constant(0)\n"
        "ROOT r = s32[3] dynamic-update-slice(x, u, zero)"
    )
    assert compared(module).outcome is DynamicOutcome.BOTH_RIGHT


FIVE_AND_MORE = """HloModule m
add { a = s32[] parameter(0)
  b = s32[] parameter(1)
  ROOT r = s32[] add(a, b) }
ENTRY main {
  x = s32[2,<=4] parameter(0)
  five = s32[] constant(5)
  sum = s32[2] reduce(x, five), dimensions={1}, to_apply=add
  less = s32[2] negate(sum)
  ROOT r = s32[2] reverse(less), dimensions={0}
}
"""


def test_a_departure_of_the_first_instruction_is_not_put_down_to_a_later_one() -> None:
    found = compared(read_text(FIVE_AND_MORE), np.ones((2, 3), np.int32))
    assert found.culprit is not None
    assert found.culprit.opcode is Opcode.REDUCE
    assert found.departure is not None
    assert found.departure.name == "reducer-identity"


def test_what_both_cannot_do_both_refuse() -> None:
    module = program("x = f32[<=4,4] parameter(0)\n ROOT r = f32[<=4,4] cholesky(x)")
    assert compared(module).outcome in (DynamicOutcome.BOTH_REFUSE, DynamicOutcome.NOT_COMPARED)


def test_a_fault_of_ours_is_ours(monkeypatch: pytest.MonkeyPatch) -> None:
    module = program("x = s32[<=4] parameter(0)\n ROOT r = s32[<=4] negate(x)")
    run = DynamicPadder.run

    def negate_twice(self: DynamicPadder, module: HloModule, trace: Trace) -> bool:
        changed = run(self, module, trace)
        for inst in module.entry_computation.instructions:
            if inst.opcode is Opcode.NEGATE:
                inst.parent.replace_instruction(inst, inst.operand(0))
        return changed

    assert compared(module).outcome is DynamicOutcome.BOTH_RIGHT
    monkeypatch.setattr(DynamicPadder, "run", negate_twice)
    assert compared(module).outcome is DynamicOutcome.WE_DEPART


def test_a_difference_that_nobody_knows_has_no_reason(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("oracle.twins.dynamic.DEPARTURES", tuple(d for d in DEPARTURES if not d.guard))
    found = compared(read_text(FIVE_AND_MORE), np.ones((2, 3), np.int32))
    assert found.outcome is DynamicOutcome.THEY_DEPART
    assert found.departure is None


def test_what_the_way_to_xla_makes_of_a_program_is_what_both_are_held_to() -> None:
    """As of jaxlib 0.12 the size of a dimension that is split comes back in the first part, whatever the text said."""
    module = program(
        "x = s32[4] parameter(0)\n n = s32[] parameter(1)\n"
        "d = s32[<=4] set-dimension-size(x, n), dimensions={0}\n ROOT r = s32[2,<=2] reshape(d)"
    )
    for size in (0, 2, 4):
        found = compared(module.clone(), np.arange(4, dtype=np.int32), np.array(size, np.int32))
        assert found.outcome is not DynamicOutcome.WE_DEPART, report(found)
