"""Buffers that are written and read in the same loop."""

import jax
import jax.numpy as jnp
from jax import lax

from examples.loops.shapes import Shapes, f32

STEPS, SLOTS = 5, 3


def ring(x: jax.Array) -> jax.Array:
    """A moving sum with a ring buffer: the newest number replaces the oldest."""

    def step(
        i: jax.Array, state: tuple[jax.Array, jax.Array, jax.Array]
    ) -> tuple[jax.Array, jax.Array, jax.Array]:
        buffer, total, out = state
        slot = i % SLOTS
        oldest = lax.dynamic_slice(buffer, (slot,), (1,))
        newest = lax.dynamic_slice(x, (i,), (1,))
        total = total + newest - oldest
        buffer = lax.dynamic_update_slice(buffer, newest, (slot,))
        return buffer, total, lax.dynamic_update_slice(out, total, (i,))

    nothing = jnp.zeros_like(x)
    return lax.fori_loop(0, STEPS, step, (nothing[:SLOTS], nothing[:1], nothing))[2]


def ring_example_args() -> Shapes:
    """As many numbers as steps."""
    return (f32(STEPS),)


def history(x: jax.Array) -> jax.Array:
    """A recurrence that looks two steps back in what it has written itself."""

    def step(i: jax.Array, out: jax.Array) -> jax.Array:
        before = lax.dynamic_slice(out, (i - 2,), (2,))
        new = before.sum(keepdims=True) + lax.dynamic_slice(x, (i,), (1,))
        return lax.dynamic_update_slice(out, new, (i,))

    return lax.fori_loop(2, STEPS, step, x)


def history_example_args() -> Shapes:
    """The first two numbers, and what is added to the others."""
    return (f32(STEPS),)
