"""How fast is the naive way: compiling a whole program with XLA's CPU compiler, in this process?

Not the reference of the campaign, which runs operation by operation without compiling: this is the naive way that
`benchmarks/throughput.py` measures against, and a further vote.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import jax
import numpy as np

from hlo import ArrayShape, HloModule, Opcode, Shape, Token, TupleShape, UnsupportedOpcode, Value
from hlo.evaluator import ForeignCustomCall
from hlo.interchange import export_proto, feature

Array = np.ndarray[Any, np.dtype[Any]]

_ENGINE = "XLA CPU"


class CompiledModule:
    """A module that XLA's CPU compiler has made ready.

    Raises ForeignCustomCall for a module with custom-calls (XLA would hand their targets raw pointers), and
    UnsupportedOpcode for inputs and results other than arrays and tuples of them.
    """

    def __init__(self, module: HloModule) -> None:
        for computation in module.computations:
            for inst in computation.instructions:
                if inst.opcode is Opcode.CUSTOM_CALL:
                    raise ForeignCustomCall(inst.custom_call_target, _ENGINE)
        self._result = module.entry_computation.root.shape
        devices = jax.devices("cpu")[:1]
        self._executable = devices[0].client.compile_and_load(
            _jaxlib("mlir.hlo_to_stablehlo")(export_proto(module)),
            _jaxlib("DeviceList")(tuple(devices)),
            _jaxlib("CompileOptions")(),
        )
        self._device = devices[0]

    def run(self, inputs: Sequence[Value]) -> Value:
        """The result for `inputs`, one for each parameter."""
        with jax.enable_x64(True):  # otherwise 64-bit inputs are narrowed
            buffers = [jax.device_put(array, self._device) for value in inputs for array in _arrays(value)]
            outputs = self._executable.execute_sharded(buffers).disassemble_into_single_device_arrays()
            arrays = iter([np.asarray(output[0]) for output in outputs])
        return _rebuild(self._result, arrays)


def _jaxlib(path: str) -> Any:
    """What the installed jaxlib has at `path`. Raises BridgeUnavailable."""
    return feature("jaxlib._jax", path)


def _arrays(value: Value) -> Iterator[Array]:
    """The arrays of a value in order: StableHLO has no tuples at its borders."""
    if isinstance(value, tuple):
        for element in value:
            yield from _arrays(element)
    elif isinstance(value, Token):
        raise UnsupportedOpcode("token", _ENGINE)
    else:
        yield value


def _rebuild(shape: Shape, arrays: Iterator[Array]) -> Value:
    if isinstance(shape, TupleShape):
        return tuple(_rebuild(element, arrays) for element in shape.elements)
    if not isinstance(shape, ArrayShape):
        raise UnsupportedOpcode(str(shape), _ENGINE)
    return next(arrays)
