"""Do our passes keep the meaning of loops that nobody here wrote?"""

from collections import Counter
from pathlib import Path

import pytest

from hlo import HloModule, Opcode, UnsupportedOpcode
from hlo.interchange import read_text
from oracle.inputs import draw_inputs
from oracle.judge import judge
from oracle.verdict import Agree, Disagree
from passes import parse_pipeline

FOLDER = "enzyme_hlo"
PIPELINES = ("call-inliner,tuple-simplifier,constant-folding,dce", "neuron")
MOST_ELEMENTS = 100_000
LONG = {  # tens of thousands of iterations, or without end
    "autobatching__nbody.hlo",
    "autobatching__nbody_sim_crash.hlo",
    "diffrules__stablehlo__while2.hlo",
}


def has_loop(module: HloModule) -> bool:
    return any(inst.opcode is Opcode.WHILE for c in module.computations for inst in c.instructions)


def is_small(module: HloModule) -> bool:
    shapes = (inst.shape for c in module.computations for inst in c.instructions)
    return all(getattr(shape, "element_count", 0) <= MOST_ELEMENTS for shape in shapes)


@pytest.mark.parametrize("pipeline", PIPELINES)
def test_real_loops_keep_their_meaning(shared_data: Path, pipeline: str) -> None:
    passes = parse_pipeline(pipeline)
    seen, fired = Counter[str](), Counter[str]()
    wrong: dict[str, str] = {}
    for path in sorted((shared_data / FOLDER).glob("*.hlo")):
        text = path.read_text("utf-8")
        if " while(" not in text or path.name in LONG:
            continue
        module = read_text(text)
        if not has_loop(module) or not is_small(module):
            continue
        try:
            inputs = draw_inputs(module, 1, 1)
        except UnsupportedOpcode:
            continue
        judgement = judge(module, passes, inputs, {}, use_jax=False)
        seen[type(judgement.verdict).__name__] += 1
        fired.update(judgement.fired)
        if isinstance(judgement.verdict, Disagree):
            wrong[path.name] = str(judgement.verdict.finding)
    assert wrong == {}
    assert seen[Agree.__name__] >= 15
    if pipeline == "neuron":
        assert fired["while-loop-unroller:unroll"] >= 5
