"""What is done with sequences: running sums, orders, choices, recurrences."""

import jax
import jax.numpy as jnp
from jax import lax

from examples.symbolic.shapes import BATCH, LENGTH, Shapes, f32

FEATURES, STEPS = 4, 3


def running_sum(x: jax.Array) -> jax.Array:
    """The sum of all elements of a sequence so far."""
    return jnp.cumsum(x, axis=1)


def running_sum_example_args() -> Shapes:
    """Sequences."""
    return (f32(BATCH, LENGTH, FEATURES),)


def ranked(x: jax.Array) -> tuple[jax.Array, jax.Array]:
    """Each sequence in order, and what lies between its least and its greatest element."""
    return jnp.sort(x, axis=1), x.max(axis=1) - x.min(axis=1)


def ranked_example_args() -> Shapes:
    """Sequences of numbers."""
    return (f32(BATCH, LENGTH),)


def last_and_mean(x: jax.Array, weights: jax.Array) -> jax.Array:
    """All rows through one matrix, as one array of rows; then the last of each sequence, less the mean of it."""
    batch, length, _ = x.shape
    rows = (x.reshape(batch * length, FEATURES) @ weights).reshape(batch, length, FEATURES)
    return rows[:, -1] - rows.mean(axis=1)


def last_and_mean_example_args() -> Shapes:
    """Sequences and the matrix."""
    return f32(BATCH, LENGTH, FEATURES), f32(FEATURES, FEATURES)


def recurrent(x: jax.Array, weights: jax.Array) -> jax.Array:
    """A recurrence of a few steps over any number of sequences."""

    def step(state: jax.Array, row: jax.Array) -> tuple[jax.Array, jax.Array]:
        state = jnp.tanh(state @ weights + row)
        return state, state

    return lax.scan(step, jnp.zeros_like(x[0]), x)[1]


def recurrent_example_args() -> Shapes:
    """One row for each step and sequence, and the matrix."""
    return f32(STEPS, BATCH, FEATURES), f32(FEATURES, FEATURES)


def convolved(images: jax.Array, kernel: jax.Array) -> jax.Array:
    """A convolution, and the greatest value of each feature, for any number of images."""
    numbers = ("NHWC", "HWIO", "NHWC")
    found = lax.conv_general_dilated(images, kernel, (1, 1), "SAME", dimension_numbers=numbers)
    return jax.nn.relu(found).max(axis=(1, 2))


def convolved_example_args() -> Shapes:
    """Images and the kernel."""
    return f32(BATCH, 5, 5, 2), f32(3, 3, 2, FEATURES)
