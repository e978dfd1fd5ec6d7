"""Which loops run a known number of times, and how do they become that many calls?

Source: `stock_passes.md` section 11 (WhileLoopUnroller). Each iteration becomes a call of its own copy of the body,
over a tuple of the loop's state:

    state.0 = tuple(…)            what the loop started with
    call.0 = call(state.0)        the body, its counter a constant
    state.1 = tuple(get-tuple-element(call.0, 0), …)
    call.1 = call(state.1) …      what the loop gave is what the last call gives

That is the form from which the slice mover takes slices. `inline` puts the bodies in place instead, as upstream does.
How often a loop runs is the question of `passes.loops`.

Differences: loops are not prepared by rewriting (section 11.2), the preparation's questions are asked of the graph
as it is; computations that a body calls are copied with it, so that what differs between iterations can differ in
them too; a loop that uses a channel is left alone, since its copies would need channels of their own; partial unrolling
and the wrapped mode (11.7, 11.8) are not there.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import ClassVar

from hlo import HloComputation, HloInstruction, HloModule, Opcode, TupleShape, scalar
from hlo.attributes import ConstantValue
from hlo.graph import clone_instructions
from hlo.literal import Literal
from passes.base import Pass, Trace
from passes.carried import has_backend_config, has_channel, only_sharding
from passes.loops import Counter, CountRefused, Trips, known_trip_count, trips_of
from passes.stock.call_inliner import INLINEABLE, inline_call
from passes.stock.tuple_simplifier import forward_elements

CHECK = "check_known_trip_count"

_TRANSFERS = frozenset({Opcode.RECV, Opcode.RECV_DONE, Opcode.SEND, Opcode.SEND_DONE})
_RUNS_PROGRAM = frozenset({Opcode.CALL, Opcode.WHILE, Opcode.CONDITIONAL})
"""What calls program text that can differ between iterations; reducers, comparators and the like are shared."""


@dataclass(frozen=True)
class WhileLoopUnroller(Pass):
    """Replaces each loop that runs a known number of times by that many calls of its body.

    max_trip_count: no loop of more iterations.
    max_body_instructions: no loop whose body, with what it calls, has more instructions.
    max_expansion: no loop whose iterations together would have more instructions.
    max_module_instructions: no loop that would make the module bigger than this.
    flatten_bodies: calls in a body are inlined before it is copied, but for the calls that a loop inside became.
    inline: the copies of the body are put in place of the calls.
    no_wrap: a counter that wraps around in its type before the loop ends is not taken for one that goes on.
    zero_trips: a loop without iterations becomes what it started with.
    check_known_trip_count: what backend_config says of the number of iterations is compared, not believed.
    """

    max_trip_count: int = 64
    max_body_instructions: int = 800
    max_expansion: int = 10_000
    max_module_instructions: int = 200_000
    flatten_bodies: bool = True
    inline: bool = False
    no_wrap: bool = True
    zero_trips: bool = True
    check_known_trip_count: bool = True

    name: ClassVar[str] = "while-loop-unroller"
    rules: ClassVar[tuple[str, ...]] = (
        "unroll",
        "drop-loop",
        "copy-body",
        "set-counter",
        "flatten-body",
        "inline-iteration",
    )
    legality: ClassVar[tuple[str, ...]] = (
        "state-not-tuple",
        "state-type-differs",
        "control-dependencies",
        "condition-side-effect",
        "channel",
        "inline-side-effect",
        "condition-form",
        "bound-not-known",
        "counter-form",
        "init-not-known",
        "never-ends",
        "trip-count-limit",
        "body-size-limit",
        "expansion-limit",
        "module-size-limit",
    )
    guards: ClassVar[tuple[str, ...]] = ("no_wrap", "zero_trips", "check_known_trip_count")

    def run(self, module: HloModule, trace: Trace) -> bool:
        """Inner loops first; again, because a loop's bounds can be known once the loop around it is unrolled."""
        unroller = _Unroller(module, self, trace)
        changed = False
        while unroller.sweep():
            changed = True
        for reason, *messages in unroller.refused:
            trace.decline(reason, *messages)
        if changed:
            module.remove_unused_computations()
        return changed


class _Unroller:
    """One run over a module. `refused` says of each loop that the last sweep left why, and what to log."""

    def __init__(self, module: HloModule, options: WhileLoopUnroller, trace: Trace) -> None:
        self._module = module
        self._options = options
        self._trace = trace
        self._iterations: set[HloInstruction] = set()
        self.refused: list[tuple[str, ...]] = []

    def sweep(self) -> bool:
        """Unroll every loop that may be. Returns whether there was one."""
        self.refused = []
        changed = False
        for computation in self._module.make_computation_post_order():
            for inst in computation.make_instruction_post_order():
                if inst.opcode is Opcode.WHILE:
                    changed |= self._treat(inst)
        return changed

    def _treat(self, loop: HloInstruction) -> bool:
        if reason := _obstacle(loop, self._options):
            self.refused.append((reason,))
            return False
        trips, doubt = self._trips(loop)
        reason = trips.value if isinstance(trips, CountRefused) else self._limit(loop, trips.count)
        if isinstance(trips, CountRefused) or reason is not None:
            self.refused += [(reason,)] if reason else []
            self.refused += [(CHECK, doubt)] if doubt else []
            return False
        if doubt:
            self._trace.decline(CHECK, doubt)
        if trips.count == 0 and self._options.zero_trips:
            self._trace.fire("drop-loop")
            loop.parent.replace_instruction(loop, loop.operand(0))
        else:
            self._unroll(loop, trips)
        return True

    def _trips(self, loop: HloInstruction) -> tuple[Trips | CountRefused, str]:
        """How often the loop runs, and what is wrong with what backend_config says of it."""
        claimed = known_trip_count(loop)
        trips = trips_of(loop, no_wrap=self._options.no_wrap)
        if claimed is None:
            return trips, ""
        if not self._options.check_known_trip_count:
            return Trips(max(claimed, 0), trips.counter if isinstance(trips, Trips) else None), ""
        if isinstance(trips, CountRefused):
            return trips, f"{loop.name}: known_trip_count says {claimed}, which nothing confirms"
        if trips.count != claimed:
            return trips, f"{loop.name}: known_trip_count says {claimed}, the loop runs {trips.count} times"
        return trips, ""

    def _limit(self, loop: HloInstruction, count: int) -> str | None:
        """The limit that `count` iterations would exceed."""
        options = self._options
        size = _size(loop.called_computations[0], {})
        if count > options.max_trip_count:
            return "trip-count-limit"
        if size > options.max_body_instructions:
            return "body-size-limit"
        if size * count > options.max_expansion:
            return "expansion-limit"
        if self._module.instruction_count + size * count > options.max_module_instructions:
            return "module-size-limit"
        return None

    def _unroll(self, loop: HloInstruction, trips: Trips) -> None:
        caller = loop.parent
        body = loop.called_computations[0]
        if self._options.flatten_bodies and any(map(self._is_flattened, body.instructions)):
            body = self._copy(body, {})  # its own: the loop's may have other callers
            self._flatten(body)
        calls: list[HloInstruction] = []
        for trip in range(trips.count):
            state = _state(loop, calls[-1] if calls else loop.operand(0))
            copy = self._copy(body, {})
            self._trace.fire("copy-body")
            if trips.counter is not None and _set_counter(copy, trips.counter, trip):
                self._trace.fire("set-counter")
            call = caller.add(Opcode.CALL, loop.shape, (state,), called_computations=(copy,))
            call.metadata, call.frontend_attributes = loop.metadata, loop.frontend_attributes
            call.carried = only_sharding(loop.carried)
            calls.append(call)
        caller.replace_instruction(loop, calls[-1])
        self._trace.fire("unroll")
        if self._options.inline:
            for call in calls:
                inline_call(call)
                self._trace.fire("inline-iteration")
        else:
            self._iterations.update(calls)

    def _copy(self, source: HloComputation, done: dict[HloComputation, HloComputation]) -> HloComputation:
        """A copy of `source` and of the program text that it calls; `done` holds what this iteration has copied."""
        for inst in source.instructions:
            if inst.opcode in _RUNS_PROGRAM:
                for callee in inst.called_computations:
                    if callee not in done:
                        self._copy(callee, done)
        copy = done[source] = self._module.add_computation(source.name)
        copy.carried = source.carried
        twins = clone_instructions(source, copy, done, source.make_instruction_post_order(), keep_ids=False)
        self._iterations.update([twin for inst, twin in twins.items() if inst in self._iterations])
        return copy

    def _flatten(self, body: HloComputation) -> None:
        """Inline the calls of `body`, and those that come with them, but for the iterations of loops."""
        pending = [inst for inst in body.make_instruction_post_order() if self._is_flattened(inst)]
        while pending:
            copies = inline_call(pending.pop())
            self._iterations.update([copy for inst, copy in copies.items() if inst in self._iterations])
            pending += [copy for inst, copy in copies.items() if self._is_inner_call(inst, copy)]
            self._trace.fire("flatten-body")
        # what the callees returned in tuples goes to its readers; the tuples between iterations must stay
        forward_elements(body, Trace())

    def _is_inner_call(self, inst: HloInstruction, copy: HloInstruction) -> bool:
        return inst.opcode is Opcode.CALL and self._is_flattened(copy)

    def _is_flattened(self, inst: HloInstruction) -> bool:
        if inst.opcode is not Opcode.CALL or inst in self._iterations:
            return False
        return inst.frontend_attributes.get(INLINEABLE, "true") == "true" and not has_backend_config(inst)


def _obstacle(loop: HloInstruction, options: WhileLoopUnroller) -> str | None:
    """Why `loop` is left alone however often it runs, or None."""
    body, condition = loop.called_computations
    if not isinstance(loop.shape, TupleShape):
        return "state-not-tuple"
    types = (loop.operand(0), body.root, body.parameters[0], condition.parameters[0])
    if any(inst.shape != loop.shape for inst in types):
        return "state-type-differs"  # in dynamic dimensions: one call's result would not fit the next
    if loop.has_control_dependencies:
        return "control-dependencies"
    if any(inst.has_side_effect for inst in condition.instructions):
        return "condition-side-effect"
    if any(map(_owns_channel, _program_text(body))):
        return "channel"
    if options.inline and any(inst.has_side_effect for inst in body.instructions):
        return "inline-side-effect"  # nothing would keep the iterations' effects in their order
    return None


def _program_text(computation: HloComputation) -> Iterator[HloInstruction]:
    """Every instruction of `computation` and of what it calls, once."""
    seen = {computation: None}
    pending = [computation]
    while pending:
        for inst in pending.pop().instructions:
            yield inst
            pending += [callee for callee in inst.called_computations if callee not in seen]
            seen |= dict.fromkeys(inst.called_computations)


def _owns_channel(inst: HloInstruction) -> bool:
    """Whether a copy of the instruction would need a channel of its own."""
    return inst.opcode in _TRANSFERS or has_channel(inst)


def _size(computation: HloComputation, sizes: dict[HloComputation, int]) -> int:
    """The instructions of `computation` and of the program text that it calls, once for each call."""
    if computation not in sizes:
        sizes[computation] = len(computation) + sum(
            _size(callee, sizes)
            for inst in computation.instructions
            if inst.opcode in _RUNS_PROGRAM
            for callee in inst.called_computations
        )
    return sizes[computation]


def _state(loop: HloInstruction, before: HloInstruction) -> HloInstruction:
    """The state `before` as a tuple instruction, as the mover wants it."""
    if before.opcode is Opcode.TUPLE:
        return before
    elements = [
        loop.parent.add_get_tuple_element(before, index) for index in range(len(loop.tuple_shape.elements))
    ]
    state = loop.parent.add_tuple(elements)
    for inst in (*elements, state):
        inst.metadata = loop.metadata
    state.carried = only_sharding(loop.carried)
    return state


def _set_counter(body: HloComputation, counter: Counter, trip: int) -> bool:
    """Put the counter's value in place of each get-tuple-element that reads it. Returns whether one does."""
    (parameter,) = body.parameters
    reads = [
        user
        for user in parameter.users
        if user.opcode is Opcode.GET_TUPLE_ELEMENT and user.tuple_index == counter.index
    ]
    for read in reads:
        value = Literal(scalar(counter.value(trip), counter.element_type))
        constant = body.add(Opcode.CONSTANT, read.shape, (), ConstantValue(value))
        constant.metadata = read.metadata
        body.replace_all_uses_with(read, constant)
        if not read.has_control_dependencies:
            body.remove_instruction(read)
    return bool(reads)
