"""How do HLO text, JAX functions and HLO proto bytes turn into each other? (`mlir` has StableHLO.)

Proto bytes are the interchange: each function takes or gives them. What the installed jaxlib lacks raises
`BridgeUnavailable`, what a user got wrong `InvalidInput`.

jaxlib trusts its input. `validate` refuses the malformed protos we know to crash its reader, but some text
(`parameter(5)` in a computation with one parameter, a reshape that changes the number of elements) fails a
CHECK in its parser and takes the process along. So hand text and protos of unknown origin, such as a user's
file, to `probe` first: it lets a child process die instead.
"""

import functools
import math
import re
import subprocess
import sys
from collections.abc import Callable
from typing import Any, Final

from google.protobuf.message import DecodeError

from hlo.errors import InvalidInput
from hlo.interchange.installed import REFUSALS, complaint_of, feature
from hlo.interchange.schema import HloModuleProto

_HLO: Final = "jaxlib._hlo"


# --- text and proto ------------------------------------------------------------------------------------


def text_to_proto(text: str) -> bytes:
    """The proto of an HLO text module. Raises InvalidInput with line and column for a syntax error.

    Shapes are not checked: an `add` of unlike shapes parses. See `mlir.verify_with_mlir`.
    """
    try:
        text.encode()  # lone surrogates: jaxlib calls them a wrong argument type
        module = feature(_HLO, "hlo_module_from_text")(text)
    except REFUSALS as error:
        raise complaint_of(error) from None
    return bytes(module.as_serialized_hlo_module_proto())


def proto_to_text(proto: bytes) -> str:
    """The HLO text of a module, complete: it parses back to the same module. Raises InvalidInput."""
    validate(proto)
    try:
        module = feature(_HLO, "HloModule.from_serialized_hlo_module_proto")(proto)
        return str(module.to_string(_print_options()))
    except REFUSALS as error:
        raise complaint_of(error) from None


@functools.cache
def _print_options() -> Any:
    options = feature(_HLO, "HloPrintOptions")()
    # The default prints a constant of more than ten elements as "{...}", which no longer parses as a value.
    options.print_large_constants = True
    return options


# --- malformed input -----------------------------------------------------------------------------------


def validate(proto: bytes) -> None:
    """Raise InvalidInput if the proto is malformed: truncated, or its ids lead nowhere.

    jaxlib reports most of this itself, some of it by a segmentation fault.
    """
    try:
        module = HloModuleProto.FromString(proto)
    except DecodeError:
        raise InvalidInput("not an HLO module proto, or a truncated one") from None
    known: set[int] = set()
    for computation in module.computations:
        if computation.id in known:
            raise InvalidInput(f"two computations have id {computation.id}")
        _validate_computation(computation, known)
        known.add(computation.id)
    if module.entry_computation_id not in known:
        raise InvalidInput(f"no entry computation: none has id {module.entry_computation_id}")
    _validate_entry(module)


def _validate_entry(module: Any) -> None:
    """The module states its entry's types a second time; converting it fails a CHECK where they differ."""
    if not module.HasField("host_program_shape"):
        return
    (entry,) = (c for c in module.computations if c.id == module.entry_computation_id)
    stated = module.host_program_shape
    parameters = sorted(
        (i for i in entry.instructions if i.opcode == "parameter"), key=lambda i: i.parameter_number
    )
    if [_leaves(shape) for shape in stated.parameters] != [_leaves(i.shape) for i in parameters]:
        raise InvalidInput(f"{entry.name}: its parameters are not those of the entry computation layout")
    (root,) = (i for i in entry.instructions if i.id == entry.root_id)
    if _leaves(stated.result) != _leaves(root.shape):
        raise InvalidInput(f"{entry.name}: its result is not that of the entry computation layout")


def _leaves(shape: Any) -> int:
    """The number of arrays in a shape, whose tuples may nest."""
    if shape.element_type != _TUPLE:
        return 1
    return sum(_leaves(element) for element in shape.tuple_shapes)


_TUPLE: Final = 13  # PrimitiveType


def _validate_computation(computation: Any, callees: set[int]) -> None:
    known: set[int] = set()
    for instruction in computation.instructions:
        complaint = _complaint(instruction, known, callees)
        if complaint is not None:
            raise InvalidInput(f"{computation.name}: {instruction.name}: {complaint}")
        known.add(instruction.id)
    for instruction in computation.instructions:
        if not known.issuperset(instruction.control_predecessor_ids):
            raise InvalidInput(f"{computation.name}: {instruction.name}: unknown control predecessor")
    if computation.root_id not in known:
        raise InvalidInput(f"{computation.name}: no root: no instruction has id {computation.root_id}")


# Everything else reads its first operand without looking whether there is one.
_MAY_HAVE_NO_OPERANDS: Final = frozenset(
    {
        *("parameter", "constant", "iota", "tuple", "after-all", "rng", "rng-get-and-update-state"),
        *("partition-id", "replica-id", "call", "fusion", "map", "custom-call", "async-start"),
        *("all-gather", "all-reduce", "all-to-all", "collective-permute", "reduce-scatter"),
    }
)
# jaxlib allocates a slot for each local id (the low half of an id) up to the largest.
_LOCAL_ID_LIMIT: Final = 1 << 24


def _complaint(instruction: Any, known: set[int], callees: set[int]) -> str | None:
    """What jaxlib's reader would trip over: ids it follows, counts it uses to index or to allocate."""
    identity, opcode, operands = instruction.id, instruction.opcode, instruction.operand_ids
    if identity in known or identity & 0xFFFFFFFF >= _LOCAL_ID_LIMIT:
        return f"id {identity} is taken, or too large"
    if not known.issuperset(operands):
        return f"operands {sorted(set(operands) - known)} are not defined before it"
    if not callees.issuperset(instruction.called_computation_ids):
        return "a called computation is not defined before it"
    if not operands and opcode not in _MAY_HAVE_NO_OPERANDS:
        return f"{opcode} without operands"
    if opcode == "scatter" and (len(operands) < 3 or len(operands) % 2 == 0):
        return f"a scatter of {len(operands)} operands"
    if opcode == "tuple" and len(instruction.shape.tuple_shapes) != len(operands):
        return f"a tuple of {len(operands)} operands, but its type has another number"
    if instruction.constrain_layout and len(instruction.operand_shapes_with_layout) != len(operands):
        return f"{len(operands)} operands, but another number of operand layouts"
    if instruction.HasField("literal"):
        return _literal_complaint(instruction.literal)
    return None


def _literal_complaint(literal: Any) -> str | None:
    dimensions = literal.shape.dimensions
    # No element takes less than a bit, so a literal cannot have more elements than its proto has bits.
    if any(size < 0 for size in dimensions) or math.prod(dimensions) > 8 * literal.ByteSize():
        return f"a literal of {list(dimensions)} with too little data"
    return None


_PROBE: Final = """\
import sys
import jaxlib._jax
from jaxlib import _hlo
data = sys.stdin.buffer.read()
try:
    if sys.argv[1] == "str":
        data = _hlo.hlo_module_from_text(data.decode()).as_serialized_hlo_module_proto()
    _hlo.HloModule.from_serialized_hlo_module_proto(data).to_string()
except Exception:
    pass  # an ordinary refusal: the caller's own attempt will report it better
"""


def probe(source: str | bytes, *, timeout: float = 60.0) -> None:
    """Raise InvalidInput if HLO text or a proto kills jaxlib's reader. About 0.2 s: for foreign input.

    Says nothing about input that jaxlib merely refuses; `text_to_proto` and `proto_to_text` do that.
    """
    data = source if isinstance(source, bytes) else source.encode(errors="replace")
    command = [sys.executable, "-c", _PROBE, type(source).__name__]
    try:
        child = subprocess.run(command, input=data, capture_output=True, timeout=timeout, check=False)
    except subprocess.TimeoutExpired:
        raise InvalidInput(f"jaxlib did not finish reading this in {timeout:g} s") from None
    if child.returncode < 0:
        log = child.stderr.decode(errors="replace")
        reason = re.search(r"Check failed: [^\n]*(?:\nERROR: [^\n]*)?", log)
        what = reason.group() if reason else f"signal {-child.returncode}"
        raise InvalidInput(f"jaxlib dies reading this: {what}")


# --- JAX -----------------------------------------------------------------------------------------------


def jax_to_proto(function: Callable[..., Any], *args: Any, **kwargs: Any) -> bytes:
    """The unoptimised HLO of a JAX function for these arguments (arrays or `jax.ShapeDtypeStruct`s)."""
    jitted: Any = function if hasattr(function, "lower") else feature("jax", "jit")(function)
    computation = jitted.lower(*args, **kwargs).compiler_ir(dialect="hlo")
    return bytes(computation.as_serialized_hlo_module_proto())


# The members of jaxlib's HloOpcode whose text is not their own name in kebab case.
_SPELLINGS: Final = {
    "kClz": "count-leading-zeros",
    "kCos": "cosine",
    "kExp": "exponential",
    "kExpm1": "exponential-minus-one",
    "kLog1p": "log-plus-one",
    "kOptimizationBarrier": "opt-barrier",
    "kPopulationCount": "popcnt",
    "kSin": "sine",
    "kTopK": "topk",
}


@functools.cache
def installed_opcodes() -> tuple[str, ...]:
    """Every opcode the installed XLA has, as HLO text spells it, in its order: "abs", "acos", …"""
    return tuple(_SPELLINGS.get(name) or _kebab(name) for name in feature(_HLO, "HloOpcode.__members__"))


def _kebab(member: str) -> str:
    """`kDynamicSlice` as `dynamic-slice`."""
    return re.sub(r"(?<!^)(?=[A-Z])", "-", member.removeprefix("k")).lower()
