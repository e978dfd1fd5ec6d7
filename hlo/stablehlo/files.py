"""How does a program come in that may have unknown sizes: from a file, or from a JAX function?"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

from hlo.errors import InvalidInput
from hlo.interchange import feature, read_file, stablehlo_in
from hlo.module import HloModule
from hlo.stablehlo.module import StableHloModule


def read_program(path: str | Path, *, stablehlo: bool = False) -> HloModule | StableHloModule:
    """The program in a file: as HLO where it can be, and as StableHLO where a size is neither known nor bounded.

    `stablehlo`: as StableHLO also where some operation takes the size of its result as an operand, which HLO has not.
    Raises InvalidInput with the path, as `hlo.interchange.read_file` does.
    """
    source = stablehlo_in(path)
    if source is None:
        return read_file(path)
    try:
        program = StableHloModule.read(source)
        stays = program.is_unbounded or (stablehlo and program.has_shape_operands)
    except InvalidInput:
        return read_file(path)  # which has the last word on what is no program
    return program if stays else read_file(path)


def export_jax(function: Callable[..., Any], *args: Any) -> StableHloModule:
    """The StableHLO of a JAX function for arguments whose dimensions may be symbols (`jax.export.symbolic_shape`).

    What the function or the tracing of it raises comes through as it is.
    """
    exported = feature("jax.export", "export")(feature("jax", "jit")(function))(*args)
    return StableHloModule.read(str(exported.mlir_module()))
