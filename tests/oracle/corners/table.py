"""What does a row of the corner tables say, and how is it asked?"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from hlo import HloModule, PrimitiveType, Value
from hlo.interchange import read_text
from oracle.compare import Tolerance, compare
from oracle.tolerance import instruction_tolerance

INTERPRETER, COMPILER, PLAIN = "stablehlo-interpreter", "xla-cpu", "xla-cpu-unoptimised"
FOREIGN = (INTERPRETER, COMPILER, PLAIN)

Array = np.ndarray[Any, np.dtype[Any]]


@dataclass(frozen=True, eq=False)
class Dissent:
    """What an engine gives instead of the right value (None: any other), and why."""

    value: Value | None
    reason: str


@dataclass(frozen=True, eq=False)
class Corner:
    """One operation on operands where implementations differ.

    `says` is the definition, from which `right` follows. `root` is the instruction; its operands are p0, p1, …,
    and the parameters' shapes are those of `inputs`. All foreign engines confirm the value but for those in
    `dissent`, those that give none (`silent`, with the reason) and those of which some versions differ (`unsteady`,
    with the reason). Where that leaves less than two, the value is the implementation's choice, and `open` says why.
    """

    says: str
    root: str
    inputs: tuple[Array, ...]
    right: Value
    open: str = ""
    dissent: Mapping[str, Dissent] = field(default_factory=dict[str, Dissent])
    silent: Mapping[str, str] = field(default_factory=dict[str, str])
    unsteady: Mapping[str, str] = field(default_factory=dict[str, str])

    @property
    def name(self) -> str:
        """The instruction, which tells rows of the same sentence apart."""
        shapes = ", ".join(shape_of(array) for array in self.inputs)
        return f"{self.root} of {shapes}"

    @property
    def module(self) -> HloModule:
        """The program of this one instruction."""
        parameters = [f"p{i} = {shape_of(array)} parameter({i})" for i, array in enumerate(self.inputs)]
        return _program([*parameters, f"ROOT r = {self.root}"])

    def differs(self, value: Value, wanted: Value | None = None) -> str | None:
        """How `value` differs from what is right (or `wanted`): signed zeros count, rounding of the rest does not."""
        module = self.module
        tolerance = instruction_tolerance(module.entry_computation.root, self.inputs)
        exact: Tolerance = replace(tolerance, signed_zeros=True, flushed=False, absolute=0.0)
        found = compare(
            self.right if wanted is None else wanted, value, tolerance=exact, left="right", right="engine"
        )
        return None if found is None else str(found)


def together(rows: Sequence[Corner]) -> tuple[HloModule, tuple[Array, ...]]:
    """One program whose result is the tuple of what all `rows` give, and its inputs: it is compiled once."""
    lines: list[str] = []
    inputs: list[Array] = []
    for number, row in enumerate(rows):
        first = len(inputs)
        lines += [f"p{first + i} = {shape_of(x)} parameter({first + i})" for i, x in enumerate(row.inputs)]
        root = re.sub(r"\bp(\d+)\b", lambda found, first=first: f"p{first + int(found[1])}", row.root)
        lines.append(f"r{number} = {root}")
        inputs += row.inputs
    shapes = ", ".join(_result_shape(row.right) for row in rows)
    results = ", ".join(f"r{number}" for number in range(len(rows)))
    return _program([*lines, f"ROOT all = ({shapes}) tuple({results})"]), tuple(inputs)


def _program(lines: Sequence[str]) -> HloModule:
    text = "\n".join(lines)
    called = [body for name, body in COMPUTATIONS.items() if re.search(rf"\b{name}\b", text)]
    return read_text("\n".join(["HloModule m", *called, "ENTRY e {", text, "}"]))


def _result_shape(value: Value) -> str:
    if isinstance(value, tuple):
        return f"({', '.join(map(_result_shape, value))})"
    assert isinstance(value, np.ndarray)
    return shape_of(value)


def shape_of(array: Array) -> str:
    """The shape of an array in HLO text."""
    return f"{PrimitiveType.of(array.dtype).text}[{','.join(map(str, array.shape))}]"


def of(kind: PrimitiveType, values: Sequence[Any]) -> Array:
    """An array of `kind`: integers are given as such, floats must be in the type."""
    if kind.is_integral or kind is PrimitiveType.PRED:
        return np.array(list(values), object).astype(kind.numpy)
    array = np.array(values, np.complex128 if kind.is_complex else np.float64)
    return array.astype(np.float32).astype(kind.numpy) if kind.bit_width <= 16 else array.astype(kind.numpy)


def _of_two(name: str, kind: str, operation: str) -> str:
    """A computation of two scalars `a` and `b` of `kind`."""
    return f"{name} {{ a = {kind}[] parameter(0)\n b = {kind}[] parameter(1)\n ROOT r = {operation} }}"


_REDUCERS = ("add", "multiply", "maximum", "minimum", "and", "or", "subtract")
_ORDERS = {
    "up": "direction=LT",
    "down": "direction=GT",
    "total_up": "direction=LT, type=TOTALORDER",
    "total_down": "direction=GT, type=TOTALORDER",
}
COMPUTATIONS: dict[str, str] = {
    **{
        f"{opcode}_{kind}": _of_two(f"{opcode}_{kind}", kind, f"{kind}[] {opcode}(a, b)")
        for opcode in _REDUCERS
        for kind in ("s32", "f32", "pred")
    },
    **{name: _of_two(name, "f32", f"pred[] compare(a, b), {how}") for name, how in _ORDERS.items()},
    "ge": _of_two("ge", "s32", "pred[] compare(a, b), direction=GE"),
    "second": "second { a = s32[] parameter(0)\n ROOT b = s32[] parameter(1) }",
    "by_first": (
        "by_first { a = f32[] parameter(0)\n b = f32[] parameter(1)\n c = s32[] parameter(2)\n"
        " d = s32[] parameter(3)\n ROOT r = pred[] compare(a, b), direction=LT }"
    ),
    "both": (
        "both { a = s32[] parameter(0)\n b = f32[] parameter(1)\n c = s32[] parameter(2)\n"
        " d = f32[] parameter(3)\n s = s32[] add(a, c)\n m = f32[] maximum(b, d)\n"
        " ROOT r = (s32[], f32[]) tuple(s, m) }"
    ),
    "handed": "handed { a = f32[0,3] parameter(0)\n ROOT r = f32[0,3] negate(a) }",
    "never": "never { a = f32[0,3] parameter(0)\n ROOT r = pred[] constant(false) }",
}
"""What the rows may call, by name."""
