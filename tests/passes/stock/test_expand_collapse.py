"""Dynamic reshapes that only split and join dimensions, spelled so."""

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hlo import same_bits
from hlo.evaluator import evaluate
from hlo.stablehlo import StableHloModule
from oracle.symbolic import assignment_of, draw_sized_inputs, specialise
from oracle.twins import in_stablehlo
from passes import Trace, parse_pipeline
from passes.stock import CanonicalizeDynamism
from passes.stock.canonicalize_dynamism.expand_collapse import Group, grouped
from passes.stock.shape_component_analysis import Size, Symbol

RULE = "materialize-reshape-as-expand-and-collapse"
PIECES = {
    "a": "%a1",
    "b": "%b1",
    "6a": "%a6",
    "6b": "%b6",
    "3b": "%b3",
    "6": "%six",
    "3": "%three",
    "2": "%two",
    "1": "%one",
}


def reshaped(*sizes: str) -> StableHloModule:
    """A tensor of a × 6 × b elements, reshaped to these sizes."""
    shape = f"tensor<{len(sizes)}xi32>"
    kinds = ", ".join(["tensor<1xi32>"] * len(sizes))
    result = f"tensor<{'?x' * len(sizes)}f32>"
    source = "tensor<?x6x?xf32>"
    constants = "\n".join(
        f"%{name} = stablehlo.constant dense<{value}> : tensor<1xi32>"
        for name, value in (("six", 6), ("three", 3), ("two", 2), ("one", 1))
    )
    return StableHloModule.read(f"""module {{ func.func @main(%x: {source}) -> {result} {{
      {constants}
      %a = stablehlo.get_dimension_size %x, dim = 0 : ({source}) -> tensor<i32>
      %b = stablehlo.get_dimension_size %x, dim = 2 : ({source}) -> tensor<i32>
      %a1 = stablehlo.reshape %a : (tensor<i32>) -> tensor<1xi32>
      %b1 = stablehlo.reshape %b : (tensor<i32>) -> tensor<1xi32>
      %a6 = stablehlo.multiply %a1, %six : tensor<1xi32>
      %b6 = stablehlo.multiply %b1, %six : tensor<1xi32>
      %b3 = stablehlo.multiply %three, %b1 : tensor<1xi32>
      %s = stablehlo.concatenate {", ".join(PIECES[size] for size in sizes)}, dim = 0 : ({kinds}) -> {shape}
      %r = stablehlo.dynamic_reshape %x, %s : ({source}, {shape}) -> {result}
      return %r : {result} }} }}""")


def expanded(program: StableHloModule) -> tuple[StableHloModule, Trace]:
    copy, trace = program.clone(), Trace()
    CanonicalizeDynamism(expand_collapse=True).rewrite(copy, trace)
    return copy, trace


@pytest.mark.parametrize(
    ("sizes", "lines"),
    [
        (("6a", "b"), ["collapse_shape %arg0 [[0, 1], [2]] : tensor<?x6x?xf32> into tensor<?x?xf32>"]),
        (("a", "6b"), ["collapse_shape %arg0 [[0], [1, 2]] : tensor<?x6x?xf32> into tensor<?x?xf32>"]),
        (
            ("a", "2", "3", "b"),
            [
                "expand_shape %arg0 [[0], [1, 2], [3]] output_shape [%, 2, 3, %]"
                " : tensor<?x6x?xf32> into tensor<?x2x3x?xf32>"
            ],
        ),
        (
            ("1", "a", "6", "b"),
            [
                "expand_shape %arg0 [[0, 1], [2], [3]] output_shape [1, %, 6, %]"
                " : tensor<?x6x?xf32> into tensor<1x?x6x?xf32>"
            ],
        ),
        (
            ("6a", "b", "1"),
            [
                "expand_shape %arg0 [[0], [1], [2, 3]] output_shape [%, 6, %, 1]"
                " : tensor<?x6x?xf32> into tensor<?x6x?x1xf32>",
                "collapse_shape % [[0, 1], [2], [3]] : tensor<?x6x?x1xf32> into tensor<?x?x1xf32>",
            ],
        ),
    ],
)  # fmt: skip
def test_what_splits_and_joins_is_spelled_so(sizes: tuple[str, ...], lines: list[str]) -> None:
    program = reshaped(*sizes)
    after, trace = expanded(program)
    assert trace.fired[RULE] == 1
    assert after.violations() == []
    assert str(after.entry.type) == str(program.entry.type)
    assert not any(op.name == "stablehlo.dynamic_reshape" for op in after.operations())
    assert [_without_names(line) for line in after.text.splitlines() if "_shape %" in line] == lines
    again, trace = expanded(after)
    assert (again.text, trace.fired.total()) == (after.text, 0)


def _without_names(line: str) -> str:
    words = line.partition("tensor.")[2].replace("%arg0", "@").split(" ")
    shown = [
        "%" + word[len(word.rstrip(",]")) :] if word.lstrip("[").startswith("%") else word for word in words
    ]
    opened = ["[" + new if word.startswith("[%") else new for word, new in zip(words, shown, strict=True)]
    return " ".join(opened).replace("@", "%arg0")


@pytest.mark.parametrize("sizes", [("a", "2", "3b"), ("b", "6", "a"), ("a", "b", "6"), ("6b", "a")])
def test_what_moves_elements_between_dimensions_stays_a_reshape(sizes: tuple[str, ...]) -> None:
    after, trace = expanded(reshaped(*sizes))
    assert not trace.fired[RULE]
    assert any(op.name == "stablehlo.dynamic_reshape" for op in after.operations())


def test_a_dimension_is_not_split_into_two_unknown_ones() -> None:
    text = reshaped("a", "6", "b").text
    there = "stablehlo.dynamic_reshape %arg0, "
    head, _, tail = text.partition("    %4 = ")
    assert there not in head
    source, vector = "tensor<?x6x?xf32>", "tensor<1xi32>"
    flat = f"""%m = stablehlo.multiply %2, %3 : {vector}
        %k = stablehlo.multiply %m, %c : {vector}
        %flat = {there}%k : ({source}, {vector}) -> tensor<?xf32>
        %n = stablehlo.negate %flat : tensor<?xf32>
    """
    back = tail.replace(there, "stablehlo.dynamic_reshape %n, ").replace(f"({source}, ", "(tensor<?xf32>, ")
    after, trace = expanded(StableHloModule.read(f"{head}{flat}    %4 = {back}"))
    assert trace.fired[RULE] == 1
    assert "tensor.collapse_shape %arg0 [[0, 1, 2]]" in after.text
    assert sum(op.name == "stablehlo.dynamic_reshape" for op in after.operations()) == 1


@pytest.mark.parametrize(
    "sizes", [("6a", "b"), ("a", "2", "3", "b"), ("6a", "b", "1"), ("1", "a", "6", "b"), ("a", "6b", "1")]
)
def test_values_stay(sizes: tuple[str, ...]) -> None:
    program = reshaped(*sizes)
    after = in_stablehlo(expanded(program)[0])
    sets, _ = draw_sized_inputs(program, 2, 4)
    assert len(sets) == 4
    for inputs in sets:
        assignment = assignment_of(program, inputs)
        expected = evaluate(specialise(program, assignment), inputs)
        assert same_bits(evaluate(specialise(after, assignment), inputs), expected)


def test_scalars_become_arrays_of_ones_and_back() -> None:
    program = StableHloModule.read("""module {
      func.func @main(%x: tensor<f32>, %y: tensor<1x?xf32>) -> (tensor<?x?xf32>, tensor<f32>) {
        %s = stablehlo.constant dense<1> : tensor<2xi32>
        %r = stablehlo.dynamic_reshape %x, %s : (tensor<f32>, tensor<2xi32>) -> tensor<?x?xf32>
        %e = stablehlo.constant dense<> : tensor<0xi32>
        %t = stablehlo.dynamic_reshape %y, %e : (tensor<1x?xf32>, tensor<0xi32>) -> tensor<f32>
        return %r, %t : tensor<?x?xf32>, tensor<f32> } }""")
    after, _ = expanded(program)
    assert after.violations() == []
    assert not any(op.name == "stablehlo.dynamic_reshape" for op in after.operations()), "both are static"


def test_it_is_done_on_request_only() -> None:
    program = reshaped("6a", "b")
    assert not CanonicalizeDynamism().rewrite(program, Trace())
    (pass_,) = parse_pipeline("canonicalize-dynamism{expand_collapse=true}").passes
    assert pass_ == CanonicalizeDynamism(expand_collapse=True)


# --- groups --------------------------------------------------------------------------------------------------------


@st.composite
def splits(draw: st.DrawFn) -> tuple[list[Size], list[Size], list[Group]]:
    """Dimensions, none of them 1, that are split or joined in random groups."""
    operand: list[Size] = []
    result: list[Size] = []
    groups: list[Group] = []
    for number in range(draw(st.integers(1, 4))):
        parts = [
            Size.of(draw(st.integers(2, 5))) if draw(st.booleans()) else Size.symbol(Symbol(number, n))
            for n in range(draw(st.integers(1, 3)))
        ]
        whole = math.prod(parts, start=Size.of(1))
        splits = draw(st.booleans())
        operand += [whole] if splits else parts
        result += parts if splits else [whole]
        groups.append(Group(1, len(parts)) if splits else Group(len(parts), 1))
    return operand, result, groups


@given(splits())
def test_groups_are_found_again(case: tuple[list[Size], list[Size], list[Group]]) -> None:
    operand, result, groups = case
    assert grouped(operand, result) == tuple(groups)


def test_a_sum_and_nothing_are_no_products() -> None:
    a, b = Size.symbol(Symbol(0, 0)), Size.symbol(Symbol(1, 0))
    assert grouped([a + b], [a + b]) is None
    assert grouped([Size.of(0), a], [Size.of(0)]) is None
    assert grouped([a, b], [a]) is None
    assert grouped([a, Size.of(1)], [a]) == (Group(2, 1),)
    assert grouped([a, Size.of(1), b], [a, Size.of(1), b]) == (Group(1, 1),) * 3
