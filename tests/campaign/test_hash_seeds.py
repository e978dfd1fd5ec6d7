"""Does a graph, or what passes make of it, depend on how Python happens to hash in one process?"""

import os
import subprocess
import sys

import pytest

from fuzz.campaign.plan import Programs
from passes import DEFAULT_PIPELINE

PROGRAM = """
import hashlib, json, sys
from fuzz.campaign.plan import Programs
from fuzz.campaign.source import for_each_program
from hlo.interchange import write_text
from passes import PassError, Trace, parse_pipeline

kind, pipeline, count = Programs(sys.argv[1]), parse_pipeline(sys.argv[2]), int(sys.argv[3])
found = []

def visit(index, program):
    before = write_text(program.module)
    try:
        pipeline.run(program.module, Trace())
        after = write_text(program.module)
    except PassError as refused:
        after = str(refused)
    texts = before, after, sorted(map(str, program.features))
    found.append(hashlib.sha256(json.dumps(texts).encode()).hexdigest())

for_each_program(5, 0, count, visit, kind)
print(json.dumps(found))
"""


@pytest.mark.parametrize(
    ("kind", "pipeline", "count"),
    [
        (Programs.LOOPS, DEFAULT_PIPELINE, 60),
        (Programs.WHILES, "neuron", 160),
        (Programs.GRAPHS, "call-inliner,constant-folding,tuple-simplifier,dce", 60),
        (Programs.DYNAMIC, "dynamic", 40),
    ],
)
def test_two_hash_seeds_give_the_same_text(kind: Programs, pipeline: str, count: int) -> None:
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, sys.path))}
    answers = [
        subprocess.run(
            [sys.executable, "-c", PROGRAM, kind.value, pipeline, str(count)],
            env={**environment, "PYTHONHASHSEED": seed},
            capture_output=True,
            text=True,
            check=True,
        ).stdout
        for seed in ("1", "2")
    ]
    assert answers[0] == answers[1]
    assert answers[0].count(",") == count - 1
