"""Parts of a transformer, each for any number of sequences of any length."""

import jax
import jax.numpy as jnp
from jax import lax

from examples.symbolic.shapes import BATCH, LENGTH, Shapes, f32, s32

MODEL, HIDDEN, HEADS, VOCABULARY = 8, 16, 2, 12
HEAD = MODEL // HEADS


def feed_forward(x: jax.Array, scale: jax.Array, inner: jax.Array, outer: jax.Array) -> jax.Array:
    """Layer norm, two matrices with a GELU between them, and around it the residual."""
    centred = x - x.mean(-1, keepdims=True)
    normal = centred * lax.rsqrt((centred * centred).mean(-1, keepdims=True) + 1e-5) * scale
    return x + jax.nn.gelu(normal @ inner) @ outer


def feed_forward_example_args() -> Shapes:
    """Activations, the scale of the norm, both matrices."""
    return f32(BATCH, LENGTH, MODEL), f32(MODEL), f32(MODEL, HIDDEN), f32(HIDDEN, MODEL)


def causal_attention(x: jax.Array, weights: jax.Array, output: jax.Array) -> jax.Array:
    """Attention of several heads, in which nothing sees what comes later."""
    batch, length, _ = x.shape
    query, key, value = (
        (x @ weight).reshape(batch, length, HEADS, HEAD).transpose(0, 2, 1, 3) for weight in weights
    )
    scores = jnp.einsum("bhqd,bhkd->bhqk", query, key) / HEAD**0.5
    places = jnp.arange(length)
    scores = jnp.where(places[:, None] >= places[None, :], scores, -1e9)
    read = jnp.einsum("bhqk,bhkd->bhqd", jax.nn.softmax(scores, axis=-1), value)
    return read.transpose(0, 2, 1, 3).reshape(batch, length, MODEL) @ output


def causal_attention_example_args() -> Shapes:
    """Activations, the matrices of queries, keys and values, and that of the output."""
    return f32(BATCH, LENGTH, MODEL), f32(3, MODEL, MODEL), f32(MODEL, MODEL)


def embedded_mean(tokens: jax.Array, counts: jax.Array, table: jax.Array) -> jax.Array:
    """Look up the embedding of each token, and take the mean of those that count."""
    embedded = table[tokens]
    weights = counts[..., None].astype(embedded.dtype)
    return (embedded * weights).sum(1) / jnp.maximum(weights.sum(1), 1.0)


def embedded_mean_example_args() -> Shapes:
    """Tokens, which of them count, and the table."""
    return s32(BATCH, LENGTH), s32(BATCH, LENGTH), f32(VOCABULARY, MODEL)


def next_token_loss(x: jax.Array, scale: jax.Array, head: jax.Array, tokens: jax.Array) -> jax.Array:
    """RMS norm, logits, and the cross entropy with the token that comes next."""
    normal = x * lax.rsqrt((x * x).mean(-1, keepdims=True) + 1e-6) * scale
    chances = jax.nn.log_softmax(normal[:, :-1] @ head)
    wanted = jax.nn.one_hot(tokens[:, 1:], VOCABULARY)
    return -(chances * wanted).sum() / tokens.size


def next_token_loss_example_args() -> Shapes:
    """Activations, the scale of the norm, the matrix of the logits, and the tokens."""
    return f32(BATCH, LENGTH, MODEL), f32(MODEL), f32(MODEL, VOCABULARY), s32(BATCH, LENGTH)
