"""Do bounded-dynamic programs come to everything that the padder does, and to everything that it refuses?"""

import contextlib
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
from oracle import Skip, SkipReason, draw_inputs, judge
from oracle.true_size import is_dynamic
from passes import PassError, Trace, parse_pipeline
from passes.stock import DynamicPadder, DynamicParameterBinding
from passes.stock.dynamic_dimension_inference import DynamismRefused
from passes.stock.dynamic_padder.padder import CUSTOM_CALLS
from tests.passes.stock.dynamic.test_documentation import REASONS

PROGRAMS = 900
OF_A_GUARD = {"mask-select-and-scatter"}  # which only fires without the guard `reducer_identity`


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
    assert set(fired) <= set(DynamicPadder.rules)
    rules = set(DynamicPadder.rules) - OF_A_GUARD
    assert {rule: fired[rule] for rule in rules if fired[rule] < 3} == {}
    assert refused < 0.1 * len(drawn)


def test_what_is_rewritten_otherwise_without_a_guard_is_reached(drawn: list[Program]) -> None:
    fired: Counter[str] = Counter()
    for program in drawn:
        trace = Trace()
        if "select-and-scatter" in map(str, program.features):
            with contextlib.suppress(PassError):
                DynamicPadder(reducer_identity=False).run(program.module.clone(), trace)
        fired += trace.fired
    assert all(fired[rule] > 2 for rule in OF_A_GUARD)
    assert not fired["select-and-scatter"]


def opcodes_and_targets(module: HloModule) -> Counter[str]:
    return Counter(
        inst.custom_call_target if inst.opcode is Opcode.CUSTOM_CALL else inst.opcode.value
        for computation in module.computations
        for inst in computation.instructions
    )


def test_every_custom_call_that_the_padder_knows_is_drawn(drawn: list[Program]) -> None:
    found: Counter[str] = Counter()
    for program in drawn:
        found += opcodes_and_targets(program.module)
    targets = {*CUSTOM_CALLS, "PadToStatic", "SliceToDynamic", "SetBound", "Sharding"}
    assert {target for target in targets if found[target] < 3} == set()


def test_windows_of_select_and_scatter_have_padding(drawn: list[Program]) -> None:
    windows = [
        inst.attributes
        for program in drawn
        for inst in program.module.entry_computation.instructions
        if inst.opcode is Opcode.SELECT_AND_SCATTER
    ]
    padded = [w for w in windows if any(row.padding_low or row.padding_high for row in w.dimensions)]  # pyright: ignore[reportAttributeAccessIssue]
    assert len(padded) > 5


def test_sizes_of_parameters_are_bound_to_others_in_some_programs(drawn: list[Program]) -> None:
    bound = [program for program in drawn if program.module.dynamic_parameter_binding]
    assert 0.02 < len(bound) / len(drawn) < 0.3
    assert all("bound-parameter" in program.features for program in bound)
    assert any(len(program.module.dynamic_parameter_binding) > 1 for program in bound)
    for program in bound:
        trace = Trace()
        assert DynamicParameterBinding().run(program.module.clone(), trace)
        assert trace.fired["bound"] == len(program.module.dynamic_parameter_binding)


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


@pytest.mark.parametrize("number", [3, 9, 14, 31])
def test_no_refusal_ends_more_than_a_few_programs(number: int) -> None:
    programs = draw_sample(dynamics(), 300, number)
    counts = Counter(f for program in programs for f in program.features if f.startswith("refused-"))
    assert 6 < counts.total() < 30
    assert max(counts.values()) <= 6


def test_every_refusal_is_drawn() -> None:
    programs = draw_sample(dynamics(DynamicProfile(refused=(True,))), 700)
    assert {f"refused-{name}" for name in REFUSALS} <= seen(programs)
    where_sizes_come_from = {"bound-parameter", "size-outside"}
    assert set(DynamicFeature) == {*RULES, *(f"refused-{name}" for name in REFUSALS), *where_sizes_come_from}


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


@pytest.mark.parametrize("name", REFUSALS)
def test_what_has_to_be_refused_is_skipped_by_the_judge_whatever_it_means(name: str) -> None:
    module = alone(name)
    verdict = judge(module, parse_pipeline("dynamic"), draw_inputs(module, 1, 3), {}).verdict
    assert isinstance(verdict, Skip) or name == "call"  # which is inlined first
    if isinstance(verdict, Skip):
        assert verdict.reason is SkipReason.REFUSED


NEVER_DRAWN = {
    "cannot be proved equal": "only with shape_check=compile-time",
    "gives an array that has no size beside it": "only for a back end that runs on dynamic arrays",
    "it has a dimension without a bound": "such programs are refused before a pass sees them",
    "only the largest element may be selected": "only without the guard `reducer_identity`",
    "the padding value is dynamic": "a scalar has no dimension; no valid program",
}


def test_each_reason_for_a_refusal_is_reached() -> None:
    said: list[str] = []
    for name in REFUSALS:
        with pytest.raises(DynamismRefused) as refused:
            DynamicPadder().run(alone(name), Trace())
        said.append(str(refused.value))
    unreached = {reason for reason in REASONS if not any(reason in message for message in said)}
    assert unreached == set(NEVER_DRAWN)


def test_the_refusals_are_of_many_kinds() -> None:
    reasons: set[tuple[Opcode, str]] = set()
    for name in REFUSALS:
        with pytest.raises(DynamismRefused) as refused:
            DynamicPadder().run(alone(name), Trace())
        reasons.add((refused.value.opcode, str(refused.value).split("): ", 1)[-1]))
    assert len(reasons) == len(REFUSALS)
