"""Attention: one layer after the other, one block after the other."""

import jax
import jax.numpy as jnp
from jax import lax

from examples.loops.shapes import Shapes, f32, s32

LAYERS, HEADS, HEAD_SIZE, CACHE_LENGTH = 3, 2, 4, 6
MODEL = HEADS * HEAD_SIZE
LENGTH, BLOCK, WINDOW = 8, 4, 2


def decode(
    x: jax.Array, weights: jax.Array, keys: jax.Array, values: jax.Array, position: jax.Array
) -> tuple[jax.Array, tuple[jax.Array, jax.Array]]:
    """A decode step of a transformer: a scan over stacked layers, each with its part of the cache."""

    def layer(
        x: jax.Array, mine: tuple[jax.Array, jax.Array, jax.Array]
    ) -> tuple[jax.Array, tuple[jax.Array, jax.Array]]:
        (query, key, value, output), my_keys, my_values = mine
        row = (1, HEADS, HEAD_SIZE)
        my_keys = lax.dynamic_update_slice_in_dim(my_keys, (key @ x).reshape(row), position, axis=0)
        my_values = lax.dynamic_update_slice_in_dim(my_values, (value @ x).reshape(row), position, axis=0)
        scores = jnp.einsum("hd,thd->ht", (query @ x).reshape(HEADS, HEAD_SIZE), my_keys)
        seen = jnp.arange(CACHE_LENGTH) <= position
        attention = jax.nn.softmax(jnp.where(seen, scores, -1e9), axis=-1)
        read = jnp.einsum("ht,thd->hd", attention, my_values).reshape(MODEL)
        return x + output @ read, (my_keys, my_values)

    return lax.scan(layer, x, (weights, keys, values))


def decode_example_args() -> Shapes:
    """Activations, stacked weights, caches, position."""
    cache = f32(LAYERS, CACHE_LENGTH, HEADS, HEAD_SIZE)
    return f32(MODEL), f32(LAYERS, 4, MODEL, MODEL), cache, cache, s32()


def blockwise(queries: jax.Array, keys: jax.Array, values: jax.Array) -> jax.Array:
    """Blockwise (flash) attention: for each block of queries, blocks of keys with a running maximum and sum."""

    def query_block(i: jax.Array, out: jax.Array) -> jax.Array:
        query = lax.dynamic_slice_in_dim(queries, i * BLOCK, BLOCK)

        def key_block(
            j: jax.Array, state: tuple[jax.Array, jax.Array, jax.Array]
        ) -> tuple[jax.Array, jax.Array, jax.Array]:
            highest, total, read = state
            key = lax.dynamic_slice_in_dim(keys, j * BLOCK, BLOCK)
            value = lax.dynamic_slice_in_dim(values, j * BLOCK, BLOCK)
            scores = query @ key.T
            new_highest = jnp.maximum(highest, scores.max(axis=1))
            weights = jnp.exp(scores - new_highest[:, None])
            shrink = jnp.exp(highest - new_highest)
            return new_highest, total * shrink + weights.sum(axis=1), read * shrink[:, None] + weights @ value

        start = jnp.full_like(query[:, 0], -1e30), jnp.zeros_like(query[:, 0]), jnp.zeros_like(query)
        _, total, read = lax.fori_loop(0, LENGTH // BLOCK, key_block, start)
        return lax.dynamic_update_slice_in_dim(out, read / total[:, None], i * BLOCK, axis=0)

    return lax.fori_loop(0, LENGTH // BLOCK, query_block, jnp.zeros_like(queries))


def blockwise_example_args() -> Shapes:
    """Queries, keys and values of one head."""
    return (f32(LENGTH, HEAD_SIZE),) * 3


def windowed(queries: jax.Array, keys: jax.Array, values: jax.Array) -> jax.Array:
    """Sliding-window attention: each query sees the keys around it, fewer at the ends."""

    def one(_: None, i: jax.Array) -> tuple[None, jax.Array]:
        first = jnp.clip(i - WINDOW, 0, LENGTH - 2 * WINDOW - 1)
        near_keys = lax.dynamic_slice_in_dim(keys, first, 2 * WINDOW + 1)
        near_values = lax.dynamic_slice_in_dim(values, first, 2 * WINDOW + 1)
        query = lax.dynamic_index_in_dim(queries, i, keepdims=False)
        return None, jax.nn.softmax(near_keys @ query) @ near_values

    return lax.scan(one, None, jnp.arange(LENGTH))[1]


def windowed_example_args() -> Shapes:
    """Queries, keys and values of one head."""
    return (f32(LENGTH, HEAD_SIZE),) * 3
