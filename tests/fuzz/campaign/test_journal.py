"""Can a worker's journal be read at any moment?"""

import subprocess
import sys
from pathlib import Path

from fuzz.campaign.journal import Stage, read_journal

WRITER = """
import sys
from pathlib import Path
from fuzz.campaign.journal import JournalWriter, Stage
from fuzz.campaign.plan import Position
journal = JournalWriter(Path(sys.argv[1]))
journal.note(Stage.DRAWING, Position(0, 0), 0)
print("begun", flush=True)
for number in range(1, 10**9):
    journal.note(Stage.JUDGING, Position(number, number), number)
"""


def test_what_is_read_while_it_is_written_is_one_record_or_the_other(tmp_path: Path) -> None:
    path = tmp_path / "journal"
    with subprocess.Popen([sys.executable, "-c", WRITER, str(path)], stdout=subprocess.PIPE) as writer:
        assert writer.stdout is not None
        writer.stdout.readline()
        entries = [read_journal(path) for _ in range(20_000)]
        writer.kill()
    for entry in entries:
        assert entry is not None
        assert entry.stage is not Stage.STARTING
        assert entry.position.batch == entry.position.number == entry.done
