"""How is a program drawn whose parameters are bound to sizes beside it, and not by instructions?

Source: `004_a2dddaa7cc47048c.txt`, `DynamicParameterBinding::Bind`. It is drawn with set-dimension-size, as all are;
where that only says what a binding can say, the binding says it (`hlo.bound_parameters` leads back).
"""

from __future__ import annotations

from hlo import HloInstruction, HloModule, Opcode
from hlo.parameter_binding import DynamicDimension, DynamicSizeParameter


def bind_parameters(module: HloModule) -> int:
    """Bind entry parameters to the sizes that they are given first of all, by parameters. Returns how many sizes."""
    found = 0
    for parameter in module.entry_computation.parameters:
        while (setter := _only_user(parameter)) is not None:
            dimension = DynamicDimension(parameter.parameter_number, (), setter.dimensions[0])
            binding = module.dynamic_parameter_binding
            if binding.size_of(dimension) is not None:
                break
            size = DynamicSizeParameter(setter.operand(1).parameter_number)
            module.dynamic_parameter_binding = binding.bind(size, dimension)
            setter.parent.replace_instruction(setter, parameter)
            found += 1
    return found


def _only_user(parameter: HloInstruction) -> HloInstruction | None:
    """The only use of a parameter, where that sets its size to another parameter; both are arrays of their bounds."""
    users = parameter.users
    if len(users) != 1 or users[0].opcode is not Opcode.SET_DIMENSION_SIZE or users[0].is_root:
        return None
    (setter,) = users
    sized, size = setter.operands
    is_given = sized is parameter and size.opcode is Opcode.PARAMETER and parameter.shape.is_static
    return setter if is_given else None
