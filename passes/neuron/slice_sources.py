"""What does a dynamic-slice really read? Answered on an inlined clone, told of the original.

Source: page 000, `TraceAndReplaceSourceForDynamicSlice` and the id helpers. The clone is inlined, so that a
body's parameter is the caller's tuple; each slice is followed up through get-tuple-element, tuple, bitcast and
boundary markers; ids lead back to the original's instructions.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from hlo import HloInstruction, HloModule, Opcode
from passes.base import Trace
from passes.neuron.boundary_markers import is_marker
from passes.neuron.instruction_ids import (
    assign_unique_instruction_ids,
    get_instruction_id,
    remove_instruction_ids,
)
from passes.stock import CallInliner, Dce
from passes.stock.call_inliner import inline_all

CallPath = tuple[HloInstruction, ...]
"""The calls through which an execution reaches an instruction, outermost first."""


@dataclass(frozen=True)
class Reading:
    """One execution of a slice: the calls that lead to it, and the original instruction whose value it reads.

    `is_local` says that the source belongs to the same execution of the same computation.
    """

    path: CallPath
    source: HloInstruction
    is_local: bool


def find_readings(module: HloModule, trace: Trace) -> dict[HloInstruction, list[Reading]]:
    """Every execution of every dynamic-slice of `module` that is not dead. Leaves no id behind."""
    by_id = assign_unique_instruction_ids(module)
    clone = module.clone()
    remove_instruction_ids(module)
    paths: dict[HloInstruction, CallPath] = {}

    def on_inline(call: HloInstruction, copies: Mapping[HloInstruction, HloInstruction]) -> None:
        original = by_id[get_instruction_id(call)[1]]
        for inst, copy in copies.items():
            if inst.opcode is not Opcode.PARAMETER:
                paths[copy] = (original, *paths.get(inst, ()))

    inline_all(clone, on_inline, options=CallInliner(prefix_op_names=False))
    Dce().run(clone, Trace())
    readings: dict[HloInstruction, list[Reading]] = {}
    traced: dict[HloInstruction, HloInstruction] = {}
    for computation in clone.make_computation_post_order():
        for copy in computation.instructions:
            if copy.opcode is not Opcode.DYNAMIC_SLICE:
                continue
            ok, identifier, message = get_instruction_id(copy)
            if not ok:
                trace.log(
                    f"{message}: expected {copy.name} to have instruction_id, but it doesnt, so ignoring "
                    f"optimization for dynamic-slice={copy.name}"
                )
                continue
            original = by_id[identifier]
            source_copy = trace_source(copy.operand(0), traced)
            source = by_id[get_instruction_id(source_copy)[1]]
            path = paths.get(copy, ())
            is_local = paths.get(source_copy, ()) == path and source.parent is original.parent
            readings.setdefault(original, []).append(Reading(path, source, is_local))
    return readings


def trace_source(
    inst: HloInstruction, traced: dict[HloInstruction, HloInstruction] | None = None
) -> HloInstruction:
    """The instruction whose value `inst` passes on: up through tuples and their elements, bitcasts that keep
    the shape, and boundary markers, within one computation.

    `traced` remembers answers about a graph that does not change: unrolled loops hand on their state through as many
    tuples as they have iterations, and each iteration asks.
    """
    traced = {} if traced is None else traced
    way: list[HloInstruction] = []
    while inst not in traced:
        way.append(inst)
        before = _passed_on(inst, traced)
        if before is None:
            traced[inst] = inst
        else:
            inst = before
    source = traced[inst]
    traced.update(dict.fromkeys(way, source))
    return source


def _passed_on(inst: HloInstruction, traced: dict[HloInstruction, HloInstruction]) -> HloInstruction | None:
    """The instruction before `inst` that has its value, or None where `inst` makes it."""
    if is_marker(inst) or (inst.opcode is Opcode.BITCAST and inst.shape == inst.operand(0).shape):
        return inst.operand(0)
    if inst.opcode is not Opcode.GET_TUPLE_ELEMENT:
        return None
    whole = trace_source(inst.operand(0), traced)
    return whole.operand(inst.tuple_index) if whole.opcode is Opcode.TUPLE else None


def is_entry_parameter(source: HloInstruction) -> bool:
    """Whether `source` is a parameter of the entry computation, or an element of one."""
    while source.opcode is Opcode.GET_TUPLE_ELEMENT:
        source = source.operand(0)
    return source.opcode is Opcode.PARAMETER and source.parent.is_entry
