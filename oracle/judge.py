"""Do these passes keep the meaning of this program?

The pipeline runs pass by pass on a copy. After each pass the checks of `oracle.checks` ask it their questions; the
first that is answered wrongly is the finding, and the pass that ran is the first bad pass. A program that passes
all of them meets JAX at the end: the original, executed by the reference, against the result, evaluated.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence

from hlo import HloModule, InvalidInput, UnsupportedOpcode
from hlo.canonical import structure
from hlo.evaluator import EvaluationLimit, ForeignCustomCall, UnsupportedType
from hlo.verify import verify
from oracle.checks.base import Check, PassRun
from oracle.checks.contracts import CONDUCT, STRUCTURE
from oracle.checks.live_graph import keeps_the_live_graph
from oracle.checks.switches import first_switch_that_matters
from oracle.checks.values import InputSets, Values
from oracle.engine import Engine
from oracle.guarded import Crash, run_guarded
from oracle.stopwatch import Stopwatch
from oracle.verdict import Agree, Disagree, Finding, Judgement, Kind, Skip, SkipReason, Verdict
from passes import Pass, PassError, Pipeline, Trace, apply_switches


def judge(
    module: HloModule,
    pipeline: Pipeline,
    inputs: InputSets,
    environment: Mapping[str, str],
    *,
    use_jax: bool = True,
    engines: Sequence[Engine] = (),
) -> Judgement:
    """Run `pipeline`, with the switches that `environment` sets, on a copy of `module`, and check everything.

    `inputs` holds one or more input sets, each with a value for every parameter of the entry. Where the evaluator
    cannot run the program, contracts are checked all the same, and the verdict is a finding or a skip. Where values
    differ, `engines` (say, `oracle.engines.ENGINES`) vote on the original, and the verdict lists the groups. Raises
    InvalidInput for a module that the verifier refuses, and for inputs that are none or do not fit.
    """
    if not inputs:
        raise InvalidInput("no inputs to judge by")
    if violations := verify(module):
        raise InvalidInput(f"not valid HLO: {violations[0]}")
    return _Case(module, apply_switches(pipeline, environment), inputs, use_jax, engines).judged()


class _Case:
    """One judgement in the making."""

    def __init__(
        self,
        module: HloModule,
        pipeline: Pipeline,
        inputs: InputSets,
        use_jax: bool,
        engines: Sequence[Engine],
    ) -> None:
        self._module = module
        self._pipeline = pipeline
        self._inputs = inputs
        self._use_jax = use_jax
        self._engines = engines
        self._watch = Stopwatch()
        self._values: Values | None = None
        self._runs: list[PassRun] = []
        self._fired: Counter[str] = Counter()
        self._declined: Counter[str] = Counter()
        self._messages: list[str] = []
        self._result: HloModule | None = None

    def judged(self) -> Judgement:
        verdict = self._verdict()
        return Judgement(
            verdict=verdict,
            fired=dict(self._fired),
            declined=dict(self._declined),
            seconds=self._watch.seconds,
            messages=tuple(self._messages),
            result=self._result,
        )

    def _verdict(self) -> Verdict:
        skip = self._evaluate_original()
        try:
            finding = self._run_passes()
            if finding is None:
                with self._watch.measure("contracts"):
                    finding = first_switch_that_matters(self._runs, self._values, self._inputs)
        except PassError as error:
            return Skip(SkipReason.REFUSED, str(error))
        except EvaluationLimit as error:
            return _skip(error)
        if finding is not None:
            return self._confirmed(finding)
        if skip is not None:
            return skip
        return self._meets_jax()

    def _evaluate_original(self) -> Skip | None:
        try:
            self._values = Values(self._module, self._inputs, self._watch)
        except (UnsupportedOpcode, EvaluationLimit) as error:
            return _skip(error)
        return None

    def _run_passes(self) -> Finding | None:
        before, old = self._module, structure(self._module)
        for index, pass_ in enumerate(self._pipeline.passes):
            after = before.clone()
            outcome = self._run(pass_, after)
            if isinstance(outcome, Crash):
                return _crash(outcome, index, pass_, before)
            with self._watch.measure("contracts"):
                new = structure(after)
            run = PassRun(index, pass_, before, after, outcome, old, new)
            self._runs.append(run)
            if finding := self._checked(run):
                return finding
            before, old = after, new
        self._result = before
        return None

    def _run(self, pass_: Pass, module: HloModule) -> bool | Crash:
        trace = Trace()
        try:
            with self._watch.measure("passes"):
                return run_guarded(pass_, module, trace)
        finally:
            self._fired.update({f"{pass_.name}:{rule}": n for rule, n in trace.fired.items()})
            self._declined.update({f"{pass_.name}:{rule}": n for rule, n in trace.declined.items()})
            self._messages.extend(trace.messages)

    def _checked(self, run: PassRun) -> Finding | None:
        if finding := self._asked(STRUCTURE, run):
            return finding
        if self._values is not None and (finding := self._values(run)):
            return finding
        return self._asked((*CONDUCT, keeps_the_live_graph), run)

    def _asked(self, checks: Sequence[Check], run: PassRun) -> Finding | None:
        with self._watch.measure("contracts"):
            return next((finding for check in checks if (finding := check(run))), None)

    def _confirmed(self, finding: Finding) -> Verdict:
        if not self._use_jax:
            return Disagree(finding)
        from oracle.checks.jax_reference import second_opinion

        with self._watch.measure("jax"):
            return second_opinion(finding, self._module, self._engines)

    def _meets_jax(self) -> Verdict:
        if not self._use_jax or self._values is None:
            return Agree()
        from oracle.checks.jax_reference import meets_jax

        try:
            verdict, remarks = meets_jax(
                self._module, self._inputs, self._values, self._runs, self._watch, self._engines
            )
        except (UnsupportedOpcode, EvaluationLimit) as error:
            return _skip(error)
        self._messages.extend(remarks)
        return verdict


def _crash(crash: Crash, index: int, pass_: Pass, before: HloModule) -> Finding:
    return Finding(
        check="crash",
        kind=Kind.CRASH,
        message=f"{pass_.name} raised {crash.error}",
        pass_index=index,
        pass_name=pass_.name,
        before=before,
        after=None,
        details=crash.lines,
    )


def _skip(error: UnsupportedOpcode | EvaluationLimit) -> Skip:
    if isinstance(error, EvaluationLimit):
        looped = error.kind == "while_iterations"
        return Skip(SkipReason.LOOP_LIMIT if looped else SkipReason.TOO_LARGE, str(error))
    if isinstance(error, ForeignCustomCall):
        return Skip(SkipReason.FOREIGN_CUSTOM_CALL, str(error))
    if isinstance(error, UnsupportedType):
        return Skip(SkipReason.UNSUPPORTED_TYPE, str(error))
    return Skip(SkipReason.UNSUPPORTED_OPCODE, str(error))
