"""Does a graph, or what passes make of it, depend on how Python happens to hash in one process?"""

import os
import subprocess
import sys

PROGRAM = """
import hashlib, json
from fuzz.campaign.source import for_each_program
from hlo.interchange import write_text
from passes import DEFAULT_PIPELINE, Trace, parse_pipeline

pipeline = parse_pipeline(DEFAULT_PIPELINE)
found = []

def visit(index, program):
    before = write_text(program.module)
    pipeline.run(program.module, Trace())
    texts = before, write_text(program.module), sorted(map(str, program.features))
    found.append(hashlib.sha256(json.dumps(texts).encode()).hexdigest())

for_each_program(5, 0, 60, visit)
print(json.dumps(found))
"""


def test_two_hash_seeds_give_the_same_text() -> None:
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, sys.path))}
    answers = [
        subprocess.run(
            [sys.executable, "-c", PROGRAM],
            env={**environment, "PYTHONHASHSEED": seed},
            capture_output=True,
            text=True,
            check=True,
        ).stdout
        for seed in ("1", "2")
    ]
    assert answers[0] == answers[1]
    assert answers[0].count(",") == 59
