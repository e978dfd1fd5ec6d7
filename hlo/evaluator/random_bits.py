"""Which bits does `rng-bit-generator` give for a state, and what is the state afterwards?

Both algorithms are functions of a key and of a counter that goes up by one from block to block (Salmon et al.,
"Parallel random numbers: as easy as 1, 2, 3", 2011): Threefry2x32 with 20 rounds makes 64 bits a block, Philox4x32 with
10 rounds makes 128. The first element of the state is the key, the rest is the counter, least significant first. How
blocks become elements is XLA's choice (`prng.cc` upstream), and so is that the default is Philox, as on its CPU.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from hlo.attributes import RandomAlgorithm
from hlo.errors import UnsupportedOpcode
from hlo.evaluator.kernels import Array, Kernel, Machine, Rule, sealed
from hlo.evaluator.limits import UnsupportedType
from hlo.graph import HloInstruction
from hlo.literal import Value
from hlo.opcode import Opcode
from hlo.shape import ArrayShape

# Of how many U64 a state may be; upstream's expander refuses others.
_STATES = {"rng_default": (2, 3), "rng_three_fry": (2,), "rng_philox": (2, 3)}
_LOW = np.uint64(0xFFFFFFFF)
_HALF = np.uint64(32)


def _rng_bit_generator(inst: HloInstruction, _machine: Machine) -> Kernel:
    options = inst.attributes
    if not isinstance(options, RandomAlgorithm):
        raise TypeError(f"{inst.name} has no algorithm")
    state_shape, shape = inst.tuple_shape.elements
    if not isinstance(state_shape, ArrayShape) or not isinstance(shape, ArrayShape):
        raise TypeError(f"{inst.name} gives no arrays")
    if not shape.element_type.is_integral or shape.element_type.bit_width < 8:
        raise UnsupportedType(inst.opcode, shape.element_type)
    words, rest = divmod(state_shape.element_count * state_shape.element_type.bit_width, 64)
    if rest or words not in _STATES[options.algorithm] or state_shape.element_type.bit_width < 32:
        raise UnsupportedOpcode(f"{inst.opcode} from {state_shape}", "evaluator")
    is_wide = shape.element_type.bit_width == 64
    generate = _threefry_bits if options.algorithm == "rng_three_fry" else _philox_bits

    def rng_bit_generator(state: Array) -> Value:
        # U32 states are pairs that make one U64
        words = np.ascontiguousarray(state).view(np.uint64)
        bits, counter = generate(words, shape.dimensions, is_wide)
        new = np.concatenate([words[:1], counter]).view(state_shape.element_type.numpy)
        unsigned = bits.astype(f"u{shape.element_type.numpy.itemsize}")  # the low bits, for narrow types
        return sealed(new), sealed(unsigned.view(shape.element_type.numpy).reshape(shape.dimensions))

    return rng_bit_generator


def _halves(words: Any) -> tuple[Any, Any]:
    return words & _LOW, words >> _HALF


def _threefry_bits(state: Array, dimensions: tuple[int, ...], is_wide: bool) -> tuple[Array, Array]:
    """Of each block, one U64 or two U32 that are neighbours along one dimension: the first even one, or the largest."""
    if is_wide:
        blocks = math.prod(dimensions)
        low, high = _threefry(state[0], state[1] + np.arange(blocks, dtype=np.uint64))
        return low | high << _HALF, state[1:] + np.uint64(blocks)
    sizes = dimensions or (1,)
    even = [d for d, size in enumerate(sizes) if size % 2 == 0]
    along = even[0] if even else int(np.argmax(sizes))
    halved = tuple((size + 1) // 2 if d == along else size for d, size in enumerate(sizes))
    blocks = math.prod(halved)
    pair = _threefry(state[0], state[1] + np.arange(blocks, dtype=np.uint64))
    joined = np.stack([half.reshape(halved) for half in pair], along + 1)
    joined = joined.reshape([size * 2 if d == along else size for d, size in enumerate(halved)])
    return joined[tuple(map(slice, sizes))], state[1:] + np.uint64(blocks)


_ROTATIONS = ((13, 15, 26, 6), (17, 29, 16, 24))
_PARITY = np.uint64(0x1BD11BDA)


def _threefry(key: np.uint64, counters: Array) -> tuple[Array, Array]:
    low, high = _halves(key)
    keys = (low, high, low ^ high ^ _PARITY)
    x, y = _halves(counters)
    x, y = (x + keys[0]) & _LOW, (y + keys[1]) & _LOW
    for group in range(5):
        for rotation in _ROTATIONS[group % 2]:
            x = (x + y) & _LOW
            y = (y << np.uint64(rotation) | y >> np.uint64(32 - rotation)) & _LOW ^ x
        x = (x + keys[(group + 1) % 3]) & _LOW
        y = (y + keys[(group + 2) % 3] + np.uint64(group + 1)) & _LOW
    return x, y


def _philox_bits(state: Array, dimensions: tuple[int, ...], is_wide: bool) -> tuple[Array, Array]:
    """Of each block two U64 or four U32, one after another.

    A state of two numbers has no high half of the counter: the key stands in for it.
    """
    count = math.prod(dimensions)
    blocks = -(-count // (2 if is_wide else 4))
    start, top = state[1], state[2 % len(state)]
    low = start + np.arange(blocks, dtype=np.uint64)
    words = _philox(state[0], (*_halves(low), *_halves(top + (low < start))))
    if is_wide:
        words = [words[0] | words[1] << _HALF, words[2] | words[3] << _HALF]
    end = start + np.uint64(blocks)
    counter = np.array([end, top + (end < start)], np.uint64)
    return np.stack(words, 1).reshape(-1)[:count], counter[: len(state) - 1]


_MULTIPLIERS = (np.uint64(0xD2511F53), np.uint64(0xCD9E8D57))
_WEYL = (np.uint64(0x9E3779B9), np.uint64(0xBB67AE85))


def _philox(key: np.uint64, counters: Sequence[Array]) -> list[Array]:
    first, second = _halves(key)
    a, b, c, d = counters
    for _ in range(10):
        (low_a, high_a), (low_c, high_c) = _halves(a * _MULTIPLIERS[0]), _halves(c * _MULTIPLIERS[1])
        a, b, c, d = high_c ^ b ^ first, low_c, high_a ^ d ^ second, low_a
        first, second = (first + _WEYL[0]) & _LOW, (second + _WEYL[1]) & _LOW
    return [a, b, c, d]


RULES: dict[Opcode, Rule] = {Opcode.RNG_BIT_GENERATOR: _rng_bit_generator}
