"""`hlofuzz run`: what do random graphs find?"""

from __future__ import annotations

import secrets
from argparse import Namespace

from fuzz.campaign import Campaign, HarnessError, Plan, Programs, Progress, Result, Table
from fuzz.campaign.summary import is_judged, progress_line, summary_json, summary_lines
from fuzz.commands.common import Exit, begins_with_stablehlo, say_json, switches_in_force
from fuzz.commands.sweep import GRAPHS, SWEEP, sweep_json, sweep_lines, sweep_plan, sweep_status
from fuzz.corpus import comments_of
from fuzz.findings import THIS_FILE
from fuzz.isolate import case_limit
from fuzz.report import ProgressLine, complain, say
from fuzz.settings import Settings
from oracle.symbolic import largest_size
from passes import Pipeline, StableHloPass
from passes.neuron import NEURON_PASSES
from passes.stock import DynamicPadder, WhileLoopUnroller

_SEEDS = 10**6  # as many as a seed that is short to type allows
_DEFAULT_SECONDS = 60.0


def run_campaign(options: Namespace, settings: Settings) -> Exit:
    """Generate graphs, run passes on each, compare with JAX, and keep what differs."""
    swept = options.passes == SWEEP
    pipeline = Pipeline() if swept else options.passes
    limited = options.examples or options.time
    plan = Plan(
        pipelines=(pipeline,),
        environment=switches_in_force(options, settings),
        seed=secrets.randbelow(_SEEDS) if options.seed is None else options.seed,
        workers=options.workers,
        directory=options.out,
        cache=settings.compilation_cache,
        examples=GRAPHS if swept and not limited else options.examples,
        seconds=_DEFAULT_SECONDS if not swept and not limited else options.time,
        time_limit=case_limit(pipeline),
        programs=Programs(options.programs) if options.programs else programs_for(pipeline),
    )
    try:
        return _sweep(sweep_plan(plan), options) if swept else _campaign(plan, options)
    except HarnessError as error:
        complain(f"hlofuzz: an error of the harness itself, not of a pass: {error}")
        return Exit.NOT_JUDGED


def _campaign(plan: Plan, options: Namespace) -> Exit:
    result = _run(plan)
    _tell(result)
    if options.json:
        say_json(summary_json(result))
    if result.statistics[Table.FINDINGS]:
        return Exit.FINDING
    return Exit.PRESERVED if is_judged(result) else Exit.NOT_JUDGED


def _sweep(plan: Plan, options: Namespace) -> Exit:
    result = _run(plan)
    for line in sweep_lines(result):
        say(line)
    if options.json:
        say_json(sweep_json(result))
    return sweep_status(result)


def _run(plan: Plan) -> Result:
    line = ProgressLine()

    def listen(progress: Progress) -> None:
        line.show(progress_line(progress))

    try:
        return Campaign(plan, listen).run()
    finally:
        line.end()


def programs_for(pipeline: Pipeline) -> Programs:
    """What to draw for a pipeline unless told.

    Passes over StableHLO look at sizes that are unknown, or seem so; the dynamic padder at dynamic dimensions, the
    unroller, and what comes after it, at rolled loops, the Neuron passes by themselves at unrolled ones, others at
    everything else.
    """
    takes_unknown = all(isinstance(pass_, StableHloPass) for pass_ in pipeline.passes) or largest_size(
        pipeline
    )
    if begins_with_stablehlo(pipeline) and takes_unknown:
        return Programs.SYMBOLIC
    if any(isinstance(pass_, DynamicPadder) for pass_ in pipeline.passes):
        return Programs.DYNAMIC
    if any(isinstance(pass_, WhileLoopUnroller) for pass_ in pipeline.passes):
        return Programs.WHILES
    neuron = any(isinstance(pass_, NEURON_PASSES) for pass_ in pipeline.passes)
    return Programs.LOOPS if neuron else Programs.ALL


def _tell(result: Result) -> None:
    for bucket in result.buckets:
        if bucket.working is not None:
            report = "\n".join(comments_of(bucket.path.read_text("utf-8")))
            say(report.replace(THIS_FILE, str(bucket.path)) + "\n")
    for line in summary_lines(result):
        say(line)
