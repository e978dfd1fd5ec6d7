"""Any pass of the installed XLA, by its name, run for real in a child process."""

from passes.xla.catalogue import Known, known_passes
from passes.xla.xla_pass import (
    SPECIAL,
    XlaPass,
    available_xla_passes,
    named_xla_pass,
    pipeline_stages,
    sweep_passes,
    xla_pass,
)

__all__ = [
    "SPECIAL",
    "Known",
    "XlaPass",
    "available_xla_passes",
    "known_passes",
    "named_xla_pass",
    "pipeline_stages",
    "sweep_passes",
    "xla_pass",
]
