"""Which passes, options, switches and input sets does the failure not need?"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import fields, replace
from functools import partial

from fuzz.case import Case
from fuzz.reduce.editing import C, Candidate
from hlo import HloModule
from hlo.canonical import structure
from oracle.guarded import Crash, run_guarded
from passes import Pass, PassError, Pipeline, Trace


def fewer_inputs(case: C) -> Iterator[Callable[[], C]]:
    """One input set alone."""
    if len(case.inputs) > 1:
        for inputs in case.inputs:
            yield partial(replace, case, inputs=(inputs,))


def fewer_passes(case: Case) -> Iterator[Candidate]:
    """Only the first passes; then without one that changes nothing here.

    A pass that does change something may give later ones what they rely on: the mover believes the tokens that the
    simplifier writes, and without it would fail on any program with a false token.
    """
    passes = case.pipeline.passes
    for count in range(1, len(passes)):
        yield partial(with_passes, case, passes[:count])
    for i in range(len(passes) - 1):
        yield partial(_without_idle_pass, case, i)


def default_options(case: C) -> Iterator[Callable[[], C]]:
    """One option of one pass put back to its default: what stays off is the guard that matters."""
    passes = case.pipeline.passes
    for i, pass_ in enumerate(passes):
        for option in fields(pass_):
            if getattr(pass_, option.name) != option.default:
                reset: Pass = replace(pass_, **{option.name: option.default})
                yield partial(with_passes, case, (*passes[:i], reset, *passes[i + 1 :]))


def fewer_switches(case: C) -> Iterator[Callable[[], C]]:
    """No environment variable, then all but one."""
    if case.environment:
        yield partial(replace, case, environment={})
    for dropped in case.environment if len(case.environment) > 1 else ():
        kept = {name: value for name, value in case.environment.items() if name != dropped}
        yield partial(replace, case, environment=kept)


def _without_idle_pass(case: Case, index: int) -> Case | None:
    passes = case.pipeline.passes
    module = case.module.clone()
    for pass_ in passes[:index]:
        if not _runs(pass_, module):
            return None
    before = structure(module)
    if not _runs(passes[index], module) or structure(module) != before:
        return None
    return with_passes(case, (*passes[:index], *passes[index + 1 :]))


def _runs(pass_: Pass, module: HloModule) -> bool:
    try:
        return not isinstance(run_guarded(pass_, module, Trace()), Crash)
    except PassError:
        return False


def with_passes(case: C, passes: tuple[Pass, ...]) -> C:
    return replace(case, pipeline=Pipeline(passes))
