"""What does a pipeline make of a program with unknown sizes, pass by pass, and does each pass keep its promises?

These are the questions that need no sizes: a well-formed program, the entry as it was, the same text for the same
program, an honest `changed`, nothing to do for a second run. What the program computes is asked in `judge`.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Final

from hlo import HloModule, InvalidInput
from hlo.canonical import Tree, structure
from hlo.stablehlo import StableHloModule
from oracle.checks.base import PassRun
from oracle.checks.contracts import CONDUCT, STRUCTURE
from oracle.guarded import Crash, run_guarded
from oracle.symbolic.boundary import Boundary
from oracle.verdict import Kind, Skip, SkipReason
from passes import AnyProgram, Pass, PassError, Pipeline, StableHloPass, Trace
from passes.neuron import BoundDynamicDimensions

CHECK: Final = "contracts"
_SHOWN: Final = 5


@dataclass(frozen=True)
class Fault:
    """A promise that a pass broke, whatever the sizes: what a finding says of it."""

    check: str
    kind: Kind
    message: str
    details: tuple[str, ...] = ()


@dataclass
class Stages:
    """`programs` has the original and what each pass left, as far as they ran; `given` what each got, which for a pass
    over HLO is that as HLO.

    `broken` is why no more ran, with the pass at number `len(programs) - 1`: what it left is no program, or it gave
    none. `misconduct` is the first broken promise, with the number of its pass, after which the others could run on.
    """

    original: StableHloModule
    programs: list[AnyProgram]
    given: list[AnyProgram] = field(default_factory=list[AnyProgram])
    broken: Fault | Skip | None = None
    misconduct: tuple[int, Fault] | None = None
    fired: Counter[str] = field(default_factory=Counter[str])
    declined: Counter[str] = field(default_factory=Counter[str])
    messages: list[str] = field(default_factory=list[str])

    @property
    def result(self) -> AnyProgram:
        """What the last pass that ran left."""
        return self.programs[-1]


def run_stages(program: StableHloModule, pipeline: Pipeline) -> Stages:
    """Run `pipeline` on copies of `program`, and ask each pass that ran for what it promises."""
    stages = Stages(program, [program])
    for number, pass_ in enumerate(pipeline.passes):
        try:
            before = _in_the_form_of(pass_, stages.result)
        except InvalidInput as error:
            stages.broken = Skip(SkipReason.UNKNOWN_SIZES, f"{pass_.name}: {error.message}")
            break
        stages.given.append(before)
        run = _ran(pass_, before, stages)
        if not isinstance(run, _Run):
            stages.broken = run
            break
        if fault := next(run.structure_faults(), None):
            stages.broken = fault
            break
        if stages.misconduct is None and (fault := next(run.conduct_faults(), None)):
            stages.misconduct = number, fault
        stages.programs.append(run.after)
    return stages


def _in_the_form_of(pass_: Pass, program: AnyProgram) -> AnyProgram:
    """Raises InvalidInput where the pass is over HLO and the program cannot be."""
    if isinstance(program, StableHloModule) and not isinstance(pass_, StableHloPass):
        return program.to_hlo()
    return program


@dataclass(frozen=True)
class _Held:
    """Runs a pass on a StableHLO program in place, where a module is what is handed over."""

    pass_: StableHloPass
    program: StableHloModule

    def run(self, module: HloModule, trace: Trace) -> bool:
        return self.pass_.rewrite(self.program, trace)


_NOTHING: Final = HloModule("nothing")


def _outcome(pass_: Pass, program: AnyProgram, trace: Trace) -> bool | Crash:
    """Run a pass in place. Raises PassError."""
    if isinstance(program, HloModule):
        return run_guarded(pass_, program, trace)
    assert isinstance(pass_, StableHloPass)
    return run_guarded(_Held(pass_, program), _NOTHING, trace)


def _ran(pass_: Pass, before: AnyProgram, stages: Stages) -> _Run | Fault | Skip:
    trace, after = Trace(), before.clone()
    try:
        outcome = _outcome(pass_, after, trace)
    except PassError as error:
        return Skip(SkipReason.REFUSED, str(error))
    finally:
        stages.fired.update({f"{pass_.name}:{rule}": n for rule, n in trace.fired.items()})
        stages.declined.update({f"{pass_.name}:{rule}": n for rule, n in trace.declined.items()})
        stages.messages.extend(trace.messages)
    if isinstance(outcome, Crash):
        return Fault("crash", Kind.CRASH, f"raised {outcome.error}", outcome.lines)
    return _Run(pass_, before, after, outcome)


@dataclass(frozen=True)
class _Run:
    """A pass that ran without raising, on a program in either form."""

    pass_: Pass
    before: AnyProgram
    after: AnyProgram
    said_changed: bool

    def structure_faults(self) -> Iterator[Fault]:
        """Why what the pass left is no program that could be asked for its meaning."""
        if isinstance(self.before, HloModule):
            yield from self._asked_as_hlo(structural=True)
            return
        assert isinstance(self.before, StableHloModule)
        assert isinstance(self.after, StableHloModule)
        if violations := self.after.violations():
            message = f"the result is not valid StableHLO: {violations[0]}"
            yield Fault(CHECK, Kind.INVALID, message, tuple(violations[:_SHOWN]))
        elif (old := _signature(self.before)) != (new := _signature(self.after)) and not (
            changes_entry(self.pass_) and Boundary.of(self.before, self.after)
        ):
            yield Fault(CHECK, Kind.RESULT_SHAPE, f"the entry was {old} and is {new}")

    def conduct_faults(self) -> Iterator[Fault]:
        """What else the pass promised and did not keep."""
        if isinstance(self.before, HloModule):
            yield from self._asked_as_hlo(structural=False)
            return
        assert isinstance(self.after, StableHloModule)
        old, new = self.before.text, self.after.text
        if self.said_changed != (old != new):
            what = (
                "changed the module and said it did not"
                if old != new
                else "said it changed the module and did not"
            )
            yield Fault(CHECK, Kind.CHANGED_FLAG, what)
        other = self.before.clone()
        _outcome(self.pass_, other, Trace())
        if other.text != new:
            yield Fault(
                CHECK, Kind.NONDETERMINISTIC, "run twice on the same program it leaves two different ones"
            )
        if self.pass_.idempotent and (old != new or self.said_changed):
            yield from self._settled()

    def _settled(self) -> Iterator[Fault]:
        again = self.after.clone()
        try:
            said_changed = _outcome(self.pass_, again, Trace())
        except PassError as error:
            message = f"a second run refused what the first left: {error.message}"
            yield Fault(CHECK, Kind.NOT_IDEMPOTENT, message)
            return
        if isinstance(said_changed, Crash):
            yield Fault(CHECK, Kind.CRASH, f"a second run raised {said_changed.error}", said_changed.lines)
        elif str(again) != str(self.after):
            yield Fault(CHECK, Kind.NOT_IDEMPOTENT, "a second run changed the program again")
        elif said_changed:
            yield Fault(CHECK, Kind.NOT_IDEMPOTENT, "a second run said it changed the program")

    def _asked_as_hlo(self, *, structural: bool) -> Iterator[Fault]:
        """The checks of `oracle.checks.contracts`."""
        assert isinstance(self.before, HloModule)
        assert isinstance(self.after, HloModule)
        old: Tree = structure(self.before)
        run = PassRun(0, self.pass_, self.before, self.after, self.said_changed, old, structure(self.after))
        for check in STRUCTURE if structural else CONDUCT:
            if finding := check(run):
                message = finding.message.removeprefix(f"{self.pass_.name}: ")
                yield Fault(finding.check, finding.kind, message, finding.details)


def changes_entry(pass_: Pass) -> bool:
    """Whether it is the pass's work to give the entry other parameters and results."""
    return isinstance(pass_, BoundDynamicDimensions)


def largest_size(pipeline: Pipeline) -> int | None:
    """The greatest size that the passes allow; None where they allow any."""
    return min(
        (pass_.bound for pass_ in pipeline.passes if isinstance(pass_, BoundDynamicDimensions)), default=None
    )


def _signature(program: StableHloModule) -> str:
    return str(program.entry.type)
