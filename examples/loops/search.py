"""Dynamic programming and search, in whole numbers, where the best choice is never a matter of rounding."""

import jax
import jax.numpy as jnp
from jax import lax

from examples.loops.shapes import Shapes, f32, s32

STEPS, STATES, BEAMS, WORDS = 4, 3, 2, 5


def viterbi(start: jax.Array, moves: jax.Array, observed: jax.Array) -> tuple[jax.Array, jax.Array]:
    """The likeliest path: scores forwards, then backwards through the choices, each read where the last one leads."""

    def forwards(scores: jax.Array, seen: jax.Array) -> tuple[jax.Array, jax.Array]:
        options = scores[:, None] + moves
        return options.max(axis=0) + seen, options.argmax(axis=0)

    def backwards(state: jax.Array, choices: jax.Array) -> tuple[jax.Array, jax.Array]:
        return choices[state], state

    scores, choices = lax.scan(forwards, start, observed)
    first, path = lax.scan(backwards, scores.argmax(), choices, reverse=True)
    return first, path


def viterbi_example_args() -> Shapes:
    """Scores of the first states, of moves, and of what is observed at each step."""
    return s32(STATES), s32(STATES, STATES), s32(STEPS, STATES)


def beam_search(scores: jax.Array) -> tuple[jax.Array, jax.Array]:
    """The best sentences: each step extends every beam by every word and keeps the best few."""

    def step(t: jax.Array, state: tuple[jax.Array, jax.Array]) -> tuple[jax.Array, jax.Array]:
        totals, words = state
        options = totals[:, None] + lax.dynamic_index_in_dim(scores, t, keepdims=False)
        totals, best = lax.top_k(options.reshape(-1), BEAMS)
        words = words[best // WORDS]
        words = lax.dynamic_update_slice_in_dim(words, (best % WORDS)[:, None], t, axis=1)
        return totals, words

    start = jnp.array([0, -1_000_000], jnp.int32), jnp.zeros((BEAMS, STEPS), jnp.int32)
    return lax.fori_loop(0, STEPS, step, start)


def beam_search_example_args() -> Shapes:
    """What each word is worth at each step, for each beam."""
    return (s32(STEPS, BEAMS, WORDS),)


def edit_distance(left: jax.Array, right: jax.Array) -> jax.Array:
    """How many edits make one word the other: a row of the table for each letter, a loop within a loop."""
    columns = right.shape[0]

    def row(above: jax.Array, letter: jax.Array) -> tuple[jax.Array, jax.Array]:
        def cell(left_of: jax.Array, j: jax.Array) -> tuple[jax.Array, jax.Array]:
            replaced = above[j] + (right[j] != letter)
            best = jnp.minimum(replaced, jnp.minimum(above[j + 1], left_of) + 1)
            return best, best

        first = above[0] + 1
        _, others = lax.scan(cell, first, jnp.arange(columns))
        below = jnp.concatenate([first[None], others])
        return below, below

    return lax.scan(row, jnp.arange(columns + 1), left)[1]


def edit_distance_example_args() -> Shapes:
    """Two words."""
    return s32(3), s32(4)


def knapsack(weights: jax.Array, worth: jax.Array) -> jax.Array:
    """What a bag of each size can hold: one item after the other, the table updated in place."""
    capacity = 6

    def item(i: jax.Array, table: jax.Array) -> jax.Array:
        weight = jnp.clip(weights[i], 1, capacity)
        padded = jnp.concatenate([jnp.full(capacity + 1, -1_000_000, jnp.int32), table])
        without = lax.dynamic_slice_in_dim(padded, capacity + 1 - weight, capacity + 1)
        return jnp.maximum(table, without + worth[i])

    return lax.fori_loop(0, weights.shape[0], item, jnp.zeros(capacity + 1, jnp.int32))


def knapsack_example_args() -> Shapes:
    """Weights and worth of four items."""
    return s32(4), s32(4)


def bisection(target: jax.Array) -> jax.Array:
    """A square root by bisection, until it is close enough: nobody knows how many steps that takes."""

    def step(state: tuple[jax.Array, jax.Array]) -> tuple[jax.Array, jax.Array]:
        low, high = state
        middle = (low + high) / 2
        too_low = middle * middle < target
        return jnp.where(too_low, middle, low), jnp.where(too_low, high, middle)

    def is_open(state: tuple[jax.Array, jax.Array]) -> jax.Array:
        return state[1] - state[0] > 0.5

    return lax.while_loop(is_open, step, (jnp.zeros_like(target), jnp.float32(16)))[0]


def bisection_example_args() -> Shapes:
    """A number."""
    return (f32(),)
