"""What is there while a program is being written? The module, its entry, what may be read, what must be returned."""

from __future__ import annotations

from enum import StrEnum

from fuzz.generators.features import Feature
from fuzz.generators.palette import Lane, array_shape, combining, filled
from fuzz.generators.vocabulary import Source
from hlo import ArrayShape, HloComputation, HloInstruction, HloModule, Opcode, PrimitiveType, TupleShape
from hlo.attributes import Ints
from hlo.builder import Builder

_SOURCE_FEATURES = {
    Source.PARAMETER: Feature.PARAMETER_SOURCE,
    Source.SAME_PARAMETER: Feature.PARAMETER_SOURCE,
    Source.TUPLE_PARAMETER: Feature.TUPLE_PARAMETER_SOURCE,
    Source.COMPUTED: Feature.COMPUTED_SOURCE,
    Source.CONSTANT: Feature.CONSTANT_SOURCE,
}


class Draft:
    """A module under construction. `outputs` are the entry's values that the root will return."""

    def __init__(self, name: str) -> None:
        self.module = HloModule(name)
        entry = self.module.add_computation("main")
        self.module.set_entry_computation(entry)
        self.entry = Builder(entry)
        self.features: set[StrEnum] = set()
        self.outputs: list[HloInstruction] = []
        self._parameters: list[HloInstruction] = []
        self._spare_elements: dict[ArrayShape, tuple[HloInstruction, int]] = {}
        self._reducers: dict[tuple[Opcode, PrimitiveType], HloComputation] = {}

    def note(self, *features: StrEnum) -> None:
        """Say that the program has these features."""
        self.features.update(features)

    def computation(self, name: str) -> Builder:
        """A new computation beside the entry."""
        return Builder(self.module.add_computation(name))

    def parameter(self, shape: ArrayShape | TupleShape, *, reuse: bool = False) -> HloInstruction:
        """An entry parameter: a new one, or with `reuse` the first there is of this shape."""
        if reuse:
            for parameter in self._parameters:
                if parameter.shape == shape:
                    return parameter
        parameter = self.entry.parameter(len(self._parameters), shape)
        self._parameters.append(parameter)
        return parameter

    def buffer(self, source: Source, lane: Lane, dimensions: Ints) -> HloInstruction:
        """An array of data in the entry. A source that is not to be had gives way to a parameter."""
        shape = lane.shape(dimensions)
        if source is Source.LOOP_RESULT:
            for output in reversed(self.outputs):
                if output.shape == shape:
                    self.note(Feature.LOOP_RESULT_SOURCE)
                    return output
            source = Source.PARAMETER
        self.note(_SOURCE_FEATURES[source])
        if source is Source.TUPLE_PARAMETER:
            return self._tuple_parameter_element(shape)
        if source is Source.CONSTANT:
            return self.entry.constant(filled(lane.data, dimensions, 3))
        if source is Source.COMPUTED:
            constant = self.entry.constant(filled(lane.data, dimensions, 2))
            return self.entry.op(combining(lane.data)[0], self.parameter(shape, reuse=True), constant)
        return self.parameter(shape, reuse=source is Source.SAME_PARAMETER)

    def _tuple_parameter_element(self, shape: ArrayShape) -> HloInstruction:
        """An element of an entry parameter that is a tuple of two; the second caller gets the other element."""
        source, index = self._spare_elements.pop(shape, (None, 0))
        if source is None:
            source, index = self.parameter(TupleShape((shape, shape))), 1
            self._spare_elements[shape] = (source, 0)
        return self.entry.gte(source, index)

    def reducer(self, opcode: Opcode, element_type: PrimitiveType) -> HloComputation:
        """A computation of two scalars, made once for each opcode and type."""
        found = self._reducers.get((opcode, element_type))
        if found is None:
            builder = self.computation(f"{opcode}_{element_type.text}")
            scalar = array_shape(element_type, ())
            left, right = (builder.parameter(number, scalar) for number in range(2))
            builder.computation.set_root(builder.op(opcode, left, right))
            found = self._reducers[opcode, element_type] = builder.computation
        return found
