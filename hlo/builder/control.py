"""How are parameters, constants, tuples and calls written down?"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from hlo.attributes import ConstantValue, CustomCallTarget, FusionKind, ParameterNumber, TupleIndex
from hlo.builder.base import BaseBuilder
from hlo.graph import HloComputation, HloInstruction
from hlo.infer import ShapeError
from hlo.literal import Literal, Token, Value, frozen, scalar
from hlo.opcode import Opcode
from hlo.primitive_type import PrimitiveType
from hlo.shape import Shape


class ControlBuilder(BaseBuilder):
    """Parameters, constants, tuples, calls."""

    def parameter(self, number: int, shape: Shape, name: str | None = None) -> HloInstruction:
        """`parameter(number)`."""
        name = name or f"p{number}"
        return self.op(Opcode.PARAMETER, attributes=ParameterNumber(number), shape=shape, name=name)

    def constant(
        self, value: npt.ArrayLike | Value, element_type: PrimitiveType | None = None, name: str | None = None
    ) -> HloInstruction:
        """A constant. Only NumPy arrays and scalars, and tuples of them, need no `element_type`.

        A lone Python integer wraps to the width of `element_type`.
        """
        literal = Literal(_as_value(value, element_type))
        return self.op(Opcode.CONSTANT, attributes=ConstantValue(literal), name=name)

    def tuple_(self, *elements: HloInstruction, name: str | None = None) -> HloInstruction:
        """`tuple(elements…)`."""
        return self.op(Opcode.TUPLE, *elements, name=name)

    def gte(self, source: HloInstruction, index: int, name: str | None = None) -> HloInstruction:
        """`get-tuple-element(source), index=index`."""
        return self.op(Opcode.GET_TUPLE_ELEMENT, source, attributes=TupleIndex(index), name=name)

    def call(
        self, computation: HloComputation, *arguments: HloInstruction, name: str | None = None
    ) -> HloInstruction:
        """`call(arguments…), to_apply=computation`."""
        return self.op(Opcode.CALL, *arguments, called=(computation,), name=name)

    def while_(
        self, condition: HloComputation, body: HloComputation, init: HloInstruction, name: str | None = None
    ) -> HloInstruction:
        """`while(init), condition=condition, body=body`."""
        return self.op(Opcode.WHILE, init, called=(body, condition), name=name)

    def conditional(
        self,
        selector: HloInstruction,
        branches: Sequence[HloComputation],
        arguments: Sequence[HloInstruction],
        name: str | None = None,
    ) -> HloInstruction:
        """One of `branches`, each with its argument. pred[] selects among (true, false), s32[] among any."""
        return self.op(Opcode.CONDITIONAL, selector, *arguments, called=branches, name=name)

    def custom_call(
        self,
        target: str,
        operands: Sequence[HloInstruction],
        shape: Shape,
        *,
        has_side_effect: bool = False,
        called: Sequence[HloComputation] = (),
        name: str | None = None,
    ) -> HloInstruction:
        """`custom-call(operands…), custom_call_target=target`."""
        attributes = CustomCallTarget(target, has_side_effect)
        return self.op(
            Opcode.CUSTOM_CALL, *operands, attributes=attributes, shape=shape, called=called, name=name
        )

    def fusion(
        self,
        computation: HloComputation,
        *arguments: HloInstruction,
        kind: str = "kLoop",
        name: str | None = None,
    ) -> HloInstruction:
        """`fusion(arguments…), kind=kind, calls=computation`; `kind` changes no value."""
        return self.op(
            Opcode.FUSION, *arguments, attributes=FusionKind(kind), called=(computation,), name=name
        )


def _as_value(value: npt.ArrayLike | Value, element_type: PrimitiveType | None) -> Value:
    if isinstance(value, Token):
        raise ShapeError("a token has no literal")
    if isinstance(value, tuple) and element_type is None:
        return tuple(_as_value(element, None) for element in value)
    if element_type is None:
        if not isinstance(value, np.ndarray | np.generic):
            raise ShapeError(f"{value!r} does not say which element type it has")
        return frozen(np.asarray(value))
    if isinstance(value, bool | int | float):
        return scalar(value, element_type)
    return frozen(np.asarray(value, dtype=element_type.numpy))
