"""Do StableHLO programs of unknown sizes come to everything there is, and are they what they say?"""

from collections import Counter
from typing import Any

import pytest
from hypothesis import find, settings

from fuzz.generators import draw_sample
from fuzz.generators.stablehlo import RULES, Dynamism, SymbolicFeature, SymbolicProgram, symbolics
from fuzz.generators.stablehlo.sizes import Size
from hlo.evaluator import evaluate
from hlo.stablehlo import StableHloModule
from oracle.running import Form, evaluated, form_of
from oracle.symbolic import draw_sized_inputs, known_parameters, specialise

PROGRAMS = 700
EVALUATED = 60
OPERATIONS = {
    "stablehlo.dynamic_broadcast_in_dim",
    "stablehlo.dynamic_conv",
    "stablehlo.dynamic_gather",
    "stablehlo.dynamic_iota",
    "stablehlo.dynamic_pad",
    "stablehlo.dynamic_reshape",
    "stablehlo.get_dimension_size",
    "stablehlo.real_dynamic_slice",
    "stablehlo.set_dimension_size",
    "func.call",
}


@pytest.fixture(scope="module")
def drawn() -> list[SymbolicProgram]:
    return draw_sample(symbolics(), PROGRAMS)


def operations(module: StableHloModule) -> list[Any]:
    return [op for op in module.operations() if len(op.results)]


def unknown_parameters(program: SymbolicProgram) -> list[bool]:
    return [not kind.is_static for kind in program.module.parameters if kind.rank]


def test_every_program_is_valid(drawn: list[SymbolicProgram]) -> None:
    assert [program.module.violations() for program in drawn if program.module.violations()] == []


def test_every_program_has_sizes_that_fit_it_and_can_be_run(drawn: list[SymbolicProgram]) -> None:
    for program in drawn[:EVALUATED]:
        assert program.assignments
        inputs, _ = draw_sized_inputs(
            program.module, 0, len(program.assignments), assignments=program.assignments
        )
        for assignment, one_set in zip(program.assignments, inputs, strict=True):
            evaluated(specialise(program.module, assignment), one_set)


def test_every_rule_and_every_way_to_say_a_size_is_drawn(drawn: list[SymbolicProgram]) -> None:
    seen = Counter(str(feature) for program in drawn for feature in program.features)
    assert {str(feature): seen[str(feature)] for feature in SymbolicFeature if seen[str(feature)] < 3} == {}
    assert set(RULES) <= seen.keys()


def test_every_dynamic_operation_is_drawn_with_a_known_result_and_with_an_unknown_one(
    drawn: list[SymbolicProgram],
) -> None:
    seen = Counter(
        (op.name, "?" in str(op.results[0].type)) for program in drawn for op in operations(program.module)
    )
    scalars = {"stablehlo.get_dimension_size"}
    always_unknown = {"stablehlo.set_dimension_size"}
    for name in OPERATIONS:
        assert seen[name, False] > 0 or name in always_unknown, name
        assert seen[name, True] > 0 or name in scalars, name


def test_dynamism_is_of_the_kind_that_a_program_says(drawn: list[SymbolicProgram]) -> None:
    kinds = Counter(kind for program in drawn for kind in Dynamism if str(kind) in map(str, program.features))
    assert min(kinds[kind] for kind in Dynamism) > PROGRAMS // 10
    for program in drawn:
        unknown, features = unknown_parameters(program), set(map(str, program.features))
        if str(Dynamism.APPARENT) in features:
            assert not any(unknown)
        if str(Dynamism.WHOLLY) in features and unknown and "gather" not in features:
            assert any(unknown)


def test_dynamism_that_is_only_apparent_is_there(drawn: list[SymbolicProgram]) -> None:
    apparent = [program for program in drawn if str(Dynamism.APPARENT) in map(str, program.features)]
    unknown = [program for program in apparent if not program.module.is_static]
    assert len(unknown) > len(apparent) // 3
    assert all(len(program.assignments) == 1 or "scalar-size" in program.features for program in apparent)


def test_sizes_that_parameters_hold_are_known_to_the_oracle(drawn: list[SymbolicProgram]) -> None:
    held = [program for program in drawn if program.assignments[0].known]
    assert len(held) > 5
    for program in held:
        assert set(known_parameters(program.module)) <= {number for number, _ in program.assignments[0].known}


def test_sizes_are_none_one_and_more(drawn: list[SymbolicProgram]) -> None:
    sizes = {
        size
        for program in drawn
        for assignment in program.assignments
        for kind, dims in zip(program.module.parameters, assignment.sizes, strict=True)
        for known, size in zip(kind.dimensions, dims, strict=True)
        if known is None
    }
    assert {0, 1, 2, 3} <= sizes


def test_some_programs_set_sizes_in_bounds(drawn: list[SymbolicProgram]) -> None:
    bounded = [program for program in drawn if "bounds<" in program.module.text]
    forms = {form_of(specialise(program.module, program.assignments[0])) for program in bounded[:5]}
    assert forms == {Form.DYNAMIC}


def test_the_simplest_program_returns_a_size() -> None:
    simplest = find(symbolics(), lambda _: True, settings=settings(database=None))
    names = [op.name for op in operations(simplest.module)]
    assert names == ["stablehlo.get_dimension_size"]
    module = specialise(simplest.module, simplest.assignments[0])
    inputs, _ = draw_sized_inputs(simplest.module, 0, 1, assignments=simplest.assignments)
    assert evaluate(module, inputs[0]) == 3


def test_sizes_add_and_multiply_as_numbers_do() -> None:
    b, s = Size.symbol("b"), Size.symbol("s")
    size = (b + 1) * (s + -2) + b * s
    assert size.value({"b": 3, "s": 5}) == 4 * 3 + 15
    assert str(size) == "-2 + -2*b + 2*b*s + s"
    assert size.constant is None
    assert (b + b * -1).constant == 0
    assert (Size.of(2) * 3 + 1).constant == 7
    assert b * s == s * b
