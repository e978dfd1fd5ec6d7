"""Does a pass keep what every pass promises, whatever the program computes?

A module that is well formed, with the same parameters and result; an honest `changed`; nothing temporary left;
nothing to do for a second run. Source: DESIGN decision 9.
"""

from __future__ import annotations

from hlo import HloModule
from hlo.canonical import structure
from hlo.evaluator import BOUNDARY_MARKERS
from hlo.verify import verify
from oracle.checks.base import Check, PassRun
from oracle.guarded import Crash, run_guarded
from oracle.verdict import Finding, Kind
from passes import PassError, Trace
from passes.neuron import DynamicSliceMover, NeuronDusDsIndexSimplifier
from passes.stock import DynamicPadder

CHECK = "contracts"

_INSTRUCTION_ID = "instruction_id"
_SHOWN = 5
"""How many violations a finding lists."""


def is_well_formed(run: PassRun) -> Finding | None:
    """The verifier has nothing to say."""
    violations = verify(run.after) if run.really_changed else []
    if not violations:
        return None
    details = tuple(map(str, violations[:_SHOWN]))
    return run.finding(CHECK, Kind.INVALID, f"the result is not valid HLO: {violations[0]}", details=details)


def keeps_the_entry(run: PassRun) -> Finding | None:
    """Parameters and result of the entry have the shapes that they had, dynamic dimensions included.

    But the dynamic padder may be told to give the result as large as its bounds.
    """
    old, new = _signature(run.before), _signature(run.after)
    if old == new:
        return None
    may_be_static = isinstance(run.pass_, DynamicPadder) and not run.pass_.slice_dynamic_output
    if may_be_static and new == _signature(run.before, static_result=True):
        return None
    return run.finding(CHECK, Kind.RESULT_SHAPE, f"the entry was {old} and is {new}")


def says_what_it_did(run: PassRun) -> Finding | None:
    """`changed` is true exactly when the printed module differs."""
    if run.said_changed == run.really_changed:
        return None
    what = (
        "changed the module and said it did not"
        if run.really_changed
        else "said it changed the module and did not"
    )
    return run.finding(CHECK, Kind.CHANGED_FLAG, what)


def leaves_nothing_behind(run: PassRun) -> Finding | None:
    """After a Neuron pass no boundary marker is left, and after the mover no instruction id."""
    if not isinstance(run.pass_, DynamicSliceMover | NeuronDusDsIndexSimplifier):
        return None
    for computation in run.after.computations:
        for inst in computation.instructions:
            if getattr(inst.attributes, "target", None) in BOUNDARY_MARKERS:
                return run.finding(CHECK, Kind.LEFTOVER, f"boundary marker {inst.name} is left")
            if isinstance(run.pass_, DynamicSliceMover) and _INSTRUCTION_ID in inst.frontend_attributes:
                return run.finding(CHECK, Kind.LEFTOVER, f"{inst.name} still has an {_INSTRUCTION_ID}")
    return None


def has_settled(run: PassRun) -> Finding | None:
    """A second run of a pass that promises so changes nothing, and says so."""
    if not run.pass_.idempotent or not (run.really_changed or run.said_changed):
        return None
    again = run.after.clone()
    try:
        said_changed = run_guarded(run.pass_, again, Trace())
    except PassError as error:
        return run.finding(
            CHECK, Kind.NOT_IDEMPOTENT, f"a second run refused what the first left: {error.message}"
        )
    if isinstance(said_changed, Crash):
        message = f"a second run raised {said_changed.error}"
        return run.finding(CHECK, Kind.CRASH, message, details=said_changed.lines)
    if structure(again) != run.structure_after:
        return run.finding(CHECK, Kind.NOT_IDEMPOTENT, "a second run changed the module again")
    if said_changed:
        return run.finding(CHECK, Kind.NOT_IDEMPOTENT, "a second run said it changed the module")
    return None


def _signature(module: HloModule, *, static_result: bool = False) -> str:
    entry = module.entry_computation
    result = str(entry.root.shape)
    if static_result:
        result = result.replace("<=", "")
    return f"({', '.join(str(p.shape) for p in entry.parameters)}) -> {result}"


# A broken module cannot be asked about its meaning, so these come before its values, the others after.
STRUCTURE: tuple[Check, ...] = (is_well_formed, keeps_the_entry)
CONDUCT: tuple[Check, ...] = (says_what_it_did, leaves_nothing_behind, has_settled)
