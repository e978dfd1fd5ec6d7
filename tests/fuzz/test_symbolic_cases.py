"""Do programs of unknown sizes go where programs of HLO go: files, replays, the command line, a campaign?"""

import json
from pathlib import Path

import numpy as np
import pytest

from fuzz.__main__ import main
from fuzz.case import SymbolicCase
from fuzz.corpus import CorpusCase, case_files, load, read_case, write_case
from fuzz.generators.stablehlo import Dynamism
from fuzz.isolate import judge_in_child
from fuzz.replay import replay
from hlo import InvalidInput, same_bits
from hlo.stablehlo import StableHloModule
from passes import parse_pipeline

FOLDING = "canonicalize-for-tensorizer{static_dims_only=false}"
SIZE = """module {
  func.func @main(%x: tensor<?x3xf32>, %n: tensor<i32>) -> tensor<i32> {
    %rows = stablehlo.get_dimension_size %x, dim = 0 : (tensor<?x3xf32>) -> tensor<i32>
    return %rows : tensor<i32>
  }
}
"""
X = np.arange(6, dtype=np.float32).reshape(2, 3)
JAX = """
import jax, jax.numpy as jnp
from jax.export import symbolic_shape

def mean(x):
    return x.sum(0) / x.shape[0]

def mean_example_args():
    return (jax.ShapeDtypeStruct(symbolic_shape("b, s"), jnp.float32),)
"""


@pytest.fixture(autouse=True)
def own_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "size.mlir").write_text(SIZE)
    return tmp_path


def entry(expect: str = "disagree values/value canonicalize-for-tensorizer") -> CorpusCase:
    case = SymbolicCase(
        StableHloModule.read(SIZE), parse_pipeline(FOLDING), ((X, np.array(1, np.int32)),), {}
    )
    return CorpusCase("size", case, expect, "a size is folded")


def answer(capsys: pytest.CaptureFixture[str], *arguments: str) -> tuple[int, str]:
    status = main(list(arguments))
    return status, capsys.readouterr().out


def test_a_case_comes_back_from_its_file(own_folder: Path) -> None:
    path = own_folder / "kept" / "size.mlir"
    path.parent.mkdir()
    path.write_text(write_case(entry(), ["a report"]))
    again = load(path)
    assert (again.name, again.expect, again.why) == (entry().name, entry().expect, entry().why)
    assert isinstance(again.case, SymbolicCase)
    assert str(again.case.module) == str(entry().case.module)
    assert same_bits(again.case.inputs, entry().case.inputs)
    assert write_case(read_case(write_case(again))) == write_case(entry())
    assert case_files([path.parent]) == [path]
    with pytest.raises(InvalidInput, match="unknown sizes"):
        _ = again.hlo


@pytest.mark.parametrize(
    ("value", "message"),
    [
        (
            '{"type":"f32","shape":[2,4],"value":[[0,0,0,0],[0,0,0,0]]}',
            r"not the tensor<\?x3xf32> that parameter 0",
        ),
        ('{"type":"s32","shape":[1,3],"value":[[0,0,0]]}', "that parameter 0 takes"),
    ],
)
def test_an_input_that_does_not_fit_is_named_with_its_line(value: str, message: str) -> None:
    head, _, tail = write_case(entry()).partition("// INPUT: ")
    text = f"{head}// INPUT: {value}\n" + tail.partition("\n")[2]
    with pytest.raises(InvalidInput, match=message) as caught:
        read_case(text)
    assert caught.value.line == head.count("\n") + 1


def test_a_case_is_judged_as_its_file_says_here_and_in_a_child(own_folder: Path) -> None:
    path = own_folder / "case.mlir"
    path.write_text(write_case(entry()))
    assert replay(path).as_expected
    assert judge_in_child(entry()).verdict == entry().expect
    path.write_text(write_case(entry("agree")))
    assert not replay(path).as_expected


def test_a_program_whose_meaning_is_preserved_gives_status_0_and_its_sizes(capsys) -> None:
    status, text = answer(capsys, "check", "size.mlir", "--passes", "canonicalize-for-tensorizer", "--json")
    assert status == 0
    assert "judged for sizes [3,3], []" in text
    assert json.loads(text.splitlines()[-1])["verdict"] == "agree"


def test_a_finding_gives_status_1_its_smallest_sizes_both_programs_and_a_file(
    capsys, own_folder: Path
) -> None:
    status, text = answer(
        capsys,
        "check",
        "size.mlir",
        "--passes",
        f"canonicalize-dynamism,{FOLDING}",
        "--inputs",
        "1",
        "--out",
        "out",
    )
    assert status == 1
    assert "sizes:          [1,3], []" in text
    assert "first bad pass: canonicalize-for-tensorizer (number 2 of 2)" in text
    assert "-     %0 = stablehlo.get_dimension_size %arg0" in text
    assert "+     %c = stablehlo.constant dense<0>" in text
    (path,) = (own_folder / "out").iterdir()
    assert path.suffix == ".mlir"
    assert answer(capsys, "replay", "out")[0] == 0


NEVER = """module { func.func @main(%x: tensor<?x3xf32>, %y: tensor<2x3xf32>) -> tensor<?x3xf32> {
  %a = stablehlo.concatenate %x, %y, dim = 0 : (tensor<?x3xf32>, tensor<2x3xf32>) -> tensor<?x3xf32>
  %b = stablehlo.add %a, %x : tensor<?x3xf32>
  return %b : tensor<?x3xf32> } }"""


def test_what_no_sizes_fit_cannot_be_judged(capsys, own_folder: Path) -> None:
    (own_folder / "never.mlir").write_text(NEVER)
    status, text = answer(capsys, "check", "never.mlir", "--passes", "canonicalize-for-tensorizer")
    assert status == 3
    assert "no sizes fit the program" in text
    assert "assignments of sizes that do not fit" in text


def test_passes_over_hlo_cannot_have_it(capsys) -> None:
    status, text = answer(capsys, "check", "size.mlir", "--passes", "dce")
    assert status == 3
    assert "dce: parameter 0: tensor<?x3xf32> has a size that is neither known nor bounded" in text


def test_a_jax_function_of_symbolic_dimensions_is_checked(capsys, own_folder: Path, monkeypatch) -> None:
    (own_folder / "averages.py").write_text(JAX)
    monkeypatch.syspath_prepend(own_folder)
    assert answer(capsys, "check", "averages:mean", "--passes", "canonicalize-for-tensorizer")[0] == 0
    status, text = answer(capsys, "check", "averages:mean", "--passes", FOLDING)
    assert status == 1
    assert "sizes:          [1,0]" in text or "sizes:          [1,1]" in text


def test_a_case_is_reduced_into_a_file_of_its_kind(capsys, own_folder: Path) -> None:
    path = own_folder / "case.mlir"
    path.write_text(write_case(entry()))
    status, text = answer(capsys, "reduce", "case.mlir", "--time", "20")
    assert status == 0
    assert "case-reduced.mlir: 1 instructions" in text
    small = load(own_folder / "case-reduced.mlir").case
    assert np.asarray(small.inputs[0][0]).shape == (1, 3)
    assert len(small.inputs[0]) == 1
    assert "get_dimension_size" in answer(capsys, "report", "case-reduced.mlir")[1]


def test_a_campaign_finds_the_fold_reduces_it_and_keeps_it(capsys, own_folder: Path) -> None:
    arguments = ("--passes", FOLDING, "--examples", "6", "-n", "1", "--seed", "3", "--out", "found", "--json")
    status, text = answer(capsys, "run", *arguments)
    told = json.loads(text.splitlines()[-1])
    assert status == 1
    assert told["graphs"] == 6
    assert told["features"].keys() & set(map(str, Dynamism))
    assert "features of unknown sizes (graphs):" in text
    assert "features of dynamic arrays" not in text
    assert told["opcodes"]["get_dimension_size"] > 0
    assert all(path.suffix == ".mlir" for path in (own_folder / "found").iterdir())
    assert min(bucket["working_instructions"] for bucket in told["buckets"]) <= 4
    assert answer(capsys, "replay", "found")[0] == 0
