"""Which ways can a call into this project fail, and what does each one know?

Errors are types with fields, so that callers decide on the type and the fields and never on message text.
Each prints as one line: the command line shows `str(error)` as it is.
"""


class HloFuzzError(Exception):
    """The root of every error this project raises on purpose."""


class InvalidInput(HloFuzzError):
    """The text, proto or file given to us cannot be used. Lines and columns count from 1.

    `str()` is "path:line:column: message", made of the parts that are known.
    """

    def __init__(
        self,
        message: str,
        *,
        path: str | None = None,
        line: int | None = None,
        column: int | None = None,
    ) -> None:
        self.message = " ".join(message.split())  # parsers quote source lines: keep the promise of one line
        self.path = path
        self.line = line
        self.column = column
        super().__init__(self.message)

    def __str__(self) -> str:
        # A column says nothing without its line.
        column = self.column if self.line is not None else None
        place = [str(part) for part in (self.path, self.line, column) if part is not None]
        return f"{':'.join(place)}: {self.message}" if place else self.message

    def at(self, path: str) -> "InvalidInput":
        """The same complaint, for a caller that knows which file the text came from."""
        return InvalidInput(self.message, path=path, line=self.line, column=self.column)


class UnsupportedOpcode(HloFuzzError):
    """A part of this project (`where`) has no rule for an opcode. Not the program's fault."""

    def __init__(self, opcode: str, where: str) -> None:
        self.opcode = opcode
        self.where = where
        super().__init__(f"{where}: no rule for opcode {opcode!r}")


class IllegalRewrite(HloFuzzError):
    """A pass asked the graph for an edit that would break it: the pass's fault."""

    def __init__(self, message: str) -> None:
        self.message = message
        super().__init__(message)


class BridgeUnavailable(HloFuzzError):
    """The installed jaxlib does not have a private function that we need."""

    def __init__(self, function: str, jaxlib_version: str) -> None:
        self.function = function
        self.jaxlib_version = jaxlib_version
        super().__init__(f"jaxlib {jaxlib_version} has no {function}")
