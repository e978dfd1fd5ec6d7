"""Are programs of rolled loops valid, do their loops end, and is everything in them that should be?"""

import json
import random
import re
from collections import Counter
from collections.abc import Callable, Mapping, Sequence

import pytest
from hypothesis import HealthCheck, Phase, find, settings

from fuzz.generators import Program
from fuzz.generators.whiles import WhileFeature, WhileProfile, whiles
from hlo import HloInstruction, HloModule, Opcode, PrimitiveType, Value
from hlo.attributes import Comparison
from hlo.canonical import structure
from hlo.evaluator import evaluate
from hlo.interchange import read_text, write_text
from hlo.verify import verify
from oracle.inputs import draw_inputs
from oracle.judge import judge
from oracle.verdict import Agree
from passes import parse_pipeline

Sample = Callable[..., list[Program]]

TRIPS = re.compile(rb'\{"known_trip_count":\{"n":"\d+"\}\}')
ONLY_WHEN_ASKED = {WhileFeature.WRONG_TRIP_COUNT}


def instructions(module: HloModule) -> list[HloInstruction]:
    return [inst for computation in module.computations for inst in computation.instructions]


def loops(program: Program) -> list[HloInstruction]:
    return [inst for inst in instructions(program.module) if inst.opcode is Opcode.WHILE]


def trips_told(loop: HloInstruction) -> int | None:
    found = TRIPS.search(loop.carried)
    return int(json.loads(found[0])["known_trip_count"]["n"]) if found else None


def trips_made(program: Program) -> dict[HloInstruction, Counter[int]]:
    """How often each loop ran for how many trips, on the program's first inputs."""
    bodies = {loop.called_computations[0]: loop for loop in loops(program)}
    conditions = {loop.called_computations[1]: loop for loop in loops(program)}
    running: Counter[HloInstruction] = Counter()
    made: dict[HloInstruction, Counter[int]] = {loop: Counter() for loop in bodies.values()}

    def watch(inst: HloInstruction, _: Sequence[Value], value: Value) -> None:
        if inst.is_root and inst.parent in bodies:
            running[bodies[inst.parent]] += 1
        elif inst.is_root and inst.parent in conditions and not value:
            loop = conditions[inst.parent]
            made[loop][running.pop(loop, 0)] += 1

    (inputs,) = draw_inputs(program.module, program.input_seed, 1)
    evaluate(program.module, inputs, observer=watch)
    return made


def test_every_program_is_valid(drawn: list[Program], lying: list[Program]) -> None:
    assert not [violation for program in (*drawn, *lying) for violation in verify(program.module)]


def test_every_program_survives_its_text(drawn: list[Program]) -> None:
    for program in drawn[:200]:
        assert structure(read_text(write_text(program.module))) == structure(program.module)


@pytest.mark.parametrize("feature", sorted(set(WhileFeature) - ONLY_WHEN_ASKED))
def test_every_feature_appears(drawn: list[Program], feature: WhileFeature) -> None:
    assert any(feature in program.features for program in drawn)


def test_every_loop_ends_on_every_input(drawn: list[Program]) -> None:
    for program in drawn:
        for inputs in draw_inputs(program.module, program.input_seed, 3):
            evaluate(program.module, inputs)  # or EvaluationLimit


@pytest.fixture(scope="module")
def made(drawn: list[Program]) -> list[dict[HloInstruction, Counter[int]]]:
    return [trips_made(program) for program in drawn]


def test_loops_make_no_trip_one_trip_several_and_more_than_an_unroller_takes(
    made: list[dict[HloInstruction, Counter[int]]],
) -> None:
    trips = Counter(trip for program in made for loop in program.values() for trip in loop)
    assert set(range(13)) <= set(trips)
    assert any(trip > 64 for trip in trips)
    assert sum(trip > 12 for trip in trips.elements()) < 0.1 * trips.total()


def test_a_known_trip_count_is_right(
    drawn: list[Program], made: list[dict[HloInstruction, Counter[int]]]
) -> None:
    told = 0
    for program, loops_made in zip(drawn, made, strict=True):
        for loop, trips in loops_made.items():
            if (count := trips_told(loop)) is not None:
                told += 1
                assert set(trips) <= {count}
        annotated = any(trips_told(loop) is not None for loop in loops_made)
        assert annotated == (WhileFeature.KNOWN_TRIP_COUNT in program.features)
    assert told > 100


def test_a_wrong_trip_count_is_only_told_where_it_is_asked_for(lying: list[Program]) -> None:
    wrong = right = 0
    for program in lying:
        for loop, trips in trips_made(program).items():
            if (told := trips_told(loop)) is not None and trips:
                wrong += told not in trips
                right += told in trips
    assert wrong > 20
    assert right > 20
    assert any(WhileFeature.WRONG_TRIP_COUNT in program.features for program in lying)


def counters(program: Program) -> set[PrimitiveType]:
    """The types that conditions compare."""
    conditions = {loop.called_computations[1] for loop in loops(program)}
    return {
        inst.operand(0).array_shape.element_type
        for condition in conditions
        for inst in condition.instructions
        if inst.opcode is Opcode.COMPARE
    }


def compares(direction: str, *, counter_first: bool) -> Callable[[Program], bool]:
    """A condition with the direction, whose counter is the read element and whose bound is a constant."""

    def has(program: Program) -> bool:
        conditions = {loop.called_computations[1] for loop in loops(program)}
        return any(
            inst.opcode is Opcode.COMPARE
            and isinstance(inst.attributes, Comparison)
            and inst.attributes.direction == direction
            and inst.operand(int(counter_first)).opcode is Opcode.CONSTANT
            for condition in conditions
            for inst in condition.instructions
        )

    return has


def is_in_body(inst: HloInstruction) -> bool:
    return any(
        caller.opcode is Opcode.WHILE and caller.called_computations[0] is inst.parent
        for caller in inst.parent.caller_instructions
    )


def any_inst(holds: Callable[[HloInstruction], bool]) -> Callable[[Program], bool]:
    return lambda program: any(map(holds, instructions(program.module)))


# What must be there where a feature is said to be. Counting and nesting are looked at by running the loops.
WITNESSES: Mapping[WhileFeature, Callable[[Program], bool]] = {
    **{
        WhileFeature[f"{kind.text.upper()}_COUNTER"]: (lambda program, kind=kind: kind in counters(program))
        for kind in PrimitiveType
        if kind.text in ("s8", "s16", "s32", "s64", "u8", "u16", "u32", "u64")
    },
    WhileFeature.NESTED_LOOP: any_inst(lambda i: i.opcode is Opcode.WHILE and not i.parent.is_entry),
    WhileFeature.SEVERAL_LOOPS: lambda program: len(loops(program)) > 1,
    WhileFeature.LOOP_IN_CALL: any_inst(
        lambda i: (
            i.opcode is Opcode.CALL
            and any(j.opcode is Opcode.WHILE for j in i.called_computations[0].instructions)
        )
    ),
    WhileFeature.LOOP_CALLED_TWICE: any_inst(
        lambda i: i.opcode is Opcode.CALL and len(i.called_computations[0].caller_instructions) == 2
    ),
    WhileFeature.CONDITIONAL_BODY: any_inst(lambda i: i.opcode is Opcode.CONDITIONAL),
    WhileFeature.CALL_IN_BODY: any_inst(lambda i: i.opcode is Opcode.CALL and is_in_body(i)),
    WhileFeature.NESTED_STATE: any_inst(
        lambda i: i.opcode is Opcode.WHILE and any(hasattr(e, "elements") for e in i.tuple_shape.elements)
    ),
    WhileFeature.EDGE_AFTER_LOOP: any_inst(lambda i: i.opcode is Opcode.WHILE and bool(i.control_successors)),
    WhileFeature.SAME_VALUE_TWICE: any_inst(
        lambda i: (
            i.opcode is Opcode.WHILE
            and i.operand(0).opcode is Opcode.TUPLE
            and len(set(leaf_operands(i.operand(0)))) < len(leaf_operands(i.operand(0)))
        )
    ),
}


def leaf_operands(inst: HloInstruction) -> list[HloInstruction]:
    """What a tuple is made of, through tuples in it."""
    if inst.opcode is not Opcode.TUPLE:
        return [inst]
    return [leaf for operand in inst.operands for leaf in leaf_operands(operand)]


@pytest.mark.parametrize("feature", WITNESSES)
def test_what_a_program_says_it_has_is_there(drawn: list[Program], feature: WhileFeature) -> None:
    said = [program for program in drawn if feature in program.features]
    assert said
    assert all(map(WITNESSES[feature], said))


@pytest.mark.parametrize("counter_first", [True, False])
@pytest.mark.parametrize("direction", ["LT", "LE", "GT", "GE", "NE"])
def test_bounds_stand_on_either_side_of_every_comparison(
    drawn: list[Program], direction: str, counter_first: bool
) -> None:
    assert any(map(compares(direction, counter_first=counter_first), drawn))


def test_a_slice_that_nothing_uses_is_not_there(drawn: list[Program]) -> None:
    slices = (Opcode.DYNAMIC_SLICE, Opcode.DYNAMIC_UPDATE_SLICE)
    unused = [
        inst.name
        for program in drawn
        for inst in instructions(program.module)
        if inst.opcode in slices and not inst.users and not inst.is_root
    ]
    assert not unused


def test_programs_are_neither_trivial_nor_large(drawn: list[Program]) -> None:
    sizes = sorted(program.module.instruction_count for program in drawn)
    assert 30 < sizes[len(sizes) // 2] < 80
    assert sizes[-1] < 300


def test_the_palette_is_small(drawn: list[Program]) -> None:
    free = {Opcode.PARAMETER, Opcode.CONSTANT, Opcode.TUPLE, Opcode.GET_TUPLE_ELEMENT}
    operations = {
        (inst.opcode, inst.attributes, tuple(operand.shape for operand in inst.operands), inst.shape)
        for program in drawn
        for inst in instructions(program.module)
        if inst.opcode not in free and not inst.called_computations
    }
    assert len(operations) < 700  # each costs a compile of 20 ms, once a campaign


def test_the_same_draw_is_the_same_program(sample: Sample) -> None:
    first, second = sample(30), sample(30)
    assert [structure(p.module) for p in first] == [structure(p.module) for p in second]
    assert [(p.input_seed, p.environment, p.features) for p in first] == [
        (p.input_seed, p.environment, p.features) for p in second
    ]


def test_a_profile_can_do_without_nesting_and_decoration(sample: Sample) -> None:
    plain = WhileProfile(nested=False, decorations=False, environments=False, max_loops=1, trips=(2,))
    for program in sample(60, plain):
        assert len(loops(program)) == 1
        assert not program.environment
        assert not any(inst.metadata for inst in instructions(program.module))


def test_stock_passes_keep_the_meaning_of_loops(sample: Sample) -> None:
    pipeline = parse_pipeline("call-inliner,tuple-simplifier,constant-folding,dce")
    verdicts: Counter[str] = Counter()
    for program in sample(40):
        inputs = draw_inputs(program.module, program.input_seed, 2)
        verdict = judge(program.module, pipeline, inputs, program.environment).verdict
        verdicts["agree" if isinstance(verdict, Agree) else str(verdict)] += 1
    assert set(verdicts) == {"agree"}


# shrinking


def smallest(condition: Callable[[Program], object]) -> Program:
    return find(
        whiles(),
        lambda program: bool(condition(program)),
        settings=settings(
            max_examples=5000,
            database=None,
            deadline=None,
            phases=[Phase.generate, Phase.shrink],
            suppress_health_check=[HealthCheck.too_slow],
        ),
        random=random.Random(1),
    )


def work(program: Program) -> int:
    """Instructions outside parameters and constants."""
    return sum(i.opcode not in (Opcode.PARAMETER, Opcode.CONSTANT) for i in instructions(program.module))


def test_the_simplest_program_reads_one_row_in_one_trip() -> None:
    program = smallest(lambda program: True)
    expected = read_text("""
        HloModule whiles
        condition {
          p = (s32[], s32[8], s32[1]) parameter(0)
          i = s32[] get-tuple-element(p), index=0
          n = s32[] constant(1)
          ROOT less = pred[] compare(i, n), direction=LT
        }
        body {
          p = (s32[], s32[8], s32[1]) parameter(0)
          i = s32[] get-tuple-element(p), index=0
          xs = s32[8] get-tuple-element(p), index=1
          x = s32[1] dynamic-slice(xs, i), dynamic_slice_sizes={1}
          sum = s32[1] get-tuple-element(p), index=2
          further = s32[1] add(x, sum)
          one = s32[] constant(1)
          next = s32[] add(i, one)
          ROOT r = (s32[], s32[8], s32[1]) tuple(next, xs, further)
        }
        ENTRY main {
          xs = s32[8] parameter(0)
          sum = s32[1] parameter(1)
          i = s32[] constant(0)
          t = (s32[], s32[8], s32[1]) tuple(i, xs, sum)
          w = (s32[], s32[8], s32[1]) while(t), condition=condition, body=body
          ROOT g = s32[1] get-tuple-element(w), index=2
        }""")
    assert structure(program.module, names=False) == structure(expected, names=False)


@pytest.mark.parametrize(
    "feature",
    [
        WhileFeature.COUNTED_DOWN,
        WhileFeature.COUNTER_WRAPS,
        WhileFeature.EXIT_BY_FLAG,
        WhileFeature.NESTED_LOOP,
        WhileFeature.LOOP_IN_CALL,
    ],
)
def test_a_feature_shrinks_to_a_program_to_read_at_a_glance(feature: WhileFeature) -> None:
    program = smallest(lambda program: feature in program.features)
    assert len(loops(program)) <= 2  # the inner loop may be the one
    assert work(program) <= 30
