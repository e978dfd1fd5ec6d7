"""A program of unknown sizes keeps its meaning when it gets bounds, and all its boundary is static then."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax import export

from hlo.evaluator import evaluate
from hlo.interchange import read_text
from hlo.stablehlo import StableHloModule
from oracle.inputs import MIXED
from oracle.symbolic import draw_sized_inputs, judge_symbolic
from oracle.verdict import Agree
from passes import Trace, parse_pipeline
from passes.neuron import BoundDynamicDimensions
from passes.neuron.bound_dynamic_dimensions import NotBounded, size_slots
from tests.passes.neuron.bound_dynamic_dimensions.programs import LOWERED, REFUSED, main

BOUND = 4
WHOLE_WAY = parse_pipeline(f"bound-dynamic-dimensions{{bound={BOUND}}},dynamic,tensorizer-guard")


def bounded(text: str, bound: int = BOUND) -> tuple[StableHloModule, Trace]:
    program, trace = StableHloModule.read(text), Trace()
    assert BoundDynamicDimensions(bound).rewrite(program, trace)
    return program, trace


def exported(function, *dimensions: str) -> str:
    scope = export.symbolic_shape("b, s")
    named = dict(zip("bs", scope, strict=True))
    shapes = [jax.ShapeDtypeStruct(tuple(named.get(d, 3) for d in dims), jnp.float32) for dims in dimensions]
    return str(export.export(jax.jit(function))(*shapes).mlir_module())


def verdict_of(text: str) -> object:
    program = StableHloModule.read(text)
    sets, _ = draw_sized_inputs(program, 1, 6, MIXED, most=BOUND)
    assert sets
    return judge_symbolic(program, WHOLE_WAY, tuple(sets), {}, use_jax=False).verdict


@pytest.mark.parametrize("what", LOWERED)
def test_a_program_with_bounds_means_the_same_for_every_size_through_all_passes(what: str) -> None:
    assert verdict_of(LOWERED[what]) == Agree()


@pytest.mark.parametrize("what", LOWERED)
def test_parameters_and_results_are_static_and_nothing_is_unbounded(what: str) -> None:
    before, (program, _) = StableHloModule.read(LOWERED[what]), bounded(LOWERED[what])
    slots = size_slots(before.parameters), size_slots(before.results)
    assert all(kind.is_static for kind in (*program.parameters, *program.results))
    assert len(program.parameters) == len(before.parameters) + len(slots[0])
    assert len(program.results) == len(before.results) + len(slots[1])
    assert {str(kind) for kind in program.parameters[len(before.parameters) :]} <= {"tensor<i32>"}
    told = {"stablehlo.dynamic_broadcast_in_dim", "stablehlo.dynamic_iota", "stablehlo.dynamic_pad"}
    assert not told & {op.name for op in program.operations()}
    program.to_hlo()


@pytest.mark.parametrize("said", REFUSED)
def test_what_has_no_form_with_bounds_is_refused_by_name(said: str) -> None:
    with pytest.raises(NotBounded) as caught:
        bounded(REFUSED[said])
    assert caught.value.message == said
    assert said.startswith(caught.value.operation)


@pytest.mark.parametrize(
    "function",
    [
        lambda x: jnp.cumsum(x, axis=1),
        lambda x: jnp.flip(x, 0)[:, 1:],
        lambda x: jax.lax.cummax(x, axis=0),
        lambda x: jax.nn.softmax(x, axis=0) + jnp.arange(x.shape[1]),
        lambda x: x[-1] / x.shape[0],
    ],
)
def test_what_jax_exports_keeps_its_meaning(function) -> None:
    assert verdict_of(exported(function, "bs")) == Agree()


def test_the_padding_of_a_result_is_zero_and_its_sizes_come_behind_all_results() -> None:
    program, _ = bounded(
        main(
            "(%x: tensor<?x2x?xf32>, %y: tensor<3xi32>) -> (tensor<3xi32>, tensor<?x2x?xf32>)",
            " return %y, %x : tensor<3xi32>, tensor<?x2x?xf32>",
        )
    )
    x = np.full((BOUND, 2, BOUND), np.nan, np.float32)
    x[:3, :, :1] = 5
    sizes = np.array(3, np.int32), np.array(1, np.int32)
    module = program.to_hlo()
    parse_pipeline("dynamic").run(module, Trace())
    results = evaluate(module, (x, np.arange(3, dtype=np.int32), *sizes))
    assert isinstance(results, tuple)
    data = np.asarray(results[1])
    assert data.shape == x.shape
    assert np.all(data[:3, :, :1] == 5)
    assert np.count_nonzero(data) == 6
    assert [int(np.asarray(size)) for size in results[2:]] == [3, 1]


def test_a_size_that_is_set_inside_stays_a_size() -> None:
    program, _ = bounded(
        main(
            "(%x: tensor<?xf32>, %y: tensor<3xf32>) -> tensor<?xf32>",
            """ %n = stablehlo.constant dense<2> : tensor<i32>
 %c = stablehlo.set_dimension_size %y, %n, dim = 0 : (tensor<3xf32>, tensor<i32>) -> tensor<?xf32, #stablehlo.bounds<3>>
 %r = stablehlo.concatenate %c, %x, dim = 0 : (tensor<?xf32, #stablehlo.bounds<3>>, tensor<?xf32>) -> tensor<?xf32>
 return %r : tensor<?xf32>""",
        )
    )
    module = program.to_hlo()
    parse_pipeline("dynamic").run(module, Trace())
    x, y = np.array([5, 6, 7, 8], np.float32), np.array([1, 2, 3], np.float32)
    joined, size = evaluate(module, (x, y, np.array(3, np.int32)))  # pyright: ignore[reportGeneralTypeIssues]
    assert np.asarray(joined).tolist() == [1, 2, 5, 6, 7, 0, 0]
    assert size == 5


def test_a_parameter_with_bounds_of_its_own_keeps_them() -> None:
    kind = "tensor<?x?x2xf32, #stablehlo.bounds<9, ?, ?>>"
    program, _ = bounded(main(f"(%x: {kind}) -> {kind}", f" return %x : {kind}"))
    assert [str(p) for p in program.parameters] == ["tensor<9x4x2xf32>", "tensor<i32>", "tensor<i32>"]


EQUAL = {
    "stablehlo.add %x, %y : ({x}, {y}) -> tensor<?xf32>": ("tensor<?xf32>", "tensor<4xf32>"),
    "stablehlo.dot_general %x, %y, contracting_dims = [0] x [0] : ({x}, {y}) -> tensor<f32>": (
        "tensor<f32>",
        "tensor<f32>",
    ),
    "stablehlo.dot %x, %y : ({x}, {y}) -> tensor<f32>": ("tensor<f32>", "tensor<f32>"),
}


@pytest.mark.parametrize("operation", EQUAL)
def test_of_two_sizes_that_must_be_equal_the_smaller_bound_counts(operation: str) -> None:
    x, y = "tensor<?xf32, #stablehlo.bounds<9>>", "tensor<?xf32>"
    result, with_bounds = EQUAL[operation]
    body = f" %r = {operation.format(x=x, y=y)}\n return %r : {result}"
    program, _ = bounded(main(f"(%x: {x}, %y: {y}) -> {result}", body))
    assert [str(p) for p in program.parameters[:2]] == ["tensor<9xf32>", "tensor<4xf32>"]
    assert str(program.results[0]) == with_bounds
    assert "bounds<9>" not in program.text


def test_what_is_joined_side_by_side_has_one_number_of_rows() -> None:
    x, y = "tensor<?x2xf32, #stablehlo.bounds<9, ?>>", "tensor<?x1xf32>"
    body = f""" %r = stablehlo.concatenate %x, %y, dim = 1 : ({x}, {y}) -> tensor<?x3xf32>
 return %r : tensor<?x3xf32>"""
    program, _ = bounded(main(f"(%x: {x}, %y: {y}) -> tensor<?x3xf32>", body))
    assert str(program.results[0]) == "tensor<4x3xf32>"


def test_what_has_a_size_is_not_spread_whatever_the_program_is_told() -> None:
    program, _ = bounded(
        main(
            "(%a: tensor<65xi32>, %x: tensor<3xf32>) -> tensor<?xf32>",
            """ %z = stablehlo.constant dense<0> : tensor<i32>
 %m = stablehlo.reduce(%a init: %z) applies stablehlo.maximum across dimensions = [0]
   : (tensor<65xi32>, tensor<i32>) -> tensor<i32>
 %s = stablehlo.reshape %m : (tensor<i32>) -> tensor<1xi32>
 %r = stablehlo.dynamic_broadcast_in_dim %x, %s, dims = [0] : (tensor<3xf32>, tensor<1xi32>) -> tensor<?xf32>
 return %r : tensor<?xf32>""",
        )
    )
    assert str(program.results[0]) == "tensor<3xf32>"


def test_a_cumulation_that_starts_with_something_is_refused() -> None:
    text = exported(lambda x: jnp.cumsum(x, axis=1), "bs")
    with pytest.raises(NotBounded, match="what it starts with would count more than once"):
        bounded(text.replace("dense<0.000000e+00> : tensor<f32>", "dense<1.000000e+00> : tensor<f32>"))


def test_assertions_are_believed_and_told() -> None:
    program, trace = bounded(exported(lambda x, y: x.sum(0) * y.sum(0), "bs", "bs"))
    assert "shape_assertion" not in program.text
    assert trace.fired["drop-assertion"] == 4
    assert any("Expected value >= 1 for dimension variable 'b'" in message for message in trace.messages)
    # the size of the second one's columns is never asked for: it is that of the first one's
    assert "%arg5" not in program.text.partition("{\n")[2].partition("{")[2]


def test_what_may_not_run_tells_nothing_of_sizes() -> None:
    branch = """ %r = "stablehlo.if"(%p) ({
   %s = stablehlo.add %x, %y : tensor<?xf32>
   stablehlo.return %s : tensor<?xf32> }, { stablehlo.return %x : tensor<?xf32> }) : (tensor<i1>) -> tensor<?xf32>
 return %r, %y : tensor<?xf32>, tensor<?xf32>"""
    signature = "(%x: tensor<?xf32>, %y: tensor<?xf32>, %p: tensor<i1>) -> (tensor<?xf32>, tensor<?xf32>)"
    program, _ = bounded(main(signature, branch))
    assert "set_dimension_size %arg0, %arg3" in program.text
    assert "set_dimension_size %arg1, %arg4" in program.text
    sure, _ = bounded(
        main(
            signature,
            branch.replace("return %r, %y", "%t = stablehlo.add %x, %y : tensor<?xf32>\n return %r, %t"),
        )
    )
    assert "set_dimension_size %arg1, %arg3" in sure.text


def test_arrays_whose_bounds_differ_and_whose_sizes_may_be_equal_are_refused() -> None:
    kind = "tensor<?xf32, #stablehlo.bounds<9>>"
    branch = f""" %r = "stablehlo.if"(%p) ({{
   %s = stablehlo.add %x, %y : (tensor<?xf32>, {kind}) -> tensor<?xf32>
   stablehlo.return %s : tensor<?xf32> }}, {{ stablehlo.return %x : tensor<?xf32> }}) : (tensor<i1>) -> tensor<?xf32>
 return %r : tensor<?xf32>"""
    with pytest.raises(NotBounded, match="the program with bounds: "):
        bounded(main(f"(%x: tensor<?xf32>, %y: {kind}, %p: tensor<i1>) -> tensor<?xf32>", branch))


def test_a_program_that_has_bounds_stays_as_it_is() -> None:
    program, _ = bounded(LOWERED["dynamic_iota"])
    before = program.text
    assert not BoundDynamicDimensions().rewrite(program, Trace())
    assert program.text == before
    static = StableHloModule.read(main("(%x: tensor<3xf32>) -> tensor<3xf32>", " return %x : tensor<3xf32>"))
    assert not BoundDynamicDimensions().rewrite(static, Trace())


def test_a_program_of_hlo_stays_as_it_is() -> None:
    module = read_text("HloModule m\nENTRY e { x = f32[<=8] parameter(0)\n ROOT y = f32[<=8] negate(x) }")
    assert not BoundDynamicDimensions().run(module, Trace())


@pytest.mark.parametrize("bound", [1, 7])
def test_the_bound_is_an_option(bound: int) -> None:
    program, _ = bounded(LOWERED["elementwise"], bound)
    assert str(program.parameters[0]) == f"tensor<{bound}x3xf32>"
