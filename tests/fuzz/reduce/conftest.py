"""What tests of the reducer share: cases from HLO text, and a look at what one transformation offers."""

from collections.abc import Callable

import pytest

from fuzz.case import Case
from fuzz.reduce.editing import Transformation
from hlo import IllegalRewrite, Value
from hlo.canonical import structure
from hlo.interchange import read_text
from hlo.verify import verify
from oracle.inputs import draw_inputs
from passes import parse_pipeline

MakeCase = Callable[..., Case]
Offers = Callable[[Transformation, Case, str], bool]


@pytest.fixture
def make_case() -> MakeCase:
    """`make_case(text, pipeline="", environment={}, sets=1)`: a case with drawn inputs."""

    def make(text: str, pipeline: str = "", environment: dict[str, str] | None = None, sets: int = 1) -> Case:
        module = read_text(text)
        inputs: tuple[tuple[Value, ...], ...] = tuple(draw_inputs(module, 0, sets))
        return Case(module, parse_pipeline(pipeline), inputs, environment or {})

    return make


@pytest.fixture
def offers() -> Offers:
    """`offers(transformation, case, text)`: whether some candidate is the program `text`, names aside."""

    def check(transformation: Transformation, case: Case, text: str) -> bool:
        wanted = structure(read_text(text), names=False)
        before = structure(case.module)
        found = False
        for candidate in transformation(case):
            try:
                made = candidate()
            except IllegalRewrite:
                continue
            if made is not None and not verify(made.module) and structure(made.module, names=False) == wanted:
                shapes = [parameter.shape for parameter in made.module.entry_computation.parameters]
                found |= all(len(inputs) == len(shapes) for inputs in made.inputs)
        assert structure(case.module) == before  # a candidate works on a clone
        return found

    return check
