"""Which slices run before a call instead of in it? Page 000, `NeuronDynamicSliceMover`.

What a slice reads is worked out on an inlined clone (`slice_sources`); the moves are made on the original
(`slice_motion`). A move can make another possible, so rounds follow each other until one changes nothing.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from hlo import HloModule
from passes.base import Pass, Trace
from passes.neuron.boundary_markers import strip_markers
from passes.neuron.instruction_ids import remove_instruction_ids
from passes.neuron.slice_motion import SliceMotion
from passes.neuron.slice_sources import find_readings, trace_source
from passes.stock import Dce


@dataclass(frozen=True)
class DynamicSliceMover(Pass):
    """Hoist dynamic-slices of a body's tuple elements to the caller, as static slices where tokens tell the start.

    clamp_starts: a static slice starts where the dynamic one would after clamping to [0, dim - size].
    single_call_site: a body with other callers is copied for this call before its parameter is narrowed.
    pass_through: readers of an element that also leaves through the root get the caller's own full value.
    whole_parameter: no move where the parameter or its element is read in another way too.
    anchored_keys: only a whole comma-separated entry is a token, never the middle of the user's own text.
    disable_movement_of_slice_from_param: keep slices whose traced source is a parameter of the entry computation.
    """

    clamp_starts: bool = True
    single_call_site: bool = True
    pass_through: bool = True
    whole_parameter: bool = True
    anchored_keys: bool = True
    disable_movement_of_slice_from_param: bool = False

    name: ClassVar[str] = "dynamic-slice-mover"
    rules: ClassVar[tuple[str, ...]] = (
        "trace-source",
        "dead-code",
        "strip-marker",
        "clone-body",
        "make-static",
        "move-static",
        "move-dynamic",
    )
    legality: ClassVar[tuple[str, ...]] = (
        "call-operand-not-tuple",
        "input-not-gte",
        "gte-other-users",
        "several-slices",
        "control-dependencies",
        "starts-not-available",
        "not-enough-indices",
        "no-equivalent",
        "kill-switch",
    )
    guards: ClassVar[tuple[str, ...]] = (
        "clamp_starts",
        "single_call_site",
        "pass_through",
        "whole_parameter",
        "anchored_keys",
    )

    def run(self, module: HloModule, trace: Trace) -> bool:
        """Move in place. Raises PassError for a boundary marker without exactly one operand."""
        # an id that is already there is nobody's but ours, left by a run that was cut short
        changed = remove_instruction_ids(module)
        told: set[tuple[str, str, str]] = set()
        while self._round(module, trace, told):
            changed = True
        trace.log("Completed handling dynamic slices outside calls.")
        return changed

    def _round(self, module: HloModule, trace: Trace, told: set[tuple[str, str, str]]) -> bool:
        readings = find_readings(module, trace)
        changed = False
        for inst, reads in readings.items():
            source = reads[0].source
            if not all(read.is_local and read.source is source for read in reads):
                source = trace_source(inst.operand(0))  # as far as the slice's own computation shows it
            if inst.operand(0) is source:
                continue
            inst.parent.replace_operand(inst, 0, source)
            trace.fire("trace-source")
            changed = True
        if Dce().run(module, Trace()):
            trace.fire("dead-code")
            changed = True
        changed |= strip_markers(
            module,
            trace,
            pass_name=self.name,
            arity_message="NeuronBoundaryMarker expected to have 1 operand but has ",
        )
        return SliceMotion(module, self, trace, readings, told).run() or changed
