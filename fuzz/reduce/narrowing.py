"""Which passes inside XLA does a failure need?

`xla:cpu` and `xla:pipeline` are a hundred passes in one. A finding names the one after which the values depart; here
the pipeline becomes that pass alone, or the shortest list of passes, in XLA's order, that still ends in it. The
program stays as it is: a pass that the failure needs is kept because it fails without, never because it disappears
with another pass switched off.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import replace

from fuzz.case import Case
from passes import PassCrashed, PassError, Pipeline
from passes.xla import XlaPass, known_passes, named_xla_pass, pipeline_stages

VerdictOf = Callable[[Case], str]
"""The verdict of a case in the words of `fuzz.case.verdict_text`."""

StagesOf = Callable[[Case], Sequence[str]]
"""The passes inside XLA that change a case's program, in order, repeated where they are."""

_WHOLE = re.compile(r"disagree [\w-]+/value xla:(?:cpu|pipeline) \(([\w-]+)\)")
_IMPORT = "import"


def stages_of(case: Case) -> list[str]:
    """The passes of XLA that change the program, where a whole pipeline of XLA is all that runs; else none."""
    passes = case.pipeline.passes
    if len(passes) != 1 or not isinstance(passes[0], XlaPass):
        return []
    try:
        return [stage.name for stage in pipeline_stages(case.module, timeout=passes[0].timeout)]
    except (PassError, PassCrashed):
        return []


def narrowed(
    case: Case, expect: str, verdict_of: VerdictOf, stages: StagesOf = stages_of
) -> tuple[Case, str] | None:
    """The case with the shortest list of XLA's passes that fails in the pass that `expect` names, and its verdict.

    None where the verdict names no pass inside XLA, and where no list of single passes fails like the whole.
    """
    match = _WHOLE.fullmatch(expect)
    if match is None or (match[1] != _IMPORT and match[1] not in known_passes()):
        return None
    wanted = f"disagree values/value xla:{match[1]}"

    def fails(names: Sequence[str]) -> bool:
        return verdict_of(_with(case, names)) == wanted

    names = [match[1]]
    if not fails(names):
        names = list(stages(case))
        while names and names[-1] != match[1]:
            names.pop()
        if len(names) < 2 or not fails(names):
            return None
        names = _without_the_idle(names, fails)
    return _with(case, names), wanted


def _without_the_idle(names: list[str], fails: Callable[[Sequence[str]], bool]) -> list[str]:
    """`names` without any that the failure does not need; the last stays."""
    place = 0
    while place < len(names) - 1:
        fewer = names[:place] + names[place + 1 :]
        if fails(fewer):
            names, place = fewer, 0
        else:
            place += 1
    return names


def _with(case: Case, names: Sequence[str]) -> Case:
    return replace(case, pipeline=Pipeline(tuple(named_xla_pass(name)() for name in names)))
