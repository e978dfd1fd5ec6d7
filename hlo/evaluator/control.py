"""What do tuples, calls, branches and loops give?"""

from __future__ import annotations

from operator import itemgetter

from hlo.errors import InvalidInput
from hlo.evaluator.bridges import BRIDGES
from hlo.evaluator.kernels import Array, Kernel, Machine, Rule, frozen_value, identity
from hlo.evaluator.limits import ForeignCustomCall
from hlo.graph import HloInstruction
from hlo.literal import TOKEN, Value
from hlo.opcode import Opcode
from hlo.primitive_type import PrimitiveType
from hlo.shape import compatible

BOUNDARY_MARKERS = frozenset({"NeuronBoundaryMarker-Start", "NeuronBoundaryMarker-End"})
_ANNOTATIONS = frozenset(
    {
        # where an array is divided over devices; on one device each shard is the whole
        *("Sharding", "SPMDFullToShardShape", "SPMDShardToFullShape"),
        *("xla.sdy.FuncResultSharding", "xla.sdy.GlobalToLocalShape", "xla.sdy.LocalToGlobalShape"),
        "xla.sdy.PropagationBarrier",
        # in which memory it is
        *("annotate_device_placement", "MoveToDevice", "MoveToHost", "PinToDevice", "PinToDeviceSram"),
    }
)


def is_identity(call: HloInstruction) -> bool:
    """Whether a custom-call says something about its one operand and gives it back as it is."""
    targets = BOUNDARY_MARKERS | _ANNOTATIONS
    return (
        call.custom_call_target in targets
        and len(call.operands) == 1
        and compatible(call.operand(0).shape, call.shape)
    )


def _parameter(inst: HloInstruction, _machine: Machine) -> Kernel:
    raise InvalidInput(f"parameter {inst.name} has no value of its own")  # the walker puts arguments in place


def _constant(inst: HloInstruction, _machine: Machine) -> Kernel:
    value = frozen_value(inst.literal.value)
    return lambda: value


def _tuple(_inst: HloInstruction, _machine: Machine) -> Kernel:
    return lambda *elements: elements


def _get_tuple_element(inst: HloInstruction, _machine: Machine) -> Kernel:
    return itemgetter(inst.tuple_index)


def _call(inst: HloInstruction, machine: Machine) -> Kernel:
    function = machine.function(inst.called_computations[0])
    return lambda *arguments: function(arguments)


def _while(inst: HloInstruction, machine: Machine) -> Kernel:
    body, condition = map(machine.function, inst.called_computations)
    spend_iteration = machine.spend_iteration

    def loop(state: Value) -> Value:
        while condition((state,)):
            spend_iteration(inst)
            state = body((state,))
        return state

    return loop


def _conditional(inst: HloInstruction, machine: Machine) -> Kernel:
    branches = [machine.function(computation) for computation in inst.called_computations]
    if inst.operand(0).array_shape.element_type is PrimitiveType.PRED:
        on_true, on_false = branches
        return lambda predicate, x, y: on_true((x,)) if predicate else on_false((y,))

    def switch(index: Array, *arguments: Value) -> Value:
        branch = index.item()
        if not 0 <= branch < len(branches):
            branch = len(branches) - 1  # negative ones, too: the last branch is the default
        return branches[branch]((arguments[branch],))

    return switch


def _custom_call(inst: HloInstruction, machine: Machine) -> Kernel:
    target = inst.custom_call_target
    if bridge := BRIDGES.get(target):
        return bridge(inst, machine)
    if is_identity(inst):
        return identity
    raise ForeignCustomCall(target)


def _after_all(_inst: HloInstruction, _machine: Machine) -> Kernel:
    return lambda *_tokens: TOKEN


def _first_operand(_inst: HloInstruction, _machine: Machine) -> Kernel:
    return identity


RULES: dict[Opcode, Rule] = {
    Opcode.PARAMETER: _parameter,
    Opcode.CONSTANT: _constant,
    Opcode.TUPLE: _tuple,
    Opcode.GET_TUPLE_ELEMENT: _get_tuple_element,
    Opcode.CALL: _call,
    Opcode.FUSION: _call,
    Opcode.WHILE: _while,
    Opcode.CONDITIONAL: _conditional,
    Opcode.CUSTOM_CALL: _custom_call,
    Opcode.OPTIMIZATION_BARRIER: _first_operand,
    Opcode.AFTER_ALL: _after_all,
    Opcode.ADD_DEPENDENCY: _first_operand,
    Opcode.DOMAIN: _first_operand,
}

GAPS: dict[Opcode, str] = {
    Opcode.RNG: "random: no definite value to compare",
    Opcode.RNG_GET_AND_UPDATE_STATE: "random: no definite value to compare",
}
