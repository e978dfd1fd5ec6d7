"""What do the builders of all families share: one method that appends any instruction, with its shape worked out."""

from __future__ import annotations

from collections.abc import Sequence

from hlo.attributes import NONE, Attributes
from hlo.graph import HloComputation, HloInstruction
from hlo.infer import ShapeError, infer_shape
from hlo.opcode import Opcode
from hlo.primitive_type import PrimitiveType
from hlo.shape import ArrayShape, Shape, compatible

Dims = Sequence[int]
"""One number for each dimension."""


class BaseBuilder:
    """Appends to one computation. Every method raises ShapeError where its arguments do not fit together."""

    def __init__(self, computation: HloComputation) -> None:
        self.computation = computation

    def op(
        self,
        opcode: Opcode,
        *operands: HloInstruction,
        attributes: Attributes = NONE,
        shape: Shape | None = None,
        called: Sequence[HloComputation] = (),
        name: str | None = None,
        like: HloInstruction | None = None,
    ) -> HloInstruction:
        """Append any instruction.

        `shape` is needed where the operands do not determine the result; elsewhere it must be compatible with
        what they determine, and is taken for its layout and dynamic flags. `like` is an instruction whose
        metadata, frontend attributes and carried fields the new one takes.
        """
        inferred = infer_shape(opcode, [operand.shape for operand in operands], attributes, called, shape)
        if shape is None:
            shape = inferred
        elif shape is not inferred and not compatible(shape, inferred):
            raise ShapeError(f"{opcode} gives {inferred}, declared {shape}")
        return self.computation.add(
            opcode, shape, operands, attributes, called_computations=called, name=name, like=like
        )


def element_type(x: HloInstruction) -> PrimitiveType:
    """The element type of `x`, which must be an array."""
    if not isinstance(x.shape, ArrayShape):
        raise ShapeError(f"expected an array, got {x.shape}")
    return x.shape.element_type
