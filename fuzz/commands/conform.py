"""`hlofuzz conform`: does the evaluator give what StableHLO's test programs say is right?"""

from __future__ import annotations

from argparse import Namespace
from collections import Counter
from pathlib import Path

from fuzz.commands.common import Exit, say_json
from fuzz.report import say
from fuzz.settings import Settings
from hlo import InvalidInput, UnsupportedOpcode
from hlo.interchange import read_file
from oracle.conform import Conformance, Outcome, conform


def conform_files(options: Namespace, settings: Settings) -> Exit:
    """Evaluate StableHLO test programs that check themselves, all *.mlir files of a folder."""
    results: dict[str, Conformance] = {}
    for path in _programs(options.path):
        name = path.relative_to(options.path).as_posix()
        result = results[name] = _judged(path)
        if result.outcome is not Outcome.PASSED:
            say(f"{name}: {result.outcome}: {result.reason}")
    counts = Counter(result.outcome for result in results.values())
    say(", ".join(f"{counts[outcome]} {outcome}" for outcome in Outcome))
    if options.json:
        details = {name: {"outcome": r.outcome, "reason": r.reason} for name, r in results.items()}
        say_json({**{outcome: counts[outcome] for outcome in Outcome}, "details": details})
    if counts[Outcome.FAILED]:
        return Exit.FINDING
    return Exit.PRESERVED if counts[Outcome.PASSED] else Exit.NOT_JUDGED


def _programs(folder: Path) -> list[Path]:
    if not folder.is_dir():
        raise InvalidInput("no such folder", path=str(folder))
    paths = sorted(folder.rglob("*.mlir"))
    if not paths:
        raise InvalidInput("no *.mlir file in it", path=str(folder))
    return paths


def _judged(path: Path) -> Conformance:
    try:
        return conform(read_file(path))
    except (InvalidInput, UnsupportedOpcode) as error:
        return Conformance(Outcome.UNSUPPORTED, str(error))
