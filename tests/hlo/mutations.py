"""How can one valid program be spoiled, in all the ways that survive being written to a proto?

A mutation works on the root of the entry computation: its shape, its operands' shapes and number, every field of
its attributes, and the signature and number of what it calls. Not every one of them makes the program invalid.
"""

import dataclasses
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np

from hlo import ArrayShape, HloComputation, HloModule, Literal, PrimitiveType, Shape, TupleShape
from hlo.attributes import ConstantValue
from hlo.builder import Builder

Mutation = tuple[str, Callable[[HloModule], object]]
"""What it spoils, and how; it works on any copy of the module that it was made for."""

TYPES = (
    PrimitiveType.PRED,
    PrimitiveType.S32,
    PrimitiveType.U8,
    PrimitiveType.F32,
    PrimitiveType.F16,
    PrimitiveType.C64,
)


def mutations(module: HloModule) -> Iterator[Mutation]:
    """Every mutation of the root of `module`, which stays as it is."""
    root = module.entry_computation.root
    for kind, shape in other_shapes(root.shape):
        yield f"result {kind}", _setter("shape", shape)
    for i, operand in enumerate(root.operands):
        for kind, shape in other_shapes(operand.shape):
            yield f"operand {kind}", _operand_setter(i, shape)
    for kind, operands in _other_lists(root.operands):
        names = [operand.name for operand in operands]
        yield f"operand {kind}", _operands_setter(names)
    for field, record in other_records(root.attributes):
        yield f"attribute {field}", _setter("attributes", record)
    for kind, called in _other_lists(root.called_computations):
        names = [computation.name for computation in called]
        yield f"callee {kind}", _callees_setter(names)
    for i, callee in enumerate(root.called_computations):
        takes, gives = [parameter.shape for parameter in callee.parameters], callee.root.shape
        for kind, shape in other_shapes(gives):
            yield f"callee result {kind}", _stub_setter(i, takes, shape)
        for j, parameter in enumerate(takes):
            for kind, shape in other_shapes(parameter):
                yield f"callee parameter {kind}", _stub_setter(i, [*takes[:j], shape, *takes[j + 1 :]], gives)
        for kind, others in _other_lists(takes):
            yield f"callee parameter {kind}", _stub_setter(i, others, gives)


def _setter(field: str, value: object) -> Callable[[HloModule], object]:
    return lambda module: setattr(module.entry_computation.root, field, value)


def _operand_setter(index: int, shape: Shape) -> Callable[[HloModule], object]:
    return lambda module: setattr(module.entry_computation.root.operand(index), "shape", shape)


def _operands_setter(names: Sequence[str]) -> Callable[[HloModule], object]:
    def apply(module: HloModule) -> None:
        by_name = {inst.name: inst for inst in module.entry_computation.instructions}
        root = module.entry_computation.root
        module.entry_computation.set_operands(root, [by_name[name] for name in names])

    return apply


def _callees_setter(names: Sequence[str]) -> Callable[[HloModule], object]:
    def apply(module: HloModule) -> None:
        by_name = {computation.name: computation for computation in module.computations}
        root = module.entry_computation.root
        module.entry_computation.replace_called_computations(root, [by_name[name] for name in names])

    return apply


def _stub_setter(index: int, takes: Sequence[Shape], gives: Shape) -> Callable[[HloModule], object]:
    def apply(module: HloModule) -> None:
        root = module.entry_computation.root
        called = list(root.called_computations)
        called[index] = stub(module, takes, gives)
        module.entry_computation.replace_called_computations(root, called)

    return apply


def stub(module: HloModule, takes: Sequence[Shape], gives: Shape) -> HloComputation:
    """A new computation with this signature, whose result is zeros."""
    builder = Builder(module.add_computation("stub"))
    for i, shape in enumerate(takes):
        builder.parameter(i, shape, name=f"stub_{i}")

    def zeros(shape: Shape) -> Any:
        if isinstance(shape, TupleShape):
            return builder.tuple_(*map(zeros, shape.elements))
        assert isinstance(shape, ArrayShape)
        literal = Literal(np.zeros(shape.dimensions, shape.element_type.numpy))
        return builder.constant(literal.value)

    builder.computation.set_root(zeros(gives))
    return builder.computation


def other_shapes(shape: Shape) -> Iterator[tuple[str, Shape]]:
    """What is wrong with it, and a shape that is not `shape`."""
    yield "tuple", TupleShape((shape, shape))
    if isinstance(shape, TupleShape):
        for kind, elements in _other_lists(shape.elements):
            yield kind, TupleShape(tuple(elements))
        for i, element in enumerate(shape.elements):
            for kind, other in other_shapes(element):
                yield f"element {kind}", TupleShape((*shape.elements[:i], other, *shape.elements[i + 1 :]))
    elif isinstance(shape, ArrayShape):
        yield from (
            ("type", ArrayShape(to, shape.dimensions)) for to in TYPES if to is not shape.element_type
        )
        yield "rank", ArrayShape(shape.element_type, (*shape.dimensions, 1))
        yield "rank", ArrayShape(shape.element_type, (1, *shape.dimensions))
        for d, size in enumerate(shape.dimensions):
            before, after = shape.dimensions[:d], shape.dimensions[d + 1 :]
            yield "rank", ArrayShape(shape.element_type, (*before, *after))
            for other in (size + 1, size - 1, 0):
                yield "size", ArrayShape(shape.element_type, (*before, other, *after))


def _other_lists(elements: Sequence[Any]) -> Iterator[tuple[str, Sequence[Any]]]:
    if elements:
        yield "dropped", elements[:-1]
        yield "doubled", [*elements, elements[-1]]
    if len(elements) > 1:
        yield "dropped", elements[1:]
    yield from (
        ("swapped", [*elements[:i], elements[i + 1], elements[i], *elements[i + 2 :]])
        for i in range(len(elements) - 1)
        if elements[i] != elements[i + 1]
    )


WORDS = ("EQ", "LT", "TOTALORDER", "SIGNED", "FFT", "IRFFT", "ADJOINT", "kInput", "rng_philox")


def other_records(record: Any) -> Iterator[tuple[str, Any]]:
    """A field, and `record` with another value in it."""
    if isinstance(record, ConstantValue):
        array = record.literal.value
        assert isinstance(array, np.ndarray)
        for other in (array[:1], array.astype(np.int32), array[0]):
            yield "literal", ConstantValue(Literal(other.copy()))
        return
    for field in dataclasses.fields(record):
        for value in _other_values(getattr(record, field.name)):
            yield field.name, dataclasses.replace(record, **{field.name: value})


def _other_values(value: Any) -> Iterator[Any]:
    if isinstance(value, bool):
        yield not value
    elif isinstance(value, int):
        yield from (other for other in (value + 1, value - 1, -value - 1, value + 99))
    elif isinstance(value, float):
        yield -value
    elif isinstance(value, str):
        yield from (word for word in WORDS if word != value)
    elif isinstance(value, tuple):
        yield from (tuple(other) for _, other in _other_lists(value))
        for i, element in enumerate(value):
            for other in _other_values(element):
                yield (*value[:i], other, *value[i + 1 :])
        if not value:
            yield (0,)
    elif value is not None:  # which parts an optional record has is a matter of the target
        for _, other in other_records(value):
            yield other
