"""How is a call replaced by the body that it calls?

Source: `stock_passes.md` section 7 (CallInliner, newest). Not done here: composites kept by name, fusion
hints copied to the clones, the cap on the length of `op_name`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import ClassVar

from hlo import HloComputation, HloInstruction, HloModule, Opcode
from passes.base import Pass, Trace
from passes.carried import has_backend_config
from passes.stock.dce import Dce

INLINEABLE = "inlineable"
"""The frontend attribute of a call that forbids inlining it with any value but "true"."""

OnInline = Callable[[HloInstruction, Mapping[HloInstruction, HloInstruction]], None]


@dataclass(frozen=True)
class CallInliner(Pass):
    """Replaces each call by a copy of the computation that it calls, then removes what became dead.

    `single_call_site`: only where the callee has exactly one call site. `prefix_op_names`: an inlined
    instruction's `op_name` becomes "call's op_name/its own"; the Neuron passes, whose side tables are keyed
    by `op_name`, need it left alone.
    """

    single_call_site: bool = False
    prefix_op_names: bool = True

    name: ClassVar[str] = "call-inliner"
    rules: ClassVar[tuple[str, ...]] = ("inline",)

    def run(self, module: HloModule, trace: Trace) -> bool:
        """Inline callees first, so that nested calls collapse in one run."""
        changed = False
        # Again, because what DCE removes can have been a callee's second call site.
        while inline_all(module, options=self, trace=trace):
            Dce().run(module, Trace())
            changed = True
        return changed


def inline_all(
    module: HloModule,
    on_inline: OnInline | None = None,
    *,
    options: CallInliner | None = None,
    trace: Trace | None = None,
) -> bool:
    """Inline every eligible call, callees first, and leave the dead code there. Returns whether any was.

    `on_inline(call, copies)` hears of each call after it was replaced and removed: `copies` says what became
    of each instruction of the callee, parameters included, which became the call's operands. The callee's own
    calls were inlined before, so a key of `copies` can be a copy that an earlier `on_inline` told of.
    """
    options = options or CallInliner()
    trace = trace or Trace()
    callers = _callers(module)
    orders: dict[
        HloComputation, list[HloInstruction]
    ] = {}  # callees are finished when their callers' turn comes
    changed = False
    for computation in module.make_computation_post_order():
        for call in computation.make_instruction_post_order():
            if call.opcode is not Opcode.CALL:
                continue
            obstacle = _obstacle(call, options, callers)
            if obstacle:
                trace.decline(obstacle)
                continue
            callee = call.called_computations[0]
            if callee not in orders:
                orders[callee] = callee.make_instruction_post_order()
            copies = _inline(call, orders[callee], options.prefix_op_names)
            trace.fire("inline")
            changed = True
            if on_inline is not None:
                on_inline(call, copies)
    return changed


def inline_call(
    call: HloInstruction, *, prefix_op_names: bool = False
) -> Mapping[HloInstruction, HloInstruction]:
    """Replace `call` by a copy of its callee's instructions and remove it; the callee stays as it is.

    Returns what became of each instruction of the callee: a parameter became the call's operand, any other
    instruction a copy in the caller. Computations that the callee calls are shared by its copies.
    """
    order = call.called_computations[0].make_instruction_post_order()
    return _inline(call, order, prefix_op_names)


def _inline(
    call: HloInstruction, order: list[HloInstruction], prefix_op_names: bool
) -> Mapping[HloInstruction, HloInstruction]:
    """`inline_call`, for a callee whose post order is known."""
    caller = call.parent
    copies: dict[HloInstruction, HloInstruction] = {}
    for inst in order:
        if inst.opcode is Opcode.PARAMETER:
            copies[inst] = call.operand(inst.parameter_number)
            continue
        copy = caller.add_clone(inst, [copies[operand] for operand in inst.operands])
        if prefix_op_names and call.metadata.op_name and inst.metadata.op_name:
            op_name = f"{call.metadata.op_name}/{inst.metadata.op_name}"
            copy.metadata = replace(inst.metadata, op_name=op_name)
        copies[inst] = copy
    if call.has_control_dependencies or any(inst.has_control_dependencies for inst in order):
        _order_copies(caller, call, copies)
    caller.replace_instruction(call, copies[call.called_computations[0].root])
    return copies


def _order_copies(
    caller: HloComputation, call: HloInstruction, copies: Mapping[HloInstruction, HloInstruction]
) -> None:
    """Give the copies the control edges that the callee's instructions and the call had.

    What had to run before the call runs before every copy. What had to run after it runs after every copy
    that nothing in the callee waits for: the root, and effects beside it.
    """
    for inst, copy in copies.items():
        is_parameter = inst.opcode is Opcode.PARAMETER
        if inst.is_root or not (is_parameter or inst.users or inst.control_successors):
            for after in call.control_successors:
                caller.add_control_dependency(copy, after)
        if is_parameter:
            continue  # its copy is an operand of the call, which nothing in the callee or before it holds up
        for before in inst.control_predecessors:
            caller.add_control_dependency(copies[before], copy)
        for before in call.control_predecessors:
            caller.add_control_dependency(before, copy)


def _callers(module: HloModule) -> Mapping[HloComputation, list[Opcode]]:
    """The opcodes of the instructions that call each computation."""
    callers: dict[HloComputation, list[Opcode]] = {}
    for computation in module.computations:
        for inst in computation.instructions:
            for callee in inst.called_computations:
                callers.setdefault(callee, []).append(inst.opcode)
    return callers


def _obstacle(
    call: HloInstruction, options: CallInliner, callers: Mapping[HloComputation, list[Opcode]]
) -> str | None:
    """Why `call` must stay, or None."""
    if options.single_call_site and len(callers[call.called_computations[0]]) != 1:
        return "single-call-site"
    if call.frontend_attributes.get(INLINEABLE, "true") != "true":
        return "inlineable"
    if has_backend_config(call):
        return "backend-config"
    return "async" if Opcode.ASYNC_START in callers.get(call.parent, ()) else None
