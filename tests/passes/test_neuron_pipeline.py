"""Does the pipeline `neuron` take real loops apart as far as its passes promise, and keep every value?"""

from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import jax
import jax.numpy as jnp
import pytest
from hypothesis import given
from jax import lax

from fuzz.generators import Program
from fuzz.generators.whiles import whiles
from hlo import HloModule, Opcode, UnsupportedOpcode, same_bits
from hlo.canonical import structure
from hlo.evaluator import EvaluationLimit, evaluate
from hlo.interchange import from_jax, read_file
from hlo.verify import verify
from oracle.inputs import draw_inputs
from passes import Trace, parse_pipeline

NEURON = parse_pipeline("neuron")
ENZYME = Path(__file__).resolve().parents[3] / "shared" / "data" / "enzyme_hlo"
LOOPS = sorted(path.name for path in ENZYME.glob("*.hlo") if " while(" in path.read_text("utf-8"))

f32 = jnp.float32
VECTOR = jax.ShapeDtypeStruct((8,), f32)
MATRIX = jax.ShapeDtypeStruct((4, 4), f32)


def count(module: HloModule, opcode: Opcode) -> int:
    return sum(
        inst.opcode is opcode for computation in module.computations for inst in computation.instructions
    )


def run_and_hold(module: HloModule, inputs: int = 3) -> tuple[HloModule, Trace]:
    """Run the pipeline on a copy: valid, and the same values on some inputs."""
    result, trace = module.clone(), Trace()
    NEURON.run(result, trace)
    assert verify(result) == []
    for values in draw_inputs(module, 0, inputs):
        assert same_bits(evaluate(result, values), evaluate(module, values))
    return result, trace


def stacked(xs: jax.Array) -> Any:
    return lax.scan(lambda total, x: (total + x, total * x + 1), jnp.sum(xs), xs)


def backwards(xs: jax.Array) -> Any:
    return lax.scan(lambda total, x: (total + x, total * x + 1), jnp.sum(xs), xs, reverse=True)


def rows_of_rows(x: jax.Array) -> Any:
    def row(total: jax.Array, xs: jax.Array) -> Any:
        return lax.scan(lambda t, x: (t + x, t * x + 1), total, xs)

    return lax.scan(row, jnp.sum(x), x)


def blocks(q: jax.Array, k: jax.Array) -> jax.Array:
    def block(i: jax.Array, out: jax.Array) -> jax.Array:
        return lax.dynamic_update_slice(out, q @ lax.dynamic_slice(k, (i * 2, 0), (2, 4)).T, (0, i * 2))

    return lax.fori_loop(0, 2, block, q * 0)


def windows(dtype: Any, step: int, x: jax.Array) -> jax.Array:
    """Counts down from 6 in steps, by wrap-around where the type is unsigned."""

    def body(state: tuple[jax.Array, jax.Array]) -> tuple[jax.Array, jax.Array]:
        i, total = state
        return i - dtype(step), total * 2 + lax.dynamic_slice(x, (i,), (2,))

    return lax.while_loop(lambda state: state[0] > dtype(1), body, (dtype(6), x[:2]))[1]


def key_value_cache(cache: jax.Array, xs: jax.Array) -> Any:
    def step(state: tuple[jax.Array, jax.Array], x: jax.Array) -> Any:
        cache, position = state
        cache = lax.dynamic_update_slice(cache, x[None], (position, jnp.int32(0)))
        return (cache, position + 1), jnp.sum(cache, axis=0)

    return lax.scan(step, (cache, jnp.int32(0)), xs)


@pytest.mark.parametrize(
    ("function", "arguments", "loops", "static", "concats", "updates_left"),
    [
        (stacked, (VECTOR,), 1, 8, 1, 0),
        (backwards, (VECTOR,), 1, 8, 1, 0),
        (rows_of_rows, (MATRIX,), 2, 20, 5, 0),
        (blocks, (MATRIX, MATRIX), 1, 2, 1, 0),
        (partial(windows, jnp.int32, 1), (VECTOR,), 1, 5, 0, 0),
        (partial(windows, jnp.uint8, 2), (VECTOR,), 1, 3, 0, 0),
        (partial(windows, jnp.int64, 3), (VECTOR,), 1, 2, 0, 0),
        # the cache is read in every step, so that its updates stay; what the steps give is concatenated
        (key_value_cache, (MATRIX, MATRIX), 1, 4, 1, 4),
    ],
    ids=["scan", "reverse", "nested", "blocks", "down", "u8", "s64", "cache"],
)
def test_every_slice_of_a_jax_loop_becomes_static(
    function: Callable[..., Any],
    arguments: tuple[jax.ShapeDtypeStruct, ...],
    loops: int,
    static: int,
    concats: int,
    updates_left: int,
) -> None:
    with jax.enable_x64(True):
        module = from_jax(function, *arguments)
    result, trace = run_and_hold(module)
    assert trace.fired["unroll"] == loops
    assert trace.fired["make-static"] == static
    assert trace.fired["concatenate"] == concats
    assert count(result, Opcode.WHILE) == count(result, Opcode.DYNAMIC_SLICE) == 0
    assert count(result, Opcode.DYNAMIC_UPDATE_SLICE) == updates_left


def test_a_loop_whose_length_is_an_input_stays_a_loop() -> None:
    def total(x: jax.Array, n: jax.Array) -> jax.Array:
        return lax.fori_loop(0, n, lambda i, t: t + x[i % 8], f32(0))

    result, trace = run_and_hold(from_jax(total, VECTOR, jax.ShapeDtypeStruct((), jnp.int32)))
    assert count(result, Opcode.WHILE) == 1
    assert trace.declined["bound-not-known"] == 1


def test_a_loop_of_a_thousand_iterations_stays_a_loop_of_the_same_size() -> None:
    module = from_jax(lambda x: lax.fori_loop(0, 1000, lambda i, t: t + x[i % 8], f32(0)), VECTOR)
    result, trace = run_and_hold(module, inputs=1)
    assert trace.declined["trip-count-limit"] == 1
    assert result.instruction_count <= module.instruction_count


@pytest.mark.parametrize("name", LOOPS)
def test_the_loops_of_enzyme_keep_their_values(name: str) -> None:
    module = read_file(ENZYME / name)
    try:
        run_and_hold(module)
    except (EvaluationLimit, UnsupportedOpcode) as error:
        pytest.skip(f"the evaluator does not run {name}: {error}")


@given(whiles())
def test_every_prefix_keeps_the_values_of_random_loops_and_works_alike_twice(program: Program) -> None:
    module = program.module.clone()
    inputs = draw_inputs(module, program.input_seed, 2)
    expected = [evaluate(module, values) for values in inputs]
    for pass_ in NEURON.passes:
        module, again = module.clone(), module.clone()  # whose instructions are in the same order
        pass_.run(module, Trace())
        pass_.run(again, Trace())
        assert verify(module) == []
        assert structure(module) == structure(again)
        for values, value in zip(inputs, expected, strict=True):
            assert same_bits(evaluate(module, values), value)
