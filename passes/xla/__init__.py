"""Any pass of the installed XLA, by its name, run for real in a child process."""

from passes.xla.catalogue import Known, known_passes
from passes.xla.each import Outcome, run_passes_each
from passes.xla.restoring import restored
from passes.xla.stages import Stage, pipeline_stages
from passes.xla.wrapping import Wrapped, wrapped
from passes.xla.xla_pass import (
    IMPORT,
    NOTHING,
    SPECIAL,
    XlaExecution,
    XlaPass,
    available_xla_passes,
    behind_layouts,
    named_xla_pass,
    sweep_passes,
    xla_pass,
)

__all__ = [
    "IMPORT",
    "NOTHING",
    "SPECIAL",
    "Known",
    "Outcome",
    "Stage",
    "Wrapped",
    "XlaExecution",
    "XlaPass",
    "available_xla_passes",
    "behind_layouts",
    "known_passes",
    "named_xla_pass",
    "pipeline_stages",
    "restored",
    "run_passes_each",
    "sweep_passes",
    "wrapped",
    "xla_pass",
]
