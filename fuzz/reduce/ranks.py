"""How few dimensions can the arrays have?

One dimension goes everywhere at once, counted from the front or from the back: what belongs together mostly has the
same ones. Of the operations whose attributes name dimensions only the slices are known here; a program with others
keeps its dimensions, unless the verifier finds that the smaller one makes sense all the same.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import partial

import numpy as np

from fuzz.case import Case
from fuzz.reduce.editing import Candidate, cloned, drop_if_dead
from hlo import ArrayShape, HloInstruction, Literal, Opcode, Shape, Token, TupleShape, Value, leaves
from hlo.attributes import ConstantValue, SliceBounds, SliceSizes

_START = {Opcode.DYNAMIC_SLICE: 1, Opcode.DYNAMIC_UPDATE_SLICE: 2}
"""The operand from which on there is one for each dimension."""

_SLICES = frozenset({*_START, Opcode.SLICE})


@dataclass(frozen=True)
class _Dimension:
    """The one to drop, from the front or the back, and what is kept of arrays: their first elements in it or last."""

    place: int
    from_back: bool
    last: bool

    def of(self, shape: ArrayShape) -> int | None:
        """Which dimension of an array it is; None where the array does not have it."""
        if self.place >= shape.rank:
            return None
        return shape.rank - 1 - self.place if self.from_back else self.place


def fewer_dimensions(case: Case) -> Iterator[Candidate]:
    """One dimension less everywhere; with constant starts of slices made parameters of the program, or not.

    A pass may look at starts that it does not know only, and a dimension that goes may have had the only one.
    """
    ranks = {
        shape.rank
        for computation in case.module.computations
        for inst in computation.instructions
        for _, shape in leaves(inst.shape)
        if isinstance(shape, ArrayShape)
    }
    for place in range(max(ranks, default=0)):
        for from_back in (False, True):
            for last in (False, True):
                for opened in (False, True):
                    yield partial(_dropped, case, _Dimension(place, from_back, last), opened)


def _dropped(case: Case, dimension: _Dimension, opened: bool) -> Case | None:
    case, _ = cloned(case)
    wanted = [parameter.shape for parameter in case.module.entry_computation.parameters]
    inputs = tuple(
        tuple(_without(value, shape, dimension) for value, shape in zip(given, wanted, strict=True))
        for given in case.inputs
    )
    for computation in case.module.computations:
        for inst in computation.make_instruction_post_order():
            _drop(inst, dimension)
            if inst.opcode in _SLICES and inst.array_shape.is_scalar:
                return None  # what it slices is no array any more
    case = replace(case, inputs=inputs)
    return _opened(case) if opened else case


def _drop(inst: HloInstruction, dimension: _Dimension) -> None:
    old = inst.shape
    # first what says where the elements come from: it is there for each dimension of the old shape
    if isinstance(old, ArrayShape) and (at := dimension.of(old)) is not None:
        match inst.attributes:
            case SliceSizes(sizes):
                inst.attributes = SliceSizes(_all_but(sizes, at))
            case SliceBounds(starts, limits, strides):
                inst.attributes = SliceBounds(*(_all_but(x, at) for x in (starts, limits, strides)))
            case ConstantValue(literal):
                inst.attributes = ConstantValue(Literal(_without(literal.value, old, dimension)))
            case _:
                pass
        first = _START.get(inst.opcode)
        if first is not None and len(inst.operands) == first + old.rank:  # and not one vector of them
            start = inst.operand(first + at)
            inst.parent.set_operands(inst, _all_but(inst.operands, first + at))
            drop_if_dead(start)
    inst.shape = _smaller(old, dimension)


def _all_but(items: tuple, index: int) -> tuple:
    return (*items[:index], *items[index + 1 :])


def _smaller(shape: Shape, dimension: _Dimension) -> Shape:
    if isinstance(shape, TupleShape):
        return TupleShape(tuple(_smaller(element, dimension) for element in shape.elements))
    if not isinstance(shape, ArrayShape) or (at := dimension.of(shape)) is None:
        return shape
    dynamic = _all_but(shape.dynamic, at) if shape.dynamic else ()
    return ArrayShape(shape.element_type, _all_but(shape.dimensions, at), dynamic)


def _without(value: Value, shape: Shape, dimension: _Dimension) -> Value:
    if isinstance(value, tuple) and isinstance(shape, TupleShape):
        pairs = zip(value, shape.elements, strict=True)
        return tuple(_without(element, wanted, dimension) for element, wanted in pairs)
    if isinstance(value, (tuple, Token)) or not isinstance(shape, ArrayShape):
        return value
    at = dimension.of(shape)
    if at is None:
        return value
    if not value.shape[at]:
        return np.zeros(_all_but(value.shape, at), value.dtype)
    return np.asarray(np.take(value, -1 if dimension.last else 0, axis=at))


def _opened(case: Case) -> Case:
    """With a parameter in place of each constant start of a slice in the entry."""
    entry = case.module.entry_computation
    starts = [
        operand
        for inst in entry.make_instruction_post_order()
        if (first := _START.get(inst.opcode)) is not None
        for operand in inst.operands[first:]
        if operand.opcode is Opcode.CONSTANT
    ]
    inputs = case.inputs
    for start in dict.fromkeys(starts):
        value = start.literal.value
        parameter = entry.add_parameter(len(entry.parameters), start.shape)
        entry.replace_instruction(start, parameter)
        inputs = tuple((*given, value) for given in inputs)
    return replace(case, inputs=inputs)
