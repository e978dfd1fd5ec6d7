"""A training step of a small transformer, with passes inside the compile of `jax.jit`.

    python -m examples.training_step                      # the Neuron pipeline
    python -m examples.training_step dce,xla:algsimp      # any other

The weights of all layers are stacked, and each layer slices out its own: after lowering, calls that start with
dynamic-slices, forwards and backwards. The step computes loss and gradients, updates the weights with momentum, and
donates the old ones. It is run twice on the same numbers, with the passes in its compile and without, and its losses
over a few steps are printed side by side.
"""

import sys

import jax
import jax.numpy as jnp
from jax import lax

from fuzz.inside_jax import compare_inside_jax, inside_jax
from fuzz.report import verdict_line

LAYERS = 3
WIDTH = 8
LENGTH = 6
BATCH = 2
RATE, MOMENTUM = 0.05, 0.9

Weights = dict[str, jax.Array]
State = tuple[Weights, Weights]  # weights and their momenta


@jax.jit
def block(x: jax.Array, weights: Weights, layer: jax.Array) -> jax.Array:
    """One layer: attention and a feed-forward part, each added to `x` [BATCH, LENGTH, WIDTH]."""

    def mine(name: str) -> jax.Array:
        return lax.dynamic_slice_in_dim(weights[name], layer * 1, 1)[0]

    query, key, value, output = mine("attention")
    scores = jnp.einsum("btd,bsd->bts", x @ query, x @ key) / WIDTH**0.5
    causal = jnp.tril(jnp.ones((LENGTH, LENGTH), bool))
    read = jax.nn.softmax(jnp.where(causal, scores, -1e9)) @ (x @ value)
    x = x + read @ output
    return x + jnp.tanh(x @ mine("up") + mine("bias")) @ mine("down")


def loss(weights: Weights, x: jax.Array, target: jax.Array) -> jax.Array:
    """The mean squared error of what the layers make of `x`."""
    for layer in range(LAYERS):
        x = block(x, weights, jnp.int32(layer))
    return jnp.mean((x - target) ** 2)


def step(state: State, x: jax.Array, target: jax.Array) -> tuple[State, jax.Array]:
    """One step of gradient descent with momentum: the new state, and the loss before it."""
    weights, momenta = state
    value, gradients = jax.value_and_grad(loss)(weights, x, target)
    momenta = jax.tree.map(lambda m, g: MOMENTUM * m + g, momenta, gradients)
    weights = jax.tree.map(lambda w, m: w - RATE * m, weights, momenta)
    return (weights, momenta), value


def example_arguments(seed: int = 0) -> tuple[State, jax.Array, jax.Array]:
    """A state, and one batch of inputs and targets."""
    keys = iter(jax.random.split(jax.random.key(seed), 6))
    weights = {
        "attention": 0.3 * jax.random.normal(next(keys), (LAYERS, 4, WIDTH, WIDTH)),
        "up": 0.3 * jax.random.normal(next(keys), (LAYERS, WIDTH, 2 * WIDTH)),
        "bias": jnp.zeros((LAYERS, 2 * WIDTH)),
        "down": 0.3 * jax.random.normal(next(keys), (LAYERS, 2 * WIDTH, WIDTH)),
    }
    momenta = jax.tree.map(jnp.zeros_like, weights)
    x, target = (jax.random.normal(next(keys), (BATCH, LENGTH, WIDTH)) for _ in range(2))
    return (weights, momenta), x, target


train = jax.jit(step, donate_argnums=0)


def losses(count: int) -> list[float]:
    """The losses of the first steps. Each hands its state to the next, which may write over it."""
    state, x, target = example_arguments()
    found: list[float] = []
    for _ in range(count):
        state, value = train(state, x, target)
        found.append(float(value))
    return found


def main() -> None:
    """Compare, and train with and without."""
    pipeline = sys.argv[1] if len(sys.argv) > 1 else "neuron"
    comparison = compare_inside_jax(train, *example_arguments(), passes=pipeline)
    for program in comparison.programs:
        for rule, count in sorted(program.fired.items()):
            print(f"{program.name}: {count} × {rule}")
    print(f"one step with and without {pipeline}: {verdict_line(comparison.verdict)}")

    without = losses(5)
    with inside_jax(pipeline):
        with_passes = losses(5)
    print("loss without:", *(f"{value:.6f}" for value in without))
    print("loss with:   ", *(f"{value:.6f}" for value in with_passes))


if __name__ == "__main__":
    main()
