"""Which passes, options, switches and input sets does the failure not need?"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import fields, replace
from functools import partial

from fuzz.case import Case
from fuzz.reduce.editing import Candidate
from passes import Pass, Pipeline


def fewer_inputs(case: Case) -> Iterator[Candidate]:
    """One input set alone."""
    if len(case.inputs) > 1:
        for inputs in case.inputs:
            yield partial(replace, case, inputs=(inputs,))


def fewer_passes(case: Case) -> Iterator[Candidate]:
    """One pass alone, then all but one."""
    passes = case.pipeline.passes
    if len(passes) > 1:
        for pass_ in passes:
            yield partial(_with_passes, case, (pass_,))
        for i in range(len(passes)):
            yield partial(_with_passes, case, (*passes[:i], *passes[i + 1 :]))


def default_options(case: Case) -> Iterator[Candidate]:
    """One option of one pass put back to its default: what stays off is the guard that matters."""
    passes = case.pipeline.passes
    for i, pass_ in enumerate(passes):
        for option in fields(pass_):
            if getattr(pass_, option.name) != option.default:
                reset: Pass = replace(pass_, **{option.name: option.default})
                yield partial(_with_passes, case, (*passes[:i], reset, *passes[i + 1 :]))


def fewer_switches(case: Case) -> Iterator[Candidate]:
    """No environment variable, then all but one."""
    if case.environment:
        yield partial(replace, case, environment={})
    for dropped in case.environment if len(case.environment) > 1 else ():
        kept = {name: value for name, value in case.environment.items() if name != dropped}
        yield partial(replace, case, environment=kept)


def _with_passes(case: Case, passes: tuple[Pass, ...]) -> Case:
    return replace(case, pipeline=Pipeline(passes))
