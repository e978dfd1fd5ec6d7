"""HLO in and out: text, proto bytes and StableHLO, all through the installed jaxlib."""

from hlo.interchange.bridge import installed_opcodes
from hlo.interchange.exporter import export_proto
from hlo.interchange.files import (
    from_jax,
    read_file,
    read_stablehlo,
    read_text,
    stablehlo_in,
    write_stablehlo,
    write_text,
)
from hlo.interchange.importer import import_proto
from hlo.interchange.installed import feature

__all__ = [
    "export_proto",
    "feature",
    "from_jax",
    "import_proto",
    "installed_opcodes",
    "read_file",
    "read_stablehlo",
    "read_text",
    "stablehlo_in",
    "write_stablehlo",
    "write_text",
]
