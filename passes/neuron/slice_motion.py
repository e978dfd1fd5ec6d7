"""When may a slice leave a called computation, and how is it taken out?

Source: page 000, `MoveDynamicSliceOutsideCall` (legality and motion) and `CreateStaticSliceFromDynamicSlice`;
`neuron_passes.md` section 5. In `caller: call(tuple(…, x, …))`, `body: dynamic-slice(get-tuple-element(p, k), i)`
the slice goes to the caller, element k of the tuple and of the body's parameter becomes the slice, and the
body's slice becomes that element.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Protocol

from hlo import HloComputation, HloInstruction, HloModule, Opcode, PrimitiveType, TupleShape
from hlo.attributes import SliceBounds
from hlo.graph import clone_instructions
from hlo.shape import with_element
from passes.base import Trace
from passes.neuron.slice_sources import Reading, is_entry_parameter
from passes.neuron.tokens import ITERATION_KEY, read_indices

KILL_SWITCH = "NEURON_DISABLE_MOVEMENT_OF_SLICE_FROM_PARAM"


class MotionOptions(Protocol):
    """The options of the mover that decide about a motion."""

    @property
    def clamp_starts(self) -> bool: ...
    @property
    def single_call_site(self) -> bool: ...
    @property
    def pass_through(self) -> bool: ...
    @property
    def whole_parameter(self) -> bool: ...
    @property
    def anchored_keys(self) -> bool: ...
    @property
    def disable_movement_of_slice_from_param(self) -> bool: ...


@dataclass(frozen=True)
class _Candidate:
    """A slice that may leave `call`: it reads element `index` of `parameter`, which the caller holds in `operands`."""

    slice: HloInstruction
    call: HloInstruction
    gte: HloInstruction
    parameter: HloInstruction
    operands: HloInstruction

    @property
    def index(self) -> int:
        return self.gte.tuple_index

    @property
    def body(self) -> HloComputation:
        return self.gte.parent


@dataclass
class SliceMotion:
    """The motions of one round over a module.

    `readings` says what each slice reads; slices that this round hoists are added, so that they can leave an
    outer call too. `told` keeps each refusal from being told twice in one run.
    """

    module: HloModule
    options: MotionOptions
    trace: Trace
    readings: dict[HloInstruction, list[Reading]]
    told: set[tuple[str, str, str]]
    _sites: Counter[HloComputation] = field(default_factory=Counter[HloComputation])
    _originals: dict[HloInstruction, HloInstruction] = field(
        default_factory=dict[HloInstruction, HloInstruction]
    )
    _hoisted: set[HloInstruction] = field(default_factory=set[HloInstruction])

    def run(self) -> bool:
        """Move what may be moved, innermost calls first. Returns whether anything moved."""
        self._sites.update(
            callee
            for computation in self.module.computations
            for inst in computation.instructions
            for callee in inst.called_computations
        )
        moved = False
        for computation in self.module.make_computation_post_order():
            for call in computation.make_instruction_post_order():
                if call.opcode is Opcode.CALL:
                    moved |= self._move_out_of(call)
        return moved

    def _move_out_of(self, call: HloInstruction) -> bool:
        moved = False
        twins: dict[HloInstruction, HloInstruction] = {}
        for inst in call.called_computations[0].make_instruction_post_order():
            if inst.opcode is not Opcode.DYNAMIC_SLICE and inst not in self._hoisted:
                continue
            candidate = self._legal(twins.get(inst, inst), call)
            if candidate is None:
                continue
            if self._sites[candidate.body] > 1 and self.options.single_call_site:
                self.trace.decline("single_call_site")
                twins = self._give_own_body(call)
                candidate = self._legal(twins[candidate.slice], call)
                assert candidate is not None, "a copy of the body is as legal as the body"
            self._move(candidate)
            moved = True
        return moved

    def _give_own_body(self, call: HloInstruction) -> dict[HloInstruction, HloInstruction]:
        """Let `call` call a copy of its body that nobody else calls. Returns the copy of each instruction."""
        body = call.called_computations[0]
        own = self.module.add_computation(body.name)
        own.carried = body.carried
        twins = clone_instructions(body, own, {}, body.make_instruction_post_order(), keep_ids=False)
        for inst, twin in twins.items():
            self._originals[twin] = self._originals.get(inst, inst)
            if inst in self._hoisted:
                self._hoisted.add(twin)
            self._sites.update(twin.called_computations)
        call.parent.replace_called_computations(call, (own,))
        self._sites.subtract((body,))
        self._sites[own] = 1
        self.trace.fire("clone-body")
        return twins

    # legality

    def _legal(self, inst: HloInstruction, call: HloInstruction) -> _Candidate | None:
        """The move of `inst` out of `call`, or None after telling why not."""
        if all(operand.opcode is not Opcode.TUPLE for operand in call.operands):
            return self._refuse(inst, call, "call-operand-not-tuple", "Call operand is not a tuple")
        gte = inst.operand(0)
        if gte.opcode is not Opcode.GET_TUPLE_ELEMENT or gte.operand(0).opcode is not Opcode.PARAMETER:
            return self._refuse(
                inst, call, "input-not-gte", "Dynamic slice inside call doesn't use GTE as input"
            )
        parameter = gte.operand(0)
        operands = call.operand(parameter.parameter_number)
        if operands.opcode is not Opcode.TUPLE:
            return self._refuse(inst, call, "call-operand-not-tuple", "Call operand is not a tuple")
        candidate = _Candidate(inst, call, gte, parameter, operands)
        if not (self._is_single_use(candidate) and self._is_unordered(candidate)):
            return None
        if self._static_bounds(candidate) is None and not all(
            _caller_has(start, call) for start in inst.index_operands
        ):
            return self._refuse(inst, call, "starts-not-available")
        return candidate if self._is_allowed(candidate) else None

    def _is_single_use(self, c: _Candidate) -> bool:
        """The slice is the only reader of its element, but for the root tuple (markers are stripped by now)."""
        others = [user for user in c.gte.users if user is not c.slice and not _is_output_tuple(user)]
        cannot = f"Cannot move dynamic slice outside call: GTE {c.gte.name}"
        slices = sum(user.opcode is Opcode.DYNAMIC_SLICE for user in others)
        if slices:
            self._refuse(
                c.slice,
                c.call,
                "several-slices",
                cannot,
                f"{slices + 1} dynamic-slice users for GTE {c.gte.name}",
            )
            return False
        if others:
            self._refuse(
                c.slice,
                c.call,
                "gte-other-users",
                "Dynamic slice input GTE has users that are not dynamic-slice, root tuple, or "
                "NeuronBoundaryMarker-End",
                f"{others[0].name} which is not a dynamic-slice, root, or output tuple",
            )
            return False
        if self.options.whole_parameter and _is_read_otherwise(c):
            self._refuse(c.slice, c.call, "whole_parameter", cannot)
            return False
        return True

    def _is_unordered(self, c: _Candidate) -> bool:
        """No control edge would be lost."""
        if c.slice.has_control_dependencies or c.gte.has_control_dependencies:
            self._refuse(c.slice, c.call, "control-dependencies")
            return False
        return True

    def _is_allowed(self, c: _Candidate) -> bool:
        """The slice is known in the clone, and the kill-switch does not hold it back."""
        readings = self._readings_through(c)
        if not readings:
            message = f"Did Not Get equivalent ds instruction={c.slice.name}inside simplified module."
            self._refuse(c.slice, c.call, "no-equivalent", message)
            return False
        if self.options.disable_movement_of_slice_from_param and any(
            is_entry_parameter(reading.source) for reading in readings
        ):
            self._refuse(
                c.slice,
                c.call,
                "kill-switch",
                f"NOTICING {KILL_SWITCH}=1",
                f"NOT MOVING DYNAMIC-SLICE FROM PRARAMS AS {KILL_SWITCH} IS ENABLED.",
                f"NOT MOVING ds= {c.slice.name}",
            )
            return False
        return True

    def _readings_through(self, c: _Candidate) -> list[Reading]:
        call = self._originals.get(c.call, c.call)
        readings = self.readings.get(self._originals.get(c.slice, c.slice), [])
        return [reading for reading in readings if reading.path and reading.path[-1] is call]

    def _refuse(self, inst: HloInstruction, call: HloInstruction, rule: str, *messages: str) -> None:
        key = (inst.name, call.name, rule)
        if key not in self.told:
            self.told.add(key)
            self.trace.decline(rule, *messages)

    # starts

    def _static_bounds(self, c: _Candidate) -> SliceBounds | None:
        """The slice as `[start, start + size)` with stride 1 where its starts are known, otherwise None."""
        if isinstance(c.slice.attributes, SliceBounds):
            return c.slice.attributes  # hoisted out of an inner call before
        sizes = c.slice.dynamic_slice_sizes
        op_name = c.slice.metadata.op_name
        tokens = read_indices(op_name, ITERATION_KEY, anchored=self.options.anchored_keys)
        if self.options.anchored_keys and tokens != read_indices(op_name, ITERATION_KEY, anchored=False):
            self._refuse(c.slice, c.call, "anchored_keys")
        if len(tokens) < len(sizes) or len(c.slice.index_operands) != len(sizes):
            if tokens:
                message = f"Not enough indices for instruction={c.slice.name}"
                self._refuse(c.slice, c.call, "not-enough-indices", message)
            return None
        starts = tuple(tokens[: len(sizes)])
        clamped = tuple(
            min(max(_unsigned(start, operand), 0), bound - size)
            for start, operand, bound, size in zip(
                starts, c.slice.index_operands, c.gte.array_shape.dimensions, sizes, strict=True
            )
        )
        if clamped != starts and self.options.clamp_starts:
            self._refuse(c.slice, c.call, "clamp_starts")
            starts = clamped
        limits = tuple(start + size for start, size in zip(starts, sizes, strict=True))
        return SliceBounds(starts, limits, (1,) * len(sizes))

    # motion

    def _move(self, c: _Candidate) -> None:
        outputs = [j for j, operand in enumerate(_output_tuple(c.body)) if operand is c.gte]
        is_result = c.gte.is_root
        whole = c.operands.operand(c.index)
        self._narrow(c, self._hoist(c, whole))
        c.body.replace_all_uses_with_different_shape(c.slice, c.gte)
        c.body.remove_instruction_and_unused_operands(c.slice)
        root = c.body.root
        if root.opcode is Opcode.TUPLE:
            root.shape = TupleShape(tuple(operand.shape for operand in root.operands))
        c.call.shape = root.shape
        if is_result:
            self._send_readers_of_result(c, whole)
        elif outputs:
            self._send_readers_of_elements(c, outputs, whole)
        if not c.operands.users and not c.operands.is_root:
            c.call.parent.remove_instruction_and_unused_operands(c.operands)

    def _hoist(self, c: _Candidate, whole: HloInstruction) -> HloInstruction:
        """The slice of `whole` in the caller."""
        caller = c.call.parent
        bounds = self._static_bounds(c)
        if bounds is not None:
            hoisted = caller.add(Opcode.SLICE, c.slice.shape, (whole,), bounds, name="slice")
            if c.slice.opcode is Opcode.DYNAMIC_SLICE:
                self.trace.fire("make-static")
            self.trace.fire("move-static")
        else:
            starts = [_supply(start, c.call) for start in c.slice.index_operands]
            hoisted = caller.add(
                Opcode.DYNAMIC_SLICE,
                c.slice.shape,
                (whole, *starts),
                c.slice.attributes,
                name=c.slice.name,
            )
            self.trace.fire("move-dynamic")
        hoisted.metadata = c.slice.metadata
        self._hoisted.add(hoisted)
        self.readings[hoisted] = [
            replace(reading, path=reading.path[:-1]) for reading in self._readings_through(c)
        ]
        return hoisted

    def _narrow(self, c: _Candidate, hoisted: HloInstruction) -> None:
        """Make element `index` of the parameter, its readers and the call's operand the slice."""
        c.parameter.shape = with_element(c.parameter.tuple_shape, c.index, hoisted.shape)
        for user in c.parameter.users:
            if user.opcode is Opcode.GET_TUPLE_ELEMENT and user.tuple_index == c.index:
                user.shape = hoisted.shape
        elements = list(c.operands.operands)
        elements[c.index] = hoisted
        narrow = c.call.parent.add_tuple(elements, name=c.operands.name)
        narrow.metadata = c.operands.metadata
        position = c.parameter.parameter_number
        c.call.parent.replace_operand(c.call, position, narrow, accept_different_shape=True)

    def _send_readers_of_result(self, c: _Candidate, whole: HloInstruction) -> None:
        """The body returns the element itself: whoever reads the call reads the caller's own full value."""
        if self.options.pass_through:
            self.trace.decline("pass_through")
            c.call.parent.replace_all_uses_with_different_shape(c.call, whole)

    def _send_readers_of_elements(self, c: _Candidate, outputs: Sequence[int], whole: HloInstruction) -> None:
        """The element also leaves through the root tuple: send its readers to the caller's own full value."""
        caller = c.call.parent
        elements = [u for u in c.call.users if u.opcode is Opcode.GET_TUPLE_ELEMENT]
        if not self.options.pass_through:
            for element in elements:
                if element.tuple_index in outputs:
                    element.shape = c.gte.shape
            return
        self.trace.decline("pass_through")
        others = [user for user in c.call.users if user not in elements]
        is_root = c.call.is_root
        for element in elements:
            if element.tuple_index in outputs:
                caller.replace_all_uses_with_different_shape(element, whole)
                caller.relay_control_dependencies(element)
                caller.remove_instruction(element)
        if not others and not is_root:
            return
        arity = len(c.call.tuple_shape.elements)
        rebuilt = caller.add_tuple(
            [whole if i in outputs else caller.add_get_tuple_element(c.call, i) for i in range(arity)]
        )
        for user in others:
            for position, operand in enumerate(user.operands):
                if operand is c.call:
                    caller.replace_operand(user, position, rebuilt, accept_different_shape=True)
        if is_root:
            caller.set_root(rebuilt, accept_different_shape=True)


def _output_tuple(body: HloComputation) -> tuple[HloInstruction, ...]:
    return body.root.operands if body.root.opcode is Opcode.TUPLE else ()


def _is_output_tuple(inst: HloInstruction) -> bool:
    return inst.opcode is Opcode.TUPLE and inst.is_root and not inst.users


def _is_read_otherwise(c: _Candidate) -> bool:
    """Whether the parameter is read whole, or its element through another get-tuple-element."""
    if c.parameter.is_root:
        return True
    for user in c.parameter.users:
        if user.opcode is not Opcode.GET_TUPLE_ELEMENT:
            return True
        if user is not c.gte and user.tuple_index == c.index and (user.users or user.is_root):
            return True
    return False


def _caller_has(start: HloInstruction, call: HloInstruction) -> bool:
    """Whether the caller of `call` can supply the body's `start`: a constant, or an element of a parameter."""
    if start.opcode is Opcode.CONSTANT:
        return True
    if start.opcode is not Opcode.GET_TUPLE_ELEMENT or start.operand(0).opcode is not Opcode.PARAMETER:
        return False
    return call.operand(start.operand(0).parameter_number).opcode is Opcode.TUPLE


def _supply(start: HloInstruction, call: HloInstruction) -> HloInstruction:
    """The caller's instruction for the body's `start`; see `_caller_has`."""
    if start.opcode is Opcode.CONSTANT:
        return call.parent.add_clone(start, ())
    return call.operand(start.operand(0).parameter_number).operand(start.tuple_index)


def _unsigned(start: int, operand: HloInstruction) -> int:
    """A token holds a U64 start of 2^63 or more as a negative int64; the slice reads it as what it is."""
    is_u64 = operand.array_shape.element_type is PrimitiveType.U64
    return start + (1 << 64) if is_u64 and start < 0 else start
