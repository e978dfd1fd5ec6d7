from collections import Counter
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
from passes import DEFAULT_PIPELINE, Trace, apply_switches, parse_pipeline

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
    assert 30 < sizes[len(sizes) // 2] < 70
    assert sizes[-1] < 250


def test_the_passes_have_work_in_most_programs(drawn: list[Program]) -> None:
    pipeline = parse_pipeline(DEFAULT_PIPELINE)
    some = drawn[:600]
    fired: Counter[str] = Counter()
    switched_on = held_back = 0
    for program in some:
        trace = Trace()
        apply_switches(pipeline, program.environment).run(program.module.clone(), trace)
        fired["token"] += bool(trace.fired.keys() & {"tag-ds", "tag-dus"})
        fired["move"] += bool(trace.fired.keys() & {"move-static", "move-dynamic"})
        on = program.environment.get(KILL_SWITCH) == "1"
        switched_on += on
        held_back += on and trace.declined["kill-switch"] > 0
    assert fired["token"] >= 0.8 * len(some)
    assert fired["move"] >= 0.5 * len(some)
    assert held_back >= 0.2 * switched_on > 0


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
