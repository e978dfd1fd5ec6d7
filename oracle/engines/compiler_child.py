"""The child process that compiles whole programs with XLA's CPU compiler and runs them.

Run by its path, so that it starts without the judges: `python compiler_child.py MEMORY_IN_BYTES`.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from typing import Any

import jax
import numpy as np

from hlo.isolation.programs import Array, Refused, feature, serve_programs


class Compiler:
    """XLA's CPU compiler and what it makes. The last program of each choice of options stays compiled."""

    def __init__(self) -> None:
        """Raises Missing."""
        jax.config.update("jax_platforms", "cpu")
        jax.config.update("jax_enable_x64", True)  # otherwise 64-bit inputs are narrowed
        self._put = jax.device_put
        self._device = jax.devices("cpu")[0]
        self._convert = feature("jaxlib._jax", "mlir.hlo_to_stablehlo")
        self._options = feature("jaxlib._jax", "CompileOptions")
        self._devices = feature("jaxlib._jax", "DeviceList")((self._device,))
        self._compiled: dict[str, tuple[bytes, Any]] = {}

    def __call__(
        self, proto: bytes, sets: Sequence[Sequence[Array]], options: dict[str, Any]
    ) -> list[list[Array]]:
        executable = self._executable(proto, options)
        results: list[list[Array]] = []
        for arrays in sets:
            buffers = [self._put(array, self._device) for array in arrays]
            outputs = executable.execute_sharded(buffers).disassemble_into_single_device_arrays()
            results.append([np.asarray(output[0]) for output in outputs])
        return results

    def _executable(self, proto: bytes, options: dict[str, Any]) -> Any:
        key = repr(sorted(options.items()))
        known, executable = self._compiled.get(key, (b"", None))
        if known != proto:
            chosen = self._options()
            chosen.env_option_overrides = list(options.items())
            executable = self._device.client.compile_and_load(self._stablehlo(proto), self._devices, chosen)
            self._compiled[key] = proto, executable
        return executable

    def _stablehlo(self, proto: bytes) -> bytes:
        """What goes into the compiler. Raises Refused for what has no word there: no fault of the compiler's."""
        try:
            return self._convert(proto)
        except (RuntimeError, ValueError) as error:
            line = str(error).strip().partition("\n")[0]
            raise Refused(f"not to be said in StableHLO: {line}") from None


if __name__ == "__main__":
    serve_programs(Compiler, int(sys.argv[1]))
