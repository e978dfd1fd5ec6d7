"""`hlofuzz replay`, `reduce` and `report`: what about the cases in corpus files?"""

from __future__ import annotations

from argparse import Namespace
from pathlib import Path

from fuzz.commands.common import Exit, find_user_modules, prepare_jax, say_json
from fuzz.corpus import case_files, load, naming
from fuzz.isolate import judge_in_child, needs_child
from fuzz.judging import judge_case
from fuzz.reduce import reduce_entry, save_reduced, working_instructions
from fuzz.replay import replay
from fuzz.report import complain, render_text, say, verdict_line
from fuzz.settings import Settings
from hlo import InvalidInput, UnsupportedOpcode
from oracle.verdict import Disagree


def replay_files(options: Namespace, settings: Settings) -> Exit:
    """Judge corpus files again and compare with what each expects."""
    _allow(options)
    prepare_jax(settings)
    files = case_files(options.paths)
    if not files:
        raise InvalidInput("no corpus file in " + ", ".join(map(str, options.paths)))
    wrong: list[str] = []
    unreadable: list[str] = []
    for path in files:
        try:
            result = replay(path, allow_code=options.allow_code)
        except (InvalidInput, UnsupportedOpcode) as error:
            unreadable.append(str(path))
            complain(f"hlofuzz: {error}" if str(path) in str(error) else f"hlofuzz: {path}: {error}")
            continue
        if result.as_expected:
            say(f"ok    {path}: {result.verdict}")
        else:
            wrong.append(str(path))
            say(f"WRONG {path}: expected {result.expect!r}, got {result.verdict!r} ({result.detail})")
    passed = len(files) - len(wrong) - len(unreadable)
    told = f", {len(unreadable)} unreadable" if unreadable else ""
    if len(unreadable) < len(files):
        say(f"{passed} as expected, {len(wrong)} not{told}")
    if options.json:
        counts = {"passed": passed, "failed": len(wrong), "wrong": wrong, "unreadable": unreadable}
        say_json(counts)
    if unreadable:
        return Exit.USAGE
    return Exit.FINDING if wrong else Exit.PRESERVED


def reduce(options: Namespace, settings: Settings) -> Exit:
    """Make the case of a corpus file smaller while it fails in the same way."""
    _allow(options)
    prepare_jax(settings)
    entry = load(options.path, allow_code=options.allow_code)
    with naming(options.path):
        reduction = reduce_entry(entry, seconds=options.time)
    path: Path = options.out or options.path.with_name(f"{options.path.stem}-reduced{options.path.suffix}")
    save_reduced(entry, reduction.case, path)
    before, after = working_instructions(entry.case.module), working_instructions(reduction.case.module)
    unfinished = "" if reduction.complete else "; time ran out before it was minimal"
    say(
        f"{path}: {after} instructions beside parameters and constants, {before} before; "
        f"{reduction.attempts} attempts in {reduction.seconds:.1f} s{unfinished}"
    )
    return Exit.PRESERVED


def report(options: Namespace, settings: Settings) -> Exit:
    """Judge the case of a corpus file and tell in full what is wrong."""
    _allow(options)
    prepare_jax(settings)
    entry = load(options.path, allow_code=options.allow_code)
    if needs_child(entry.expect):
        say(judge_in_child(entry).detail)
        return Exit.PRESERVED
    with naming(options.path):
        verdict = judge_case(entry.case, entry.expect).verdict
    if isinstance(verdict, Disagree):
        say(render_text(verdict.finding, entry.case, str(options.path)))
    else:
        say(verdict_line(verdict))
    return Exit.PRESERVED


def _allow(options: Namespace) -> None:
    if options.allow_code:
        find_user_modules()
