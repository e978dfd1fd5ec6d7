"""Windows that slide over an array."""

import jax
import jax.numpy as jnp
from jax import lax

from examples.loops.shapes import Shapes, f32

ROWS, COLUMNS, TAPS = 6, 5, 3


def stencil(grid: jax.Array, weights: jax.Array) -> jax.Array:
    """A five-point stencil, row by row: each step sees three rows and writes the one in the middle."""

    def row(i: jax.Array, out: jax.Array) -> jax.Array:
        above, here, below = lax.dynamic_slice(grid, (i, 0), (3, COLUMNS))
        inner = weights[0] * here[1:-1] + weights[1] * (above + below)[1:-1]
        inner = inner + weights[2] * (here[:-2] + here[2:])
        return lax.dynamic_update_slice(out, inner[None], (i + 1, 1))

    return lax.fori_loop(0, ROWS - 2, row, grid)


def stencil_example_args() -> Shapes:
    """A grid, and the weights of the middle, the vertical and the horizontal neighbours."""
    return f32(ROWS, COLUMNS), f32(3)


def convolution(signal: jax.Array, kernel: jax.Array) -> jax.Array:
    """A convolution as a sum over taps: each shifts the signal by its number, and weighs it."""

    def tap(total: jax.Array, k: jax.Array) -> tuple[jax.Array, None]:
        shifted = lax.dynamic_slice_in_dim(signal, TAPS - 1 - k, ROWS)
        return total + shifted @ lax.dynamic_index_in_dim(kernel, k, keepdims=False), None

    return lax.scan(tap, jnp.zeros((ROWS, 2)), jnp.arange(TAPS))[0]


def convolution_example_args() -> Shapes:
    """A signal of several channels, and a kernel [tap, channel, output channel]."""
    return f32(ROWS + TAPS - 1, COLUMNS), f32(TAPS, COLUMNS, 2)
