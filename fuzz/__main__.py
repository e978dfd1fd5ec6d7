"""The command `hlofuzz`."""

import sys
from collections.abc import Sequence

from fuzz.settings import read_settings


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command line and return its exit status."""
    settings = read_settings()
    from fuzz.cli import run  # only now: settings are read before anything imports JAX

    return run(sys.argv[1:] if arguments is None else arguments, settings)


if __name__ == "__main__":
    sys.exit(main())
