"""Which engines see a program alike?

A vote only says where to look: several engines share code, and all of them are wrong somewhere. So nothing is
decided by majority; the groups are put on the report for somebody who reads the definition of the operation.
"""

from __future__ import annotations

import random
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from hlo import HloModule, Value
from oracle.checks.values import described
from oracle.compare import Tolerance, compare
from oracle.engines import ENGINES, Crashed, Engine, Outcome, Ran, TimedOut, Unsupported
from oracle.open_cases import first_open_case
from oracle.running import UNABLE, static_program
from oracle.tolerance import tolerance_of
from oracle.verdict import Mismatch

Silence = Unsupported | Crashed | TimedOut

_WORDS: Mapping[type[Silence], str] = {Unsupported: "unsupported", Crashed: "crashed", TimedOut: "timed out"}
_SAME = Tolerance(flushed=True)  # XLA CPU flushes subnormals, everywhere


@dataclass(frozen=True, eq=False)
class Group:
    """Voters that agree with the first of them, and how that one differs from the first of the first group."""

    voters: tuple[str, ...]
    value: Value
    mismatch: Mismatch | None = None


@dataclass(frozen=True, eq=False)
class Groups:
    """A vote: the groups in the order of their first voters, and what the others came to instead of a value."""

    groups: tuple[Group, ...]
    silent: tuple[tuple[str, Silence], ...] = ()

    @property
    def is_unanimous(self) -> bool:
        """Whether no two values differ and no engine broke."""
        return len(self.groups) <= 1 and not self.broken

    @property
    def broken(self) -> tuple[tuple[str, Silence], ...]:
        """Those that crashed or hung."""
        return tuple(
            (name, outcome) for name, outcome in self.silent if isinstance(outcome, Crashed | TimedOut)
        )

    def lines(self) -> tuple[str, ...]:
        """The vote in words, a line for each group and for each voter without a value."""
        said: list[str] = []
        for group in self.groups:
            names = ", ".join(group.voters)
            if group.mismatch is None:
                said.append(f"agree: {names}" if len(group.voters) > 1 else f"alone: {names}")
            else:
                said.append(f"differ: {names} ({described(group.mismatch)})")
        said.extend(f"{_WORDS[type(outcome)]}: {name} ({outcome.reason})" for name, outcome in self.silent)
        return tuple(said)

    def __str__(self) -> str:
        return "; ".join(self.lines())


def vote(
    module: HloModule,
    inputs: Sequence[Value],
    engines: Sequence[Engine] = ENGINES,
    others: Mapping[str, Value] | None = None,
) -> Groups:
    """Run `module` on one input set in all `engines` and group what they give, under `tolerance_of(module)`.

    `others` are values that vote along under names of their own: say, what the rewritten program gave. A program with
    dynamic dimensions is run as the static one that it is for `inputs`. Raises what `oracle.running.UNABLE` has
    where it is none.
    """
    module = static_program(module, inputs)
    outcomes: dict[str, Outcome] = {engine.name: engine.run(module, inputs) for engine in engines}
    outcomes |= {name: Ran(value) for name, value in (others or {}).items()}
    tolerances: list[Mapping[tuple[int, ...], Tolerance]] = []
    members: list[list[str]] = []
    values: list[Value] = []
    for name, outcome in outcomes.items():
        if not isinstance(outcome, Ran):
            continue
        for names, value in zip(members, values, strict=True):
            if _difference(module, value, outcome.value, tolerances) is None:
                names.append(name)
                break
        else:
            members.append([name])
            values.append(outcome.value)
    groups = [
        Group(
            tuple(names),
            value,
            _difference(module, values[0], value, tolerances, members[0][0], names[0]) if number else None,
        )
        for number, (names, value) in enumerate(zip(members, values, strict=True))
    ]
    silent = tuple((name, outcome) for name, outcome in outcomes.items() if not isinstance(outcome, Ran))
    return Groups(tuple(groups), silent)


def is_sampled(seed: int, fraction: float) -> bool:
    """Whether a graph drawn from `seed` is among the `fraction` (0 to 1) of them that all engines vote on."""
    return random.Random(seed).random() < fraction


def sample_vote(
    module: HloModule, input_sets: Sequence[tuple[Value, ...]], engines: Sequence[Engine] = ENGINES
) -> tuple[tuple[Value, ...], Groups] | None:
    """The first input set without unanimity, and its vote, of a program that all checks passed.

    Where an operation met operands that leave its result open, engines that differ are both right.
    """
    for inputs in input_sets:
        try:
            static = static_program(module, inputs)
        except UNABLE:
            continue  # only of dynamic programs, which may have no meaning for these sizes
        groups = vote(static, inputs, engines)
        if groups.broken or not (groups.is_unanimous or first_open_case(static, inputs)):
            return inputs, groups
    return None


def _difference(
    module: HloModule,
    expected: Value,
    actual: Value,
    tolerances: list[Mapping[tuple[int, ...], Tolerance]],
    left: str = "",
    right: str = "",
) -> Mismatch | None:
    found = compare(expected, actual, tolerance=_SAME, left=left, right=right)
    if found is None:
        return None
    # what rounding may do costs a walk through the module: only asked where it is needed, and once
    if not tolerances:
        tolerances.append(tolerance_of(module))
    return compare(expected, actual, tolerance=tolerances[0], left=left, right=right)
