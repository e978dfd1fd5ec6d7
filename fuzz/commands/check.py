"""`hlofuzz check`: does a pipeline preserve the meaning of a real program?"""

from __future__ import annotations

from argparse import Namespace
from pathlib import Path

from fuzz.case import Case, verdict_text
from fuzz.commands.common import Exit, find_user_modules, prepare_jax, say_json, switches_in_force
from fuzz.corpus import naming
from fuzz.findings import save_finding
from fuzz.report import render_text, say, verdict_line
from fuzz.settings import Settings
from fuzz.targets import load_target
from oracle.engines import ENGINES
from oracle.inputs import draw_inputs
from oracle.judge import judge
from oracle.verdict import Agree, Disagree, Finding, Judgement

_WORK = {
    "starts resolved": ("neuron-dus-ds-index-simplifier", ("tag-dus", "tag-ds")),
    "slices moved": ("dynamic-slice-mover", ("move-static", "move-dynamic")),
}


def check(options: Namespace, settings: Settings) -> Exit:
    """Run passes on a real program and say whether its meaning is preserved."""
    environment = switches_in_force(options, settings)
    find_user_modules()
    module, packed = load_target(options.target, pack=not options.keep_calls)
    prepare_jax(settings)
    if packed:
        say(f"{packed} called computations get their arguments as one tuple (--keep-calls leaves them)")
    with naming(options.target):
        inputs = tuple(draw_inputs(module, options.seed, options.inputs))
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
    say(f"  {', '.join(_work_done(case, judgement))}")
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


def _work_done(case: Case, judgement: Judgement) -> list[str]:
    """What the passes did, in counts."""
    names = {pass_.name for pass_ in case.pipeline.passes}
    fired = judgement.fired
    done = [
        f"{sum(fired.get(f'{pass_name}:{rule}', 0) for rule in rules)} {what}"
        for what, (pass_name, rules) in _WORK.items()
        if pass_name in names
    ]
    return [*done, f"{sum(fired.values())} rewrites in all", f"{len(case.inputs)} input sets"]


def _as_json(case: Case, judgement: Judgement) -> dict[str, object]:
    verdict = judgement.verdict
    return {
        "verdict": _word(judgement),
        "reason": "" if isinstance(verdict, Agree) else verdict_line(verdict),
        "passes": str(case.pipeline),
        "environment": dict(case.environment),
        "inputs": len(case.inputs),
        "fired": dict(judgement.fired),
        "declined": dict(judgement.declined),
        "seconds": dict(judgement.seconds),
    }
