"""What each command does: a function of the parsed options and the settings that returns the exit status."""

from fuzz.commands.cases import reduce, replay_files, report
from fuzz.commands.check import check
from fuzz.commands.common import Exit
from fuzz.commands.conform import conform_files
from fuzz.commands.passes import list_passes
from fuzz.commands.run import run_campaign

__all__ = [
    "Exit",
    "check",
    "conform_files",
    "list_passes",
    "reduce",
    "replay_files",
    "report",
    "run_campaign",
]
