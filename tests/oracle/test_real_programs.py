"""Programs that nobody here wrote give the same in our evaluator, in JAX operation by operation, and in XLA CPU."""

from collections.abc import Iterable
from pathlib import Path

import pytest

from hlo import ArrayShape, HloModule, UnsupportedOpcode, leaves
from hlo.evaluator import Limits
from hlo.interchange import read_text
from hlo.verify import verify
from oracle.engines import JaxReference, NumpyEvaluator, XlaCpu
from oracle.inputs import draw_inputs
from oracle.vote import vote

FOLDER = "enzyme_hlo"
LIMITS = Limits(while_iterations=50_000, instructions=20_000_000)
ENGINES = (NumpyEvaluator(LIMITS), JaxReference(), XlaCpu())
MOST_ELEMENTS = 4_000_000
SAMPLE = (
    *("add_select.hlo", "and_pad_pad.hlo", "autobatching__stencil1.hlo", "concat_concat_to_dus.hlo"),
    *("addreduceslicefusion.hlo", "conj_complex.hlo"),
)


TOO_LONG_FOR_JAX = {"autobatching__nbody.hlo"}  # tens of thousands of iterations
TOO_LONG = {
    "autobatching__nbody_sim_crash.hlo",  # the same on a million elements
    "diffrules__stablehlo__while2.hlo",  # its condition is true
}


def is_too_large(module: HloModule) -> bool:
    return any(
        isinstance(shape, ArrayShape) and shape.element_count > MOST_ELEMENTS
        for computation in module.computations
        for inst in computation.instructions
        for _, shape in leaves(inst.shape)
    )


def departures(paths: Iterable[Path]) -> tuple[dict[str, str], dict[str, str], int]:
    """Where votes went wrong, which programs evaluator and XLA did not both run, and how many are too large."""
    wrong, unjudged, large = dict[str, str](), dict[str, str](), 0
    for path in paths:
        module = read_text(path.read_text("utf-8"))
        assert verify(module) == [], path.name
        if is_too_large(module):
            large += 1
            continue
        try:
            (inputs,) = draw_inputs(module, 1, 1)
        except UnsupportedOpcode as error:
            unjudged[path.name] = str(error)
            continue
        groups = vote(module, inputs, ENGINES)
        silent = {name for name, _ in groups.silent}
        if {"evaluator", "xla-cpu"} & silent:
            unjudged[path.name] = str(groups)
        elif not groups.is_unanimous:
            wrong[path.name] = str(groups)
        elif silent and path.name not in TOO_LONG_FOR_JAX:
            unjudged[path.name] = str(groups)
    return wrong, unjudged, large


def test_a_sample_of_real_programs_is_seen_alike(shared_data: Path) -> None:
    assert departures(shared_data / FOLDER / name for name in SAMPLE) == ({}, {}, 0)


@pytest.mark.slow
def test_all_real_programs_are_seen_alike(shared_data: Path) -> None:
    paths = sorted((shared_data / FOLDER).glob("*.hlo"))
    wrong, unjudged, large = departures(paths)
    assert wrong == {}
    assert large <= 40
    unbounded = {name for name, why in unjudged.items() if "unbounded" in why}
    assert unjudged.keys() <= TOO_LONG | unbounded
    assert len(paths) - large - len(unjudged) >= 200
