"""How does an HLO proto become our module?

Each instruction's proto is taken apart: what the IR models is read and cleared, what is left is kept, still
serialised, as the instruction's `carried`. Computations and the module keep their rest the same way. So
nothing is lost that we do not know, fields of a newer XLA included.
"""

from collections.abc import Callable, Sequence
from functools import lru_cache
from types import MappingProxyType
from typing import Any, Final

from google.protobuf.message import DecodeError

from hlo.attributes import Attributes, ConstantValue
from hlo.bound_parameters import without_flags
from hlo.errors import IllegalRewrite, InvalidInput, UnsupportedOpcode
from hlo.graph import HloComputation, HloInstruction
from hlo.interchange import schema
from hlo.interchange.carried import carried_on_import, rest_of_module
from hlo.interchange.literals import is_literal_of
from hlo.interchange.records import RECORDS
from hlo.interchange.schema import serialize
from hlo.interchange.shapes import read_shape
from hlo.interchange.wire import fields
from hlo.metadata import NO_METADATA, OpMetadata
from hlo.module import HloModule
from hlo.opcode import SPECS, Opcode
from hlo.parameter_binding import NO_BINDING, DynamicDimension, DynamicSizeParameter

_MANY = 1 << 14

_INSTRUCTION_FIELDS: Final = (
    "name",
    "opcode",
    "shape",
    "metadata",
    "id",
    "operand_ids",
    "control_predecessor_ids",
    "called_computation_ids",
    "frontend_attributes",
)

Reader = Callable[[Any, Sequence[HloInstruction]], Attributes]
_READERS: Final[dict[str, tuple[Opcode, Reader, tuple[str, ...]]]] = {
    opcode.value: (
        opcode,
        RECORDS[spec.attributes].read,
        _INSTRUCTION_FIELDS + RECORDS[spec.attributes].fields,
    )
    for opcode, spec in SPECS.items()
}


def import_proto(data: bytes) -> HloModule:
    """The module in a serialised `HloModuleProto`, or in an `HloProto` around one.

    Raises InvalidInput for bytes that are neither or that are inconsistent, and UnsupportedOpcode for an
    opcode that our table does not have.
    """
    proto = _parse(data)
    module = HloModule(proto.name)
    computations: dict[int, HloComputation] = {}
    for computation in proto.computations:
        identifier = computation.id  # importing clears what it has read
        if identifier in computations:
            raise InvalidInput(f"two computations have id {identifier}")
        computations[identifier] = _import_computation(module, computation, computations)
    entry = computations.get(proto.entry_computation_id)
    if entry is None:
        raise InvalidInput(f"no entry computation: none has id {proto.entry_computation_id}")
    module.set_entry_computation(entry)
    _read_binding(module, proto)
    module.carried = rest_of_module(proto, entry)
    return module


def _parse(data: bytes) -> Any:
    """The `HloModuleProto` in `data`. An `HloProto` and an `HloSnapshot` hold one at the first field each."""
    wrappers = ("HloModuleProto", "HloProto", "HloSnapshot")
    inner = data
    for wrapper in wrappers:
        try:
            proto = schema.HloModuleProto.FromString(inner)
        except DecodeError:
            proto = None
        if proto is not None and proto.computations:
            if wrapper == "HloSnapshot":
                raise InvalidInput("an HloSnapshot: give the module in it, without its arguments")
            return proto
        try:
            inner = next((v for number, v, _ in fields(inner) if number == 1 and isinstance(v, bytes)), b"")
        except InvalidInput:
            break
    raise InvalidInput("not an HLO module proto, or a truncated one")


def _read_binding(module: HloModule, proto: Any) -> None:
    """The `dynamic_parameter_binding` of protos that are old enough. Clears it.

    There a bound dimension may be flagged in the parameter's shape although the array comes as large as its bound;
    our flags say that an array is smaller, so the parameter loses it.
    """
    binding = NO_BINDING
    try:
        for entry in proto.dynamic_parameter_binding.entries:
            size = DynamicSizeParameter(entry.dynamic_param_num, tuple(entry.dynamic_param_index))
            binding = binding.bind(
                size,
                DynamicDimension(
                    entry.target_param_num, tuple(entry.target_param_index), entry.target_param_dim_num
                ),
            )
    except IllegalRewrite as error:
        raise InvalidInput(f"dynamic_parameter_binding: {error.message}") from None
    proto.ClearField("dynamic_parameter_binding")
    module.dynamic_parameter_binding = binding
    for number, parameter in enumerate(module.entry_computation.parameters):
        parameter.shape = without_flags(parameter.shape, binding, number)


def _import_computation(
    module: HloModule, proto: Any, computations: dict[int, HloComputation]
) -> HloComputation:
    computation = module.add_computation(proto.name)
    computation.unique_id = proto.id
    known: dict[int, HloInstruction] = {}
    waiting: list[tuple[HloInstruction, list[int]]] = []
    for instruction in proto.instructions:
        try:
            inst, before = _import_instruction(computation, instruction, known, computations)
        except InvalidInput as error:
            raise InvalidInput(f"{proto.name}: {instruction.name}: {error.message}") from None
        if before:
            waiting.append((inst, before))
    for inst, before in waiting:
        for identifier in before:
            if identifier not in known:
                raise InvalidInput(f"{proto.name}: {inst.name}: control predecessor {identifier} is unknown")
            computation.add_control_dependency(known[identifier], inst)
    root = known.get(proto.root_id)
    if root is None:
        raise InvalidInput(f"{proto.name}: no root: no instruction has id {proto.root_id}")
    computation.set_root(root)
    for name in ("name", "instructions", "program_shape", "id", "root_id"):
        proto.ClearField(name)
    proto.ClearField("is_fusion_computation")  # whoever calls it knows
    computation.carried = serialize(proto)
    return computation


def _import_instruction(
    computation: HloComputation,
    proto: Any,
    known: dict[int, HloInstruction],
    computations: dict[int, HloComputation],
) -> tuple[HloInstruction, list[int]]:
    """The instruction, and the ids of its control predecessors, some of which may still be to come."""
    reader = _READERS.get(proto.opcode)
    if reader is None:
        raise UnsupportedOpcode(proto.opcode, "reading HLO")
    opcode, read, modelled = reader
    identifier = proto.id
    if identifier in known:
        raise InvalidInput(f"id {identifier} is taken")
    try:
        operands = [known[i] for i in proto.operand_ids]
        called = [computations[i] for i in proto.called_computation_ids]
    except KeyError as error:
        raise InvalidInput(
            f"no operand or computation with id {error.args[0]} is defined before it"
        ) from None
    shape = read_shape(proto.shape.SerializeToString())
    attributes = read(proto, operands)
    if isinstance(attributes, ConstantValue) and not is_literal_of(attributes.literal.value, shape):
        raise InvalidInput(f"a constant of {shape} with a value of another shape")
    inst = computation.add(opcode, shape, operands, attributes, called_computations=called, name=proto.name)
    known[identifier] = inst
    inst.unique_id = identifier
    inst.metadata = _read_metadata(proto.metadata.SerializeToString())
    if frontend := proto.frontend_attributes.map:
        inst.frontend_attributes = MappingProxyType(dict(sorted(frontend.items())))
    before = list(proto.control_predecessor_ids)
    clear = proto.ClearField
    for name in modelled:
        clear(name)
    inst.carried = carried_on_import(opcode, serialize(proto))
    return inst, before


@lru_cache(_MANY)
def _read_metadata(data: bytes) -> OpMetadata:
    if not data:
        return NO_METADATA
    proto = schema.OpMetadata.FromString(data)
    name, type_ = proto.op_name, proto.op_type
    proto.ClearField("op_name")
    proto.ClearField("op_type")
    return OpMetadata(name, type_, serialize(proto))
