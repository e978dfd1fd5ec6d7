"""How plain can the inputs and constants be?"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from functools import partial

import numpy as np

from fuzz.case import Case
from fuzz.reduce.editing import C, Candidate, cloned
from hlo import HloInstruction, Literal, Opcode, Token, Value
from hlo.attributes import ConstantValue

_FEW = 16


def plainer_inputs(case: C) -> Iterator[Callable[[], C]]:
    """One input made zeros, a count 0, 1, 2, …, ones, halves of what it is, or zero in one element."""
    for at, inputs in enumerate(case.inputs):
        for number, value in enumerate(inputs):
            for plain in _plainer(value):
                yield partial(_with_input, case, at, number, plain)


def plainer_constants(case: Case) -> Iterator[Candidate]:
    """The same for one constant."""
    for computation in case.module.computations:
        for inst in computation.instructions:
            if inst.opcode is Opcode.CONSTANT:
                for plain in _plainer(inst.literal.value):
                    yield partial(_with_constant, case, inst, plain)


def _with_input(case: C, at: int, number: int, value: Value) -> C:
    inputs = case.inputs[at]
    changed = (*inputs[:number], value, *inputs[number + 1 :])
    return replace(case, inputs=(*case.inputs[:at], changed, *case.inputs[at + 1 :]))


def _with_constant(case: Case, inst: HloInstruction, value: Value) -> Case:
    case, copies = cloned(case)
    copies[inst].attributes = ConstantValue(Literal(value))
    return case


def _plainer(value: Value) -> Iterator[Value]:
    if isinstance(value, tuple):
        for i, element in enumerate(value):
            for plain in _plainer(element):
                yield (*value[:i], plain, *value[i + 1 :])
    elif not isinstance(value, Token):
        yield from _plainer_arrays(value)


def _plainer_arrays(value: np.ndarray) -> Iterator[np.ndarray]:
    with np.errstate(all="ignore"):
        yield np.zeros_like(value)
        yield np.arange(value.size).reshape(value.shape).astype(value.dtype)
        yield np.ones_like(value)
        if value.dtype.kind in "iu":
            # operations on rank 0 give NumPy scalars, which are no arrays
            yield np.asarray(value // 2).astype(value.dtype)
            yield np.asarray(value - np.sign(value)).astype(value.dtype)  # one nearer to zero
        if 1 < value.size <= _FEW:
            for i in range(value.size):
                changed = value.copy()
                changed.reshape(-1)[i] = 0
                yield changed
