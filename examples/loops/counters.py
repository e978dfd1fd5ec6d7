"""Loops that count in other ways than from nothing, by one, in s32."""

import jax
import jax.numpy as jnp
from jax import lax

from examples.loops.shapes import Shapes, f32, s32

State = tuple[jax.Array, jax.Array]


def in_bytes(x: jax.Array) -> jax.Array:
    """A counter of 8 bits, up to the largest number it can hold."""

    def step(state: State) -> State:
        i, total = state
        return i + jnp.uint8(1), total + lax.dynamic_slice(x, (i - jnp.uint8(250),), (2,))

    return lax.while_loop(lambda state: state[0] < 255, step, (jnp.uint8(250), jnp.zeros(2)))[1]


def in_bytes_example_args() -> Shapes:
    """Six numbers."""
    return (f32(6),)


def around(x: jax.Array) -> jax.Array:
    """A counter of 8 bits that goes past the largest number and begins again at 0 before it gets where it should."""

    def step(state: State) -> State:
        i, total = state
        return i + jnp.uint8(1), total + lax.dynamic_slice(x, (i - jnp.uint8(250),), (2,))

    return lax.while_loop(lambda state: state[0] != 2, step, (jnp.uint8(250), jnp.zeros(2)))[1]


def around_example_args() -> Shapes:
    """Nine numbers."""
    return (f32(9),)


def in_64_bits(x: jax.Array) -> jax.Array:
    """A counter of 64 bits, as all are where `jax_enable_x64` is on."""
    with jax.enable_x64(True):
        start = jnp.int64(2**40)

        def step(state: State) -> State:
            i, total = state
            return i + 1, total + lax.dynamic_slice(x, (i - start,), (2,))

        return lax.while_loop(lambda state: state[0] < start + 4, step, (start, jnp.zeros_like(x[:2])))[1]


def in_64_bits_example_args() -> Shapes:
    """Five numbers."""
    return (f32(5),)


def by_twos(x: jax.Array) -> jax.Array:
    """Every other row: the counter takes steps of two."""

    def step(state: State) -> State:
        i, total = state
        return i + 2, total + lax.dynamic_slice_in_dim(x, i, 2).sum(axis=0)

    return lax.while_loop(lambda state: state[0] < 7, step, (jnp.int32(1), jnp.zeros(x.shape[1:])))[1]


def by_twos_example_args() -> Shapes:
    """Eight rows."""
    return (f32(8, 3),)


def downwards(x: jax.Array) -> jax.Array:
    """Horner's rule, from the last coefficient to the first: the counter goes down."""

    def step(state: State) -> State:
        i, total = state
        return i - 1, total * 2 + x[i]

    return lax.while_loop(lambda state: state[0] >= 0, step, (jnp.int32(x.shape[0] - 1), jnp.float32(0)))[1]


def downwards_example_args() -> Shapes:
    """Five coefficients."""
    return (f32(5),)


def many(x: jax.Array) -> jax.Array:
    """A hundred trips: more than a compiler unrolls."""

    def step(i: jax.Array, total: jax.Array) -> jax.Array:
        return total + lax.dynamic_slice(x, (i,), (2,))

    return lax.fori_loop(0, 100, step, jnp.zeros(2))


def many_example_args() -> Shapes:
    """As many numbers as there are trips, and one more."""
    return (f32(101),)


def as_asked(x: jax.Array, count: jax.Array) -> jax.Array:
    """A loop up to a bound that is an argument: nobody knows it before the program runs."""

    def step(i: jax.Array, total: jax.Array) -> jax.Array:
        return total + lax.dynamic_index_in_dim(x, i, keepdims=False)

    return lax.fori_loop(0, count, step, jnp.zeros(x.shape[1:]))


def as_asked_example_args() -> Shapes:
    """Five rows, and how many of them to add."""
    return f32(5, 3), s32()


def in_pairs(x: jax.Array) -> tuple[jax.Array, jax.Array]:
    """A scan that JAX is asked to unroll by two itself: fewer trips, and a remainder after the loop."""

    def step(total: jax.Array, row: jax.Array) -> tuple[jax.Array, jax.Array]:
        total = total * 0.5 + row
        return total, total

    return lax.scan(step, jnp.zeros(x.shape[1:]), x, unroll=2)


def in_pairs_example_args() -> Shapes:
    """Seven rows."""
    return (f32(7, 3),)
