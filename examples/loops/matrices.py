"""Matrices by blocks, by rows, and multiplied again and again."""

import jax
import jax.numpy as jnp
from jax import lax

from examples.loops.shapes import Shapes, f32

SIZE, BLOCK = 4, 2


def block_product(left: jax.Array, right: jax.Array) -> jax.Array:
    """A matrix product by blocks, in three nested loops."""
    blocks = SIZE // BLOCK
    tile = (BLOCK, BLOCK)

    def row(i: jax.Array, out: jax.Array) -> jax.Array:
        def column(j: jax.Array, out: jax.Array) -> jax.Array:
            def inner(k: jax.Array, total: jax.Array) -> jax.Array:
                a = lax.dynamic_slice(left, (i * BLOCK, k * BLOCK), tile)
                b = lax.dynamic_slice(right, (k * BLOCK, j * BLOCK), tile)
                return total + a @ b

            total = lax.fori_loop(0, blocks, inner, jnp.zeros(tile))
            return lax.dynamic_update_slice(out, total, (i * BLOCK, j * BLOCK))

        return lax.fori_loop(0, blocks, column, out)

    return lax.fori_loop(0, blocks, row, jnp.zeros((SIZE, SIZE)))


def block_product_example_args() -> Shapes:
    """Two square matrices."""
    return f32(SIZE, SIZE), f32(SIZE, SIZE)


def powers(matrix: jax.Array) -> jax.Array:
    """The first powers of a matrix, stacked."""

    def multiply(i: jax.Array, state: tuple[jax.Array, jax.Array]) -> tuple[jax.Array, jax.Array]:
        power, out = state
        power = power @ matrix
        return power, lax.dynamic_update_index_in_dim(out, power, i, axis=0)

    count = 3
    start = jnp.eye(SIZE), jnp.zeros((count, SIZE, SIZE))
    return lax.fori_loop(0, count, multiply, start)[1]


def powers_example_args() -> Shapes:
    """A square matrix."""
    return (f32(SIZE, SIZE),)


def substitution(lower: jax.Array, right: jax.Array) -> jax.Array:
    """Forward substitution with ones on the diagonal: each row of a triangular system gives one more unknown."""

    def row(i: jax.Array, x: jax.Array) -> jax.Array:
        known = jnp.where(jnp.arange(SIZE) < i, lower[i], 0)
        return x.at[i].set(right[i] - known @ x)

    return lax.fori_loop(0, SIZE, row, jnp.zeros_like(right))


def substitution_example_args() -> Shapes:
    """A lower triangular matrix, and the right side."""
    return f32(SIZE, SIZE), f32(SIZE)


def alternating(x: jax.Array, mixing: jax.Array, scaling: jax.Array) -> jax.Array:
    """Layers of two kinds in turn: which weights a layer takes is decided in a branch."""

    def layer(i: jax.Array, x: jax.Array) -> jax.Array:
        return lax.cond(i % 2 == 0, lambda: x @ mixing[i // 2], lambda: x * scaling[i // 2])

    return lax.fori_loop(0, 2 * mixing.shape[0], layer, x)


def alternating_example_args() -> Shapes:
    """A vector, and the weights of two layers of each kind."""
    return f32(SIZE), f32(2, SIZE, SIZE), f32(2, SIZE)
