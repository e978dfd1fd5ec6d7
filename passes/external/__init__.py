"""Passes that are not ours: any command, and any Python callable."""

from passes.external.command import CommandPass, command_pass
from passes.external.python import PythonPass, python_pass

__all__ = ["CommandPass", "PythonPass", "command_pass", "python_pass"]
