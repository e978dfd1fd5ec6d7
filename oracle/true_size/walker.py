"""Which instructions of the original run, in which order, on which arrays?

Calls are followed, loops run as often as their condition holds, of branches the chosen one. What has no dynamic
dimension anywhere is taken over as it is, loops and calls included.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from hlo import (
    ArrayShape,
    HloComputation,
    HloInstruction,
    Opcode,
    PrimitiveType,
    Shape,
    TokenShape,
    TupleShape,
    UnsupportedOpcode,
    Value,
    merged,
)
from hlo.evaluator import PAD_TO_STATIC, SET_BOUND, SLICE_TO_DYNAMIC, Fill, ForeignCustomCall
from oracle.true_size import contraction, dynamic, elementwise, indexing, reduction, shape
from oracle.true_size.custom_calls import custom_call, has_meaning
from oracle.true_size.leaf import Ordering, Sized, Tree, UndefinedSizes, arrays
from oracle.true_size.tracing import Tracer, filled

RULES = merged(
    *(contraction.RULES, dynamic.RULES, elementwise.RULES, indexing.RULES, reduction.RULES, shape.RULES)
)

Watch = Callable[[HloInstruction, Tree], None]
"""Told of each executed instruction and what it gave; of what is taken over whole, only of the outermost."""

_SAME = frozenset({SET_BOUND, "Sharding", "xla.sdy.FuncResultSharding"})
_PASSED_ON = frozenset({Opcode.OPTIMIZATION_BARRIER, Opcode.DOMAIN, Opcode.ADD_DEPENDENCY})
_SIZES = frozenset(dynamic.RULES)


class Layout:
    """What of a module is the same for all inputs: in which order it runs, and what has no dynamic dimension."""

    def __init__(self) -> None:
        self._orders: dict[HloComputation, list[HloInstruction]] = {}
        self._static: dict[HloComputation, bool] = {}

    def order(self, computation: HloComputation) -> list[HloInstruction]:
        """The instructions of `computation`, operands before users."""
        known = self._orders.get(computation)
        if known is None:
            known = self._orders[computation] = computation.make_instruction_post_order()
        return known

    def is_static(self, computation: HloComputation) -> bool:
        """Whether nothing in `computation`, and in what it calls, has a dynamic dimension or asks for a size."""
        known = self._static.get(computation)
        if known is None:
            known = self._static[computation] = all(
                inst.opcode not in _SIZES
                and inst.shape.is_static
                and all(map(self.is_static, inst.called_computations))
                for inst in computation.instructions
            )
        return known


class Walker:
    """Runs the computations of one module."""

    def __init__(self, tracer: Tracer, fill: Fill, layout: Layout, watch: Watch | None = None) -> None:
        self._tracer = tracer
        self._fill = fill
        self._layout = layout
        self._watch = watch

    def run(self, computation: HloComputation, arguments: Sequence[Tree]) -> Tree:
        """What `computation` gives."""
        at: dict[HloInstruction, Tree] = {}
        for inst in self._layout.order(computation):
            if inst.opcode is Opcode.PARAMETER:
                at[inst] = arguments[inst.parameter_number]
            else:
                at[inst] = self._ran(inst, [at[operand] for operand in inst.operands])
            if self._watch is not None:
                self._watch(inst, at[inst])
        return at[computation.root]

    def _ran(self, inst: HloInstruction, operands: Sequence[Tree]) -> Tree:
        opcode = inst.opcode
        if opcode is Opcode.TUPLE:
            return tuple(operands)
        if opcode is Opcode.GET_TUPLE_ELEMENT:
            (source,) = operands
            assert isinstance(source, tuple)
            return source[inst.tuple_index]
        if opcode in _PASSED_ON or (opcode is Opcode.COPY and isinstance(operands[0], tuple)):
            return operands[0]
        if opcode is Opcode.CUSTOM_CALL and (handled := self._custom_call(inst, operands)) is not None:
            return handled
        if self._is_untouched(inst, operands):
            return self._taken_over(inst, operands)
        if opcode in (Opcode.CALL, Opcode.FUSION):
            return self.run(inst.called_computations[0], operands)
        if opcode is Opcode.WHILE:
            return self._while(inst, operands[0])
        if opcode is Opcode.CONDITIONAL:
            return self._conditional(inst, operands)
        rule = RULES.get(opcode)
        if opcode is Opcode.CUSTOM_CALL:
            raise ForeignCustomCall(inst.custom_call_target, "specialisation")
        if rule is None:
            raise UnsupportedOpcode(f"{opcode} of arrays smaller than their bounds", "specialisation")
        return rule(self._tracer, inst, [self._leaf(inst, operand) for operand in operands])

    @staticmethod
    def _leaf(inst: HloInstruction, tree: Tree) -> Sized:
        if isinstance(tree, Sized):
            return tree
        raise UnsupportedOpcode(f"{inst.opcode} of a tuple", "specialisation")

    # control

    def _while(self, inst: HloInstruction, state: Tree) -> Tree:
        body, condition = inst.called_computations
        while self._number(self.run(condition, (state,))):
            self._tracer.spend_iteration(inst)
            state = self.run(body, (state,))
        return state

    def _conditional(self, inst: HloInstruction, operands: Sequence[Tree]) -> Tree:
        selector = self._number(operands[0])
        branches = inst.called_computations
        if inst.operand(0).array_shape.element_type is PrimitiveType.PRED:
            branch = 0 if selector else 1
        else:
            branch = selector if 0 <= selector < len(branches) else len(branches) - 1
        return self.run(branches[branch], (operands[1 + branch],))

    def _number(self, tree: Tree) -> int:
        assert isinstance(tree, Sized)
        return self._tracer.number(tree)

    def _custom_call(self, inst: HloInstruction, operands: Sequence[Tree]) -> Tree | None:
        target = inst.custom_call_target
        if target in _SAME:
            return operands[0]
        if target == PAD_TO_STATIC:
            bounds = inst.operand(0).array_shape
            size = ArrayShape(PrimitiveType.S32)
            if inst.shape != TupleShape((bounds.to_static(), *[size] * bounds.rank)):
                raise UndefinedSizes(
                    inst, "it gives something else than an array of its bounds and their sizes"
                )
            return self._pad_to_static(self._leaf(inst, operands[0]), bounds)
        if target == SLICE_TO_DYNAMIC:
            data, *scalars = [self._leaf(inst, operand) for operand in operands]
            bounds = inst.array_shape
            if data.sizes != bounds.dimensions or data.is_cut or len(scalars) != bounds.rank:
                raise UndefinedSizes(
                    inst, "it does not cut a static array of its bounds to one size a dimension"
                )
            sizes = tuple(
                dynamic.size_from(self._tracer, inst, scalar, d, bounds.dimensions[d])
                for d, scalar in enumerate(scalars)
            )
            return Sized(data.inst, sizes, tuple(map(bounds.is_dynamic_dimension, range(bounds.rank))))
        if has_meaning(inst):
            return custom_call(self._tracer, inst, [self._leaf(inst, operand) for operand in operands])
        return None

    def _pad_to_static(self, leaf: Sized, bounds: ArrayShape) -> Tree:
        """The array in the low corner of a static one, then the size of every dimension (section 2.3)."""
        tracer = self._tracer
        sizes = [filled(tracer.constant(np.array(size, np.int32))) for size in leaf.sizes]
        cut = tracer.cut(leaf)
        if leaf.sizes == bounds.dimensions:
            return (filled(cut), *sizes)
        around = tracer.constant(self._fill(bounds.to_static()))
        zero = tracer.constant(0, PrimitiveType.S32)
        data = tracer.op(Opcode.DYNAMIC_UPDATE_SLICE, around, cut, *([zero] * bounds.rank))
        return (filled(data), *sizes)

    # what has no dynamic dimension

    def _is_untouched(self, inst: HloInstruction, operands: Sequence[Tree]) -> bool:
        return (
            inst.opcode not in _SIZES
            and inst.shape.is_static
            and all(map(self._layout.is_static, inst.called_computations))
            and all(
                not any(leaf.dynamic) and leaf.sizes == bound.dimensions and not leaf.is_cut
                for operand, tree in zip(inst.operands, operands, strict=True)
                for leaf, bound in zip(arrays(tree), _array_shapes(operand.shape), strict=True)
            )
        )

    def _taken_over(self, inst: HloInstruction, operands: Sequence[Tree]) -> Tree:
        new = self._tracer.emit(inst, [self.whole(tree) for tree in operands], shape=inst.shape)
        return self.parts(new, inst.shape)

    def whole(self, tree: Tree) -> HloInstruction:
        """`tree`, cut to its sizes, as one instruction."""
        if isinstance(tree, Sized):
            return self._tracer.cut(tree)
        if isinstance(tree, Ordering):
            return tree.inst
        return self._tracer.op(Opcode.TUPLE, *map(self.whole, tree))

    def parts(self, inst: HloInstruction, declared: Shape) -> Tree:
        """The arrays of an instruction of the new module; flagged as in the `declared` shape of the original."""
        if isinstance(inst.shape, TupleShape) and isinstance(declared, TupleShape):
            return tuple(
                self.parts(self._tracer.element(inst, i), element)
                for i, element in enumerate(declared.elements)
            )
        if isinstance(inst.shape, TokenShape):
            return Ordering(inst)
        assert isinstance(declared, ArrayShape)
        return filled(inst, declared.dynamic)

    def argument(self, value: Value, declared: Shape) -> Tree:
        """The next parameter of the new entry, for `value`, whose arrays may be smaller than `declared`."""
        return self.parts(self._tracer.parameter(value, _shape_of(value, declared)), declared)


def _shape_of(value: Value, declared: Shape) -> Shape:
    if isinstance(declared, TupleShape) and isinstance(value, tuple):
        return TupleShape(tuple(map(_shape_of, value, declared.elements)))
    if isinstance(declared, ArrayShape) and isinstance(value, np.ndarray):
        return declared.with_dimensions(value.shape)
    return declared


def _array_shapes(shape: Shape) -> list[ArrayShape]:
    if isinstance(shape, TupleShape):
        return [leaf for element in shape.elements for leaf in _array_shapes(element)]
    return [shape] if isinstance(shape, ArrayShape) else []
