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
from hlo.builder import Builder
from hlo.evaluator import PAD_TO_STATIC, SET_BOUND, SLICE_TO_DYNAMIC
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
        "pad-to-static",
        "slice-to-dynamic",
        "size-known",
        "size-set",
        "widen",
        "mask",
        "repeat",
        "concatenate",
        "reverse",
        "reshape",
        "sort",
        "clamp",
        "update",
        "scatter",
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
        if not _is_dynamic(module):
            return False
        Dce().run(module, Trace())
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
    return not inst.shape.is_static or not all(operand.shape.is_static for operand in inst.operands)


def _rewrite(state: State, computation: HloComputation, supports: Supports) -> None:
    for inst in computation.make_instruction_post_order():
        if supports(inst) is not Support.NONE:
            continue
        if inst.opcode is Opcode.CUSTOM_CALL and (rewrite := CUSTOM_CALLS.get(inst.custom_call_target)):
            rewrite(state, inst)
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
    builder = Builder(part.parent)
    if isinstance(part.shape, TupleShape):
        elements = [builder.gte(part, i) for i in range(len(part.shape.elements))]
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
