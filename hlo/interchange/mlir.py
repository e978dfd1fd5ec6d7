"""What is StableHLO to us: how HLO becomes it and it becomes HLO, and where MLIR's Python is reached?

The one module that touches jaxlib.mlir. `hlo.stablehlo` holds programs in this form.
"""

import functools
import io
import re
from typing import Any, Final

from hlo.errors import InvalidInput
from hlo.interchange.bridge import validate
from hlo.interchange.installed import REFUSALS, complaint_of, feature, installed_module

_MLIR: Final = "jaxlib._jax"
_IR: Final = "jaxlib.mlir.ir"
_EXTENSIONS: Final = "jaxlib.mlir._mlir_libs"
_DIALECTS: Final = "jaxlib.mlir.dialects"


def stablehlo_to_proto(source: str | bytes) -> bytes:
    """The HLO proto of a StableHLO module, given as text or bytecode. Raises InvalidInput."""
    try:
        computation = feature(_MLIR, "mlir.mlir_module_to_xla_computation")(source)
    except REFUSALS as error:
        raise complaint_of(error) from None
    return bytes(computation.as_serialized_hlo_module_proto())


def proto_to_stablehlo(proto: bytes) -> str:
    """The StableHLO text of a module; raises InvalidInput for one that has none or is ill-typed."""
    parsed = _parse_mlir(proto_to_bytecode(proto))
    if isinstance(parsed, list):
        raise InvalidInput("; ".join(parsed))
    return str(parsed)


def verify_with_mlir(proto: bytes) -> list[str]:
    """What is wrong with a module's shapes and types, "name: message" each; empty if nothing is.

    The name is the instruction's `op_name` metadata where it has one. Some ill-typed instructions (say, a
    batch-norm-training whose type is no tuple) make the conversion abort the process: call this in a child
    for a module of unknown origin.
    """
    try:
        parsed = _parse_mlir(proto_to_bytecode(proto))
    except InvalidInput as error:
        return [str(error)]
    return parsed if isinstance(parsed, list) else []


def proto_to_bytecode(proto: bytes) -> bytes:
    """The StableHLO bytecode of a module. Raises InvalidInput; shapes are not checked."""
    validate(proto)
    try:
        return bytes(feature(_MLIR, "mlir.hlo_to_stablehlo")(proto))
    except REFUSALS as error:
        raise complaint_of(error) from None


@functools.cache
def mlir_context() -> Any:
    """A context with each dialect that converted modules use: loading them takes 20 ms, so once."""
    registry = feature(_IR, "DialectRegistry")()
    feature(f"{_EXTENSIONS}._jax_mlir_ext", "register_dialects")(registry)
    context = feature(_IR, "Context")()
    context.append_dialect_registry(registry)
    feature(f"{_DIALECTS}.stablehlo", "register_dialect")(context)
    feature(f"{_DIALECTS}.chlo", "register_dialect")(context)
    feature(f"{_EXTENSIONS}._mlirHlo", "register_mhlo_dialect")(context)  # copy, fusion, bitcast
    context.load_all_available_dialects()
    return context


def _parse_mlir(bytecode: bytes) -> Any:
    """The parsed and verified MLIR module, or the list of what is wrong with it."""
    refusal: type[Exception] = feature(_IR, "MLIRError")
    try:
        return feature(_IR, "Module.parse")(bytecode, context=mlir_context())
    except refusal as error:
        return _complaints(error)


def _complaints(error: Exception) -> list[str]:
    diagnostics: list[Any] = getattr(error, "error_diagnostics", [])
    return [f"{_location_name(d.location)}: {d.message}" for d in diagnostics] or [str(error)]


def _location_name(location: Any) -> str:
    """`loc("add.1")` and `loc("add.1"("file":3:4))` as `add.1`."""
    named = re.match(r'loc\("([^"]*)"', str(location))
    return named.group(1) if named else str(location)


# --- programs that stay StableHLO ----------------------------------------------------------------------


def ir() -> Any:
    """`jaxlib.mlir.ir`: types, attributes, insertion points."""
    return installed_module(_IR)


def dialect(name: str = "stablehlo") -> Any:
    """The module that builds the operations of a dialect, such as `stablehlo` or `chlo`."""
    return installed_module(f"{_DIALECTS}.{name}")


def rewriting() -> Any:
    """MLIR's bindings for patterns (`mlir/python/mlir/_mlir_libs/_mlir/rewrite`)."""
    return feature(f"{_EXTENSIONS}._mlir", "rewrite")


def parse_stablehlo(source: str | bytes) -> Any:
    """The `ir.Module` that StableHLO, text or bytecode, spells. Raises InvalidInput with the place."""
    refusal: type[Exception] = feature(_IR, "MLIRError")
    try:
        return feature(_IR, "Module.parse")(source, context=mlir_context())
    except refusal as error:
        raise _with_place(error) from None


DYNAMIC: Final = -(2**63)
"""What MLIR's `getShape` says of an unknown size (`ShapedType::kDynamic`)."""


def bounds_of(tensor_type: Any) -> tuple[int | None, ...]:
    """The bound of each dimension of an `ir.RankedTensorType`, None where it has none."""
    encoding = tensor_type.encoding
    extensions = feature(f"{_DIALECTS}.stablehlo", "TypeExtensions")
    if encoding is None or not extensions.isinstance(encoding):
        return (None,) * tensor_type.rank
    return tuple(None if bound == DYNAMIC else int(bound) for bound in extensions(encoding).bounds)


def violations(module: Any) -> list[str]:
    """What MLIR's verifier has against an `ir.Module`, "place: message" each."""
    refusal: type[Exception] = feature(_IR, "MLIRError")
    try:
        module.operation.verify()
    except refusal as error:
        return _complaints(error)
    return []


def bytecode_of(module: Any) -> bytes:
    """The bytecode of an `ir.Module`, locations included."""
    buffer = io.BytesIO()
    module.operation.write_bytecode(buffer)
    return buffer.getvalue()


def run_mlir_passes(module: Any, pipeline: str) -> None:
    """Run MLIR passes, such as `builtin.module(canonicalize)`, on an `ir.Module` in place. Raises InvalidInput."""
    _register_passes()
    refusal: type[Exception] = feature(_IR, "MLIRError")
    try:
        with mlir_context():
            manager = feature("jaxlib.mlir.passmanager", "PassManager").parse(pipeline)
            manager.run(module.operation)
    except refusal as error:
        raise _with_place(error) from None
    except REFUSALS as error:
        raise complaint_of(error) from None


def _with_place(error: Exception) -> InvalidInput:
    """The first of MLIR's diagnostics, with line and column where it has them."""
    diagnostics: list[Any] = getattr(error, "error_diagnostics", [])
    if not diagnostics:
        return complaint_of(error)
    first = diagnostics[0]
    place = re.search(r'"-":(\d+):(\d+)', str(first.location))
    return (
        InvalidInput(first.message, line=int(place[1]), column=int(place[2]))
        if place
        else InvalidInput(f"{_location_name(first.location)}: {first.message}")
    )


@functools.cache
def _register_passes() -> None:
    feature(f"{_DIALECTS}.stablehlo", "register_stablehlo_passes")()
    feature(f"{_EXTENSIONS}._mlirHlo", "register_mhlo_passes")()


def refine_shapes(bytecode: bytes, *, to_the_end: bool = True) -> bytes:
    """The program whose entry has static parameters, with every other shape worked out from them.

    Shape assertions of JAX's exports are checked and removed. Raises InvalidInput where an assertion does not
    hold, or, if `to_the_end`, where a shape depends on data or has a bound only.
    """
    refine = feature(_MLIR, "mlir.refine_polymorphic_shapes")
    try:
        return bytes(refine(bytecode, enable_shape_assertions=True, validate_static_shapes=to_the_end))
    except REFUSALS as error:
        raise _misfit(error) from None


_MISFIT: Final = re.compile(r"error: (?:loc\(\S*\): )?([^\n]*)")
# What JAX writes around the condition that a shape assertion states.
_AROUND_ASSERTIONS: Final = re.compile(r"^Input shapes do not match [^.]*\. | Using the following .*")


def _misfit(error: Exception) -> InvalidInput:
    """What refinement says first, in a line: not the program around it, nor how JAX came to export it."""
    complaint = complaint_of(error)
    found = _MISFIT.search(str(error))
    if complaint.line is not None or found is None:
        return complaint
    return InvalidInput(_AROUND_ASSERTIONS.sub("", found[1]))
