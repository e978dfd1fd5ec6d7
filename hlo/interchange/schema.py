"""Which fields do the HLO protobuf messages have, as far as we look inside them?

XLA ships no Python classes for `hlo.proto`, so the messages are built here, at import, from one table.
A field that is not in the table is not lost: protobuf keeps what it does not know and writes it back, also
through `CopyFrom` and `MergeFrom`. So the table holds what we read or write and leaves the rest alone; in
particular it leaves out every field with explicit presence (members of a oneof), whose zero would vanish if
it were declared here as a plain proto3 field.

Enums are declared `int32`: the wire format is the same, and a newer XLA's new member stays a number.
The messages live in a descriptor pool of their own, so another `xla` proto in the process cannot clash.
"""

from types import MappingProxyType
from typing import Any, Final

from google.protobuf import descriptor_pb2, descriptor_pool, message_factory

_PACKAGE: Final = "xla"

# message -> ((field, number, type), ...). A type is a scalar's or a message's name, "repeated" before it
# makes a list, and "map K V" a map.
_MESSAGES: Final = MappingProxyType(
    {
        "HloModuleProto": (
            ("name", 1, "string"),
            ("entry_computation_name", 2, "string"),
            ("computations", 3, "repeated HloComputationProto"),
            ("host_program_shape", 4, "ProgramShapeProto"),
            ("id", 5, "int64"),
            ("entry_computation_id", 6, "int64"),
            ("schedule", 7, "HloScheduleProto"),
            ("input_output_alias", 8, "HloInputOutputAliasProto"),
            # reserved in today's proto, which jaxlib drops: read, never written
            ("dynamic_parameter_binding", 9, "DynamicParameterBindingProto"),
            ("is_dynamic", 11, "bool"),
            ("spmd_output_sharding", 12, "OpSharding"),
            ("spmd_parameters_shardings", 14, "repeated OpSharding"),
            ("buffer_donor", 18, "HloBufferDonorProto"),
            ("frontend_attributes", 19, "FrontendAttributes"),
        ),
        "DynamicParameterBindingProto": (("entries", 1, "repeated DynamicParameterBindingEntry"),),
        "DynamicParameterBindingEntry": (
            ("dynamic_param_num", 1, "int64"),
            ("dynamic_param_index", 2, "repeated int64"),
            ("target_param_num", 3, "int64"),
            ("target_param_index", 4, "repeated int64"),
            ("target_param_dim_num", 5, "int64"),
        ),
        "HloComputationProto": (
            ("name", 1, "string"),
            ("instructions", 2, "repeated HloInstructionProto"),
            ("program_shape", 4, "ProgramShapeProto"),
            ("id", 5, "int64"),
            ("root_id", 6, "int64"),
            ("is_fusion_computation", 7, "bool"),
            ("execution_thread", 8, "string"),
        ),
        "HloInstructionProto": (
            ("name", 1, "string"),
            ("opcode", 2, "string"),
            ("shape", 3, "ShapeProto"),
            ("metadata", 7, "OpMetadata"),
            ("literal", 8, "LiteralProto"),
            ("parameter_number", 9, "int64"),
            ("fusion_kind", 11, "string"),
            ("tuple_index", 13, "int64"),
            ("dimensions", 14, "repeated int64"),
            ("window", 15, "Window"),
            ("convolution_dimension_numbers", 16, "ConvolutionDimensionNumbers"),
            ("slice_dimensions", 17, "repeated SliceDimensions"),
            ("exponent_bits", 18, "int32"),
            ("mantissa_bits", 19, "int32"),
            ("dynamic_slice_sizes", 20, "repeated int64"),
            ("padding_config", 21, "PaddingConfig"),
            ("outfeed_config", 22, "bytes"),
            ("distribution", 23, "int32"),
            ("epsilon", 24, "float"),
            ("feature_index", 25, "int64"),
            ("channel_id", 26, "int64"),
            ("infeed_config", 27, "bytes"),
            ("custom_call_target", 28, "string"),
            ("outfeed_shape", 29, "ShapeProto"),
            ("dot_dimension_numbers", 30, "DotDimensionNumbers"),
            ("fft_type", 31, "int32"),
            ("fft_length", 32, "repeated int64"),
            ("gather_dimension_numbers", 33, "GatherDimensionNumbers"),
            ("gather_slice_sizes", 34, "repeated int64"),
            ("id", 35, "int64"),
            ("operand_ids", 36, "repeated int64"),
            ("control_predecessor_ids", 37, "repeated int64"),
            ("called_computation_ids", 38, "repeated int64"),
            ("sharding", 40, "OpSharding"),
            ("backend_config", 43, "bytes"),
            ("is_host_transfer", 47, "bool"),
            ("scatter_dimension_numbers", 48, "ScatterDimensionNumbers"),
            ("replica_groups", 49, "repeated ReplicaGroup"),
            ("feature_group_count", 50, "int64"),
            ("precision_config", 51, "PrecisionConfig"),
            ("source_target_pairs", 52, "repeated SourceTarget"),
            ("domain_entry_sharding", 54, "OpSharding"),
            ("domain_exit_sharding", 55, "OpSharding"),
            ("constrain_layout", 56, "bool"),
            ("operand_shapes_with_layout", 57, "repeated ShapeProto"),
            ("batch_group_count", 58, "int64"),
            ("triangular_solve_options", 59, "TriangularSolveOptions"),
            ("is_stable", 60, "bool"),
            ("cholesky_options", 62, "CholeskyOptions"),
            ("comparison_direction", 63, "string"),
            ("custom_call_has_side_effect", 65, "bool"),
            ("delta", 66, "int64"),
            ("indices_are_sorted", 67, "bool"),
            ("frontend_attributes", 68, "FrontendAttributes"),
            ("unique_indices", 69, "bool"),
            ("rng_algorithm", 70, "int32"),
            ("use_global_device_ids", 71, "bool"),
            ("comparison_type", 72, "string"),
            ("output_operand_aliasing", 74, "repeated OutputOperandAliasing"),
            ("padding_type", 75, "int32"),
            ("custom_call_schedule", 76, "int32"),
            ("custom_call_api_version", 77, "int32"),
            ("async_execution_thread", 79, "string"),
            ("k", 81, "int64"),
            ("largest", 85, "bool"),
            ("is_composite", 89, "bool"),
            ("ragged_dot_dimension_numbers", 90, "RaggedDotDimensionNumbers"),
            ("is_reverse", 94, "bool"),
            ("num_carries", 95, "int64"),
            ("is_associative", 96, "int32"),
            ("comparison_order", 102, "string"),
            ("shuffle_mode", 103, "ShuffleMode"),
        ),
        "ShapeProto": (
            ("element_type", 2, "int32"),
            ("dimensions", 3, "repeated int64"),
            ("tuple_shapes", 4, "repeated ShapeProto"),
            ("layout", 5, "LayoutProto"),
            ("is_dynamic_dimension", 6, "repeated bool"),
        ),
        "ProgramShapeProto": (
            ("parameters", 1, "repeated ShapeProto"),
            ("result", 2, "ShapeProto"),
            ("parameter_names", 3, "repeated string"),
        ),
        "LayoutProto": (
            ("minor_to_major", 1, "repeated int64"),
            ("tiles", 6, "repeated TileProto"),
            ("element_size_in_bits", 7, "int64"),
            ("memory_space", 8, "int64"),
            ("dynamic_shape_metadata_prefix_bytes", 15, "int64"),
            ("tail_padding_alignment_in_elements", 16, "int64"),
        ),
        "TileProto": (("dimensions", 1, "repeated int64"),),
        "LiteralProto": (
            ("shape", 1, "ShapeProto"),
            ("preds", 2, "repeated bool"),
            ("u8s", 3, "bytes"),
            ("s32s", 4, "repeated int32"),
            ("s64s", 5, "repeated int64"),
            ("u32s", 6, "repeated uint32"),
            ("u64s", 7, "repeated uint64"),
            ("f32s", 8, "repeated float"),
            ("f64s", 9, "repeated double"),
            ("tuple_literals", 10, "repeated LiteralProto"),
            ("f16s", 11, "bytes"),
            ("c64s", 12, "repeated float"),
            ("bf16s", 13, "bytes"),
            ("s8s", 15, "bytes"),
            ("u16s", 16, "bytes"),
            ("s16s", 17, "bytes"),
            ("c128s", 18, "repeated double"),
            ("f8e5m2s", 19, "bytes"),
            ("f8e4m3fns", 20, "bytes"),
            ("s4s", 21, "bytes"),
            ("u4s", 22, "bytes"),
            ("f8e4m3b11fnuzs", 23, "bytes"),
            ("f8e5m2fnuzs", 24, "bytes"),
            ("f8e4m3fnuzs", 25, "bytes"),
            ("s2s", 26, "bytes"),
            ("u2s", 27, "bytes"),
            ("f8e4m3s", 28, "bytes"),
            ("f8e3m4s", 29, "bytes"),
            ("s1s", 30, "bytes"),
            ("u1s", 31, "bytes"),
            ("f4e2m1fns", 32, "bytes"),
            ("f8e8m0fnus", 33, "bytes"),
        ),
        "OpMetadata": (
            ("op_type", 1, "string"),
            ("op_name", 2, "string"),
            ("source_file", 3, "string"),
            ("source_line", 4, "int32"),
            ("deduplicated_name", 12, "string"),
            ("stack_frame_id", 15, "int32"),
            ("scheduling_name", 16, "string"),
            ("source_end_line", 17, "int32"),
            ("source_column", 18, "int32"),
            ("source_end_column", 19, "int32"),
        ),
        "FrontendAttributes": (("map", 1, "map string string"),),
        "OpSharding": (
            ("type", 1, "int32"),
            ("tile_shape", 2, "ShapeProto"),
            ("tile_assignment_dimensions", 3, "repeated int64"),
            ("tile_assignment_devices", 4, "repeated int64"),
            ("tuple_shardings", 5, "repeated OpSharding"),
            ("replicate_on_last_tile_dim", 6, "bool"),
        ),
        "HloScheduleProto": (("sequences", 1, "map int64 InstructionSequence"),),
        "InstructionSequence": (("instruction_ids", 1, "repeated int64"),),
        "HloInputOutputAliasProto": (("entries", 1, "repeated AliasEntryProto"),),
        "AliasEntryProto": (
            ("output_shape_index", 1, "repeated int64"),
            ("parameter_number", 2, "int64"),
            ("parameter_shape_index", 3, "repeated int64"),
            ("kind", 4, "int32"),
        ),
        "HloBufferDonorProto": (("entries", 1, "repeated BufferDonorEntryProto"),),
        "BufferDonorEntryProto": (
            ("parameter_number", 1, "int64"),
            ("parameter_shape_index", 2, "repeated int64"),
        ),
        "SliceDimensions": (("start", 1, "int64"), ("limit", 2, "int64"), ("stride", 3, "int64")),
        "PaddingConfig": (("dimensions", 1, "repeated PaddingConfigDimension"),),
        "PaddingConfigDimension": (
            ("edge_padding_low", 1, "int64"),
            ("edge_padding_high", 2, "int64"),
            ("interior_padding", 3, "int64"),
        ),
        "Window": (("dimensions", 1, "repeated WindowDimension"),),
        "WindowDimension": (
            ("size", 1, "int64"),
            ("stride", 2, "int64"),
            ("padding_low", 3, "int64"),
            ("padding_high", 4, "int64"),
            ("window_dilation", 5, "int64"),
            ("base_dilation", 6, "int64"),
            ("window_reversal", 7, "bool"),
        ),
        "DotDimensionNumbers": (
            ("lhs_contracting_dimensions", 1, "repeated int64"),
            ("rhs_contracting_dimensions", 2, "repeated int64"),
            ("lhs_batch_dimensions", 3, "repeated int64"),
            ("rhs_batch_dimensions", 4, "repeated int64"),
        ),
        "RaggedDotDimensionNumbers": (
            ("dot_dimension_numbers", 1, "DotDimensionNumbers"),
            ("lhs_ragged_dimensions", 2, "repeated int64"),
            ("rhs_group_dimensions", 3, "repeated int64"),
        ),
        "ShuffleMode": (("rotate", 1, "ShuffleRotation"),),
        "ShuffleRotation": (("shifts", 1, "repeated int64"),),
        "ConvolutionDimensionNumbers": (
            ("kernel_input_feature_dimension", 3, "int64"),
            ("kernel_output_feature_dimension", 4, "int64"),
            ("kernel_spatial_dimensions", 6, "repeated int64"),
            ("input_batch_dimension", 7, "int64"),
            ("input_feature_dimension", 8, "int64"),
            ("output_batch_dimension", 9, "int64"),
            ("output_feature_dimension", 10, "int64"),
            ("input_spatial_dimensions", 11, "repeated int64"),
            ("output_spatial_dimensions", 12, "repeated int64"),
        ),
        "GatherDimensionNumbers": (
            ("offset_dims", 1, "repeated int64"),
            ("collapsed_slice_dims", 2, "repeated int64"),
            ("start_index_map", 3, "repeated int64"),
            ("index_vector_dim", 4, "int64"),
            ("operand_batching_dims", 5, "repeated int64"),
            ("start_indices_batching_dims", 6, "repeated int64"),
        ),
        "ScatterDimensionNumbers": (
            ("update_window_dims", 1, "repeated int64"),
            ("inserted_window_dims", 2, "repeated int64"),
            ("scatter_dims_to_operand_dims", 3, "repeated int64"),
            ("index_vector_dim", 4, "int64"),
            ("input_batching_dims", 5, "repeated int64"),
            ("scatter_indices_batching_dims", 6, "repeated int64"),
        ),
        "PrecisionConfig": (("operand_precision", 1, "repeated int32"), ("algorithm", 2, "int32")),
        "OutputOperandAliasing": (
            ("output_shape_index", 1, "repeated int64"),
            ("operand_index", 2, "int64"),
            ("operand_shape_index", 3, "repeated int64"),
        ),
        "SourceTarget": (("source", 1, "int64"), ("target", 2, "int64")),
        "ReplicaGroup": (("replica_ids", 1, "repeated int64"),),
        "TriangularSolveOptions": (
            ("left_side", 1, "bool"),
            ("lower", 2, "bool"),
            ("unit_diagonal", 3, "bool"),
            ("transpose_a", 4, "int32"),
        ),
        "CholeskyOptions": (("lower", 1, "bool"),),
    }
)

_Proto = descriptor_pb2.FieldDescriptorProto
_SCALARS: Final = MappingProxyType(
    {
        "string": _Proto.TYPE_STRING,
        "bytes": _Proto.TYPE_BYTES,
        "bool": _Proto.TYPE_BOOL,
        "int32": _Proto.TYPE_INT32,
        "int64": _Proto.TYPE_INT64,
        "uint32": _Proto.TYPE_UINT32,
        "uint64": _Proto.TYPE_UINT64,
        "float": _Proto.TYPE_FLOAT,
        "double": _Proto.TYPE_DOUBLE,
    }
)


def _add_field(message: descriptor_pb2.DescriptorProto, name: str, number: int, kind: str) -> None:
    """Declare one row of the table on `message`."""
    words = kind.split()
    field = message.field.add(name=name, number=number, label=_Proto.LABEL_OPTIONAL)
    if words[0] == "map":
        # On the wire a map is a list of (key, value) messages; `map_entry` is what makes it a dict in Python.
        entry = message.nested_type.add(name=f"{name.title().replace('_', '')}Entry")
        entry.options.map_entry = True
        _add_field(entry, "key", 1, words[1])
        _add_field(entry, "value", 2, words[2])
        words = ["repeated", f"{message.name}.{entry.name}"]
    if words[0] == "repeated":
        field.label = _Proto.LABEL_REPEATED
    if words[-1] in _SCALARS:
        field.type = _SCALARS[words[-1]]
    else:
        field.type = _Proto.TYPE_MESSAGE
        field.type_name = f".{_PACKAGE}.{words[-1]}"


def _build() -> dict[str, Any]:
    file = descriptor_pb2.FileDescriptorProto(
        name="hlo/interchange/schema.proto", package=_PACKAGE, syntax="proto3"
    )
    for name, fields in _MESSAGES.items():
        message = file.message_type.add(name=name)
        for field in fields:
            _add_field(message, *field)
    pool = descriptor_pool.DescriptorPool()
    pool.Add(file)
    find = pool.FindMessageTypeByName
    return {name: message_factory.GetMessageClass(find(f"{_PACKAGE}.{name}")) for name in _MESSAGES}


_CLASSES: Final = _build()

# Typed `Any`: protobuf makes the classes at run time, and no type checker can see their fields.
HloModuleProto: Any = _CLASSES["HloModuleProto"]
DynamicParameterBindingProto: Any = _CLASSES["DynamicParameterBindingProto"]
DynamicParameterBindingEntry: Any = _CLASSES["DynamicParameterBindingEntry"]
HloComputationProto: Any = _CLASSES["HloComputationProto"]
HloInstructionProto: Any = _CLASSES["HloInstructionProto"]
ShapeProto: Any = _CLASSES["ShapeProto"]
ProgramShapeProto: Any = _CLASSES["ProgramShapeProto"]
LayoutProto: Any = _CLASSES["LayoutProto"]
TileProto: Any = _CLASSES["TileProto"]
LiteralProto: Any = _CLASSES["LiteralProto"]
OpMetadata: Any = _CLASSES["OpMetadata"]
FrontendAttributes: Any = _CLASSES["FrontendAttributes"]
OpSharding: Any = _CLASSES["OpSharding"]
HloScheduleProto: Any = _CLASSES["HloScheduleProto"]
InstructionSequence: Any = _CLASSES["InstructionSequence"]
HloInputOutputAliasProto: Any = _CLASSES["HloInputOutputAliasProto"]
AliasEntryProto: Any = _CLASSES["AliasEntryProto"]
HloBufferDonorProto: Any = _CLASSES["HloBufferDonorProto"]
BufferDonorEntryProto: Any = _CLASSES["BufferDonorEntryProto"]
SliceDimensions: Any = _CLASSES["SliceDimensions"]
PaddingConfig: Any = _CLASSES["PaddingConfig"]
PaddingConfigDimension: Any = _CLASSES["PaddingConfigDimension"]
Window: Any = _CLASSES["Window"]
WindowDimension: Any = _CLASSES["WindowDimension"]
DotDimensionNumbers: Any = _CLASSES["DotDimensionNumbers"]
RaggedDotDimensionNumbers: Any = _CLASSES["RaggedDotDimensionNumbers"]
ConvolutionDimensionNumbers: Any = _CLASSES["ConvolutionDimensionNumbers"]
GatherDimensionNumbers: Any = _CLASSES["GatherDimensionNumbers"]
ScatterDimensionNumbers: Any = _CLASSES["ScatterDimensionNumbers"]
PrecisionConfig: Any = _CLASSES["PrecisionConfig"]
OutputOperandAliasing: Any = _CLASSES["OutputOperandAliasing"]
ShuffleMode: Any = _CLASSES["ShuffleMode"]
ShuffleRotation: Any = _CLASSES["ShuffleRotation"]
SourceTarget: Any = _CLASSES["SourceTarget"]
ReplicaGroup: Any = _CLASSES["ReplicaGroup"]
TriangularSolveOptions: Any = _CLASSES["TriangularSolveOptions"]
CholeskyOptions: Any = _CLASSES["CholeskyOptions"]


def serialize(message: Any) -> bytes:
    """The bytes of a message, the same every time: map entries are written in key order."""
    return bytes(message.SerializeToString(deterministic=True))
