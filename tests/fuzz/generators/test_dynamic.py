"""Do bounded-dynamic programs come to everything that the padder does, and to everything that it refuses?"""

from collections import Counter

import pytest

from fuzz.generators import Program, draw_sample
from fuzz.generators.draft import Draft
from fuzz.generators.dynamic import REFUSALS, RULES, DynamicFeature, DynamicProfile, dynamics
from fuzz.generators.dynamic.graph import DynamicGraph
from hlo import HloModule, Opcode
from hlo.attributes import DotDimensions
from hlo.interchange import read_text, write_text
from hlo.verify import verify
from oracle.true_size import is_dynamic
from passes import PassError, Trace
from passes.stock import DynamicPadder
from passes.stock.dynamic_dimension_inference import DynamismRefused

PROGRAMS = 900
OF_CUSTOM_CALLS = {"window", "convolution"}  # which are not drawn


@pytest.fixture(scope="module")
def drawn() -> list[Program]:
    return draw_sample(dynamics(), PROGRAMS)


def seen(programs: list[Program]) -> set[str]:
    return {str(feature) for program in programs for feature in program.features}


def test_every_program_is_valid_and_has_a_dynamic_dimension(drawn: list[Program]) -> None:
    for program in drawn:
        assert not verify(program.module)
    assert sum(is_dynamic(program.module) for program in drawn) > 0.9 * len(drawn)


def test_every_operation_is_drawn(drawn: list[Program]) -> None:
    assert set(RULES) <= seen(drawn)


def test_every_rewrite_of_the_padder_is_reached(drawn: list[Program]) -> None:
    fired: Counter[str] = Counter()
    refused = 0
    for program in drawn:
        trace = Trace()
        try:
            DynamicPadder().run(program.module.clone(), trace)
        except PassError:
            refused += 1
        fired += trace.fired
    rules = set(DynamicPadder.rules) - OF_CUSTOM_CALLS
    assert {rule: fired[rule] for rule in rules if fired[rule] < 3} == {}
    assert refused < 0.1 * len(drawn)


def test_what_each_guard_is_for_is_drawn(drawn: list[Program]) -> None:
    found: Counter[str] = Counter()
    for program in drawn:
        for computation in program.module.computations:
            for inst in computation.instructions:
                dynamic = [not operand.shape.is_static for operand in inst.operands]
                match inst.opcode:
                    case Opcode.REDUCE if len(inst.operands) == 4:
                        found["one input without a size"] += dynamic[:2] == [True, False]
                    case Opcode.DOT if inst.array_shape.element_type.is_float:
                        numbers = inst.attributes
                        assert isinstance(numbers, DotDimensions)
                        sides = (numbers.lhs_contracting[0], numbers.rhs_contracting[0])
                        flags = [
                            o.array_shape.is_dynamic_dimension(d)
                            for o, d in zip(inst.operands, sides, strict=True)
                        ]
                        found["one side without a size"] += flags == [True, False]
                    case Opcode.SCATTER if inst.operand(1).array_shape.element_type.bit_width == 8:
                        found["too narrow indices"] += dynamic[1] and max(inst.array_shape.dimensions) > 128
                    case _:
                        pass
    assert all(
        found[what] > 2
        for what in ("one input without a size", "one side without a size", "too narrow indices")
    )


def test_few_programs_end_with_what_is_refused(drawn: list[Program]) -> None:
    share = sum(any(f.startswith("refused-") for f in program.features) for program in drawn) / len(drawn)
    assert 0.02 < share < 0.12


def test_every_refusal_is_drawn() -> None:
    programs = draw_sample(dynamics(DynamicProfile(refused=(True,))), 500)
    assert {f"refused-{name}" for name in REFUSALS} <= seen(programs)
    assert set(DynamicFeature) == {*RULES, *(f"refused-{name}" for name in REFUSALS)}


def alone(name: str) -> HloModule:
    draft = Draft("dynamic")
    draft.entry.computation.set_root(REFUSALS[name](DynamicGraph(draft, draft.entry)))
    return draft.module


@pytest.mark.parametrize("name", REFUSALS)
def test_what_has_to_be_refused_is_valid_and_is_refused(name: str) -> None:
    module = alone(name)
    assert not verify(module)
    read_text(write_text(module))
    with pytest.raises(DynamismRefused):
        DynamicPadder().run(module, Trace())


def test_the_refusals_are_of_many_kinds() -> None:
    reasons: set[tuple[Opcode, str]] = set()
    for name in REFUSALS:
        with pytest.raises(DynamismRefused) as refused:
            DynamicPadder().run(alone(name), Trace())
        reasons.add((refused.value.opcode, str(refused.value).split("): ", 1)[-1]))
    assert len(reasons) == len(REFUSALS)
