"""Do these passes keep the meaning of this program?

The pipeline runs pass by pass on a copy. After each pass the checks of `oracle.checks` ask it their questions; the
first that is answered wrongly is the finding, and the pass that ran is the first bad pass. A program that passes
all of them meets JAX at the end: the original, executed by the reference, against the result, evaluated. Where
somebody wants to know, all engines vote on the original then.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace

from hlo import HloModule, UnsupportedOpcode
from hlo.canonical import structure
from hlo.evaluator import EvaluationLimit, ForeignCustomCall, SizeOutOfBounds, UnsupportedType
from oracle.checks.base import Check, PassRun
from oracle.checks.contracts import CONDUCT, STRUCTURE
from oracle.checks.engines import seen_alike
from oracle.checks.live_graph import keeps_the_live_graph
from oracle.checks.switches import first_switch_that_matters
from oracle.checks.values import InputSets, Values
from oracle.engine import Engine
from oracle.first_rewrite import first_bad_rewrite
from oracle.guarded import Crash, run_guarded
from oracle.original import Original, PaddingShows, Unable
from oracle.stopwatch import Stopwatch
from oracle.true_size import UndefinedSizes
from oracle.verdict import Agree, Disagree, Finding, Judgement, Kind, Skip, SkipReason, Verdict
from passes import Pass, PassCrashed, PassError, Pipeline, Trace, apply_switches
from passes.xla import XlaExecution, XlaPass

Runner = Callable[[Pass, HloModule, Trace], bool | Crash]
"""How a pass is run on a module, in place; `oracle.guarded.run_guarded` is the usual way."""


def judge(
    module: HloModule,
    pipeline: Pipeline,
    inputs: InputSets,
    environment: Mapping[str, str],
    *,
    use_jax: bool = True,
    engines: Sequence[Engine] = (),
    ask_engines: bool = False,
) -> Judgement:
    """Run `pipeline`, with the switches that `environment` sets, on a copy of `module`, and check everything.

    `inputs` holds one or more input sets, each with a value for every parameter of the entry. Where the evaluator
    cannot run the program, contracts are checked all the same, and the verdict is a finding or a skip. Where values
    differ, `engines` (say, `oracle.engines.ENGINES`) vote on the original, and the verdict lists the groups; with
    `ask_engines` they vote where all is well, too, and one that sees the original differently is a finding of
    `oracle.checks.engines`. Raises InvalidInput for a module that the verifier refuses, and for inputs that are none
    or do not fit.
    """
    original = Original(module, inputs)
    return judge_original(
        original, pipeline, environment, use_jax=use_jax, engines=engines, ask_engines=ask_engines
    )


def judge_original(
    original: Original,
    pipeline: Pipeline,
    environment: Mapping[str, str],
    *,
    use_jax: bool = True,
    engines: Sequence[Engine] = (),
    ask_engines: bool = False,
    run: Runner = run_guarded,
) -> Judgement:
    """As `judge`, for one of several pipelines that are judged by the same `original`.

    `run` runs a pass, whatever is done to get its result. The time that the original takes is the first one's.
    """
    case = _Case(original, apply_switches(pipeline, environment), use_jax, engines, run)
    return case.judged(ask_engines=ask_engines)


class _Case:
    """One judgement in the making."""

    def __init__(
        self,
        original: Original,
        pipeline: Pipeline,
        use_jax: bool,
        engines: Sequence[Engine],
        run: Runner,
    ) -> None:
        self._original = original
        self._module = original.module
        self._pipeline = pipeline
        self._use_jax = use_jax
        self._engines = engines
        self._run_pass = run
        self._watch = Stopwatch()
        self._values: Values | None = None
        self._runs: list[PassRun] = []
        self._fired: Counter[str] = Counter()
        self._declined: Counter[str] = Counter()
        self._messages: list[str] = []
        self._result: HloModule | None = None
        self._execution: Verdict | None = None

    def judged(self, *, ask_engines: bool) -> Judgement:
        verdict = self._verdict()
        if ask_engines and isinstance(verdict, Agree) and (finding := self._seen_by_engines()):
            verdict = Disagree(finding)
        return Judgement(
            verdict=verdict,
            fired=dict(self._fired),
            declined=dict(self._declined),
            seconds=self._watch.seconds,
            messages=(*self._messages, *(self._values.remarks if self._values is not None else ())),
            result=self._result,
        )

    def _verdict(self) -> Verdict:
        skip = self._evaluate_original()
        try:
            finding = self._run_passes()
            if finding is None:
                with self._watch.measure("contracts"):
                    finding = first_switch_that_matters(self._runs, self._values, self._original.inputs)
        except PassError as error:
            return Skip(SkipReason.REFUSED, str(error))
        except EvaluationLimit as error:
            return _skip(error)
        if finding is not None:
            return self._confirmed(finding)
        if skip is not None:
            return skip
        return self._meets_jax() if self._execution is None else self._execution

    def _evaluate_original(self) -> Skip | None:
        with self._watch.measure("evaluate"):
            values = self._original.values
        if not isinstance(values, list):
            return _skip(values)
        self._values = Values(values, self._original.inputs, self._watch)
        if left_out := self._original.left_out:
            self._messages.append(
                f"left out: {left_out} sets of inputs, whose sizes leave it without meaning"
            )
        return None

    def _run_passes(self) -> Finding | None:
        before, old = self._module, self._original.structure
        for index, pass_ in enumerate(self._pipeline.passes):
            if isinstance(pass_, XlaExecution):
                self._execution = self._executed(pass_, index, before)
                continue
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

    def _executed(self, pass_: XlaExecution, index: int, module: HloModule) -> Verdict:
        """What becomes of a subject that has values and no program: it stands last in the pipeline.

        XLA has then seen the whole program, so that JAX is only asked where it differs.
        """
        if self._values is None:
            return Agree()
        from oracle.checks.execution import executes_alike
        from oracle.execution import compilable
        from oracle.first_stage import located

        module = compilable(module)
        try:
            with self._watch.measure("execute"):
                return executes_alike(
                    pass_, index, module, self._original.inputs, self._values.current, self._engines
                )
        except PassCrashed as error:
            crash = Crash(
                " ".join(f"{type(error).__name__}: {error}".split()), tuple(error.tail.splitlines())
            )
            return Disagree(located(_crash(crash, index, pass_, module), module, pass_))

    def _run(self, pass_: Pass, module: HloModule) -> bool | Crash:
        trace = Trace()
        try:
            with self._watch.measure("passes"):
                return self._run_pass(pass_, module, trace)
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
        finding = self._located(finding)
        if not self._use_jax:
            return Disagree(finding)
        from oracle.checks.jax_reference import second_opinion

        with self._watch.measure("jax"):
            return second_opinion(finding, self._module, self._engines)

    def _located(self, finding: Finding) -> Finding:
        """With the pass inside XLA's whole pipeline named, or the rewrite of a pass of ours, for other values."""
        if finding.mismatch is None or finding.pass_index < 0:
            return finding
        pass_ = self._pipeline.passes[finding.pass_index]
        if isinstance(pass_, XlaPass):
            if not pass_.is_whole_pipeline:
                return finding
            from oracle.first_stage import located

            return located(finding, finding.before, pass_)
        if len(pass_.rules) and (place := first_bad_rewrite(pass_, finding.before, finding.inputs)):
            return replace(finding, details=(*finding.details, place))
        return finding

    def _meets_jax(self) -> Verdict:
        if not self._use_jax or self._values is None:
            return Agree()
        from oracle.checks.jax_reference import meets_jax

        try:
            verdict, remarks = meets_jax(self._original, self._values, self._runs, self._watch, self._engines)
        except (UnsupportedOpcode, EvaluationLimit) as error:
            return _skip(error)
        self._messages.extend(remarks)
        return verdict

    def _seen_by_engines(self) -> Finding | None:
        with self._watch.measure("vote"):
            return seen_alike(self._module, self._original.inputs, self._engines)


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


def _skip(error: Unable) -> Skip:
    if isinstance(error, EvaluationLimit):
        looped = error.kind == "while_iterations"
        return Skip(SkipReason.LOOP_LIMIT if looped else SkipReason.TOO_LARGE, str(error))
    if isinstance(error, UndefinedSizes | PaddingShows):
        return Skip(SkipReason.UNDEFINED_SIZES, str(error))
    if isinstance(error, SizeOutOfBounds):
        return Skip(SkipReason.SIZE_OUT_OF_BOUNDS, str(error))
    if isinstance(error, ForeignCustomCall):
        return Skip(SkipReason.FOREIGN_CUSTOM_CALL, str(error))
    if isinstance(error, UnsupportedType):
        return Skip(SkipReason.UNSUPPORTED_TYPE, str(error))
    return Skip(SkipReason.UNSUPPORTED_OPCODE, str(error))
