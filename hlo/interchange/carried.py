"""What rides along unread, and what may be left out of it?

jaxlib writes some fields into every proto whether or not there is anything to say. They are left out on
import, so that an instruction that a pass makes and the same one read from a file do not differ; jaxlib puts
the same meaning back when it reads a proto without them. On export the rest of the module is checked against
what passes made of the program: a stale signature is renewed, a stale schedule dropped.
"""

from collections.abc import Mapping, Set
from functools import lru_cache
from types import MappingProxyType
from typing import Any, Final

from hlo.errors import InvalidInput
from hlo.graph import HloComputation
from hlo.interchange.records import RECORDS
from hlo.interchange.schema import HloInstructionProto, HloModuleProto, PrecisionConfig, serialize
from hlo.interchange.shapes import program_shape_bytes, read_shape
from hlo.interchange.wire import fields, tagged, tagged_int
from hlo.opcode import SPECS, Opcode

LOCAL_ID: Final = (1 << 32) - 1
"""An instruction's id is its computation's id and, in these low bits, its number within the computation."""

_MANY: Final = 1 << 14
_HOST_PROGRAM_SHAPE: Final[int] = HloModuleProto.DESCRIPTOR.fields_by_name["host_program_shape"].number
_BY_NAME: Final = HloInstructionProto.DESCRIPTOR.fields_by_name
_STATISTICS: Final = 82  # statistics_viz, not in our schema
_NO_STATISTICS: Final = b"\x92\x05\x00"

_API_VERSION: Final[int] = _BY_NAME["custom_call_api_version"].number
_ORIGINAL: Final = 1  # API_VERSION_ORIGINAL

# Field number -> the value that says nothing, for each opcode of which jaxlib writes more than the statistics.
_SAYS_NOTHING: Final = MappingProxyType[Opcode, dict[int, int | bytes]](
    {
        Opcode.DOT: {98: b"", 101: b""},  # of a jaxlib newer than our schema
        Opcode.CONVOLUTION: {98: b"", 101: b""},
        Opcode.RAGGED_DOT: {98: b"", 101: b""},
        Opcode.SCALED_DOT: {98: b"", 101: b""},
        Opcode.CUSTOM_CALL: {_API_VERSION: _ORIGINAL},
    }
)
_PRECISION: Final[int] = _BY_NAME["precision_config"].number
# What jaxlib does not put back by itself. A field written twice has the value written last, so that what is
# carried still wins.
_PUT_BACK: Final = MappingProxyType[Opcode, bytes]({Opcode.CUSTOM_CALL: tagged_int(_API_VERSION, _ORIGINAL)})

# --- instructions --------------------------------------------------------------------------------------


def carried_on_import(opcode: Opcode, rest: bytes) -> bytes:
    """What to keep of `rest`, the proto of an `opcode` without the fields that the IR models."""
    if opcode in _SAYS_NOTHING:
        return _without_boilerplate(opcode, rest)
    return b"" if rest in (b"", _NO_STATISTICS) else _without_boilerplate(opcode, rest)


@lru_cache(_MANY)
def _without_boilerplate(opcode: Opcode, rest: bytes) -> bytes:
    found = list(fields(rest))
    kept = [raw for number, value, raw in found if not _says_nothing(opcode, number, value)]
    if opcode is Opcode.CUSTOM_CALL and all(number != _API_VERSION for number, _, _ in found):
        kept.append(tagged_int(_API_VERSION, 0))  # the version was left unspecified, on purpose
    return b"".join(kept)


def _says_nothing(opcode: Opcode, number: int, value: int | bytes) -> bool:
    if number == _STATISTICS:
        return value == b""
    usual = _SAYS_NOTHING.get(opcode)
    if usual is None:
        return False
    if number == _PRECISION and isinstance(value, bytes):
        # Default precision, once for each operand, however many there are.
        operands = len(PrecisionConfig.FromString(value).operand_precision)
        return value == serialize(PrecisionConfig(operand_precision=[0] * operands))
    return usual.get(number) == value


def carried_on_export(opcode: Opcode, carried: bytes) -> bytes:
    """What to write of `carried`: all but the fields that the instruction's own record writes.

    Those are there when a pass gave the instruction the carried fields of another opcode (`like=`), and
    protobuf would append the one list to the other.
    """
    return _PUT_BACK.get(opcode, b"") + (_without_modelled(opcode, carried) if carried else b"")


@lru_cache(_MANY)
def _without_modelled(opcode: Opcode, carried: bytes) -> bytes:
    modelled = {_BY_NAME[name].number for name in RECORDS[SPECS[opcode].attributes].fields}
    return b"".join(raw for number, _, raw in fields(carried) if number not in modelled)


# --- the module ----------------------------------------------------------------------------------------


def rest_of_module(proto: Any, entry: HloComputation) -> bytes:
    """What to keep of a module's proto beside its name and computations. Clears fields of `proto`."""
    for name in ("name", "computations", "entry_computation_name", "entry_computation_id"):
        proto.ClearField(name)
    proto.ClearField("id")  # jaxlib numbers the modules of a process: it says nothing about this one
    for name in ("input_output_alias", "buffer_donor", "frontend_attributes"):
        if not getattr(proto, name).ByteSize():
            proto.ClearField(name)
    if serialize(proto.host_program_shape) == _signature(entry):
        proto.ClearField("host_program_shape")
    return serialize(proto)


def renewed_rest_of_module(
    carried: bytes, entry: HloComputation, instruction_ids: Mapping[int, Set[int]], new_computations: Set[int]
) -> bytes:
    """What to write of a module's `carried`, now that passes may have changed the module.

    `instruction_ids` are the ids of each computation's instructions by the computation's id, and
    `new_computations` the ids of computations that the original proto did not have.
    """
    if not carried:
        return tagged(_HOST_PROGRAM_SHAPE, _signature(entry))
    proto = HloModuleProto.FromString(carried)
    if not _describes(proto, entry):
        proto.host_program_shape.ParseFromString(_signature(entry))
    if proto.HasField("schedule") and not _schedules(proto, instruction_ids, new_computations):
        proto.ClearField("schedule")
    return serialize(proto)


def _signature(entry: HloComputation) -> bytes:
    """The `host_program_shape` of a module that says no more about its entry than the entry itself."""
    parameters = [(f"p{number}", parameter.shape) for number, parameter in enumerate(entry.parameters)]
    return program_shape_bytes(parameters, entry.root.shape)


def _describes(proto: Any, entry: HloComputation) -> bool:
    """Whether the module's `host_program_shape` has the types of `entry`, layouts apart."""
    stated = proto.host_program_shape
    try:
        shapes = [read_shape(shape.SerializeToString()) for shape in (*stated.parameters, stated.result)]
    except InvalidInput:
        return False
    return shapes == [*(parameter.shape for parameter in entry.parameters), entry.root.shape]


def _schedules(proto: Any, instruction_ids: Mapping[int, Set[int]], new_computations: Set[int]) -> bool:
    """Whether the module's schedule lists each instruction of the computations that it orders, and no other.

    A computation without a sequence is run by something else, as a fusion's is; a new one would need one.
    """
    sequences = proto.schedule.sequences
    if not new_computations.isdisjoint(instruction_ids) or not instruction_ids.keys() >= set(sequences):
        return False
    return all(
        sorted(i & LOCAL_ID for i in sequence.instruction_ids)
        == sorted(i & LOCAL_ID for i in instruction_ids[key])
        for key, sequence in sequences.items()
    )
