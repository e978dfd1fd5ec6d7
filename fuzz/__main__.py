"""The command `hlofuzz`."""

import sys
from collections.abc import Sequence

from fuzz.settings import read_settings

_NOBODY_READS = 141
"""128 + SIGPIPE: what a shell says of a program that writes to a pipe whose reader is gone."""


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command line and return its exit status."""
    settings = read_settings()
    # only now: settings are read before anything imports JAX
    from fuzz.cli import run
    from fuzz.report import OutputClosed

    try:
        return run(sys.argv[1:] if arguments is None else arguments, settings)
    except OutputClosed:
        return _NOBODY_READS


if __name__ == "__main__":
    sys.exit(main())
