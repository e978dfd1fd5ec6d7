"""Does the simplifier leave the live graph alone?

It works on a clone and writes back: what it may do to the graph itself is to remove boundary markers, to replace
a get-tuple-element by a constant, and to change the tokens of dynamic slices. Source: `neuron_passes.md` section 4.
Whether the constants are right is a question of values, whether the tokens are, one of `tokens`.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

from hlo import HloComputation, HloInstruction, Opcode
from hlo.evaluator import BOUNDARY_MARKERS
from oracle.checks.base import PassRun
from oracle.verdict import Finding, Kind
from passes.neuron import NeuronDusDsIndexSimplifier
from passes.neuron.tokens import strip_indices

CHECK = "live graph"

_TAGGED = (Opcode.DYNAMIC_SLICE, Opcode.DYNAMIC_UPDATE_SLICE)


def keeps_the_live_graph(run: PassRun) -> Finding | None:
    """The first thing that the simplifier changed and must not."""
    if not isinstance(run.pass_, NeuronDusDsIndexSimplifier) or not run.really_changed:
        return None
    before = {computation.name: computation for computation in run.before.computations}
    after = {computation.name: computation for computation in run.after.computations}
    if before.keys() != after.keys():
        name = next(iter(before.keys() ^ after.keys()))
        return run.finding(CHECK, Kind.LIVE_GRAPH, f"computation {name} came or went")
    for name, computation in before.items():
        complaint = _Comparison.of(computation, after[name]).complaint()
        if complaint is not None:
            return run.finding(CHECK, Kind.LIVE_GRAPH, f"in {name}: {complaint}")
    return None


@dataclass(frozen=True)
class _Comparison:
    """One computation before and after, with its instructions by name."""

    before: HloComputation
    after: HloComputation
    old: dict[str, HloInstruction]
    new: dict[str, HloInstruction]

    @classmethod
    def of(cls, before: HloComputation, after: HloComputation) -> _Comparison:
        return cls(
            before,
            after,
            {inst.name: inst for inst in before.instructions},
            {inst.name: inst for inst in after.instructions},
        )

    def complaint(self) -> str | None:
        for name, inst in self.old.items():
            twin = self.new.get(name)
            if twin is None:
                if not _may_go(inst):
                    return f"{name} ({inst.opcode}) is gone"
            elif fault := self._fault(inst, twin):
                return f"{name}: {fault}"
        for name, inst in self.new.items():
            if name not in self.old and inst.opcode is not Opcode.CONSTANT:
                return f"{name} ({inst.opcode}) is new"
        if not self._stands_for(self.before.root, self.after.root):
            return f"the root was {self.before.root.name} and is {self.after.root.name}"
        return None

    def _fault(self, inst: HloInstruction, twin: HloInstruction) -> str | None:
        old, new = _facts(inst), _facts(twin)
        for fact, value in old.items():
            if new[fact] != value:
                return f"its {fact} was {value} and is {new[fact]}"
        if len(inst.operands) != len(twin.operands):
            return "it has another number of operands"
        for i, (operand, other) in enumerate(zip(inst.operands, twin.operands, strict=True)):
            if not self._stands_for(operand, other):
                return f"operand {i} was {operand.name} and is {other.name}"
        kept = {edge.name for edge in inst.control_predecessors if edge.name in self.new}
        if not kept <= {edge.name for edge in twin.control_predecessors}:
            return "a control dependency is gone"
        return None

    def _stands_for(self, old: HloInstruction, new: HloInstruction) -> bool:
        """Whether `new` may be where `old` was."""
        while old.name not in self.new and _is_marker(old) and old.operands:
            old = old.operand(0)
        if old.name in self.new:
            return new.name == old.name
        return new.opcode is Opcode.CONSTANT and new.name not in self.old and new.shape == old.shape


def _may_go(inst: HloInstruction) -> bool:
    return _is_marker(inst) or inst.opcode is Opcode.GET_TUPLE_ELEMENT


def _is_marker(inst: HloInstruction) -> bool:
    return inst.opcode is Opcode.CUSTOM_CALL and inst.custom_call_target in BOUNDARY_MARKERS


def _facts(inst: HloInstruction) -> dict[str, object]:
    """All of an instruction but its operands and, for a slice, the tokens in its text."""
    metadata = inst.metadata
    is_tagged = inst.opcode in _TAGGED
    return {
        "opcode": inst.opcode,
        "shape": inst.shape,
        "attribute record": inst.attributes,
        "op_name": repr(strip_indices(metadata.op_name, anchored=True) if is_tagged else metadata.op_name),
        "other metadata": replace(metadata, op_name=""),
        "frontend attributes": dict(inst.frontend_attributes),
        "carried fields": inst.carried,
        "callee list": [callee.name for callee in inst.called_computations],
    }
