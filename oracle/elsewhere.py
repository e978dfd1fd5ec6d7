"""Where does another value come from, if not from the pass?

From rounding, of which `oracle.precision` decides. And with a pass of XLA's, from what runs around it:

- XLA takes StableHLO only, and jaxlib's import spells out what HLO has no code for, such as functions of complex
  numbers, before any pass sees the program. That the pass did not do.
- Where an operation's definition leaves its value open, a pass that computes otherwise may give another one.
- Behind layout assignment, passes take each array to lie in memory as its shape says. Alone, a pass runs there, too,
  on layouts that nobody assigned, which the pipeline never does. So it is asked again together with
  `layout-assignment` and all that comes between.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from hlo import HloFuzzError, HloInstruction, HloModule, Value, same_bits
from hlo.evaluator import Evaluator
from oracle.compare import BITWISE, EQUAL, Tolerance, compare
from oracle.dependence import dependent_leaves
from oracle.engines.plain import without_bitcasts
from oracle.implementation_defined import implementation_defined
from oracle.open_cases import leaves_open
from oracle.precision import is_rounding
from oracle.running import evaluated
from oracle.tolerance import tolerance_of
from passes import Exactness, Pass, PassCrashed, PassError, Trace
from passes.xla import NOTHING, SPECIAL, XlaPass, behind_layouts, xla_pass

Granted = Tolerance | Mapping[tuple[int, ...], Tolerance]
"""What `oracle.compare.compare` takes."""


@dataclass(frozen=True)
class Elsewhere:
    """`why` says what the pass has to do with it, as in "moved a result by rounding".

    `stage` names what is to blame in its place; where it is empty, nothing is.
    """

    why: str
    stage: str = ""


def elsewhere(
    pass_: Pass, before: HloModule, after: HloModule, inputs: tuple[Value, ...], old: Value, new: Value
) -> Elsewhere | None:
    """Where the distance from `old` to `new` comes from, which is more than the pass is granted; None: from the pass.

    `old` is what `before` gives for `inputs`, and `new` what `after` gives, which `pass_` made of it. None also where
    that cannot be told, because the evaluator does not run what XLA makes of the program on the way.
    """
    if pass_.promise is not Exactness.BITWISE and is_rounding(pass_, before, after, inputs, old, new):
        return Elsewhere("moved a result by rounding")
    if not isinstance(pass_, XlaPass) or pass_.xla_name in SPECIAL:
        return None
    around = _Around(pass_, before, inputs, old)
    try:
        return around.import_(new) or around.open_case(new) or around.layouts()
    except HloFuzzError:
        return None


def open_case(module: HloModule, inputs: Sequence[Value], old: Value, new: Value, allowed: Granted) -> str:
    """Why what `module` gives for `inputs` may be `new` as well as `old`: an instruction whose value is open.

    It is open on the operands it got, by definition or to compilers. Empty where there is none, and where an array is
    further apart than `allowed` that does not depend on any. Raises what the evaluator raises.
    """
    found: dict[HloInstruction, str] = {}

    def observe(inst: HloInstruction, operands: Sequence[Value], _value: Value) -> None:
        if inst not in found and (
            reason := leaves_open(inst, operands) or implementation_defined(inst, operands)
        ):
            found[inst] = reason

    Evaluator(module, observer=observe).run(inputs)
    differing = _differing(old, new, allowed)
    if not differing or not differing <= dependent_leaves(module, found):
        return ""
    return next(reason for inst, reason in found.items() if differing & dependent_leaves(module, [inst]))


def _differing(
    old: Value, new: Value, allowed: Granted, index: tuple[int, ...] = ()
) -> frozenset[tuple[int, ...]]:
    """The arrays, by shape index, that are further apart than `allowed`."""
    if isinstance(old, tuple) and isinstance(new, tuple):
        parts = enumerate(zip(old, new, strict=True))
        return frozenset().union(*(_differing(a, b, allowed, (*index, i)) for i, (a, b) in parts))
    here = allowed if isinstance(allowed, Tolerance) else allowed.get(index, EQUAL)
    return frozenset({index}) if _apart(old, new, here) else frozenset()


@dataclass(frozen=True, eq=False)
class _Around:
    """What runs around a pass of XLA's that departed on `before` with `inputs`, which give `old`."""

    pass_: XlaPass
    before: HloModule
    inputs: tuple[Value, ...]
    old: Value

    def import_(self, new: Value) -> Elsewhere | None:
        """Whether the pass keeps what import has made of the program."""
        way = xla_pass(NOTHING)(timeout=self.pass_.timeout)
        arrived = _made(way, self.before)
        if arrived is None:
            return None
        value = evaluated(arrived, self.inputs)
        if same_bits(value, self.old) or _apart(value, new, self._granted(arrived)):
            return None
        moved = _apart(self.old, value, tolerance_of(self.before))
        if not moved or is_rounding(way, self.before, arrived, self.inputs, self.old, value):
            return Elsewhere("gets a program whose result import has moved by rounding")
        if reason := open_case(self.before, self.inputs, self.old, value, tolerance_of(self.before)):
            return Elsewhere(f"gets what import made of an operation that is open by definition ({reason})")
        return Elsewhere("keeps what import has made of the program", "import")

    def open_case(self, new: Value) -> Elsewhere | None:
        """Whether the definition leaves the value open, to a pass that is not held to every bit."""
        if self.pass_.promise is Exactness.BITWISE:
            return None
        reason = open_case(self.before, self.inputs, self.old, new, tolerance_of(self.before))
        return Elsewhere(f"may do that, which is open by definition ({reason})") if reason else None

    def layouts(self) -> Elsewhere | None:
        """Whether the pass is right where layouts are assigned. They are not for programs with bitcasts."""
        name = behind_layouts(self.pass_.xla_name)
        plain = without_bitcasts(self.before)
        if name and self._departs(self.pass_, plain) and self._departs(xla_pass(name)(), plain) is False:
            return Elsewhere("took layouts for assigned, and is right where they are")
        return None

    def _departs(self, pass_: XlaPass, module: HloModule) -> bool | None:
        """Whether `pass_` makes something else of `module`, which means the same as the original; None: nothing."""
        result = _made(pass_, module)
        if result is None:
            return None
        return _apart(self.old, evaluated(result, self.inputs), self._granted(self.before))

    def _granted(self, module: HloModule) -> Granted:
        return BITWISE if self.pass_.promise is Exactness.BITWISE else tolerance_of(module)


def _made(pass_: XlaPass, module: HloModule) -> HloModule | None:
    """What `pass_` makes of `module`; None where it leaves it alone, or does not take it."""
    copy = module.clone()
    try:
        return copy if pass_.run(copy, Trace()) else None
    except (PassError, PassCrashed, HloFuzzError):
        return None


def _apart(old: Value, new: Value, allowed: Granted) -> bool:
    return compare(old, new, tolerance=allowed, left="", right="") is not None
