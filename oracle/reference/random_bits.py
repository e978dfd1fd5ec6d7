"""Which bits come next, in JAX?"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from jax import lax

from hlo import ArrayShape, HloInstruction, Opcode, PrimitiveType, TupleShape, UnsupportedOpcode
from hlo.attributes import RandomAlgorithm
from oracle.reference.kernels import WHERE, Kernel
from oracle.reference.rule import Rule, Trace

_ALGORITHMS = {
    "rng_default": lax.RandomAlgorithm.RNG_DEFAULT,
    "rng_three_fry": lax.RandomAlgorithm.RNG_THREE_FRY,
    "rng_philox": lax.RandomAlgorithm.RNG_PHILOX,
}
_WORDS: Mapping[int, Any] = {32: np.dtype(np.uint32), 64: np.dtype(np.uint64)}


def _rng_bit_generator(inst: HloInstruction, trace: Trace) -> Kernel:
    """Of a state the next state, and random bits in words of 32 or 64 bits; JAX has no other words and states."""
    random = inst.attributes
    assert isinstance(random, RandomAlgorithm)
    assert isinstance(inst.shape, TupleShape)
    bits = inst.shape.elements[1]
    state = inst.operand(0).array_shape
    assert isinstance(bits, ArrayShape)
    word = _WORDS.get(bits.element_type.bit_width)
    if state != ArrayShape(PrimitiveType.U64, (2,)) or word is None:
        raise UnsupportedOpcode(f"{inst.opcode} of {bits} from {state}", WHERE)
    algorithm = _ALGORITHMS[random.algorithm]

    def function(before: Any) -> Any:
        after, words = lax.rng_bit_generator(before, bits.dimensions, word, algorithm)
        dtype = bits.element_type.numpy
        return after, words if word == dtype else lax.bitcast_convert_type(words, dtype)

    return Kernel((inst.opcode, random, bits), function)


RULES: Mapping[Opcode, Rule] = {Opcode.RNG_BIT_GENERATOR: _rng_bit_generator}
