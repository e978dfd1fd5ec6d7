"""Which bits come next, in JAX?

`lax.rng_bit_generator` takes no state of three words, which Philox may have. So this is an operation of our own that
lowers to the same StableHLO operation, with whatever state it is given.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from jax.extend.core import Primitive
from jax.interpreters import mlir

from hlo import ArrayShape, HloInstruction, Opcode, PrimitiveType, TupleShape, UnsupportedOpcode
from hlo.attributes import RandomAlgorithm
from oracle.reference.kernels import WHERE, Kernel
from oracle.reference.rule import Rule, Trace

# StableHLO's name of an algorithm, and of how many U64 its state may be.
_ALGORITHMS: Mapping[str, tuple[str, tuple[int, ...]]] = {
    "rng_default": ("DEFAULT", (2, 3)),
    "rng_three_fry": ("THREE_FRY", (2,)),
    "rng_philox": ("PHILOX", (2, 3)),
}

_random_words = Primitive("random_words")
_random_words.multiple_results = True


@_random_words.def_abstract_eval
def _shapes(state: Any, *, dimensions: tuple[int, ...], word: np.dtype[Any], algorithm: str) -> Any:
    return [state, state.update(shape=dimensions, dtype=word)]


def _lowered(
    _context: Any, state: Any, *, dimensions: tuple[int, ...], word: np.dtype[Any], algorithm: str
) -> Any:
    ir: Any = mlir.ir
    words = ir.RankedTensorType.get(dimensions, mlir.dtype_to_ir_type(word))
    attributes = {"rng_algorithm": ir.Attribute.parse(f"#stablehlo<rng_algorithm {algorithm}>")}
    operation = ir.Operation.create(
        "stablehlo.rng_bit_generator", results=[state.type, words], operands=[state], attributes=attributes
    )
    return operation.results


mlir.register_lowering(_random_words, _lowered)


def _rng_bit_generator(inst: HloInstruction, trace: Trace) -> Kernel:
    """Of a state the next state, and random bits as integers of 8 bits and more."""
    random = inst.attributes
    assert isinstance(random, RandomAlgorithm)
    assert isinstance(inst.shape, TupleShape)
    bits = inst.shape.elements[1]
    state = inst.operand(0).array_shape
    assert isinstance(bits, ArrayShape)
    algorithm, sizes = _ALGORITHMS[random.algorithm]
    kind = bits.element_type
    states = {ArrayShape(PrimitiveType.U64, (size,)) for size in sizes}
    if state not in states or not kind.is_integral or kind.bit_width < 8:
        raise UnsupportedOpcode(f"{inst.opcode} of {bits} from {state}", WHERE)
    word = np.dtype(f"u{kind.numpy.itemsize}")

    def function(before: Any) -> Any:
        after, words = _random_words.bind(before, dimensions=bits.dimensions, word=word, algorithm=algorithm)
        return after, words.view(kind.numpy)

    return Kernel((inst.opcode, random, bits), function)


RULES: Mapping[Opcode, Rule] = {Opcode.RNG_BIT_GENERATOR: _rng_bit_generator}
