"""Do these passes keep the meaning of a program whose sizes are unknown?

The pipeline runs once, on the program as it is. Then, for each assignment of sizes that the inputs have, the program
and what each pass left are specialised: that gives a static program and the steps by which it changed, which
`oracle.judge` judges as it judges any other. So JAX, the evaluator, the engines and all checks have their say.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Final

from hlo import HloModule, InvalidInput, Value
from hlo.canonical import structure
from hlo.stablehlo import StableHloModule
from oracle.checks.values import InputSets
from oracle.engine import Engine
from oracle.judge import judge_original
from oracle.original import Original
from oracle.running import POISONS
from oracle.stopwatch import Stopwatch
from oracle.symbolic.boundary import Boundary
from oracle.symbolic.draw import largest
from oracle.symbolic.specialise import Assignment, assignment_of, specialise
from oracle.symbolic.stages import Fault, Stages, changes_entry, largest_size, run_stages
from oracle.verdict import Agree, Around, Disagree, Finding, Judgement, Kind, Skip, SkipReason, Verdict
from passes import Pass, PassError, Pipeline, Trace, apply_switches

_STRUCTURE, _VALUES, _CONDUCT = range(3)
"""In which order the questions about one pass are asked."""

_UNSAID: Final = Skip(SkipReason.NO_SIZES, "no sizes were found that fit the program")


def judge_symbolic(
    program: StableHloModule,
    pipeline: Pipeline,
    inputs: InputSets,
    environment: Mapping[str, str],
    *,
    use_jax: bool = True,
    engines: Sequence[Engine] = (),
    ask_engines: bool = False,
) -> Judgement:
    """As `oracle.judge.judge`, for a program with unknown sizes: the sizes are those that `inputs` have.

    A finding has the sizes that show it, and what was around the pass (`Finding.around`). Without inputs, which is
    where no sizes fit, promises are checked all the same, and the verdict is a finding or a skip. Raises InvalidInput
    for a program that MLIR's verifier refuses, and for inputs that do not fit.
    """
    if violations := program.violations():
        raise InvalidInput(f"not valid StableHLO: {violations[0]}")
    watch = Stopwatch()
    with watch.measure("passes"):
        stages = run_stages(program, apply_switches(pipeline, environment))
    case = _Case(stages, pipeline, use_jax, engines, watch)
    verdict = case.verdict(_by_sizes(program, inputs), ask_engines)
    final = stages.result
    return Judgement(
        verdict=verdict,
        fired=dict(stages.fired),
        declined=dict(stages.declined),
        seconds=watch.seconds,
        messages=(*stages.messages, *case.messages),
        result=final if isinstance(final, HloModule) and stages.broken is None else None,
    )


def _by_sizes(program: StableHloModule, inputs: InputSets) -> dict[Assignment, list[tuple[Value, ...]]]:
    """The input sets by their sizes, small ones first."""
    groups: dict[Assignment, list[tuple[Value, ...]]] = {}
    for one_set in inputs:
        groups.setdefault(assignment_of(program, one_set), []).append(one_set)
    return dict(sorted(groups.items(), key=lambda item: item[0].total))


@dataclass(frozen=True)
class _Found:
    """A finding, and what decides which of several is told: the first pass, the first question, the least sizes."""

    place: tuple[int, int, int]
    finding: Finding


class _Case:
    """One judgement in the making."""

    def __init__(
        self, stages: Stages, pipeline: Pipeline, use_jax: bool, engines: Sequence[Engine], watch: Stopwatch
    ) -> None:
        self._stages = stages
        self._program = stages.original
        self._passes = pipeline.passes
        self._use_jax = use_jax
        self._engines = engines
        self._watch = watch
        self._most = largest_size(pipeline)
        self._boundary_at, self._boundary = _boundary(stages, pipeline)
        self.messages: list[str] = []

    def verdict(self, groups: Mapping[Assignment, InputSets], ask_engines: bool) -> Verdict:
        found: list[_Found] = []
        skip: Skip | None = None
        example: HloModule | None = None
        for number, (assignment, inputs) in enumerate(groups.items()):
            if self._most is not None and largest(self._program, assignment) > self._most:
                self.messages.append(f"left out: {assignment}, which is beyond a bound")
                continue
            chain = self._chain(assignment, number)
            example = example or chain.programs[0]
            verdict = self._judged(chain, inputs, ask_engines)
            if isinstance(verdict, Disagree):
                finding = verdict.finding
                index = finding.pass_index if finding.pass_index >= 0 else len(self._passes)
                found.append(_Found((index, _VALUES, assignment.total), self._told(finding, assignment)))
            elif chain.fault is not None:
                index, fault = len(chain.programs) - 1, chain.fault
                found.append(self._faulty(index, fault, chain.programs[-1], assignment, inputs[0]))
            elif isinstance(verdict, Skip):
                skip = skip or verdict
        found += self._broken_promises(example)
        if found:
            return Disagree(min(found, key=lambda one: one.place).finding)
        if isinstance(self._stages.broken, Skip):
            return self._stages.broken
        return skip or (_UNSAID if example is None else Agree())

    def _chain(self, assignment: Assignment, number: int) -> _Chain:
        """The program and what each pass left, for these sizes. Raises InvalidInput where they do not fit."""
        with self._watch.measure("specialise"):
            chain = _Chain([self._specialised(0, assignment, number)])
            for index in range(1, len(self._stages.programs)):
                if not self._differs(index):
                    chain.programs.append(chain.programs[-1])
                    continue
                try:
                    chain.programs.append(self._specialised(index, assignment, number))
                except InvalidInput as error:
                    said = (
                        f"the result is no program for sizes {assignment}, the original is: {error.message}"
                    )
                    chain.fault = Fault("values", Kind.EVALUATION, said)
                    break
        return chain

    def _differs(self, index: int) -> bool:
        old, new = self._stages.programs[index - 1], self._stages.programs[index]
        if index - 1 == self._boundary_at or type(old) is not type(new):
            return True
        if isinstance(new, StableHloModule):
            return old.text != new.text if isinstance(old, StableHloModule) else True
        return not isinstance(old, HloModule) or structure(old) != structure(new)

    def _specialised(self, index: int, assignment: Assignment, number: int) -> HloModule:
        program = self._stages.programs[index]
        if self._boundary is None:
            return program if isinstance(program, HloModule) else specialise(program, assignment)
        if index <= self._boundary_at:
            assert isinstance(program, StableHloModule)
            return self._boundary.filled_up(specialise(program, assignment))
        lowered = program if isinstance(program, HloModule) else program.to_hlo()
        return self._boundary.cut(lowered, assignment, POISONS[number % len(POISONS)])

    def _judged(self, chain: _Chain, inputs: InputSets, ask_engines: bool) -> Verdict:
        steps = [
            _step(pass_, old, new)
            for pass_, old, new in zip(self._passes, chain.programs, chain.programs[1:], strict=False)
        ]
        judgement = judge_original(
            Original(chain.programs[0], inputs),
            Pipeline(tuple(steps)),
            {},
            use_jax=self._use_jax,
            engines=self._engines,
            ask_engines=ask_engines,
        )
        for stage, seconds in judgement.seconds.items():
            self._watch.seconds[stage] = self._watch.seconds.get(stage, 0.0) + seconds
        self.messages += judgement.messages
        return judgement.verdict

    def _told(self, finding: Finding, assignment: Assignment) -> Finding:
        """With what was around the pass before it was specialised."""
        index = finding.pass_index
        if index < 0:
            return replace(finding, around=Around(self._stages.programs[0], None, str(assignment)))
        return replace(finding, around=self._around(index, str(assignment)))

    def _around(self, index: int, sizes: str) -> Around:
        programs = self._stages.programs
        after = programs[index + 1] if index + 1 < len(programs) else None
        return Around(self._stages.given[index], after, sizes)

    def _broken_promises(self, example: HloModule | None) -> Iterator[_Found]:
        if isinstance(self._stages.broken, Fault):
            yield self._faulty(len(self._stages.programs) - 1, self._stages.broken, example)
        if self._stages.misconduct is not None:
            index, fault = self._stages.misconduct
            found = self._faulty(index, fault, example)
            yield replace(found, place=(index, _CONDUCT, 0))

    def _faulty(
        self,
        index: int,
        fault: Fault,
        before: HloModule | None,
        assignment: Assignment | None = None,
        inputs: tuple[Value, ...] = (),
    ) -> _Found:
        pass_ = self._passes[index]
        finding = Finding(
            check=fault.check,
            kind=fault.kind,
            message=f"{pass_.name}: {fault.message}",
            pass_index=index,
            pass_name=pass_.name,
            before=before or HloModule("unknown"),
            after=None,
            inputs=inputs,
            details=fault.details,
        )
        around = self._around(index, str(assignment) if assignment else "")
        total = assignment.total if assignment else 0
        return _Found((index, _STRUCTURE, total), replace(finding, around=around))


@dataclass
class _Chain:
    """A program and what each pass left, specialised. `fault`: the next pass left what cannot be."""

    programs: list[HloModule]
    fault: Fault | None = None


def _boundary(stages: Stages, pipeline: Pipeline) -> tuple[int, Boundary | None]:
    """Where the sizes got bounds, and how the entry changed there."""
    for index, pass_ in enumerate(pipeline.passes[: len(stages.programs) - 1]):
        before, after = stages.programs[index], stages.programs[index + 1]
        if (
            changes_entry(pass_)
            and isinstance(before, StableHloModule)
            and isinstance(after, StableHloModule)
        ):
            return index, Boundary.of(before, after)
    return -1, None


@dataclass(frozen=True)
class _Step(Pass):
    """A pass that has run already, seen at one assignment of sizes: of what it was given it makes what it left.

    Of anything else it makes nothing: a program with other types, say, which tells rounding from a fault.
    """

    given: HloModule | None = None
    left: HloModule | None = None

    # asked of the pass itself, in `stages`: what is specialised may well change once more
    idempotent = False

    def run(self, module: HloModule, trace: Trace) -> bool:
        if self.given is None or self.left is None or structure(module) != structure(self.given):
            raise PassError(self.name, "has run on another program")
        if self.given is self.left or structure(self.left) == structure(self.given):
            return False
        module.assign(self.left.clone())
        return True


def _step(pass_: Pass, before: HloModule, after: HloModule) -> Pass:
    cls = type(
        _Step.__name__, (_Step,), {"name": pass_.name, "promise": pass_.promise, "__doc__": pass_.__doc__}
    )
    return cls(before, after)
