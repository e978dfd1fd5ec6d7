"""How does our module become an HLO proto?

An instruction's bytes are joined from parts: name, id and links are written here; shape, attributes and
metadata come serialised from caches; `carried` is appended as it is. Ids of the original proto are kept,
because a schedule in the module's `carried` names them; what passes made gets fresh ones.
"""

import itertools
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import lru_cache
from typing import Any, Final

from hlo.attributes import NONE
from hlo.bound_parameters import materialised
from hlo.errors import IllegalRewrite
from hlo.graph import NO_FRONTEND_ATTRIBUTES, HloComputation, HloInstruction
from hlo.interchange import schema
from hlo.interchange.carried import LOCAL_ID, carried_on_export, renewed_rest_of_module
from hlo.interchange.records import attribute_bytes
from hlo.interchange.schema import serialize
from hlo.interchange.shapes import program_shape_bytes, shape_bytes
from hlo.interchange.wire import tag, tagged, tagged_int, varint
from hlo.metadata import NO_METADATA, OpMetadata
from hlo.module import HloModule
from hlo.opcode import Opcode

_MANY: Final = 1 << 14


def _numbers(message: Any) -> dict[str, int]:
    return {field.name: field.number for field in message.DESCRIPTOR.fields}


_MODULE: Final = _numbers(schema.HloModuleProto)
_COMPUTATION: Final = _numbers(schema.HloComputationProto)
_INSTRUCTION: Final = _numbers(schema.HloInstructionProto)
# Tags that every instruction has.
_INSTRUCTIONS: Final = tag(_COMPUTATION["instructions"])
_NAME: Final = tag(_INSTRUCTION["name"])
_OPERANDS: Final = tag(_INSTRUCTION["operand_ids"])
_ID: Final = tag(_INSTRUCTION["id"], integer=True)
_IS_FUSED: Final = tagged_int(_COMPUTATION["is_fusion_computation"], 1)
_OPCODES: Final = {opcode: tagged(_INSTRUCTION["opcode"], opcode.value.encode()) for opcode in Opcode}


def export_proto(module: HloModule) -> bytes:
    """The serialised `HloModuleProto`. Raises IllegalRewrite for a module that passes left broken.

    Broken means here: no entry, no root, a cycle, a link to something outside, a constant whose value is not of
    its shape. The verifier reports these and much else. Other mistakes, such as wrong shapes, are written.

    A binding of parameters is written as set-dimension-size at the top of the entry: no proto of today holds it.
    """
    module = materialised(module)
    entry = module.entry_computation
    order = _callees_first(module)
    ids = _computation_ids(order)
    parts = [
        tagged(_MODULE["name"], module.name.encode()),
        tagged(_MODULE["entry_computation_name"], entry.name.encode()),
        tagged_int(_MODULE["entry_computation_id"], ids[entry]),
    ]
    fresh = itertools.count(_first_fresh_number(order))
    instruction_ids: dict[int, set[int]] = {}
    shapes: dict[int, bytes] = {}
    fused = _fused(order)
    for computation, computation_id in ids.items():
        numbered = _instruction_ids(computation, computation_id, fresh)
        instruction_ids[computation_id] = set(numbered.values())
        body = _export_computation(computation, ids, numbered, shapes)
        parts.append(tagged(_MODULE["computations"], body + _IS_FUSED if computation in fused else body))
    new = {ids[computation] for computation in order if computation.unique_id is None}
    parts.append(renewed_rest_of_module(module.carried, entry, instruction_ids, new))
    return b"".join(parts)


def _fused(order: Iterable[HloComputation]) -> set[HloComputation]:
    """The computations that are the bodies of fusions."""
    return {
        callee
        for computation in order
        for inst in computation.instructions
        if inst.opcode is Opcode.FUSION
        for callee in inst.called_computations
    }


# --- order and ids -------------------------------------------------------------------------------------


def _callees_first(module: HloModule) -> list[HloComputation]:
    """All computations: callees before callers, otherwise in the module's order."""
    called = {computation: _callees(computation) for computation in module.computations}
    order: dict[HloComputation, None] = {}
    for start in called:
        path: dict[HloComputation, None] = {}
        stack = [start]
        while stack:
            computation = stack[-1]
            if computation in order:
                stack.pop()
            elif computation in path:  # seen before: all that it calls is in order by now
                stack.pop()
                del path[computation]
                order[computation] = None
            else:
                path[computation] = None
                for callee in reversed(called[computation]):
                    if callee in path or callee not in called:
                        how = "recursive" if callee in path else "not in the module"
                        raise IllegalRewrite(
                            f"computation {callee.name}, called by {computation.name}, is {how}"
                        )
                    stack.append(callee)
    return list(order)


def _callees(computation: HloComputation) -> list[HloComputation]:
    found = dict.fromkeys(c for inst in computation.instructions for c in inst.called_computations)
    return list(found)


def _computation_ids(order: Sequence[HloComputation]) -> dict[HloComputation, int]:
    """Ids for the computations, in order: their own, where they have one that is not taken."""
    fresh = itertools.count(1 + max((c.unique_id for c in order if c.unique_id is not None), default=-1))
    ids: dict[HloComputation, int] = {}
    taken: set[int] = set()
    for computation in order:
        identifier = computation.unique_id
        if identifier is None or identifier in taken:
            identifier = next(fresh)
        taken.add(identifier)
        ids[computation] = identifier
    return ids


def _first_fresh_number(order: Sequence[HloComputation]) -> int:
    """A number such that it and those above are nobody's, so that fresh ids are unique in the module."""
    numbers = (i.unique_id & LOCAL_ID for c in order for i in c.instructions if i.unique_id is not None)
    return 1 + max(numbers, default=-1)


def _instruction_ids(
    computation: HloComputation, computation_id: int, fresh: Iterator[int]
) -> dict[HloInstruction, int]:
    ids: dict[HloInstruction, int] = {}
    taken: set[int] = set()
    for inst in computation.instructions:
        identifier = inst.unique_id
        if identifier is None or identifier & LOCAL_ID in taken:
            identifier = computation_id << 32 | next(fresh)
        taken.add(identifier & LOCAL_ID)
        ids[inst] = identifier
    return ids


# --- one computation -----------------------------------------------------------------------------------


def _export_computation(
    computation: HloComputation,
    computation_ids: Mapping[HloComputation, int],
    ids: Mapping[HloInstruction, int],
    shapes: dict[int, bytes],
) -> bytes:
    """The serialised `HloComputationProto`. `shapes` has the shape fields written so far, by the shape's id()."""
    if computation.root not in ids:
        raise IllegalRewrite(f"the root of {computation.name} is not in it")
    try:
        rows = _export_instructions(computation.instructions, ids, computation_ids, shapes)
    except KeyError:  # not every operand comes before its users
        try:
            order = computation.make_instruction_post_order()
            rows = _export_instructions(order, ids, computation_ids, shapes)
        except KeyError as error:
            raise IllegalRewrite(
                f"{error.args[0].name} is used in {computation.name} but not in it"
            ) from None
    parameters = [(parameter.name, parameter.shape) for parameter in computation.parameters]
    return b"".join(
        (
            tagged(_COMPUTATION["name"], computation.name.encode()),
            rows,
            tagged(_COMPUTATION["program_shape"], program_shape_bytes(parameters, computation.root.shape)),
            tagged_int(_COMPUTATION["id"], computation_ids[computation]),
            tagged_int(_COMPUTATION["root_id"], ids[computation.root]),
            computation.carried,
        )
    )


def _export_instructions(
    order: Iterable[HloInstruction],
    ids: Mapping[HloInstruction, int],
    computation_ids: Mapping[HloComputation, int],
    shapes: dict[int, bytes],
) -> bytes:
    """The `instructions` fields. Raises KeyError, of the operand, where one does not come before its user."""
    encoded: dict[HloInstruction, bytes] = {}  # ids as varints
    parts: list[bytes] = []
    for inst in order:
        identifier = varint(ids[inst])
        row = b"".join(_instruction_parts(inst, identifier, encoded, computation_ids, shapes))
        parts += (_INSTRUCTIONS, varint(len(row)), row)
        encoded[inst] = identifier
    return b"".join(parts)


def _instruction_parts(
    inst: HloInstruction,
    identifier: bytes,
    encoded: Mapping[HloInstruction, bytes],
    computation_ids: Mapping[HloComputation, int],
    shapes: dict[int, bytes],
) -> list[bytes]:
    """The serialised `HloInstructionProto`, in parts."""
    name = inst.name.encode()
    shape = shapes.get(id(inst.shape))
    if shape is None:
        shape = shapes[id(inst.shape)] = tagged(_INSTRUCTION["shape"], shape_bytes(inst.shape))
    parts = [_NAME, varint(len(name)), name, _OPCODES[inst.opcode], shape, _ID, identifier]
    if operands := inst.operands:
        links = b"".join([encoded[operand] for operand in operands])
        parts += (_OPERANDS, varint(len(links)), links)
    if inst.has_control_dependencies:
        links = b"".join([encoded[before] for before in inst.control_predecessors])
        parts.append(tagged(_INSTRUCTION["control_predecessor_ids"], links))
    if called := inst.called_computations:
        links = b"".join([varint(computation_ids[callee]) for callee in called])
        parts.append(tagged(_INSTRUCTION["called_computation_ids"], links))
    if inst.attributes is not NONE:
        parts.append(attribute_bytes(inst.attributes, inst.shape))
    if inst.metadata is not NO_METADATA:
        parts.append(_metadata_field(inst.metadata))
    if inst.frontend_attributes is not NO_FRONTEND_ATTRIBUTES:
        attributes = schema.FrontendAttributes(map=inst.frontend_attributes)
        parts.append(tagged(_INSTRUCTION["frontend_attributes"], serialize(attributes)))
    if inst.carried or inst.opcode is Opcode.CUSTOM_CALL:
        parts.append(carried_on_export(inst.opcode, inst.carried))
    return parts


@lru_cache(_MANY)
def _metadata_field(metadata: OpMetadata) -> bytes:
    named = schema.OpMetadata(op_name=metadata.op_name, op_type=metadata.op_type)
    return tagged(_INSTRUCTION["metadata"], serialize(named) + metadata.carried)
