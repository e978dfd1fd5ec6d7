"""Recurrences over time: forwards, backwards, and the gradient of one."""

from typing import Any

import jax
import jax.numpy as jnp
from jax import lax

from examples.loops.shapes import Shapes, f32

STEPS, FEATURES, STATE = 5, 3, 4


def lstm(inputs: jax.Array, weights: jax.Array, bias: jax.Array) -> tuple[Any, jax.Array]:
    """An LSTM cell over a sequence; the hidden states are stacked."""

    def cell(
        state: tuple[jax.Array, jax.Array], x: jax.Array
    ) -> tuple[tuple[jax.Array, jax.Array], jax.Array]:
        hidden, memory = state
        forget, update, output, new = jnp.split(jnp.concatenate([x, hidden]) @ weights + bias, 4)
        memory = jax.nn.sigmoid(forget) * memory + jax.nn.sigmoid(update) * jnp.tanh(new)
        hidden = jax.nn.sigmoid(output) * jnp.tanh(memory)
        return (hidden, memory), hidden

    return lax.scan(cell, (jnp.zeros(STATE), jnp.zeros(STATE)), inputs)


def lstm_example_args() -> Shapes:
    """A sequence, the weights of the four gates side by side, their bias."""
    return f32(STEPS, FEATURES), f32(FEATURES + STATE, 4 * STATE), f32(4 * STATE)


def rnn_gradient(inputs: jax.Array, weights: jax.Array, targets: jax.Array) -> Any:
    """The reverse-mode gradient of a loss over a recurrent network: a scan forwards and one backwards."""

    def loss(weights: jax.Array) -> jax.Array:
        def cell(hidden: jax.Array, x: jax.Array) -> tuple[jax.Array, jax.Array]:
            hidden = jnp.tanh(jnp.concatenate([x, hidden]) @ weights)
            return hidden, hidden

        hidden = lax.scan(cell, jnp.zeros(STATE), inputs)[1]
        return jnp.mean((hidden - targets) ** 2)

    return jax.value_and_grad(loss)(weights)


def rnn_gradient_example_args() -> Shapes:
    """A sequence, weights, and the states wanted."""
    return f32(STEPS, FEATURES), f32(FEATURES + STATE, STATE), f32(STEPS, STATE)


def deep_gradient(x: jax.Array, weights: jax.Array) -> jax.Array:
    """The gradient of many equal layers, each computed again on the way back to save memory."""

    def loss(weights: jax.Array) -> jax.Array:
        @jax.checkpoint
        def layer(x: jax.Array, weight: jax.Array) -> tuple[jax.Array, None]:
            return x + jax.nn.relu(x @ weight), None

        return lax.scan(layer, x, weights)[0].sum()

    return jax.grad(loss)(weights)


def deep_gradient_example_args() -> Shapes:
    """A batch, and the stacked weights of the layers."""
    return f32(2, STATE), f32(3, STATE, STATE)


def returns(rewards: jax.Array, values: jax.Array, discounts: jax.Array) -> jax.Array:
    """Generalised advantages of reinforcement learning: a scan in reverse over rewards and value estimates."""

    def step(advantage: jax.Array, now: tuple[jax.Array, ...]) -> tuple[jax.Array, jax.Array]:
        reward, value, next_value, discount = now
        surprise = reward + discount * next_value - value
        advantage = surprise + 0.5 * discount * advantage
        return advantage, advantage

    over_time = rewards, values[:-1], values[1:], discounts
    return lax.scan(step, jnp.zeros(rewards.shape[1:]), over_time, reverse=True)[1]


def returns_example_args() -> Shapes:
    """Rewards, values and discounts of two environments."""
    return f32(STEPS, 2), f32(STEPS + 1, 2), f32(STEPS, 2)
