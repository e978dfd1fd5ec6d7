"""Is the program for given sizes the one that JAX means by it?"""

from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax.export import symbolic_shape

from hlo import InvalidInput
from hlo.evaluator import evaluate
from hlo.stablehlo import StableHloModule, export_jax
from oracle.running import evaluated
from oracle.symbolic import Assignment, assignment_of, specialise

SCALED = """module { func.func @main(%n: tensor<i64>, %x: tensor<?x2xf32>) -> tensor<?xf32> {
  %m = stablehlo.convert %n : (tensor<i64>) -> tensor<i32>
  %shape = stablehlo.reshape %m : (tensor<i32>) -> tensor<1xi32>
  %y = stablehlo.dynamic_iota %shape, dim = 0 : (tensor<1xi32>) -> tensor<?xf32>
  return %y : tensor<?xf32> } }"""


def test_sizes_and_what_they_are_computed_from_are_put_in() -> None:
    program = StableHloModule.read(SCALED)
    module = specialise(program, Assignment(((), (4, 2)), ((0, (3,)),)))
    x = np.zeros((4, 2), np.float32)
    assert np.array_equal(np.asarray(evaluate(module, (np.array(3, np.int64), x))), [0, 1, 2])
    assert program.text == StableHloModule.read(SCALED).text


def test_an_input_set_has_its_sizes() -> None:
    program = StableHloModule.read(SCALED)
    inputs = (np.array(3, np.int64), np.zeros((4, 2), np.float32))
    assert assignment_of(program, inputs) == Assignment(((), (4, 2)), ((0, (3,)),))
    with pytest.raises(InvalidInput, match="1 inputs for 2 parameters"):
        assignment_of(program, inputs[:1])


@pytest.mark.parametrize(
    "wrong",
    [
        Assignment(((), (4, 3)), ((0, (3,)),)),
        Assignment(((), (4, 2)), ((0, (3, 3)),)),
        Assignment(((), (4, 2))),
        Assignment(((), (4, 2)), ((0, (-1,)),)),
    ],
)
def test_sizes_that_do_not_fit_are_refused(wrong: Assignment) -> None:
    with pytest.raises(InvalidInput):
        specialise(StableHloModule.read(SCALED), wrong)


def test_bounded_sizes_stay_as_they_are() -> None:
    program = StableHloModule.read(
        """module { func.func @main(%x: tensor<?xf32>, %y: tensor<8xf32>, %n: tensor<i32>) -> tensor<i32> {
        %cut = stablehlo.set_dimension_size %y, %n, dim = 0
            : (tensor<8xf32>, tensor<i32>) -> tensor<?xf32, #stablehlo.bounds<8>>
        %a = stablehlo.get_dimension_size %x, dim = 0 : (tensor<?xf32>) -> tensor<i32>
        %b = stablehlo.get_dimension_size %cut, dim = 0
            : (tensor<?xf32, #stablehlo.bounds<8>>) -> tensor<i32>
        %c = stablehlo.add %a, %b : tensor<i32>
        return %c : tensor<i32> } }"""
    )
    module = specialise(program, Assignment(((3,), (8,), ())))
    inputs = (np.zeros(3, np.float32), np.zeros(8, np.float32), np.array(5, np.int32))
    assert evaluated(module, inputs) == 8


# What refines shapes here also does in JAX's own `exported.call`: so the function itself is asked, on arrays.
FUNCTIONS: list[tuple[Callable[..., Any], str]] = [
    (lambda x: x + jnp.arange(x.shape[0])[:, None], "b, s"),
    (lambda x: x.reshape(-1), "b, s"),
    (lambda x: jnp.concatenate([x, x[:, :1]], axis=1), "b, s"),
    (lambda x: jnp.broadcast_to(x[:, None], (x.shape[0], 2, x.shape[1])).sum(2), "b, s"),
    (lambda x: jnp.pad(x, ((0, x.shape[1]), (1, 1))), "b, s"),
    (lambda x: jnp.where(jnp.tri(x.shape[0], x.shape[1], dtype=bool), x, 0.0), "b, s"),
    (lambda x: x @ x.T, "b, s"),
    (lambda x: x.mean(0), "b, 3"),
    (lambda x: x[1:], "b, s"),
    (lambda x: jnp.ones((x.shape[0] * 2 + 1,)).cumsum(), "b, s"),
]


@pytest.mark.parametrize(("function", "dims"), FUNCTIONS, ids=range(len(FUNCTIONS)))
def test_the_program_for_given_sizes_is_what_jax_computes_for_them(
    function: Callable[..., Any], dims: str
) -> None:
    program = export_jax(function, jax.ShapeDtypeStruct(symbolic_shape(dims), jnp.float32))
    for sizes in ((2, 3), (1, 3), (5, 3), (4, 1)):
        if dims == "b, 3" and sizes[1] != 3:
            continue
        x = np.arange(sizes[0] * sizes[1], dtype=np.float32).reshape(sizes)
        value = evaluate(specialise(program, Assignment((sizes,))), (x,))
        np.testing.assert_allclose(np.asarray(value), np.asarray(function(jnp.asarray(x))), rtol=1e-6)


def test_a_size_that_the_export_excludes_is_refused() -> None:
    x = jax.ShapeDtypeStruct(symbolic_shape("b, s", constraints=["b >= 3"]), jnp.float32)
    program = export_jax(lambda x: x + 1, x)
    specialise(program, Assignment(((3, 2),)))
    with pytest.raises(InvalidInput, match="b - 3"):
        specialise(program, Assignment(((2, 2),)))
