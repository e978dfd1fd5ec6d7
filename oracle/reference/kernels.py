"""How does one JAX operation become a compiled function that is reused as often as possible?

Compiling costs milliseconds, calling microseconds, so everything here exists to make two instructions share one
compiled function. What a `Kernel` bakes in is its `key`; `jax.jit` adds the shapes and dtypes of the arguments.
Three layouts keep these few:

- FLAT: an elementwise operation does not care about dimensions. Operands are laid flat and padded with ones to
  one of a few lengths; the surplus of the result is cut off.
- BITS: an operation that only moves elements does not care what they mean. Floats and booleans travel as
  unsigned integers of their width, which also keeps NaN payloads and subnormals as they are.
- NATIVE: shapes and dtypes as they are.

Between operations values are NumPy arrays: laying flat and viewing as bits then cost no operation.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Callable, Hashable, Sequence
from dataclasses import dataclass
from enum import Enum
from typing import Any

import jax
import numpy as np

from hlo import ArrayShape, Shape, TupleShape, UnsupportedOpcode, Value
from hlo.evaluator import UnsupportedType

X64_BEFORE = bool(jax.config.values["jax_enable_x64"])
"""Whether JAX had 64-bit types before this module turned them on: programs of others' are traced as they were meant."""
# Without it every 64-bit operand would silently become a 32-bit one.
jax.config.update("jax_enable_x64", True)

Array = np.ndarray[Any, np.dtype[Any]]
JaxFunction = Callable[..., Any]
Step = Callable[..., Value]

WHERE = "oracle.reference"
"""Who speaks in the errors raised here."""

_REFUSALS = ("does not accept dtype", "Unsupported dtype")
"""What JAX says of an element type that one of its functions is not made for."""

FLAT_LENGTHS = (16, 256, 4096)

# Compiled code runs once on a handful of elements: optimising it costs three times what it saves. These are XLA's
# own debug options by name; where the installed one lacks any of them, none is used.
_COMPILER_OPTIONS: dict[str, bool | int] = {
    "xla_backend_optimization_level": 0,
    "xla_llvm_disable_expensive_passes": True,
    "xla_cpu_use_fusion_emitters": False,
}

_BITS = {1: np.dtype(np.uint8), 2: np.dtype(np.uint16), 4: np.dtype(np.uint32), 8: np.dtype(np.uint64)}


class Layout(Enum):
    """In which form operands reach the compiled function; see the module's docstring."""

    FLAT = "flat"
    BITS = "bits"
    NATIVE = "native"


@dataclass(frozen=True)
class Kernel:
    """One JAX operation with every static choice made.

    Equal keys must mean equal functions. `prepare` turns the operands into the function's arguments, on NumPy
    arrays; a kernel that has one cannot be used inside another (in the computation of a reduce, say). In layout
    BITS the first `elements` arguments are arrays of elements, None for all; the rest are indices.
    """

    key: Hashable
    function: JaxFunction
    layout: Layout = Layout.NATIVE
    prepare: Callable[..., Sequence[Array]] | None = None
    elements: int | None = None


@functools.cache
def _compiler_options() -> dict[str, bool | int] | None:
    def nothing(x: Any) -> Any:
        return x

    try:
        jax.jit(nothing, compiler_options=_COMPILER_OPTIONS)(np.int32(0))
    except jax.errors.JaxRuntimeError:
        return None
    return _COMPILER_OPTIONS


MOST_COMPILED = 256
"""How many compiled functions are kept: each takes some megabytes, and a long campaign always comes to new ones. A
graph needs 20, mostly those of the graphs before it."""

_compiled: dict[Hashable, JaxFunction] = {}


def compiled(kernel: Kernel) -> JaxFunction:
    """The jitted function of `kernel`, the same object for equal keys of which one was used lately."""
    function = _compiled.pop(kernel.key, None)
    if function is None:
        function = jax.jit(kernel.function, compiler_options=_compiler_options())
        if len(_compiled) >= MOST_COMPILED:
            del _compiled[next(iter(_compiled))]  # the one that was not used for longest
    _compiled[kernel.key] = function
    return function


def use_compilation_cache(directory: str) -> None:
    """Keep compiled functions in `directory`, for later processes: 2.5 ms instead of 20 ms each.

    Process-wide and JAX's own format; call it before the first graph. The directory is made where absent.
    """
    jax.config.update("jax_compilation_cache_dir", directory)
    jax.config.update("jax_persistent_cache_min_compile_time_secs", 0)
    jax.config.update("jax_persistent_cache_min_entry_size_bytes", -1)


def step(kernel: Kernel, opcode: str, result: Shape, operands: Sequence[Shape]) -> Step:
    """`kernel` as a function from NumPy operands to the read-only NumPy result (a tuple of them for a tuple).

    The function raises UnsupportedType for an element type that JAX's function does not take, UnsupportedOpcode
    where JAX or its compiler has no code, TypeError where JAX gives another type than the instruction's.
    """
    function = _named(compiled(kernel), opcode, operands)
    if kernel.layout is Layout.BITS:
        return _bits_step(kernel, function, _array(result))
    if kernel.layout is Layout.FLAT:
        return _flat_step(function, _array(result))
    return _native_step(kernel, function, result)


def _named(function: JaxFunction, opcode: str, operands: Sequence[Shape]) -> JaxFunction:
    """`function`, whose complaints say which opcode, or of which type, JAX has no code for."""

    def call(*arguments: Array) -> Any:
        try:
            return function(*arguments)
        except (jax.errors.JaxRuntimeError, NotImplementedError, TypeError) as error:
            arrays = [shape for shape in operands if isinstance(shape, ArrayShape)]
            if arrays and any(refusal in str(error) for refusal in _REFUSALS):
                raise UnsupportedType(opcode, arrays[0].element_type, WHERE) from error
            if isinstance(error, TypeError):
                raise  # of a rule of ours
            reason = str(error).partition("\n")[0]
            raise UnsupportedOpcode(f"{opcode} ({reason})", WHERE) from error

    return call


def _array(shape: Shape) -> ArrayShape:
    if not isinstance(shape, ArrayShape):
        raise TypeError(f"expected an array, not {shape}")
    return shape


def _native_step(kernel: Kernel, function: JaxFunction, result: Shape) -> Step:
    def call(*operands: Array) -> Value:
        arguments = operands if kernel.prepare is None else kernel.prepare(*operands)
        return _as_value(function(*arguments), result)

    return call


def _as_value(computed: Any, shape: Shape) -> Value:
    if isinstance(shape, TupleShape):
        return tuple(_as_value(c, s) for c, s in zip(computed, shape.elements, strict=True))
    return _checked(np.asarray(computed), _array(shape))


def _checked(computed: Array, shape: ArrayShape) -> Array:
    if computed.dtype != shape.element_type.numpy or computed.shape != shape.dimensions:
        raise TypeError(f"JAX gave {computed.dtype}{list(computed.shape)} where HLO has {shape}")
    return computed


def _bits_step(kernel: Kernel, function: JaxFunction, result: ArrayShape) -> Step:
    dtype = result.element_type.numpy
    bits = _BITS.get(dtype.itemsize, dtype)  # complex128 has no integer of its width and stays what it is
    elements = kernel.elements

    def call(*operands: Array) -> Value:
        arguments = operands if kernel.prepare is None else kernel.prepare(*operands)
        views = [x.view(bits) for x in arguments[:elements]]
        if elements is not None:
            views.extend(arguments[elements:])
        return _checked(np.asarray(function(*views)).view(dtype), result)

    return call


def _flat_step(function: JaxFunction, result: ArrayShape) -> Step:
    count = result.element_count
    length = flat_length(count)
    dimensions = result.dimensions
    dtype = result.element_type.numpy

    def call(*operands: Array) -> Value:
        flat = np.asarray(function(*[_flat(x, count, length) for x in operands]))
        if flat.dtype != dtype:
            raise TypeError(f"JAX gave {flat.dtype} where HLO has {result}")
        return flat[:count].reshape(dimensions)

    return call


def flat_length(count: int) -> int:
    """The padded length of `count` elements: one of FLAT_LENGTHS, or a multiple of the last."""
    for length in FLAT_LENGTHS:
        if count <= length:
            return length
    return math.ceil(count / FLAT_LENGTHS[-1]) * FLAT_LENGTHS[-1]


@functools.lru_cache(maxsize=256)
def _ones(length: int, dtype: np.dtype[Any]) -> Array:
    return np.ones(length, dtype)


def _flat(operand: Array, count: int, length: int) -> Array:
    # A scalar among arrays (clamp's bounds, select's predicate) fills all elements.
    source = operand.reshape(-1)
    if count == length and source.size == count:
        return source
    padded = _ones(length, operand.dtype).copy()
    padded[:count] = source
    return padded
