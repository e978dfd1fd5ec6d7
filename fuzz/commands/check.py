"""`hlofuzz check`: does a pipeline preserve the meaning of a real program?"""

from __future__ import annotations

from argparse import Namespace
from dataclasses import asdict
from pathlib import Path

from fuzz.case import AnyCase, SymbolicCase, case_for, verdict_text
from fuzz.commands.common import (
    Exit,
    begins_with_stablehlo,
    find_user_modules,
    prepare_jax,
    say_json,
    switches_in_force,
)
from fuzz.corpus import naming
from fuzz.findings import save_finding
from fuzz.judging import judge_any
from fuzz.reduce import smallest_sizes
from fuzz.report import render_text, say, verdict_line
from fuzz.settings import Settings
from fuzz.targets import load_target
from fuzz.work import DynamicCopy, dynamic_copies, left_in, work_done
from hlo import HloModule, Value
from oracle.engines import ENGINES
from oracle.inputs import MIXED, draw_inputs
from oracle.symbolic import draw_sized_inputs, largest_size
from oracle.verdict import Agree, Disagree, Finding, Judgement
from passes import AnyProgram
from passes.neuron import TensorizerGuard


def check(options: Namespace, settings: Settings) -> Exit:
    """Run passes on a real program and say whether its meaning is preserved."""
    environment = switches_in_force(options, settings)
    find_user_modules()
    module, packed = load_target(
        options.target, pack=not options.keep_calls, stablehlo=begins_with_stablehlo(options.passes)
    )
    prepare_jax(settings)
    if packed:
        say(f"{packed} called computations get their arguments as one tuple (--keep-calls leaves them)")
    with naming(options.target):
        case = case_for(module, options.passes, _inputs(module, options), environment)
        judgement = judge_any(case, engines=ENGINES)
    _tell(options.target, case, judgement)
    verdict = judgement.verdict
    if isinstance(verdict, Disagree):
        _tell_finding(*_for_few_elements(case, verdict.finding), options.out)
    if options.json:
        say_json(_as_json(case, judgement))
    if isinstance(verdict, Agree):
        return Exit.PRESERVED
    return Exit.FINDING if isinstance(verdict, Disagree) else Exit.NOT_JUDGED


def _inputs(module: AnyProgram, options: Namespace) -> tuple[tuple[Value, ...], ...]:
    if isinstance(module, HloModule):
        return tuple(draw_inputs(module, options.seed, options.inputs, MIXED))
    sets, sizes = draw_sized_inputs(
        module, options.seed, options.inputs, MIXED, most=largest_size(options.passes)
    )
    if sizes.assignments:
        say(f"judged for sizes {'; '.join(map(str, sizes.assignments))}")
    if left_out := sizes.described():
        say(left_out)
    return tuple(sets)


def _tell(target: str, case: AnyCase, judgement: Judgement) -> None:
    verdict = judgement.verdict
    reason = "" if isinstance(verdict, Agree) else f": {verdict_line(verdict)}"
    say(f"{target}: {_word(judgement)}{reason}")
    say(f"  {', '.join(_counts(case, judgement))}")
    if judgement.result is not None and (left := str(left_in(judgement.result))):
        say(f"  left: {left}")
    for copy in _copies(case, judgement):
        say(f"  scratch for {copy}")
    for rule, count in sorted(judgement.declined.items()):
        say(f"  declined {count} × {rule}")
    for message in dict.fromkeys(judgement.messages):
        say(f"  {message}")


def _copies(case: AnyCase, judgement: Judgement) -> tuple[DynamicCopy, ...]:
    """What still has to be copied at run-time addresses, where the program is ready for the Tensorizer."""
    is_ready = any(isinstance(pass_, TensorizerGuard) for pass_ in case.pipeline.passes)
    return dynamic_copies(judgement.result) if is_ready and judgement.result is not None else ()


def _for_few_elements(case: AnyCase, finding: Finding) -> tuple[AnyCase, Finding]:
    """Of a program with unknown sizes: the case with the smallest ones that show the finding, as they show it."""
    if not isinstance(case, SymbolicCase):
        return case, finding

    def shows_it(other: SymbolicCase) -> bool:
        verdict = judge_any(other, use_jax=False).verdict
        return isinstance(verdict, Disagree) and verdict.finding.identity == finding.identity

    small = smallest_sizes(case, shows_it)
    verdict = judge_any(small, engines=ENGINES).verdict
    return (small, verdict.finding) if isinstance(verdict, Disagree) else (case, finding)


def _tell_finding(case: AnyCase, finding: Finding, directory: Path | None) -> None:
    path = ""
    if directory is not None:
        path = str(save_finding(directory, case, finding, verdict_text(Disagree(finding))))
    say(render_text(finding, case, path))


def _word(judgement: Judgement) -> str:
    return verdict_text(judgement.verdict).partition(" ")[0]


def _counts(case: AnyCase, judgement: Judgement) -> list[str]:
    """What the passes did, in counts."""
    done = [f"{count} {what}" for what, count in _done(case, judgement).items()]
    return [*done, f"{sum(judgement.fired.values())} rewrites in all", f"{len(case.inputs)} input sets"]


def _done(case: AnyCase, judgement: Judgement) -> dict[str, int]:
    return work_done(judgement.fired, {pass_.name for pass_ in case.pipeline.passes})


def _as_json(case: AnyCase, judgement: Judgement) -> dict[str, object]:
    verdict = judgement.verdict
    return {
        "verdict": _word(judgement),
        "reason": "" if isinstance(verdict, Agree) else verdict_line(verdict),
        "passes": str(case.pipeline),
        "environment": dict(case.environment),
        "inputs": len(case.inputs),
        "done": _done(case, judgement),
        "scratch": [asdict(copy) for copy in _copies(case, judgement)],
        "left": None if judgement.result is None else asdict(left_in(judgement.result)),
        "fired": dict(judgement.fired),
        "declined": dict(judgement.declined),
        "seconds": dict(judgement.seconds),
    }
