"""Which starts are constants once calls are inlined? Page 000, `NeuronDynamicUpdateSliceDynamicSliceSimplifier`.

The live graph is not restructured: the answer is worked out on a clone and written back as tokens.

1. Boundary markers are stripped from the live module.
2. A clone is inlined, its tuples are resolved and its constants folded. In every computation of the clone a
   *probe*, a custom-call with a side effect, holds on to the values that matter, so that inlining copies it once
   a call site and neither folding nor dead code elimination loses a copy: each copy shows what one execution
   would have used.
3. A slice or update whose starts are the same constants in every copy gets its tokens; a get-tuple-element that
   is the same constant in every copy is replaced by it.

With `unanimous` off it is the page's algorithm: a side table keyed by `op_name` that keeps its first entry.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from typing import ClassVar

import numpy as np

from hlo import (
    ArrayShape,
    HloComputation,
    HloInstruction,
    HloModule,
    Literal,
    Opcode,
    TokenShape,
    TupleShape,
)
from hlo.attributes import ConstantValue, CustomCallTarget
from passes.base import Pass, PassError, Trace
from passes.neuron.boundary_markers import strip_markers
from passes.neuron.tokens import DS_KEY, DUS_KEY, KEYS, append_indices, extract_index, strip_indices
from passes.stock import CallInliner, ConstantFolding, TupleSimplifier

_OWN_KEY = {Opcode.DYNAMIC_SLICE: DS_KEY, Opcode.DYNAMIC_UPDATE_SLICE: DUS_KEY}
_PROBE = "hlofuzz.probe."

Starts = tuple[int, ...]


@dataclass(frozen=True)
class NeuronDusDsIndexSimplifier(Pass):
    """Write the starts of dynamic-(update-)slices that fold to constants into their metadata as tokens.

    unanimous: tokens and spliced constants only where every inlined copy agrees.
    anchored_keys: only a whole comma-separated entry is a token, never the middle of the user's own text.
    fresh_tokens: tokens found in the field are replaced by what is true now, or removed.
    """

    unanimous: bool = True
    anchored_keys: bool = True
    fresh_tokens: bool = True

    name: ClassVar[str] = "neuron-dus-ds-index-simplifier"
    rules: ClassVar[tuple[str, ...]] = ("strip-marker", "tag-dus", "tag-ds", "drop-stale-token", "splice-gte")
    legality: ClassVar[tuple[str, ...]] = ("non-constant-start", "control-dependencies")
    guards: ClassVar[tuple[str, ...]] = ("unanimous", "anchored_keys", "fresh_tokens")

    def run(self, module: HloModule, trace: Trace) -> bool:
        """Tag in place. Raises PassError with the page's messages (see `boundary_markers` and below)."""
        changed = strip_markers(
            module,
            trace,
            pass_name=self.name,
            arity_message="NeuronBoundaryMarker-Start expected to have 1 operand but has ",
        )
        _check_tuple_elements(module)
        folded = _fold(module)
        if self.unanimous:
            changed |= self._write_by_copies(folded, trace)
        else:
            changed |= self._write_by_op_name(module, folded, trace)
        return self._splice(folded, trace) or changed

    def _write_by_copies(self, folded: _Folded, trace: Trace) -> bool:
        changed = False
        for inst, copies in folded.starts.items():
            agreed = copies[0] if copies and all(copy == copies[0] for copy in copies) else None
            if agreed is None:
                constant_somewhere = any(copy is not None for copy in copies)
                trace.decline("unanimous" if constant_somewhere else "non-constant-start")
            changed |= self._write(inst, agreed, trace)
        return changed

    def _write_by_op_name(self, module: HloModule, folded: _Folded, trace: Trace) -> bool:
        """The page's side table: the first entry of an `op_name` wins, whoever asks."""
        table: dict[str, tuple[str, Starts]] = {}
        for opcode, op_name, starts in folded.walk:
            if starts is not None:
                table.setdefault(self._own_text(op_name), (_OWN_KEY[opcode], starts))
        changed = False
        for inst in _slices(module):
            key, starts = table.get(self._own_text(inst.metadata.op_name), (None, None))
            changed |= self._write(inst, starts, trace, key)
        return changed

    def _own_text(self, op_name: str) -> str:
        return strip_indices(op_name, anchored=self.anchored_keys) if self.fresh_tokens else op_name

    def _write(
        self, inst: HloInstruction, starts: Starts | None, trace: Trace, key: str | None = None
    ) -> bool:
        """Make the field of `inst` say `starts`, or nothing. Returns whether it changed."""
        before = inst.metadata.op_name
        key = key or _OWN_KEY[inst.opcode]
        if self.anchored_keys and any(k in strip_indices(before, anchored=True) for k in KEYS):
            trace.decline("anchored_keys")
        if self.fresh_tokens:
            own = strip_indices(before, anchored=self.anchored_keys)
        elif extract_index(before, key, anchored=self.anchored_keys)[1]:
            return False  # the page believes what it finds
        else:
            own = before
        after = append_indices(own, key, starts) if starts else own
        if after == before:
            return False
        if own != before:
            trace.decline("fresh_tokens")
        if starts:
            trace.fire("tag-dus" if key == DUS_KEY else "tag-ds")
        else:
            trace.fire("drop-stale-token")
        inst.metadata = replace(inst.metadata, op_name=after)
        return True

    def _splice(self, folded: _Folded, trace: Trace) -> bool:
        changed = False
        for gte, copies in folded.elements.items():
            constant = copies[0] if copies else None
            if constant is None:
                continue
            if self.unanimous and any(copy != constant for copy in copies):
                trace.decline("unanimous")
                continue
            if gte.has_control_dependencies:
                # folding respects them: without them, a second run would find more
                trace.decline("control-dependencies")
                continue
            computation = gte.parent
            new = computation.add(Opcode.CONSTANT, gte.shape, (), ConstantValue(constant))
            new.metadata = gte.metadata
            computation.replace_all_uses_with_different_shape(gte, new)
            computation.remove_instruction(gte)
            trace.fire("splice-gte")
            changed = True
        return changed


@dataclass(frozen=True)
class _Folded:
    """What the folded clone says of the original's instructions.

    `starts` and `elements` hold one entry per inlined copy (None: not constant there). `walk` lists the slices
    that survived in the clone, in post order, as (opcode, op_name, starts).
    """

    starts: dict[HloInstruction, list[Starts | None]]
    elements: dict[HloInstruction, list[Literal | None]]
    walk: list[tuple[Opcode, str, Starts | None]]


def _fold(module: HloModule) -> _Folded:
    name = NeuronDusDsIndexSimplifier.name
    probed = {computation: _probed(computation) for computation in module.make_computation_post_order()}
    clone, mapping = module.clone_with_mapping()
    targets: dict[str, list[HloInstruction]] = {}
    for originals in probed.values():
        if not originals:
            continue
        target = f"{_PROBE}{len(targets)}"
        targets[target] = originals
        held = [mapping[inst] for original in originals for inst in _held(original)]
        mapping[originals[0]].parent.add(
            Opcode.CUSTOM_CALL, TokenShape(), held, CustomCallTarget(target, has_side_effect=True)
        )
    try:
        CallInliner(prefix_op_names=False).run(clone, Trace())
    except PassError as error:
        raise PassError(name, f"Failed to run CallInliner: {error.message}") from error
    try:
        TupleSimplifier().run(clone, Trace())
        while ConstantFolding().run(clone, Trace()) and TupleSimplifier().run(clone, Trace()):
            pass  # neither finds anything where the other has changed nothing since
    except PassError as error:
        raise PassError(name, f"Failed to run HloConstantFolding: {error.message}") from error
    return _read(clone, targets)


def _read(clone: HloModule, targets: dict[str, list[HloInstruction]]) -> _Folded:
    everything = [inst for originals in targets.values() for inst in originals]
    folded = _Folded(
        starts={inst: [] for inst in everything if inst.opcode in _OWN_KEY},
        elements={inst: [] for inst in everything if inst.opcode not in _OWN_KEY},
        walk=[],
    )
    for computation in clone.make_computation_post_order():
        for inst in computation.make_instruction_post_order():
            if inst.opcode in _OWN_KEY:
                folded.walk.append(
                    (inst.opcode, inst.metadata.op_name, _constant_starts(inst.index_operands))
                )
            elif inst.opcode is Opcode.CUSTOM_CALL and inst.custom_call_target in targets:
                _read_probe(inst, targets[inst.custom_call_target], folded)
    return folded


def _read_probe(probe: HloInstruction, originals: list[HloInstruction], folded: _Folded) -> None:
    held = iter(probe.operands)
    for original in originals:
        values = [next(held) for _ in _held(original)]
        if original.opcode in _OWN_KEY:
            folded.starts[original].append(_constant_starts(values))
        else:
            constant = values[0].literal if values[0].opcode is Opcode.CONSTANT else None
            folded.elements[original].append(constant)


def _probed(computation: HloComputation) -> list[HloInstruction]:
    """The instructions of `computation` that the simplifier asks about."""
    return [
        inst
        for inst in computation.make_instruction_post_order()
        if inst.opcode in _OWN_KEY
        or (inst.opcode is Opcode.GET_TUPLE_ELEMENT and isinstance(inst.shape, ArrayShape))
    ]


def _held(original: HloInstruction) -> tuple[HloInstruction, ...]:
    return original.index_operands if original.opcode in _OWN_KEY else (original,)


def _slices(module: HloModule) -> Iterator[HloInstruction]:
    for computation in module.make_computation_post_order():
        yield from (i for i in computation.make_instruction_post_order() if i.opcode in _OWN_KEY)


def _constant_starts(operands: Iterable[HloInstruction]) -> Starts | None:
    starts: list[int] = []
    for operand in operands:
        value = get_constant_operand_value(operand)
        if value is None:
            return None
        starts.append(value)
    return tuple(starts)


def get_constant_operand_value(operand: HloInstruction) -> int | None:
    """The value of an integer scalar constant, widened to int64, or None for anything else.

    A U64 of 2^63 or more widens to a negative number, as upstream's evaluator does. Source: page 000,
    `GetConstantOperandValue`; `neuron_passes.md` section 3.
    """
    if operand.opcode is not Opcode.CONSTANT or not isinstance(operand.shape, ArrayShape):
        return None
    value = operand.literal.value
    if not operand.shape.is_scalar or not operand.shape.element_type.is_integral:
        return None
    assert isinstance(value, np.ndarray)
    number = int(value[()])
    return number - (1 << 64) if number >= 1 << 63 else number


def _check_tuple_elements(module: HloModule) -> None:
    """The page's bounds check on get-tuple-element (line 241)."""
    for computation in module.computations:
        for inst in computation.instructions:
            if inst.opcode is not Opcode.GET_TUPLE_ELEMENT:
                continue
            source = inst.operand(0)
            shape = source.shape
            if not isinstance(shape, TupleShape) or not 0 <= inst.tuple_index < len(shape.elements):
                raise PassError(
                    NeuronDusDsIndexSimplifier.name, f"Expected tuple instruction, got {source.name}"
                )
