"""What is there while a graph is being written? Its live values, and the bytes that decide what comes next."""

from __future__ import annotations

import math
from collections.abc import Callable, Collection, Sequence
from typing import TypeVar

from fuzz.generators.draft import Draft
from fuzz.generators.graphs.palette import INDICES, ORDINARY, SHAPES, STORED
from fuzz.generators.palette import array_shape, filled
from fuzz.generators.tape import Tape
from hlo import ArrayShape, HloComputation, HloInstruction, Opcode, PrimitiveType, TupleShape
from hlo.attributes import Ints
from hlo.builder import Builder

C = TypeVar("C")

RECORD_BYTES = 20
"""Decisions of one operation that are drawn; those behind are the simplest."""

_REACH = 10  # how many of the latest fitting values an operand is chosen of
_ORIGINS = ("parameter", "parameter", "parameter", "constant")


def any_dimensions(_dimensions: Ints) -> bool:
    """Fits every array."""
    return True


class Graph:
    """The values of one computation.

    `stored` is the storage format of this graph. `inexact` values went through an operation that engines round
    differently: they may go on where a small error stays small, and not where it makes another result (comparing,
    rounding to whole numbers, …).
    """

    def __init__(
        self,
        draft: Draft,
        builder: Builder,
        types: Sequence[PrimitiveType],
        shapes: Sequence[Ints] = SHAPES,
        stored: PrimitiveType = STORED[0],
    ) -> None:
        self.draft = draft
        self.builder = builder
        self.types = types
        self.shapes = shapes
        self.stored = stored
        self.values: list[HloInstruction] = []
        self.inexact: set[HloInstruction] = set()
        self._tape = Tape(b"")
        self.read(b"")

    @property
    def is_entry(self) -> bool:
        """Whether new parameters may be made."""
        return self.builder is self.draft.entry

    # decisions

    def read(self, record: bytes) -> None:
        """Decide by `record` from here on."""
        self._tape = Tape(record + bytes(256))

    def choice(self, options: Sequence[C]) -> C:
        """One of `options`, the first of which is the simplest."""
        return self._tape.choice(options)

    def element_type(self, allowed: Collection[PrimitiveType]) -> PrimitiveType:
        """One of the graph's own types that is allowed, else any allowed one."""
        own = [kind for kind in self.types if kind in allowed]
        return self.choice(own or tuple(allowed))

    # operands

    def array(
        self,
        types: Collection[PrimitiveType] = ORDINARY,
        dimensions: Ints | None = None,
        *,
        where: Callable[[Ints], bool] = any_dimensions,
        exact: bool = False,
        beside: HloInstruction | None = None,
    ) -> HloInstruction:
        """A value of one of `types`, of these `dimensions` or ones that `where` likes; a new one if need be.

        Seldom `beside`, the other operand: few operations do much with a value twice.
        """
        found = [
            value
            for value in reversed(self.values)
            if self._fits(value.array_shape, types, dimensions, where)
            and not (exact and value in self.inexact)
        ]
        own = self.types if any(kind in types for kind in self.types) else types
        found.sort(key=lambda value: value.array_shape.element_type not in own)  # stable: the latest first
        likely = [value for value in found[:_REACH] if value is not beside] * 2
        if chosen := self.choice((None, *likely, *[value for value in found if value is beside])):
            return chosen
        if dimensions is None:
            dimensions = self.choice([shape for shape in self.shapes if where(shape)] or [(3, 3)])
        kind = self.element_type(types)
        return self._converted(kind, dimensions) or self.fresh(kind, dimensions)

    @staticmethod
    def _fits(
        shape: ArrayShape,
        types: Collection[PrimitiveType],
        dimensions: Ints | None,
        where: Callable[[Ints], bool],
    ) -> bool:
        if shape.element_type not in types or not shape.is_static:
            return False
        return where(shape.dimensions) if dimensions is None else shape.dimensions == dimensions

    def _converted(self, kind: PrimitiveType, dimensions: Ints) -> HloInstruction | None:
        """An exact value of as many elements, reshaped and converted, at times by way of a storage format."""
        if not self.choice((False, True, True, True)):
            return None
        by_storage = self.choice((False, False, True))
        for value in reversed(self.values):
            shape = value.array_shape
            if shape.element_count != math.prod(dimensions) or value in self.inexact:
                continue
            if shape.element_type.is_complex and not kind.is_complex:
                continue
            if shape.dimensions != dimensions:
                value = self.builder.reshape(value, dimensions)
            if by_storage and not shape.element_type.is_complex:
                value = self.builder.convert(value, self.stored)
            return self.add(self.builder.convert(value, kind))
        return None

    def fresh(self, kind: PrimitiveType, dimensions: Ints) -> HloInstruction:
        """A parameter, where there may be new ones, or a constant. May be one that others use."""
        shape = array_shape(kind, dimensions)
        if self.is_entry and self.choice(_ORIGINS) == "parameter":
            old = [v for v in self.values if v.opcode is Opcode.PARAMETER and v.shape == shape]
            reused = old[0] if old and self.choice((True, False)) else None
            return reused or self._known(self.draft.parameter(shape))
        return self.add(self.builder.constant(filled(kind, dimensions, self.choice((1, 2, 3)))))

    def given(self, kind: PrimitiveType, dimensions: Ints = ()) -> HloInstruction:
        """A parameter that nothing else uses, so that its values may suit its one use; inside, a constant."""
        if self.is_entry:
            return self.draft.parameter(array_shape(kind, dimensions))
        return self.builder.constant(filled(kind, dimensions, 1))

    def start(self, *, literal: int | None = None) -> HloInstruction:
        """A scalar index: given or, at times, literal."""
        kind = self.choice(INDICES)
        if literal is not None or self.choice((False, False, True)):
            return self.builder.constant(self.choice((0, 1, 2)) if literal is None else literal, kind)
        return self.given(kind)

    # results

    def add(self, result: HloInstruction, *, inexact: bool = False) -> HloInstruction:
        """Make a result available; of a tuple, all its arrays."""
        inexact = inexact or any(operand in self.inexact for operand in result.operands)
        if isinstance(result.shape, TupleShape):
            if inexact:
                self.inexact.add(result)
            for index in range(len(result.shape.elements)):
                self.add(self.builder.gte(result, index))
            return result
        if not isinstance(result.shape, ArrayShape):
            return result
        kind = result.shape.element_type
        if inexact and (kind.is_float or kind.is_complex):
            self.inexact.add(result)
        return self._known(result)

    def _known(self, value: HloInstruction) -> HloInstruction:
        if value not in self.values:
            self.values.append(value)
        return value

    def results(self) -> list[HloInstruction]:
        """What nothing uses, and so has to be returned."""
        return [value for value in self.values if not value.users and value.opcode is not Opcode.PARAMETER]

    # called computations

    def inner(self, name: str, *shapes: ArrayShape | TupleShape) -> tuple[Graph, list[HloInstruction]]:
        """A new computation with parameters of `shapes`, decided by the same bytes."""
        graph = Graph(self.draft, self.draft.computation(name), self.types, self.shapes, self.stored)
        graph._tape = self._tape
        parameters = [graph.builder.parameter(number, shape) for number, shape in enumerate(shapes)]
        graph.values.extend(p for p in parameters if isinstance(p.shape, ArrayShape))
        return graph, parameters

    def reducer(self, opcode: Opcode, kind: PrimitiveType) -> HloComputation:
        """`opcode` of two scalars."""
        return self.draft.reducer(opcode, kind)
