"""`hlofuzz run`: what do random graphs find?"""

from __future__ import annotations

import secrets
from argparse import Namespace

from fuzz.campaign import Campaign, HarnessError, Plan, Progress, Result
from fuzz.campaign.summary import is_judged, progress_line, summary_json, summary_lines
from fuzz.commands.common import Exit, say_json, switches_in_force
from fuzz.corpus import comments_of
from fuzz.findings import THIS_FILE
from fuzz.report import ProgressLine, complain, say
from fuzz.settings import Settings

_SEEDS = 10**6  # as many as a seed that is short to type allows
_DEFAULT_SECONDS = 60.0


def run_campaign(options: Namespace, settings: Settings) -> Exit:
    """Generate graphs, run passes on each, compare with JAX, and keep what differs."""
    plan = Plan(
        pipeline=options.passes,
        environment=switches_in_force(options, settings),
        seed=secrets.randbelow(_SEEDS) if options.seed is None else options.seed,
        workers=options.workers,
        directory=options.out,
        cache=settings.compilation_cache,
        examples=options.examples,
        seconds=options.time if options.time or options.examples else _DEFAULT_SECONDS,
    )
    line = ProgressLine()

    def listen(progress: Progress) -> None:
        line.show(progress_line(progress))

    try:
        result = Campaign(plan, listen).run()
    except HarnessError as error:
        complain(f"hlofuzz: an error of the harness itself, not of a pass: {error}")
        return Exit.NOT_JUDGED
    finally:
        line.end()
    _tell(result)
    if options.json:
        say_json(summary_json(result))
    if result.buckets:
        return Exit.FINDING
    return Exit.PRESERVED if is_judged(result) else Exit.NOT_JUDGED


def _tell(result: Result) -> None:
    for bucket in result.buckets:
        if bucket.working is not None:
            report = "\n".join(comments_of(bucket.path.read_text("utf-8")))
            say(report.replace(THIS_FILE, str(bucket.path)) + "\n")
    for line in summary_lines(result):
        say(line)
