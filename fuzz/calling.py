"""How do JAX's calls become calls as a compiler's loop bodies have them?

JAX passes the arguments of a call one by one. Unrolled loop bodies, which slice passes are about, take one tuple
instead (page 000, the mover's legality rule 1: the operand of a call must be a tuple). Putting the arguments into
a tuple changes no value.
"""

from __future__ import annotations

from hlo import HloComputation, HloModule, Opcode, TupleShape
from hlo.builder import Builder


def pack_arguments(module: HloModule) -> int:
    """Give each called computation one tuple parameter for its several ones. Returns how many were changed.

    Only computations that are used by nothing but calls; parameters with control edges are left alone.
    """
    packed = 0
    for computation in module.make_computation_post_order():
        calls = computation.caller_instructions
        parameters = computation.parameters
        if computation.is_entry or len(parameters) < 2:
            continue
        if any(call.opcode is not Opcode.CALL for call in calls):
            continue
        if any(parameter.has_control_dependencies for parameter in parameters):
            continue
        _pack(computation)
        packed += 1
    return packed


def _pack(computation: HloComputation) -> None:
    for call in computation.caller_instructions:
        call.parent.set_operands(call, [call.parent.add_tuple(call.operands)])
    old = computation.parameters
    whole = computation.add_parameter(0, TupleShape(tuple(parameter.shape for parameter in old)), "arguments")
    builder = Builder(computation)
    for number, parameter in enumerate(old):
        element = builder.gte(whole, number, name=parameter.name)
        element.metadata = parameter.metadata
        computation.replace_all_uses_with(parameter, element)
        computation.remove_instruction(parameter)
