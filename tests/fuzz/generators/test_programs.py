from collections.abc import Callable
from dataclasses import replace

import pytest

from fuzz.generators import DEFAULT, KILL_SWITCH, SMALL, Feature, Profile, Program
from hlo import ArrayShape, Opcode, PrimitiveType, leaves
from hlo.canonical import structure
from hlo.evaluator import evaluate
from hlo.interchange import read_text, write_text
from hlo.verify import verify
from oracle.inputs import draw_inputs
from passes import DEFAULT_PIPELINE, Pass, Trace, apply_switches, parse_pipeline

Sample = Callable[..., list[Program]]

# control and constants are nothing that a reference compiles
FREE = {
    Opcode.PARAMETER,
    Opcode.CONSTANT,
    Opcode.TUPLE,
    Opcode.GET_TUPLE_ELEMENT,
    Opcode.CALL,
    Opcode.CUSTOM_CALL,
    Opcode.WHILE,
    Opcode.CONDITIONAL,
    Opcode.OPTIMIZATION_BARRIER,
}


def parameter_types(program: Program) -> set[PrimitiveType]:
    shapes = (parameter.shape for parameter in program.module.entry_computation.parameters)
    return {
        leaf.element_type for shape in shapes for _, leaf in leaves(shape) if isinstance(leaf, ArrayShape)
    }


def test_every_program_is_valid(drawn: list[Program]) -> None:
    assert not [violation for program in drawn for violation in verify(program.module)]


def test_every_program_survives_its_text(drawn: list[Program]) -> None:
    for program in drawn[:200]:
        assert structure(read_text(write_text(program.module))) == structure(program.module)


def test_every_program_can_be_evaluated(drawn: list[Program]) -> None:
    for program in drawn:
        (inputs,) = draw_inputs(program.module, program.input_seed, 1)
        evaluate(program.module, inputs)


def test_a_wrong_slice_cannot_hide(drawn: list[Program]) -> None:
    unused = [
        (program.module.name, inst.name)
        for program in drawn
        for computation in program.module.computations
        for inst in computation.instructions
        if inst.opcode is Opcode.DYNAMIC_SLICE and not inst.users and not inst.is_root
    ]
    assert not unused


@pytest.mark.parametrize("feature", Feature)
def test_every_feature_appears(drawn: list[Program], feature: Feature) -> None:
    assert any(feature in program.features for program in drawn)


def test_the_palette_is_small(drawn: list[Program]) -> None:
    operations = {
        (inst.opcode, inst.attributes, tuple(operand.shape for operand in inst.operands), inst.shape)
        for program in drawn
        for computation in program.module.computations
        for inst in computation.instructions
        if inst.opcode not in FREE
    }
    assert len(operations) < 450  # each costs a compile of 20 ms, once a campaign


def test_programs_are_neither_trivial_nor_large(drawn: list[Program]) -> None:
    sizes = sorted(program.module.instruction_count for program in drawn)
    assert 30 < sizes[len(sizes) // 2] < 80
    assert sizes[-1] < 250


def test_a_share_of_the_loops_is_long(drawn: list[Program]) -> None:
    assert sum(Feature.LONG_LOOP in program.features for program in drawn) > 0.06 * len(drawn)


@pytest.fixture(scope="module")
def traces(drawn: list[Program]) -> list[dict[str, Trace]]:
    """What each pass of the default pipeline did to each of the first programs, by the pass's name."""
    return [ran(program) for program in drawn[:600]]


def ran(program: Program) -> dict[str, Trace]:
    module = program.module.clone()
    traces: dict[str, Trace] = {}
    for pass_ in apply_switches(parse_pipeline(DEFAULT_PIPELINE), program.environment).passes:
        traces[pass_.name] = Trace()
        pass_.run(module, traces[pass_.name])
    return traces


def test_the_passes_have_work_in_most_programs(drawn: list[Program], traces: list[dict[str, Trace]]) -> None:
    tagged = sum(
        not {"tag-ds", "tag-dus"}.isdisjoint(trace["neuron-dus-ds-index-simplifier"].fired)
        for trace in traces
    )
    moved = sum(
        not {"move-static", "move-dynamic"}.isdisjoint(trace["dynamic-slice-mover"].fired) for trace in traces
    )
    on = [
        trace["dynamic-slice-mover"].declined["kill-switch"]
        for program, trace in zip(drawn, traces, strict=False)
        if program.environment.get(KILL_SWITCH) == "1"
    ]
    assert tagged >= 0.8 * len(traces)
    assert moved >= 0.5 * len(traces)
    assert sum(map(bool, on)) >= 0.2 * len(on) > 0


# Calls of generated programs may all be inlined, so that every slice has its equivalent; and the simplifier takes
# incomplete tokens away before the mover sees them. Both have tests of their own beside the mover's.
NEVER_HELD_BACK = {"no-equivalent", "not-enough-indices"}


@pytest.mark.parametrize("pass_", parse_pipeline(DEFAULT_PIPELINE).passes, ids=lambda pass_: pass_.name)
def test_every_legality_rule_and_every_guard_holds_something_back(
    traces: list[dict[str, Trace]], pass_: Pass
) -> None:
    held_back = {rule for trace in traces for rule in trace[pass_.name].declined}
    assert held_back == {*pass_.legality, *pass_.guards} - NEVER_HELD_BACK


def test_the_kill_switch_is_on_off_and_absent(drawn: list[Program]) -> None:
    assert {program.environment.get(KILL_SWITCH) for program in drawn} == {None, "0", "1"}


def test_input_seeds_differ(drawn: list[Program]) -> None:
    # Hypothesis makes several programs out of one by changing a part, so seeds recur.
    assert len({program.input_seed for program in drawn}) > len(drawn) / 10


def test_the_same_draw_is_the_same_program(sample: Sample) -> None:
    first, second = sample(30), sample(30)
    assert [structure(p.module) for p in first] == [structure(p.module) for p in second]
    assert [(p.input_seed, p.environment, p.features) for p in first] == [
        (p.input_seed, p.environment, p.features) for p in second
    ]


def test_a_small_profile_gives_small_programs(sample: Sample) -> None:
    for program in sample(100, SMALL):
        assert program.module.instruction_count <= 80
        assert parameter_types(program) <= {PrimitiveType.S32}
        assert program.features.isdisjoint({Feature.TWO_LOOPS, Feature.OTHER_OPERATIONS, Feature.LONG_LOOP})


def test_a_profile_can_be_kept_to_types(sample: Sample) -> None:
    types = (PrimitiveType.U8, PrimitiveType.S8)
    narrowed = replace(DEFAULT.with_types(*types), extras=(None,))
    assert narrowed.lanes
    assert all(parameter_types(program) <= set(types) for program in sample(60, narrowed))


def test_types_that_no_lane_keeps_to_are_an_error() -> None:
    with pytest.raises(ValueError, match="no lane uses only pred"):
        DEFAULT.with_types(PrimitiveType.PRED)


def test_without_decorations_and_environments_there_are_none(sample: Sample) -> None:
    for program in sample(60, Profile(decorations=False, environments=False)):
        instructions = [i for c in program.module.computations for i in c.instructions]
        assert not any(
            i.metadata or i.frontend_attributes or i.has_control_dependencies for i in instructions
        )
        assert not program.environment
