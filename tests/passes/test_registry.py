from collections.abc import Iterator
from dataclasses import dataclass, fields
from pathlib import Path
from typing import ClassVar

import pytest
from hypothesis import given
from hypothesis import strategies as st

import passes
from hlo import HloModule, InvalidInput
from passes import (
    DEFAULT_PIPELINE,
    PASSES,
    PIPELINES,
    Pass,
    Pipeline,
    Trace,
    named_passes,
    parse_pipeline,
    registry,
)
from passes.stock import STOCK_PASSES, CallInliner, ConstantFolding, Dce

STOCK = Path(passes.__file__).parent / "stock"


ANALYSES = {"dynamic_dimension_inference", "shape_component_analysis"}
"""Rooms beside the passes: what several of them ask."""
CHANGES_NOTHING = {"tensorizer-guard"}


def test_every_stock_module_is_one_registered_pass() -> None:
    modules = {path.stem for path in STOCK.iterdir()} - {"__init__", "__pycache__"} - ANALYSES
    assert modules == {cls.name.replace("-", "_") for cls in STOCK_PASSES}


@pytest.mark.parametrize("cls", PASSES.values(), ids=PASSES)
def test_every_pass_says_what_it_is(cls: type[Pass]) -> None:
    assert bool(cls.rules) is (cls.name not in CHANGES_NOTHING)
    assert len(set(cls.rules)) == len(cls.rules)
    assert cls.description().endswith(".")
    options = {field.name: type(field.default) for field in fields(cls)}
    assert set(options.values()) <= {bool, int, str}
    assert [options[guard] for guard in cls.guards] == [bool] * len(cls.guards)
    assert str(Pipeline((cls(),))) == cls.name


def test_two_passes_cannot_share_a_name() -> None:
    with pytest.raises(ValueError, match="two passes are called dce"):
        registry._by_name((Dce, CallInliner, Dce))


def test_the_default_pipeline_exists() -> None:
    assert str(parse_pipeline(DEFAULT_PIPELINE)) == DEFAULT_PIPELINE


def test_a_named_pipeline_stands_for_its_passes_and_its_prefixes_for_the_first_of_them() -> None:
    for name, text in PIPELINES.items():
        whole = parse_pipeline(name)
        assert str(whole) == text
        for count in range(1, len(whole.passes) + 1):
            assert parse_pipeline(f" {name}:{count} ").passes == whole.passes[:count]
            assert named_passes(name, str(count)) == whole.passes[:count]


def test_a_named_pipeline_stands_among_passes() -> None:
    text = "dce,neuron:2,constant-folding{fold_while=true},neuron"
    assert str(parse_pipeline(text)) == (
        "dce,while-loop-unroller,neuron-dus-ds-index-simplifier,constant-folding{fold_while=true},"
        + PIPELINES["neuron"]
    )


def test_the_neuron_pipeline_ends_where_the_slices_are_static_and_the_concatenates_formed() -> None:
    assert [pass_.name for pass_ in parse_pipeline("neuron").passes] == [
        "while-loop-unroller",
        "neuron-dus-ds-index-simplifier",
        "dynamic-slice-mover",
        "neuron-repeated-dus-to-concat",
        "tuple-simplifier",
        "dce",
    ]


def values(default: object) -> st.SearchStrategy[object]:
    if isinstance(default, bool):
        return st.booleans()
    return st.integers() if isinstance(default, int) else st.text()


@dataclass(frozen=True)
class Labelled(Pass):
    """A pass with an option of each type."""

    label: str = "none"
    rounds: int = 1
    loud: bool = False

    name: ClassVar[str] = "labelled"

    def run(self, module: HloModule, trace: Trace) -> bool:
        return False


@pytest.fixture(scope="module")
def labelled() -> Iterator[None]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(registry, "PASSES", {**PASSES, "labelled": Labelled})
        yield


def some_pass(cls: type[Pass]) -> st.SearchStrategy[Pass]:
    return st.builds(cls, **{field.name: values(field.default) for field in fields(cls)})


@pytest.mark.usefixtures("labelled")
@given(st.lists(st.sampled_from([*PASSES.values(), Labelled]).flatmap(some_pass), max_size=4))
def test_every_pipeline_is_read_back_from_its_text(pipeline: list[Pass]) -> None:
    assert parse_pipeline(str(Pipeline(tuple(pipeline)))) == Pipeline(tuple(pipeline))


def test_white_space_is_free() -> None:
    text = "  dce , constant-folding { max_elements = 5 , fold_while = true } , call-inliner "
    assert parse_pipeline(text).passes == (
        Dce(),
        ConstantFolding(max_elements=5, fold_while=True),
        CallInliner(),
    )


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("dc", "unknown pass 'dc'; did you mean dce?"),
        ("constant_folding", "unknown pass 'constant_folding'; did you mean constant-folding?"),
        ("dce,,dce", "pipeline 'dce,,dce': a pass name is missing at character 5"),
        ("dce,", "pipeline 'dce,': a pass name is missing at character 5"),
        ("dce dce", "pipeline 'dce dce': ',' expected at character 5, not 'd'"),
        ("dce{fast=true}", "pass dce has no option 'fast'; known: none"),
        (
            "call-inliner{single_callsite=true}",
            "pass call-inliner has no option 'single_callsite'; did you mean single_call_site?",
        ),
        (
            "call-inliner{single_call_site=1}",
            "pass call-inliner: option single_call_site is true or false, not '1'",
        ),
        (
            "constant-folding{max_elements=1e6}",
            "pass constant-folding: option max_elements is an integer, not '1e6'",
        ),
        (
            "constant-folding{max_elements=1,max_elements=2}",
            "pass constant-folding: option max_elements is given twice",
        ),
        (
            "constant-folding{max_elements}",
            "pipeline 'constant-folding{max_elements}': option=value expected at character 18",
        ),
        (
            "constant-folding{max_elements=1",
            "pipeline 'constant-folding{max_elements=1': ',' expected at character 32, not 'the end'",
        ),
        ("neuron:7", "pipeline neuron:7: neuron has 6 passes; say neuron:1 to neuron:6"),
        ("dce,neuron:0", "pipeline neuron:0: neuron has 6 passes; say neuron:1 to neuron:6"),
        ("neuron:", "pipeline neuron:: neuron has 6 passes; say neuron:1 to neuron:6"),
        ("neuron{inline=true}", "pipeline 'neuron{inline=true}': ',' expected at character 7, not '{'"),
        ("neurone", "unknown pass 'neurone'; did you mean neuron?"),
        ("labelled{label=}", 'pass labelled: option label is text; write "" for the empty text'),
        (r'labelled{label="\q"}', r'pass labelled: option label: "\q" is not quoted as in JSON (Invalid \escape)'),
    ],
)  # fmt: skip
@pytest.mark.usefixtures("labelled")
def test_a_text_that_means_no_pipeline_is_refused_in_one_line(text: str, message: str) -> None:
    with pytest.raises(InvalidInput) as caught:
        parse_pipeline(text)
    assert str(caught.value) == message


def test_a_name_like_no_other_lists_what_there_is() -> None:
    with pytest.raises(
        InvalidInput, match=r"known: bound-dynamic-dimensions, call-inliner, canonicalize-dynamism, "
    ):
        parse_pipeline("zzz")
