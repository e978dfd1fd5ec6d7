"""Which static program is a program with unknown sizes, for given sizes?

StableHLO's shape refinement says so (`StableHloModule.specialised`); what then still computes a shape out of
constants becomes the operation that HLO has (StableHLO's own `stablehlo-canonicalize-dynamism`).
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, Final

import numpy as np

from hlo import HloModule, InvalidInput, Value
from hlo.interchange.mlir import bytecode_of, run_mlir_passes
from hlo.stablehlo import StableHloModule, dialect, ir
from oracle.symbolic.known import shape_parameters

_FOLD_SHAPES: Final = "builtin.module(func.func(stablehlo-canonicalize-dynamism))"


@dataclass(frozen=True)
class Assignment:
    """The sizes of a program's arrays.

    `sizes` has the dimensions of each parameter; `known` the elements, row by row, of the parameters that sizes are
    computed from, by number.
    """

    sizes: tuple[tuple[int, ...], ...]
    known: tuple[tuple[int, tuple[int, ...]], ...] = ()

    @property
    def total(self) -> int:
        """How large it is, to tell the smaller of two: sizes and known elements together."""
        return sum(map(sum, self.sizes)) + sum(abs(n) for _, elements in self.known for n in elements)

    def __str__(self) -> str:
        """For people: `[3,4], [], parameter 2 holds 3`."""
        known = (f"parameter {number} holds {' '.join(map(str, found))}" for number, found in self.known)
        return ", ".join((*(f"[{','.join(map(str, sizes))}]" for sizes in self.sizes), *known))


def assignment_of(program: StableHloModule, inputs: Sequence[Value]) -> Assignment:
    """The sizes that an input set has. Raises InvalidInput where its number is another than the parameters'."""
    kinds = program.parameters
    if len(inputs) != len(kinds):
        raise InvalidInput(f"{len(inputs)} inputs for {len(kinds)} parameters")
    arrays = [np.asarray(value) for value in inputs]
    known = ((number, tuple(map(int, arrays[number].reshape(-1)))) for number in known_parameters(program))
    return Assignment(tuple(array.shape for array in arrays), tuple(known))


def known_parameters(program: StableHloModule) -> list[int]:
    """The integer parameters of known size whose elements go into the size of an array, by number, ascending."""
    kinds = program.parameters
    return [
        number
        for number in sorted(shape_parameters(program))
        if kinds[number].is_static and kinds[number].element_type.is_integral
    ]


def specialise(program: StableHloModule, assignment: Assignment) -> HloModule:
    """The static HLO program that `program` is for these sizes; it takes the same parameters.

    Who asks again gets the same module, which must not be changed. Raises InvalidInput where the sizes do not fit the
    program or each other, and where a size depends on other data.
    """
    return _specialised(bytecode_of(program.mlir), assignment)


@lru_cache(maxsize=64)  # inputs are drawn for the programs that are judged
def _specialised(bytecode: bytes, assignment: Assignment) -> HloModule:
    copy = StableHloModule.read(bytecode)
    kinds = copy.parameters
    if assignment.known:
        (body,) = copy.entry.regions[0].blocks
        for number, elements in assignment.known:
            shape = kinds[number].array_shape()
            if math.prod(shape.dimensions) != len(elements):
                raise InvalidInput(
                    f"parameter {number} is {kinds[number]}, which has not {len(elements)} elements"
                )
            _bind(body, number, np.array(elements).astype(shape.element_type.numpy).reshape(shape.dimensions))
    static = copy.specialised(assignment.sizes)
    run_mlir_passes(static.mlir, _FOLD_SHAPES)
    return static.to_hlo()


def _bind(body: Any, number: int, value: Any) -> None:
    """Put a constant in place of what uses an argument of the entry. The argument stays."""
    argument = body.arguments[number]
    with body.owner.context, ir().Location.unknown(), ir().InsertionPoint.at_block_begin(body):
        attribute = ir().DenseElementsAttr.get(value, type=argument.type.element_type, shape=value.shape)
        argument.replace_all_uses_with(dialect().constant(attribute))
