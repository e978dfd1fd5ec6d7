"""How is the specialised program written down while the original runs?

Every instruction that is appended is evaluated at once, so that sizes, branches and trip counts are known when
they are needed. What comes out is straight-line HLO without a dynamic dimension: any engine can run it.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from hlo import (
    ArrayShape,
    HloComputation,
    HloInstruction,
    HloModule,
    Opcode,
    PrimitiveType,
    Shape,
    Value,
)
from hlo.attributes import NONE, Attributes
from hlo.builder import Builder
from hlo.evaluator import EvaluationLimit, Evaluator, Limits
from hlo.infer import ShapeError
from oracle.true_size.leaf import Sized, Sizes, UndefinedSizes


class Tracer:
    """Appends to the entry of a new module, and knows the value of all that it appended."""

    def __init__(self, name: str, limits: Limits) -> None:
        self.module = HloModule(name)
        entry = self.module.add_computation("main")
        self.module.set_entry_computation(entry)
        self.builder = Builder(entry)
        self._evaluator = Evaluator(entry, limits=limits)
        self._values: dict[HloInstruction, Value] = {}
        self._copies: dict[HloComputation, HloComputation] = {}
        self._iterations_left = limits.while_iterations

    def value_of(self, inst: HloInstruction) -> Value:
        """What an appended instruction gives for the inputs at hand."""
        return self._values[inst]

    def number(self, leaf: Sized) -> int:
        """The value of a scalar."""
        value = self._values[leaf.inst]
        assert isinstance(value, np.ndarray)
        return int(value.item())

    def vector(self, leaf: Sized) -> list[int]:
        """The elements of an array of rank 1."""
        value = self._values[leaf.inst]
        assert isinstance(value, np.ndarray)
        return [int(element) for element in value[: leaf.sizes[0]]]

    def parameter(self, value: Value, shape: Shape) -> HloInstruction:
        """The next parameter, of the static `shape`, with its value."""
        entry = self.builder.computation
        inst = self.builder.parameter(len(entry.parameters), shape)
        self._values[inst] = value
        return inst

    def constant(self, value: int | float | Value, kind: PrimitiveType | None = None) -> HloInstruction:
        """A constant; of the element type `kind` where `value` does not say."""
        inst = self.builder.constant(value, kind)
        self._values[inst] = inst.literal.value
        return inst

    def emit(
        self,
        inst: HloInstruction,
        operands: Sequence[HloInstruction],
        *,
        opcode: Opcode | None = None,
        attributes: Attributes | None = None,
        shape: Shape | None = None,
        called: Sequence[HloComputation] | None = None,
    ) -> HloInstruction:
        """Append what `inst` of the original is for these operands.

        `opcode` and `attributes` are its own unless given; `shape` is needed where operands do not determine it. Raises
        UndefinedSizes where they do not fit together.
        """
        copies = [self.copy(c) for c in (inst.called_computations if called is None else called)]
        mine = inst.attributes if attributes is None else attributes
        try:
            new = self.builder.op(
                opcode or inst.opcode,
                *operands,
                attributes=mine,
                shape=shape,
                called=copies,
                name=inst.name,
                like=inst if opcode is None else None,
            )
        except ShapeError as error:
            raise UndefinedSizes(inst, error.message) from error
        return self._evaluated(new)

    def op(
        self,
        opcode: Opcode,
        *operands: HloInstruction,
        attributes: Attributes = NONE,
        shape: Shape | None = None,
    ) -> HloInstruction:
        """Append an instruction that stands for none of the original."""
        return self._evaluated(self.builder.op(opcode, *operands, attributes=attributes, shape=shape))

    def element(self, source: HloInstruction, index: int) -> HloInstruction:
        """An element of a tuple."""
        return self._evaluated(self.builder.gte(source, index))

    def _evaluated(self, inst: HloInstruction) -> HloInstruction:
        operands = [self._values[operand] for operand in inst.operands]
        self._values[inst] = self._evaluator.run_instruction(inst, operands)
        return inst

    def copy(self, computation: HloComputation) -> HloComputation:
        """`computation` of the original, which must have no dynamic dimension, in the new module."""
        copy = self._copies.get(computation)
        if copy is None:
            copy = self._copies[computation] = self.module.add_computation(computation.name)
            at: dict[HloInstruction, HloInstruction] = {}
            for inst in computation.make_instruction_post_order():
                called = [self.copy(callee) for callee in inst.called_computations]
                at[inst] = copy.add_clone(inst, [at[o] for o in inst.operands], called_computations=called)
            copy.set_root(at[computation.root])
        return copy

    def spend_iteration(self, loop: HloInstruction) -> None:
        """Count one iteration of `loop`. Raises EvaluationLimit."""
        self._iterations_left -= 1
        if self._iterations_left < 0:
            raise EvaluationLimit("while_iterations", loop.name)

    # arrays with sizes

    def cut(self, leaf: Sized) -> HloInstruction:
        """The array that `leaf` denotes, exactly as large as its sizes."""
        return self.resized(leaf.inst, leaf.sizes)

    def resized(self, x: HloInstruction, sizes: Sizes) -> HloInstruction:
        """The low corner of `x`."""
        if x.array_shape.dimensions == sizes:
            return x
        return self._evaluated(self.builder.slice_(x, (0,) * len(sizes), sizes))

    def spread(self, x: HloInstruction, sizes: Sizes) -> HloInstruction:
        """`x` with each dimension of size 1 repeated to fill `sizes`."""
        dims = x.array_shape.dimensions
        if dims == sizes:
            return x
        kept = tuple(d for d, size in enumerate(dims) if size == sizes[d])
        element_type = x.array_shape.element_type
        flat = self._evaluated(self.builder.reshape(x, [dims[d] for d in kept]))
        shape = ArrayShape(element_type, sizes)
        return self._evaluated(self.builder.broadcast(flat, shape.dimensions, kept))


def filled(inst: HloInstruction, dynamic: Sequence[bool] = ()) -> Sized:
    """The array that fills `inst`, an instruction of the specialised program."""
    dims = inst.array_shape.dimensions
    return Sized(inst, dims, tuple(dynamic) if dynamic else (False,) * len(dims))
