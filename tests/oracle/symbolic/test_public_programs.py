"""Do the passes over StableHLO keep the meaning of public programs of unknown sizes, made static in several ways?"""

from pathlib import Path

import pytest

from hlo.stablehlo import StableHloModule
from oracle.symbolic import Sizes, draw_sized_inputs, judge_symbolic
from oracle.verdict import Agree, Verdict
from passes import parse_pipeline

PIPELINE = parse_pipeline("canonicalize-dynamism,canonicalize-for-tensorizer")
SHARDS = 4
FOLDER = "stablehlo_dynamic"
MALFORMED = {
    # their one spatial dimension has two strides
    "conv_general_dilated_1d_stride_2_even_dynamic.mlir": "window-strides",
    "conv_general_dilated_1d_stride_2_odd_dynamic.mlir": "window-strides",
}


def judged(path: Path) -> tuple[Verdict, Sizes]:
    program = StableHloModule.read(path.read_text("utf-8"))
    inputs, sizes = draw_sized_inputs(program, 0, 2)
    return judge_symbolic(program, PIPELINE, inputs, {}).verdict, sizes


@pytest.mark.parametrize("shard", range(SHARDS))
def test_every_public_program_keeps_its_meaning(shared_data: Path, shard: int) -> None:
    paths = sorted((shared_data / FOLDER).glob("*.mlir"))
    assert len(paths) > 100
    for path in paths[shard::SHARDS]:
        verdict, sizes = judged(path)
        if path.name in MALFORMED:
            assert not sizes.assignments
            assert MALFORMED[path.name] in sizes.described()
            continue
        assert isinstance(verdict, Agree), f"{path.name}: {verdict}"
        assert len(sizes.assignments) == 2
