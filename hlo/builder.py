"""How is a computation written down in Python, with shapes worked out?

Each method appends one instruction and returns it. Shapes come from `hlo.infer`, so what a builder built is
well shaped; the verifier asks the same rules.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from hlo.attributes import (
    NONE,
    Attributes,
    Comparison,
    ConstantValue,
    CustomCallTarget,
    Dimensions,
    DotDimensions,
    PaddingConfig,
    ParameterNumber,
    SliceBounds,
    SliceSizes,
    TupleIndex,
)
from hlo.graph import HloComputation, HloInstruction
from hlo.infer import ShapeError, infer_shape, reshape_flags
from hlo.literal import Literal, Token, Value, frozen, scalar
from hlo.opcode import Opcode
from hlo.primitive_type import PrimitiveType
from hlo.shape import ArrayShape, Shape, compatible

Dims = Sequence[int]
"""One number for each dimension."""


class Builder:
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

    # control

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

    # indexing

    def slice_(
        self,
        x: HloInstruction,
        starts: Dims,
        limits: Dims,
        strides: Dims | None = None,
        name: str | None = None,
    ) -> HloInstruction:
        """`x[starts:limits:strides]`; strides are 1 unless given."""
        bounds = SliceBounds(
            tuple(starts), tuple(limits), (1,) * len(starts) if strides is None else tuple(strides)
        )
        return self.op(Opcode.SLICE, x, attributes=bounds, name=name)

    def dynamic_slice(
        self, x: HloInstruction, starts: Sequence[HloInstruction], sizes: Dims, name: str | None = None
    ) -> HloInstruction:
        """`sizes` elements of `x` from `starts`: one integral scalar for each dimension."""
        return self.op(Opcode.DYNAMIC_SLICE, x, *starts, attributes=SliceSizes(tuple(sizes)), name=name)

    def dynamic_update_slice(
        self,
        x: HloInstruction,
        update: HloInstruction,
        starts: Sequence[HloInstruction],
        name: str | None = None,
    ) -> HloInstruction:
        """`x` with `update` written at `starts`: one integral scalar for each dimension."""
        return self.op(Opcode.DYNAMIC_UPDATE_SLICE, x, update, *starts, name=name)

    # shape

    def concatenate(
        self, xs: Sequence[HloInstruction], dimension: int, name: str | None = None
    ) -> HloInstruction:
        """`xs` joined along `dimension`."""
        return self.op(Opcode.CONCATENATE, *xs, attributes=Dimensions((dimension,)), name=name)

    def reshape(
        self,
        x: HloInstruction,
        dimensions: Dims,
        *,
        dynamic: tuple[bool, ...] | None = None,
        name: str | None = None,
    ) -> HloInstruction:
        """`x` with other bounds. `dynamic` are the flags; unless given, those that `reshape_flags` works out."""
        to = tuple(dimensions)
        shape = ArrayShape(_element_type(x), to, dynamic or ())
        if dynamic is None and not x.array_shape.is_static:
            # bounds first: flags mean nothing where the number of elements differs
            infer_shape(Opcode.RESHAPE, [x.shape], declared=shape)
            shape = ArrayShape(shape.element_type, to, reshape_flags(x.array_shape, to))
        return self.op(Opcode.RESHAPE, x, shape=shape, name=name)

    def broadcast(
        self, x: HloInstruction, dimensions: Dims, mapping: Dims = (), name: str | None = None
    ) -> HloInstruction:
        """`x` spread over `dimensions`: its dimension i becomes dimension `mapping[i]`, flag included."""
        to, element_type = tuple(mapping), _element_type(x)
        flagged = {d for d, flag in zip(to, x.array_shape.dynamic, strict=False) if flag}
        flags = tuple(d in flagged for d in range(len(dimensions)))
        shape = ArrayShape(element_type, tuple(dimensions), flags)
        return self.op(Opcode.BROADCAST, x, attributes=Dimensions(to), shape=shape, name=name)

    def transpose(self, x: HloInstruction, permutation: Dims, name: str | None = None) -> HloInstruction:
        """Dimension i of the result is dimension `permutation[i]` of `x`."""
        return self.op(Opcode.TRANSPOSE, x, attributes=Dimensions(tuple(permutation)), name=name)

    def reverse(self, x: HloInstruction, dimensions: Dims, name: str | None = None) -> HloInstruction:
        """`x` with the order of elements turned round in `dimensions`."""
        return self.op(Opcode.REVERSE, x, attributes=Dimensions(tuple(dimensions)), name=name)

    def pad(
        self,
        x: HloInstruction,
        value: HloInstruction,
        low: Dims,
        high: Dims,
        interior: Dims | None = None,
        name: str | None = None,
    ) -> HloInstruction:
        """`x` with `value` put around it and, `interior` times, between elements; negative edges crop."""
        gaps = (0,) * len(low) if interior is None else tuple(interior)
        padding = PaddingConfig(tuple(low), tuple(high), gaps)
        return self.op(Opcode.PAD, x, value, attributes=padding, name=name)

    def iota(self, shape: ArrayShape, dimension: int, name: str | None = None) -> HloInstruction:
        """Each element is its own index in `dimension`."""
        return self.op(Opcode.IOTA, attributes=Dimensions((dimension,)), shape=shape, name=name)

    # elementwise

    def convert(
        self, x: HloInstruction, element_type: PrimitiveType, name: str | None = None
    ) -> HloInstruction:
        """`x` with each value taken over to `element_type`."""
        shape = x.shape.with_element_type(element_type) if isinstance(x.shape, ArrayShape) else x.shape
        return self.op(Opcode.CONVERT, x, shape=shape, name=name)

    def bitcast_convert(
        self, x: HloInstruction, element_type: PrimitiveType, name: str | None = None
    ) -> HloInstruction:
        """The bits of `x` read as `element_type`; unlike widths add or take away the last dimension."""
        # only the element type of a declared shape is read here, so any dimensions do
        operands = [x.shape]
        shape = infer_shape(Opcode.BITCAST_CONVERT, operands, NONE, (), ArrayShape(element_type))
        return self.op(Opcode.BITCAST_CONVERT, x, shape=shape, name=name)

    def compare(
        self,
        left: HloInstruction,
        right: HloInstruction,
        direction: str,
        *,
        type: str = "",
        name: str | None = None,
    ) -> HloInstruction:
        """`left direction right`, for EQ NE GE GT LE LT."""
        return self.op(Opcode.COMPARE, left, right, attributes=Comparison(direction, type), name=name)

    def select(
        self,
        predicate: HloInstruction,
        on_true: HloInstruction,
        on_false: HloInstruction,
        name: str | None = None,
    ) -> HloInstruction:
        """Each element from `on_true` where `predicate` holds, else from `on_false`; a scalar speaks for all."""
        return self.op(Opcode.SELECT, predicate, on_true, on_false, name=name)

    def clamp(
        self, low: HloInstruction, x: HloInstruction, high: HloInstruction, name: str | None = None
    ) -> HloInstruction:
        """`min(max(low, x), high)`; each bound is a scalar or of `x`'s shape."""
        return self.op(Opcode.CLAMP, low, x, high, name=name)

    def map_(
        self, computation: HloComputation, *operands: HloInstruction, name: str | None = None
    ) -> HloInstruction:
        """`computation`, of scalars, on each element of the operands."""
        rank = operands[0].shape.rank if operands and isinstance(operands[0].shape, ArrayShape) else 0
        dimensions = Dimensions(tuple(range(rank)))
        return self.op(Opcode.MAP, *operands, attributes=dimensions, called=(computation,), name=name)

    # reduction and contraction

    def reduce(
        self,
        computation: HloComputation,
        inputs: Sequence[HloInstruction],
        inits: Sequence[HloInstruction],
        dimensions: Dims,
        name: str | None = None,
    ) -> HloInstruction:
        """`inputs` reduced over `dimensions`. `computation` takes accumulators, then one element of each."""
        attributes = Dimensions(tuple(dimensions))
        operands = (*inputs, *inits)
        return self.op(Opcode.REDUCE, *operands, attributes=attributes, called=(computation,), name=name)

    def dot(
        self,
        left: HloInstruction,
        right: HloInstruction,
        contracting: tuple[Dims, Dims],
        batch: tuple[Dims, Dims] = ((), ()),
        *,
        shape: Shape | None = None,
        name: str | None = None,
    ) -> HloInstruction:
        """Contract dimensions (of left, of right). `shape` may declare a wider element type."""
        numbers = DotDimensions(
            tuple(contracting[0]), tuple(contracting[1]), tuple(batch[0]), tuple(batch[1])
        )
        return self.op(Opcode.DOT, left, right, attributes=numbers, shape=shape, name=name)

    # dynamic

    def get_dimension_size(
        self, x: HloInstruction, dimension: int, name: str | None = None
    ) -> HloInstruction:
        """The size of `dimension` at run time, s32[]."""
        return self.op(Opcode.GET_DIMENSION_SIZE, x, attributes=Dimensions((dimension,)), name=name)

    def set_dimension_size(
        self, x: HloInstruction, size: HloInstruction, dimension: int, name: str | None = None
    ) -> HloInstruction:
        """`x` with the s32[] `size` as the run-time size of `dimension`, at most its bound."""
        return self.op(Opcode.SET_DIMENSION_SIZE, x, size, attributes=Dimensions((dimension,)), name=name)


def _element_type(x: HloInstruction) -> PrimitiveType:
    if not isinstance(x.shape, ArrayShape):
        raise ShapeError(f"expected an array, got {x.shape}")
    return x.shape.element_type


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
