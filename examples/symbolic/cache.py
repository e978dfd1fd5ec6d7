"""A cache of keys and values, for any number of sequences, as long as somebody else decides."""

import jax
import jax.numpy as jnp
from jax import lax

from examples.symbolic.shapes import BATCH, LENGTH, Shapes, f32, s32

MODEL, WINDOW = 8, 4


def decode_step(
    x: jax.Array, keys: jax.Array, values: jax.Array, position: jax.Array
) -> tuple[jax.Array, jax.Array, jax.Array]:
    """Write this step's key and value at `position`, and attend to all that is there so far."""
    keys = lax.dynamic_update_slice_in_dim(keys, x[:, None], position, axis=1)
    values = lax.dynamic_update_slice_in_dim(values, 2 * x[:, None], position, axis=1)
    scores = jnp.einsum("bd,btd->bt", x, keys)
    seen = jnp.arange(keys.shape[1]) <= position
    attention = jax.nn.softmax(jnp.where(seen, scores, -1e9), axis=-1)
    return jnp.einsum("bt,btd->bd", attention, values), keys, values


def decode_step_example_args() -> Shapes:
    """Activations, keys, values, position."""
    return f32(BATCH, MODEL), f32(BATCH, LENGTH, MODEL), f32(BATCH, LENGTH, MODEL), s32()


def one_of_them(keys: jax.Array, position: jax.Array) -> jax.Array:
    """Read back the key at `position` of each sequence."""
    return lax.dynamic_index_in_dim(keys, position, axis=1, keepdims=False)


def one_of_them_example_args() -> Shapes:
    """Keys and position."""
    return f32(BATCH, LENGTH, MODEL), s32()
