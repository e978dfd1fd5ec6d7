"""What the evaluator's tests share: one instruction on given values, and a program written as HLO text."""

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import pytest

from hlo import (
    ArrayShape,
    HloComputation,
    HloInstruction,
    HloModule,
    Opcode,
    PrimitiveType,
    Shape,
    Token,
    TupleShape,
    Value,
    value_shape,
)
from hlo.attributes import NONE, Attributes
from hlo.builder import Builder
from hlo.evaluator import evaluate
from hlo.interchange import read_text


def check_form(inst: HloInstruction, _operands: Sequence[Value], value: Value) -> None:
    """An observer: every value is read-only and exactly of its instruction's dtype and shape."""
    _check(value, inst.shape, inst.name)


def _check(value: Value, shape: Shape, name: str) -> None:
    if isinstance(shape, TupleShape):
        assert isinstance(value, tuple), name
        for element, element_shape in zip(value, shape.elements, strict=True):
            _check(element, element_shape, name)
    elif isinstance(shape, ArrayShape):
        assert isinstance(value, np.ndarray), name
        assert (value.dtype, value.shape) == (shape.element_type.numpy, shape.dimensions), name
        assert not value.flags.writeable, name
    else:
        assert isinstance(value, Token), name


@pytest.fixture(scope="session")
def apply() -> Callable[..., Any]:
    """`apply(opcode, *operands, attributes=…, shape=…, called=…)`: the value of one instruction, its form checked.

    What is called is given as functions that add it to the module.
    """

    def run(
        opcode: Opcode,
        *operands: Value,
        attributes: Attributes = NONE,
        shape: Shape | None = None,
        called: Sequence[Callable[[HloModule], HloComputation]] = (),
    ) -> Any:
        module = HloModule("one")
        callees = [add(module) for add in called]
        entry = module.add_computation("entry")
        module.set_entry_computation(entry)
        builder = Builder(entry)
        parameters = [builder.parameter(i, value_shape(x)) for i, x in enumerate(operands)]
        entry.set_root(builder.op(opcode, *parameters, attributes=attributes, shape=shape, called=callees))
        return evaluate(module, operands, observer=check_form)

    return run


@pytest.fixture(scope="session")
def run_text() -> Callable[..., Any]:
    """`run_text(text, *inputs)`: the value of a program, the form of every instruction's value checked."""

    def run(text: str, *inputs: Value) -> Value:
        return evaluate(read_text(f"HloModule m\n{text}"), inputs, observer=check_form)

    return run


@pytest.fixture(scope="session")
def scalars() -> Callable[..., Callable[[HloModule], HloComputation]]:
    """`scalars(type, make, count=2)`: adds the computation of `count` scalars that `make(builder, *them)` builds."""

    def adds(
        element_type: PrimitiveType, make: Callable[..., HloInstruction], count: int = 2
    ) -> Callable[[HloModule], HloComputation]:
        def add(module: HloModule) -> HloComputation:
            computation = module.add_computation("scalars")
            builder = Builder(computation)
            parameters = [builder.parameter(i, ArrayShape(element_type)) for i in range(count)]
            computation.set_root(make(builder, *parameters))
            return computation

        return add

    return adds
