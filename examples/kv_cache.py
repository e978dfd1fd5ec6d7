"""One decode step of a small transformer with key and value caches, in ordinary JAX.

    hlofuzz check examples.kv_cache:decode_step

Weights and caches of all layers are stacked, as they are in checkpoints. Each layer is a function of its own that
takes the whole stacks and its layer number, and slices out what it needs: after compilation, calls whose bodies
start with dynamic-slices at a constant. The position in the cache is known only at run time.
"""

from collections.abc import Callable

import jax
import jax.numpy as jnp
from jax import lax

LAYERS = 3
HEADS = 2
HEAD_SIZE = 4
CACHE_LENGTH = 8
MODEL = HEADS * HEAD_SIZE

Layer = Callable[..., tuple[jax.Array, jax.Array, jax.Array]]


def make_layer() -> Layer:
    """A layer that is compiled by itself: each has a computation of its own."""

    def attention_layer(
        x: jax.Array,  # [MODEL]
        projections: jax.Array,  # [LAYERS, 4, MODEL, MODEL]: query, key, value, output
        keys: jax.Array,  # [LAYERS, CACHE_LENGTH, HEADS, HEAD_SIZE]
        values: jax.Array,  # the same
        position: jax.Array,  # where in the caches this token goes
        layer: jax.Array,
    ) -> tuple[jax.Array, jax.Array, jax.Array]:
        def mine(stack: jax.Array) -> jax.Array:
            return lax.dynamic_slice_in_dim(stack, layer * 1, 1)[0]

        query, key, value, output = mine(projections)
        row = (1, HEADS, HEAD_SIZE)
        my_keys = lax.dynamic_update_slice(mine(keys), (key @ x).reshape(row), (position, 0, 0))
        my_values = lax.dynamic_update_slice(mine(values), (value @ x).reshape(row), (position, 0, 0))

        scores = jnp.einsum("hd,thd->ht", (query @ x).reshape(HEADS, HEAD_SIZE), my_keys)
        seen = jnp.arange(CACHE_LENGTH) <= position
        attention = jax.nn.softmax(jnp.where(seen, scores, -1e9), axis=-1)
        read = jnp.einsum("ht,thd->hd", attention, my_values).reshape(MODEL)
        return x + output @ read, my_keys, my_values

    return jax.jit(attention_layer)


_LAYERS = [make_layer() for _ in range(LAYERS)]


def decode_step(
    x: jax.Array, projections: jax.Array, keys: jax.Array, values: jax.Array, position: jax.Array
) -> tuple[jax.Array, jax.Array, jax.Array]:
    """The next token's activations [MODEL], and the caches with this token written at `position`."""
    new_keys, new_values = keys, values
    for number, layer in enumerate(_LAYERS):
        x, my_keys, my_values = layer(x, projections, keys, values, position, jnp.int32(number))
        start = (number * 1, 0, 0, 0)
        new_keys = lax.dynamic_update_slice(new_keys, my_keys[None], start)
        new_values = lax.dynamic_update_slice(new_values, my_values[None], start)
    return x, new_keys, new_values


def decode_step_example_args() -> tuple[jax.ShapeDtypeStruct, ...]:
    """The shapes to compile `decode_step` for."""
    cache = jax.ShapeDtypeStruct((LAYERS, CACHE_LENGTH, HEADS, HEAD_SIZE), jnp.float32)
    return (
        jax.ShapeDtypeStruct((MODEL,), jnp.float32),
        jax.ShapeDtypeStruct((LAYERS, 4, MODEL, MODEL), jnp.float32),
        cache,
        cache,
        jax.ShapeDtypeStruct((), jnp.int32),
    )
