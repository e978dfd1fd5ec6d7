"""Is what a program says it has really there? Statistics are worth no more than that."""

from collections.abc import Callable, Mapping

import pytest

from fuzz.generators import Feature, Program
from hlo import HloInstruction, HloModule, Opcode

SLICES = (Opcode.DYNAMIC_SLICE, Opcode.DYNAMIC_UPDATE_SLICE)


def instructions(module: HloModule) -> list[HloInstruction]:
    return [inst for computation in module.computations for inst in computation.instructions]


def chain(outer: Opcode, inner: Opcode) -> Callable[[HloInstruction], bool]:
    return lambda inst: inst.opcode is outer and inst.operand(0).opcode is inner


def of_rank(rank: int) -> Callable[[HloInstruction], bool]:
    return lambda inst: inst.opcode in SLICES and inst.operand(0).array_shape.rank == rank


def marked(inst: HloInstruction) -> bool:
    return inst.opcode is Opcode.CUSTOM_CALL and inst.custom_call_target.startswith("NeuronBoundaryMarker-")


def has_twin(inst: HloInstruction) -> bool:
    """Another get-tuple-element reads the same element of the same tuple."""
    return inst.opcode is Opcode.GET_TUPLE_ELEMENT and any(
        twin is not inst and twin.opcode is Opcode.GET_TUPLE_ELEMENT and twin.tuple_index == inst.tuple_index
        for twin in inst.operand(0).users
    )


def reads_through_something(inst: HloInstruction) -> bool:
    """A slice of a copy, of a barrier, or of an element of a tuple made on the spot; a marker may follow."""
    if inst.opcode is not Opcode.DYNAMIC_SLICE:
        return False
    source = inst.operand(0).operand(0) if marked(inst.operand(0)) else inst.operand(0)
    if source.opcode is Opcode.GET_TUPLE_ELEMENT:
        return source.operand(0).opcode is Opcode.TUPLE
    return source.opcode in (Opcode.COPY, Opcode.OPTIMIZATION_BARRIER)


def called_by_several(inst: HloInstruction) -> bool:
    return inst.opcode is Opcode.CALL and len(inst.called_computations[0].caller_instructions) > 1


# An instruction that must be there where the feature is said to be.
WITNESSES: Mapping[Feature, Callable[[HloInstruction], bool]] = {
    Feature.SHARED_BODY: lambda i: i.opcode is Opcode.CALL,
    Feature.BODY_PER_ITERATION: lambda i: i.opcode is Opcode.CALL,
    Feature.ROLLED_LOOP: lambda i: i.opcode is Opcode.WHILE,
    Feature.CONDITIONAL: lambda i: i.opcode is Opcode.CONDITIONAL,
    Feature.NESTED_CALLS: lambda i: i.opcode is Opcode.CALL and not i.parent.is_entry,
    Feature.CALLED_TWICE: called_by_several,
    Feature.CALLED_ELSEWHERE: called_by_several,
    **{Feature[f"RANK_{rank}"]: of_rank(rank) for rank in range(5)},
    Feature.EMPTY_SLICE: lambda i: i.opcode is Opcode.DYNAMIC_SLICE and 0 in i.dynamic_slice_sizes,
    Feature.WHOLE_SIZE_SLICE: lambda i: (
        i.opcode is Opcode.DYNAMIC_SLICE and i.dynamic_slice_sizes == i.operand(0).array_shape.dimensions
    ),
    Feature.UPDATE_OF_UPDATE: chain(Opcode.DYNAMIC_UPDATE_SLICE, Opcode.DYNAMIC_UPDATE_SLICE),
    Feature.UPDATE_OF_SLICE: chain(Opcode.DYNAMIC_UPDATE_SLICE, Opcode.DYNAMIC_SLICE),
    Feature.SLICE_OF_UPDATE: chain(Opcode.DYNAMIC_SLICE, Opcode.DYNAMIC_UPDATE_SLICE),
    Feature.SLICE_OF_SLICE: chain(Opcode.DYNAMIC_SLICE, Opcode.DYNAMIC_SLICE),
    Feature.TILING_UPDATES: lambda i: i.opcode is Opcode.DYNAMIC_UPDATE_SLICE,
    Feature.TILING_DISTURBED: lambda i: i.opcode is Opcode.DYNAMIC_UPDATE_SLICE,
    Feature.TILING_IN_CALLS: lambda i: i.opcode is Opcode.DYNAMIC_UPDATE_SLICE and not i.parent.is_entry,
    Feature.TWO_TILINGS_IN_TURN: lambda i: i.opcode is Opcode.DYNAMIC_UPDATE_SLICE,
    Feature.PASSED_BY_SECOND_GTE: has_twin,
    Feature.INPUT_NOT_GTE: reads_through_something,
    Feature.PARAMETER_RETURNED: lambda i: (
        i.opcode is Opcode.PARAMETER and not i.parent.is_entry and i.parent.root in (i, *i.users, *after(i))
    ),
    Feature.PARAMETER_PASSED_ON: lambda i: (
        i.opcode is Opcode.CALL and i.operand(0).opcode is Opcode.PARAMETER
    ),
    Feature.OPERAND_NOT_TUPLE: lambda i: i.opcode is Opcode.CALL and i.operand(0).opcode is not Opcode.TUPLE,
    Feature.BARE_ROOT: lambda i: i.is_root and not i.parent.is_entry and i.opcode is Opcode.DYNAMIC_SLICE,
    **{feature: marked for feature in Feature if feature.name.startswith("MARKED_")},
    Feature.STALE_TOKEN: lambda i: i.metadata.op_name.startswith("x,"),
    Feature.CONTROL_EDGE: lambda i: i.has_control_dependencies,
    Feature.FRONTEND_ATTRIBUTES: lambda i: bool(i.frontend_attributes),
    Feature.ARRAY_ROOT: lambda i: i.is_root and i.parent.is_entry and i.opcode is not Opcode.TUPLE,
}


def after(inst: HloInstruction) -> list[HloInstruction]:
    return [later for user in inst.users for later in user.users]


@pytest.mark.parametrize("feature", WITNESSES)
def test_what_a_program_says_it_has_is_there(drawn: list[Program], feature: Feature) -> None:
    said = [program.module for program in drawn if feature in program.features]
    assert said
    assert all(any(map(WITNESSES[feature], instructions(module))) for module in said)
