"""In which words is a program refused whose sizes cannot be bounded?"""

from __future__ import annotations

from passes.base import PassError


class NotBounded(PassError):
    """An operation of unknown size that has no form with bounds, or whose bound nobody knows.

    `operand` is the number of the operand that is to blame and `dimension` the dimension, of that operand or of the
    result; None where it is not a matter of one.
    """

    def __init__(
        self,
        pass_name: str,
        operation: str,
        reason: str,
        *,
        operand: int | None = None,
        dimension: int | None = None,
    ) -> None:
        self.operation = operation
        self.operand = operand
        self.dimension = dimension
        place = "" if operand is None else f", operand {operand}"
        place += "" if dimension is None else f", dimension {dimension}"
        super().__init__(pass_name, f"{operation}{place}: {reason}")
