"""What tests of shape rules share: shapes and signatures written as text."""

import re
from collections.abc import Callable, Sequence

import pytest

from hlo import ArrayShape, Opcode, Shape, TokenShape, TupleShape
from hlo.attributes import NONE, Attributes
from hlo.infer import ShapeError, Signature, infer_from_signatures
from hlo.primitive_type import PRIMITIVE_TYPE_BY_TEXT


def shape(text: str) -> Shape:
    """`f32[2,<=3]`, `token[]` or a tuple such as `(f32[], (s32[4]))`."""
    if text.startswith("("):
        # a comma splits where as many parentheses and brackets opened as closed before it
        parts, depth = [""], 0
        for character in text[1:-1]:
            depth += (character in "([") - (character in ")]")
            if character == "," and not depth:
                parts.append("")
            else:
                parts[-1] += character
        return TupleShape(tuple(shape(part.strip()) for part in parts if part.strip()))
    if text == "token[]":
        return TokenShape()
    matched = re.fullmatch(r"(\w+)\[(.*)\]", text)
    assert matched, text
    sizes = matched[2].split(",") if matched[2] else []
    dimensions = tuple(int(size.removeprefix("<=")) for size in sizes)
    flags = tuple(size.startswith("<=") for size in sizes)
    return ArrayShape(PRIMITIVE_TYPE_BY_TEXT[matched[1]], dimensions, flags)


def signature(text: str) -> Signature:
    """`(f32[], s32[]) -> pred[]`."""
    takes, gives = text.split(" -> ")
    parameters = shape(takes)
    assert isinstance(parameters, TupleShape)
    return Signature(parameters.elements, shape(gives))


Infer = Callable[..., str]


@pytest.fixture(scope="session")
def infer() -> Infer:
    """`infer(opcode, *operand shapes, attributes, called=[signatures], declared)`, all in text."""

    def ask(
        opcode: str,
        *operands: str,
        attributes: Attributes = NONE,
        called: Sequence[str] = (),
        declared: str | None = None,
    ) -> str:
        return str(
            infer_from_signatures(
                Opcode(opcode),
                [shape(operand) for operand in operands],
                attributes,
                [signature(callee) for callee in called],
                None if declared is None else shape(declared),
            )
        )

    return ask


@pytest.fixture(scope="session")
def refusal(infer: Infer) -> Infer:
    """As `infer`, where a ShapeError is due: its message."""

    def ask(*args: str, **kwargs: object) -> str:
        with pytest.raises(ShapeError) as caught:
            infer(*args, **kwargs)
        return str(caught.value)

    return ask
