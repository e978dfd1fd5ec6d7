"""Loops under `vmap`."""

import jax
import jax.numpy as jnp
from jax import lax

from examples.loops.shapes import Shapes, f32

BATCH, LENGTH, WIDTH = 2, 4, 3


def polynomials(coefficients: jax.Array, x: jax.Array) -> jax.Array:
    """A batch of polynomials by Horner's rule: one scan for all of them, a slice holds a coefficient of each."""

    def one(coefficients: jax.Array, x: jax.Array) -> jax.Array:
        def step(total: jax.Array, coefficient: jax.Array) -> tuple[jax.Array, None]:
            return total * x + coefficient, None

        return lax.scan(step, jnp.zeros(WIDTH), coefficients)[0]

    return jax.vmap(one)(coefficients, x)


def polynomials_example_args() -> Shapes:
    """Coefficients, and where to evaluate."""
    return f32(BATCH, LENGTH, WIDTH), f32(BATCH, WIDTH)


def sums(x: jax.Array) -> jax.Array:
    """A batch of sums whose loop slices by itself: of a slice for each member JAX makes one gather."""

    def one(x: jax.Array) -> jax.Array:
        def step(i: jax.Array, total: jax.Array) -> jax.Array:
            return total + lax.dynamic_index_in_dim(x, i, keepdims=False)

        return lax.fori_loop(0, LENGTH, step, jnp.zeros(WIDTH))

    return jax.vmap(one)(x)


def sums_example_args() -> Shapes:
    """Rows of each member."""
    return (f32(BATCH, LENGTH, WIDTH),)
