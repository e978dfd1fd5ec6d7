"""`hlofuzz check`: does a pipeline preserve the meaning of a real program?"""

from __future__ import annotations

from argparse import Namespace
from dataclasses import asdict
from pathlib import Path

from fuzz.case import Case, verdict_text
from fuzz.commands.common import Exit, find_user_modules, prepare_jax, say_json, switches_in_force
from fuzz.corpus import naming
from fuzz.findings import save_finding
from fuzz.report import render_text, say, verdict_line
from fuzz.settings import Settings
from fuzz.targets import load_target
from fuzz.work import left_in, work_done
from oracle.engines import ENGINES
from oracle.inputs import MIXED, draw_inputs
from oracle.judge import judge
from oracle.verdict import Agree, Disagree, Finding, Judgement


def check(options: Namespace, settings: Settings) -> Exit:
    """Run passes on a real program and say whether its meaning is preserved."""
    environment = switches_in_force(options, settings)
    find_user_modules()
    module, packed = load_target(options.target, pack=not options.keep_calls)
    prepare_jax(settings)
    if packed:
        say(f"{packed} called computations get their arguments as one tuple (--keep-calls leaves them)")
    with naming(options.target):
        inputs = tuple(draw_inputs(module, options.seed, options.inputs, MIXED))
        case = Case(module, options.passes, inputs, environment)
        judgement = judge(case.module, case.pipeline, case.inputs, case.environment, engines=ENGINES)
    _tell(options.target, case, judgement)
    verdict = judgement.verdict
    if isinstance(verdict, Disagree):
        _tell_finding(case, verdict.finding, options.out)
    if options.json:
        say_json(_as_json(case, judgement))
    if isinstance(verdict, Agree):
        return Exit.PRESERVED
    return Exit.FINDING if isinstance(verdict, Disagree) else Exit.NOT_JUDGED


def _tell(target: str, case: Case, judgement: Judgement) -> None:
    verdict = judgement.verdict
    reason = "" if isinstance(verdict, Agree) else f": {verdict_line(verdict)}"
    say(f"{target}: {_word(judgement)}{reason}")
    say(f"  {', '.join(_counts(case, judgement))}")
    if judgement.result is not None and (left := str(left_in(judgement.result))):
        say(f"  left: {left}")
    for rule, count in sorted(judgement.declined.items()):
        say(f"  declined {count} × {rule}")
    for message in dict.fromkeys(judgement.messages):
        say(f"  {message}")


def _tell_finding(case: Case, finding: Finding, directory: Path | None) -> None:
    path = ""
    if directory is not None:
        path = str(save_finding(directory, case, finding, verdict_text(Disagree(finding))))
    say(render_text(finding, case, path))


def _word(judgement: Judgement) -> str:
    return verdict_text(judgement.verdict).partition(" ")[0]


def _counts(case: Case, judgement: Judgement) -> list[str]:
    """What the passes did, in counts."""
    done = [f"{count} {what}" for what, count in _done(case, judgement).items()]
    return [*done, f"{sum(judgement.fired.values())} rewrites in all", f"{len(case.inputs)} input sets"]


def _done(case: Case, judgement: Judgement) -> dict[str, int]:
    return work_done(judgement.fired, {pass_.name for pass_ in case.pipeline.passes})


def _as_json(case: Case, judgement: Judgement) -> dict[str, object]:
    verdict = judgement.verdict
    return {
        "verdict": _word(judgement),
        "reason": "" if isinstance(verdict, Agree) else verdict_line(verdict),
        "passes": str(case.pipeline),
        "environment": dict(case.environment),
        "inputs": len(case.inputs),
        "done": _done(case, judgement),
        "left": None if judgement.result is None else asdict(left_in(judgement.result)),
        "fired": dict(judgement.fired),
        "declined": dict(judgement.declined),
        "seconds": dict(judgement.seconds),
    }
