"""How does a program with dynamic dimensions become a static one, whatever lies in the padding?

Source: `stock_passes.md` section 5.2 and `004_a2dddaa7cc47048c.txt`, Layer B.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import ClassVar

from hlo import (
    ArrayShape,
    HloComputation,
    HloInstruction,
    HloModule,
    Opcode,
    PrimitiveType,
    Shape,
    TupleShape,
    merged,
)
from hlo.attributes import CustomCallTarget
from hlo.bound_parameters import materialise
from hlo.evaluator import PAD_TO_STATIC, SET_BOUND, SLICE_TO_DYNAMIC
from hlo.infer import ShapeError
from passes.base import Pass, PassError, Trace
from passes.stock.dce import Dce
from passes.stock.dynamic_dimension_inference import (
    SHAPE_CHECKS,
    CustomCallHandler,
    Soundness,
    Support,
    Supports,
    infer_dynamic_dimensions,
    supports_nothing,
)
from passes.stock.dynamic_dimension_inference.sizes import Index, leaf
from passes.stock.dynamic_padder import convolutions, elementwise, indexing, reduction, shape, windows
from passes.stock.dynamic_padder.state import PaddingSoundness, Rewrite, State

RULES: Mapping[Opcode, Rewrite] = merged(
    elementwise.RULES, indexing.RULES, reduction.RULES, shape.RULES, windows.RULES
)
"""For what would let padding show. Other instructions with dynamic dimensions are right as they are."""

CUSTOM_CALLS: Mapping[str, Rewrite] = {**windows.WINDOWED, **convolutions.WINDOWED}
"""Calls that become ordinary operations, by target."""


@dataclass(frozen=True)
class DynamicPadder(Pass):
    """Makes every array as large as its bound, and every operation right whatever lies in the padding.

    `slice_dynamic_output`: the entry's result is cut to its sizes again (SliceToDynamic). `shape_check`: `ignore`,
    `compile-time` (refuse) or `run-time` (hand a conjunction to a custom-call) where two sizes that must be equal are
    different instructions. The other options are guards; without one the pass does as upstream does.
    """

    slice_dynamic_output: bool = True
    shape_check: str = "ignore"
    slice_limit: bool = True
    window_padding: bool = True
    update_keeps_size: bool = True
    reducer_identity: bool = True
    mask_static_inputs: bool = True
    mask_both_sides: bool = True
    repeat_everywhere: bool = True
    clamp_to_size: bool = True
    wide_indices: bool = True

    name: ClassVar[str] = "dynamic-padder"
    rules: ClassVar[tuple[str, ...]] = (
        *("bound", "pad-to-static", "slice-to-dynamic", "size-known", "size-set"),
        *("widen-while", "widen-conditional"),
        *("mask-reduce", "mask-reduce-window", "mask-select-and-scatter"),
        *("mask-dot", "mask-convolution", "mask-pad"),
        *("repeat", "concatenate", "reverse", "sort", "update", "scatter", "select-and-scatter"),
        *("clamp-dynamic-slice", "clamp-dynamic-update-slice", "clamp-gather"),
        *("split", "combine", "regroup", "reshape", "dynamic-reshape"),
        *("reduce-window-same", "select-and-scatter-same", "convolution-forward"),
        *("convolution-input-gradient", "convolution-kernel-gradient"),
    )
    guards: ClassVar[tuple[str, ...]] = (
        "slice_limit",
        "window_padding",
        "update_keeps_size",
        "reducer_identity",
        "mask_static_inputs",
        "mask_both_sides",
        "repeat_everywhere",
        "clamp_to_size",
        "wide_indices",
    )

    def run(self, module: HloModule, trace: Trace) -> bool:
        """Raises DynamismRefused, naming instruction, operand and dimension, where there is no way to be right."""
        return self.pad(module, trace)

    def pad(
        self,
        module: HloModule,
        trace: Trace,
        *,
        supports: Supports = supports_nothing,
        custom_call: CustomCallHandler | None = None,
    ) -> bool:
        """`run` for a back end that runs some instructions on arrays that are really smaller than their bounds.

        Those that must are given such arrays (SliceToDynamic), and what they give is padded for the others
        (PadToStatic). `custom_call` records the sizes of custom-calls in place of our rules.
        """
        if self.shape_check not in SHAPE_CHECKS:
            raise PassError(
                self.name, f"shape_check is one of {', '.join(SHAPE_CHECKS)}, not {self.shape_check!r}"
            )
        for _ in module.dynamic_parameter_binding:
            trace.fire("bound")
        changed = materialise(module)
        if not _is_dynamic(module):
            return changed
        Dce().run(module, Trace())
        declared = module.entry_computation.root.shape
        inference = Soundness(self.slice_limit, self.window_padding, self.update_keeps_size)
        sizes = infer_dynamic_dimensions(
            module,
            trace,
            pass_name=self.name,
            sound=inference,
            shape_check=self.shape_check,
            supports=supports,
            custom_call=custom_call,
        )
        padding = PaddingSoundness(
            self.reducer_identity,
            self.mask_static_inputs,
            self.mask_both_sides,
            self.repeat_everywhere,
            self.clamp_to_size,
            self.wide_indices,
        )
        state = State(self.name, trace, padding, sizes)
        for computation in module.make_computation_post_order():
            _rewrite(state, computation, supports)
        for inst in sizes.on_dynamic_arrays:
            _cut_operands(state, inst)
        if self.slice_dynamic_output:
            _refuse_unflagged(state, module.entry_computation.root, declared)
            _cut_root(state, module.entry_computation)
        for computation in module.make_computation_post_order():
            _drop_sizes_set(state, computation)
            _drop_flags(state, computation)
        Dce().run(module, Trace())
        return True


_SIZES = frozenset({Opcode.GET_DIMENSION_SIZE, Opcode.SET_DIMENSION_SIZE, Opcode.DYNAMIC_RESHAPE})
_HANDS_ON = frozenset({Opcode.CONDITIONAL, Opcode.CUSTOM_CALL, Opcode.WHILE})
_BOUNDARY = frozenset({Opcode.GET_TUPLE_ELEMENT, Opcode.PARAMETER, Opcode.TUPLE})


def _is_dynamic(module: HloModule) -> bool:
    """Whether there is anything to do: work on a dynamic array that is not one of the bridges'."""
    return any(_is_work(inst) for computation in module.computations for inst in computation.instructions)


def _is_work(inst: HloInstruction) -> bool:
    if inst.opcode in _SIZES:
        return True
    if inst.opcode in _BOUNDARY:
        return False
    if inst.opcode is Opcode.CUSTOM_CALL and inst.custom_call_target in (PAD_TO_STATIC, SLICE_TO_DYNAMIC):
        return False
    if inst.opcode is Opcode.CUSTOM_CALL and inst.custom_call_target in CUSTOM_CALLS:
        return True  # of static arrays, too, it is one of our operations in disguise
    return not inst.shape.is_static or not all(operand.shape.is_static for operand in inst.operands)


def _rewrite(state: State, computation: HloComputation, supports: Supports) -> None:
    for inst in computation.make_instruction_post_order():
        if supports(inst) is not Support.NONE:
            continue
        if inst.opcode is Opcode.CUSTOM_CALL and (rewrite := CUSTOM_CALLS.get(inst.custom_call_target)):
            try:
                rewrite(state, inst)
            except ShapeError as error:  # of a call, element types have not been checked
                state.refuse(inst, f"no such operation: {error.message}")
            continue
        rule = RULES.get(inst.opcode)
        if rule is None or not any(state.sizes.has_dynamic(x) for x in (inst, *inst.operands)):
            continue
        rule(state, inst)


def _cut_operands(state: State, inst: HloInstruction) -> None:
    """Cut what an instruction is given that runs on arrays of just their size."""
    for number, operand in enumerate(inst.operands):
        if state.sizes.has_dynamic(operand):
            new = _cut(state, operand, operand, ())
            inst.parent.replace_operand(inst, number, new, accept_different_shape=True)


def _refuse_unflagged(state: State, root: HloInstruction, declared: Shape) -> None:
    """Refuse a size of the entry's result that its type does not tell of: callers count on the type."""
    for index, dimension, _ in state.sizes.of(root):
        if not leaf(declared, index).is_dynamic_dimension(dimension):
            inst, below = root, index
            while inst.opcode is Opcode.TUPLE and below:
                inst, below = inst.operand(below[0]), below[1:]
            state.refuse(inst, "the type of the result has no flag for its size", dimension=dimension)


def _cut_root(state: State, entry: HloComputation) -> None:
    """Cut what the entry gives to its sizes."""
    root = entry.root
    if not state.sizes.has_dynamic(root):
        return
    new = _cut(state, root, root, ())
    entry.set_root(new, accept_different_shape=True)


def _cut(state: State, whole: HloInstruction, part: HloInstruction, index: Index) -> HloInstruction:
    if not state.sizes.has_dynamic(whole, index):
        return part
    builder = state.builder(part)
    if isinstance(part.shape, TupleShape):
        count = len(part.shape.elements)
        is_made_here = part.opcode is Opcode.TUPLE
        elements = [part.operand(i) if is_made_here else builder.gte(part, i) for i in range(count)]
        return builder.tuple_(*[_cut(state, whole, e, (*index, i)) for i, e in enumerate(elements)])
    bounds = leaf(whole.shape, index)
    flags = tuple(state.sizes.size(whole, index, d) is not None for d in range(bounds.rank))
    sizes = [
        state.sizes.size(whole, index, d) or builder.constant(bounds.dimensions[d], PrimitiveType.S32)
        for d in range(bounds.rank)
    ]
    state.trace.fire("slice-to-dynamic")
    return builder.op(
        Opcode.CUSTOM_CALL,
        part,
        *sizes,
        attributes=CustomCallTarget(SLICE_TO_DYNAMIC),
        shape=ArrayShape(bounds.element_type, bounds.dimensions, flags),
    )


def _drop_flags(state: State, computation: HloComputation) -> None:
    """What is computed from static arrays is static, whatever the rewrites were made like."""
    for inst in computation.make_instruction_post_order():
        if inst.shape.is_static or not _is_work(inst) or inst.opcode in _HANDS_ON:
            continue
        if inst in state.sizes.on_dynamic_arrays:
            continue
        if all(operand.shape.is_static for operand in inst.operands):
            inst.shape = _static(inst.shape)


def _static(shape: Shape) -> Shape:
    if isinstance(shape, TupleShape):
        return TupleShape(tuple(map(_static, shape.elements)))
    return shape.to_static() if isinstance(shape, ArrayShape) else shape


def _drop_sizes_set(state: State, computation: HloComputation) -> None:
    """What sets a size has done its part: its operand stands in its place."""
    for inst in computation.make_instruction_post_order():
        is_bound = inst.opcode is Opcode.CUSTOM_CALL and inst.custom_call_target == SET_BOUND
        if inst.opcode is Opcode.SET_DIMENSION_SIZE or is_bound:
            computation.replace_instruction(inst, inst.operand(0))
            state.trace.fire("size-set")
