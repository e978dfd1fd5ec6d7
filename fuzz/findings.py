"""How does a finding get to disk, at once and whole?"""

from __future__ import annotations

import hashlib
import re
from pathlib import Path

from fuzz.case import AnyCase
from fuzz.corpus import CorpusCase, save, suffix_of, write_case
from fuzz.report import headline, render_lines
from oracle.verdict import Finding

THIS_FILE = "(this file)"  # it may be moved, to corpus/ for one

_LONGEST = 80  # characters of a verdict in a file's name: the name of a pass may be a whole command


def file_name(expect: str, text: str, suffix: str = ".hlo") -> str:
    """A name for the case that gets the verdict `expect`, told apart from others by its text."""
    words = re.sub(r"[^a-z0-9]+", "-", expect.removeprefix("disagree ").lower()).strip("-")
    return f"{words[:_LONGEST].strip('-')}-{hashlib.sha256(text.encode()).hexdigest()[:8]}{suffix}"


def save_finding(
    directory: Path,
    case: AnyCase,
    finding: Finding,
    expect: str,
    *,
    path: Path | None = None,
    jaxlib: str = "",
) -> Path:
    """Write a finding as a corpus file, report included, to `path` or a new file in `directory`.

    `jaxlib`: the versions with which it is one (`CorpusCase`).
    """
    entry = CorpusCase("", case, expect, headline(finding))
    path = path or directory / file_name(expect, write_case(entry), suffix_of(case))
    entry = CorpusCase(path.stem, case, expect, headline(finding), jaxlib)
    save(path, write_case(entry, list(render_lines(finding, case, THIS_FILE))))
    return path


def save_unseen(
    directory: Path, case: AnyCase, expect: str, why: str, *, path: Path | None = None, jaxlib: str = ""
) -> Path:
    """As `save_finding`, for a case that no judge has seen to its end."""
    entry = CorpusCase("", case, expect, why)
    path = path or directory / file_name(expect, write_case(entry), suffix_of(case))
    entry = CorpusCase(path.stem, case, expect, why, jaxlib)
    save(path, write_case(entry, [why, f"replay: hlofuzz replay {THIS_FILE}"]))
    return path
