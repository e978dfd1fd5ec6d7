"""What does the process do that reduces one finding of a campaign? It replaces the finding's file by a smaller one.

Run as a module with the file, the seconds to spend and the folder of JAX's compilation cache as arguments; it
answers with one line of JSON, and ends when its parent does.
"""

from __future__ import annotations

import sys
from pathlib import Path

from fuzz.campaign.contents import contents
from fuzz.corpus import load
from fuzz.isolate import answer, live_with_parent, parent_lines, report_errors_as_json
from fuzz.reduce import WITHOUT_WORK, reduce_entry, save_reduced, working_instructions
from hlo import InvalidInput
from oracle.reference import use_compilation_cache
from passes import AnyProgram


def opcodes(module: AnyProgram) -> list[str]:
    """The opcodes of a module that work, each once, sorted: with the verdict, what tells one bucket from another."""
    return sorted(contents(module).opcodes - WITHOUT_WORK)


def main() -> None:
    """Reduce the file that the arguments name."""
    report_errors_as_json()
    live_with_parent(parent_lines())
    path, seconds, cache = Path(sys.argv[1]), float(sys.argv[2]), sys.argv[3]
    use_compilation_cache(cache)
    entry = load(path, allow_code=True)  # a worker has just written it
    try:
        reduction = reduce_entry(entry, seconds=seconds)
    except InvalidInput as error:
        answer({"refused": str(error)})
        return
    save_reduced(entry, reduction.case, path)
    answer(
        {
            "reduced": str(path),
            "headline": load(path, allow_code=True).why,
            "opcodes": opcodes(reduction.case.module),
            "working": working_instructions(reduction.case.module),
            "attempts": reduction.attempts,
            "complete": reduction.complete,
        }
    )


if __name__ == "__main__":
    main()
