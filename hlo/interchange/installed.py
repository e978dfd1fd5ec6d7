"""What does the installed jaxlib have, and what does it mean by its complaints?

Everything of jaxlib is private: it is looked up by name where it is used. What is missing raises
`BridgeUnavailable` with its full name, what jaxlib refuses becomes `InvalidInput` with the place it points at.
"""

import importlib
import re
from typing import Any, Final

from hlo.errors import BridgeUnavailable, InvalidInput
from hlo.opcode import NEWER, Opcode

_OPCODES: Final = frozenset(map(str, Opcode))

# What jaxlib raises for bad input: its JaxRuntimeError is a RuntimeError, and text it cannot encode or a
# number it cannot hold is a ValueError.
REFUSALS: Final = (RuntimeError, ValueError)


def _jaxlib_version() -> str:
    try:
        return str(importlib.import_module("jaxlib").__version__)
    except ImportError:
        return "(not installed)"


def installed_module(name: str) -> Any:
    """The module called `name`, or BridgeUnavailable with that name."""
    try:
        return importlib.import_module(name)
    except ImportError:
        raise BridgeUnavailable(name, _jaxlib_version()) from None


def feature(module: str, path: str) -> Any:
    """`module`'s attribute at the dotted `path`, or BridgeUnavailable with its full name."""
    try:
        found: Any = importlib.import_module(module)
        for name in path.split("."):
            found = getattr(found, name)
    except (ImportError, AttributeError):
        raise BridgeUnavailable(f"{module}.{path}", _jaxlib_version()) from None
    return found


_DIAGNOSTIC: Final = re.compile(r"(?:was parsing |(?:^|\s)-:)(\d+):(\d+): error: ([^\n]*)", re.MULTILINE)


def complaint_of(error: Exception) -> InvalidInput:
    """jaxlib's complaint as ours: the first place it names, and what it says about that place."""
    found = _DIAGNOSTIC.findall(str(error))
    if not found:
        return InvalidInput(_with_version(str(error).partition("\n*** Begin stack trace")[0].rstrip(" :\n")))
    line, column, _ = found[0]
    # The parser backtracks and says, outermost first, why each reading of the same place failed.
    reasons = dict.fromkeys(
        re.sub(r"^error: ", "", reason).strip(" :") for *place, reason in found if place == [line, column]
    )
    # Column 0 means that the text ended: there is nothing to point at.
    return InvalidInput(_with_version("; ".join(reasons)), line=int(line), column=max(int(column), 1))


def _with_version(message: str) -> str:
    """`message` and, where it does not know an opcode that a newer jaxlib has, which one that is."""
    unknown = re.search(r"Unknown opcode: ([\w-]+)", message)
    since = NEWER.get(Opcode(unknown[1])) if unknown and unknown[1] in _OPCODES else None
    return f"{message} (in jaxlib {since}; this is {_jaxlib_version()})" if since else message
