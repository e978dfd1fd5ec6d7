"""Running sums, means and maxima."""

import jax
import jax.numpy as jnp
from jax import lax

from examples.loops.shapes import Shapes, f32, s32

LENGTH, CHUNK = 12, 4


def maximum(x: jax.Array) -> jax.Array:
    """A running maximum, element by element, written where it was read."""

    def step(i: jax.Array, state: tuple[jax.Array, jax.Array]) -> tuple[jax.Array, jax.Array]:
        highest, out = state
        highest = jnp.maximum(highest, x[i])
        return highest, lax.dynamic_update_index_in_dim(out, highest, i, axis=0)

    return lax.fori_loop(0, len(x), step, (jnp.full(x.shape[1:], -jnp.inf), jnp.zeros_like(x)))[1]


def maximum_example_args() -> Shapes:
    """Six rows."""
    return (f32(6, 3),)


def chunked_sum(x: jax.Array) -> jax.Array:
    """A prefix sum in chunks, as kernels do it: sum within each chunk, carry the total on."""

    def chunk(i: jax.Array, state: tuple[jax.Array, jax.Array]) -> tuple[jax.Array, jax.Array]:
        total, out = state
        sums = jnp.cumsum(lax.dynamic_slice(x, (i * CHUNK,), (CHUNK,))) + total
        return sums[-1], lax.dynamic_update_slice(out, sums, (i * CHUNK,))

    return lax.fori_loop(0, LENGTH // CHUNK, chunk, (jnp.int32(0), jnp.zeros_like(x)))[1]


def chunked_sum_example_args() -> Shapes:
    """Three chunks."""
    return (s32(LENGTH),)


def moments(x: jax.Array) -> tuple[jax.Array, tuple[jax.Array, jax.Array]]:
    """Welford's running mean and sum of squares, all of them stacked."""

    def step(
        state: tuple[jax.Array, jax.Array, jax.Array], value: jax.Array
    ) -> tuple[tuple[jax.Array, jax.Array, jax.Array], tuple[jax.Array, jax.Array]]:
        count, mean, squares = state
        count = count + 1
        away = value - mean
        mean = mean + away / count
        squares = squares + away * (value - mean)
        return (count, mean, squares), (mean, squares)

    (count, _, _), history = lax.scan(step, (jnp.float32(0), jnp.float32(0), jnp.float32(0)), x)
    return count, history


def moments_example_args() -> Shapes:
    """Six numbers."""
    return (f32(6),)
