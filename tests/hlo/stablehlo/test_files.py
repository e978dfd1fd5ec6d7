from pathlib import Path

import jax
import jax.numpy as jnp
import pytest
from jax.export import symbolic_shape

from hlo import HloModule, InvalidInput
from hlo.interchange import read_file
from hlo.stablehlo import StableHloModule, export_jax, read_program

UNKNOWN = "module { func.func @main(%x: tensor<?xf32>) -> tensor<?xf32> { return %x : tensor<?xf32> } }"
BOUNDED = UNKNOWN.replace("?xf32", "?xf32, #stablehlo.bounds<4>")
SHAPED = """module { func.func @main(%x: tensor<4xf32>) -> tensor<2x2xf32> {
  %shape = stablehlo.constant dense<2> : tensor<2xi32>
  %y = stablehlo.dynamic_reshape %x, %shape : (tensor<4xf32>, tensor<2xi32>) -> tensor<2x2xf32>
  return %y : tensor<2x2xf32> } }"""


def written(folder: Path, name: str, text: str) -> Path:
    path = folder / name
    path.write_text(text)
    return path


def test_only_a_program_of_unknown_sizes_stays_stablehlo(tmp_path: Path) -> None:
    program = read_program(written(tmp_path, "unknown.mlir", UNKNOWN))
    assert isinstance(program, StableHloModule)
    assert not program.is_static
    bounded = read_program(written(tmp_path, "bounded.mlir", BOUNDED))
    assert isinstance(bounded, HloModule)
    assert str(bounded.entry_computation.root.shape) == "f32[<=4]"
    static = read_program(
        written(tmp_path, "static.hlo", "HloModule m\nENTRY e { ROOT x = f32[4] parameter(0) }")
    )
    assert isinstance(static, HloModule)


def test_operations_that_take_their_sizes_stay_where_they_are_wanted(tmp_path: Path) -> None:
    path = written(tmp_path, "shaped.mlir", SHAPED)
    kept = read_program(path, stablehlo=True)
    assert isinstance(kept, StableHloModule)
    assert kept.has_shape_operands
    plain = written(
        tmp_path,
        "plain.mlir",
        SHAPED.replace(
            "dynamic_reshape %x, %shape : (tensor<4xf32>, tensor<2xi32>)", "reshape %x : (tensor<4xf32>)"
        ),
    )
    assert isinstance(read_program(plain, stablehlo=True), HloModule)


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("absent.mlir", ""),
        ("nonsense.mlir", "module {"),
        ("unknown.hlo", "HloModule m\nENTRY e { ROOT x = f32[?] parameter(0) }"),
    ],
)
def test_what_is_no_program_is_refused_as_by_read_file(tmp_path: Path, name: str, text: str) -> None:
    path = tmp_path / name
    if text:
        path.write_text(text)
    with pytest.raises(InvalidInput) as ours:
        read_program(path)
    with pytest.raises(InvalidInput) as theirs:
        read_file(path)
    assert str(ours.value) == str(theirs.value)
    assert str(path) in str(ours.value)


def test_a_jax_function_of_symbolic_dimensions_is_exported() -> None:
    x = jax.ShapeDtypeStruct(symbolic_shape("b, 3"), jnp.float32)
    program = export_jax(lambda x: x + x.shape[0], x)
    assert [kind.dimensions for kind in program.parameters] == [(None, 3)]
    assert program.is_unbounded
