"""How do equal sizes of dynamic dimensions come to be the same instruction?

Source: `stock_passes.md` section 6.2 (DynamicDimensionSimplifier): six sweeps, each once over the whole module, in
an order that is kept; what only a later sweep makes possible is left. Dead instructions stay.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import ClassVar

from hlo import HloInstruction, HloModule, Opcode
from hlo.attributes import SliceBounds
from hlo.shape import layouts
from passes.base import Pass, Trace

Sweep = Callable[[HloInstruction], HloInstruction | None]
"""An instruction -> what can stand in its place, or None. May append to its computation."""


@dataclass(frozen=True)
class DynamicDimensionSimplifier(Pass):
    """Simplifies the reshapes, slices and concatenations of which sizes of dynamic dimensions are put together."""

    name: ClassVar[str] = "dynamic-dimension-simplifier"
    rules: ClassVar[tuple[str, ...]] = (
        "concat-of-concats",
        "slice-of-concat",
        "reshape-of-broadcast",
        "reshape-of-reshape",
        "same-convert",
        "same-reshape",
    )
    idempotent: ClassVar[bool] = False  # a pattern that appears after its sweep waits for the next run

    def run(self, module: HloModule, trace: Trace) -> bool:
        """Six sweeps over everything but fusions' insides."""
        changed = False
        computations = {
            computation: {inst.opcode for inst in computation.instructions}
            for computation in module.make_computation_post_order()
            if not any(caller.opcode is Opcode.FUSION for caller in computation.caller_instructions)
        }
        for rule, opcode, sweep in _SWEEPS:
            for computation, opcodes in computations.items():
                if opcode not in opcodes:
                    continue  # no sweep makes instructions of an opcode that was not there
                for inst in computation.make_instruction_post_order():
                    new = sweep(inst) if inst.users or inst.is_root else None
                    if new is None or not _is_equal(new, inst):
                        continue
                    computation.replace_all_uses_with(inst, new)
                    trace.fire(rule)
                    changed = True
        return changed


def _is_equal(new: HloInstruction, old: HloInstruction) -> bool:
    """Layout and flags, too: what users see must stay as it was."""
    return new.shape == old.shape and layouts(new.shape) == layouts(old.shape)


def _concat_of_concats(inst: HloInstruction) -> HloInstruction | None:
    """Concatenations along the same dimension become one; deeper nests fold because operands come first."""
    if inst.opcode is not Opcode.CONCATENATE:
        return None
    flat: list[HloInstruction] = []
    for operand in inst.operands:
        inner = operand.opcode is Opcode.CONCATENATE and operand.dimensions == inst.dimensions
        flat += operand.operands if inner else (operand,)
    return inst.parent.add_clone(inst, flat) if len(flat) != len(inst.operands) else None


def _slice_of_concat(inst: HloInstruction) -> HloInstruction | None:
    """A slice that takes exactly one of the arrays that were joined."""
    if inst.opcode is not Opcode.SLICE or inst.operand(0).opcode is not Opcode.CONCATENATE:
        return None
    bounds = inst.attributes
    assert isinstance(bounds, SliceBounds)
    joined = inst.operand(0)
    if joined.array_shape.rank != 1 or bounds.strides != (1,):
        return None
    start = 0
    for operand in joined.operands:
        size = operand.array_shape.dimensions[0]
        if (start, start + size) == (bounds.starts[0], bounds.limits[0]):
            return operand
        start += size
    return None


def _reshape_of_broadcast(inst: HloInstruction) -> HloInstruction | None:
    """A scalar made an array of one element and a scalar again."""
    if inst.opcode is not Opcode.RESHAPE or not inst.array_shape.is_scalar:
        return None
    spread = inst.operand(0)
    if spread.opcode is not Opcode.BROADCAST or spread.array_shape.dimensions != (1,):
        return None
    return spread.operand(0) if spread.operand(0).array_shape.is_scalar else None


def _reshape_of_reshape(inst: HloInstruction) -> HloInstruction | None:
    """A reshape there and back."""
    if inst.opcode is not Opcode.RESHAPE or inst.operand(0).opcode is not Opcode.RESHAPE:
        return None
    return inst.operand(0).operand(0)


def _same(opcode: Opcode) -> Sweep:
    """An instruction that changes nothing about its operand."""
    return lambda inst: inst.operand(0) if inst.opcode is opcode else None


_SWEEPS: tuple[tuple[str, Opcode, Sweep], ...] = (
    ("concat-of-concats", Opcode.CONCATENATE, _concat_of_concats),
    ("slice-of-concat", Opcode.SLICE, _slice_of_concat),
    ("reshape-of-broadcast", Opcode.RESHAPE, _reshape_of_broadcast),
    ("reshape-of-reshape", Opcode.RESHAPE, _reshape_of_reshape),
    ("same-convert", Opcode.CONVERT, _same(Opcode.CONVERT)),
    ("same-reshape", Opcode.RESHAPE, _same(Opcode.RESHAPE)),
)
"""The rule, which instructions it looks at, and what it does."""
