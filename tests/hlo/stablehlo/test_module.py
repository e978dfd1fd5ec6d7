import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax import export

from hlo import InvalidInput, Opcode, PrimitiveType
from hlo.evaluator import Evaluator
from hlo.interchange import read_text
from hlo.stablehlo import StableHloModule, TensorType, export_jax, type_of

GROWN = """
module {
  func.func @main(%x: tensor<?x4xf32>, %n: tensor<i32>) -> (tensor<?x4xf32>, tensor<i32>) {
    %rows = stablehlo.get_dimension_size %x, dim = 0 : (tensor<?x4xf32>) -> tensor<i32>
    %columns = stablehlo.constant dense<4> : tensor<1xi32>
    %row = stablehlo.reshape %rows : (tensor<i32>) -> tensor<1xi32>
    %shape = stablehlo.concatenate %row, %columns, dim = 0 : (tensor<1xi32>, tensor<1xi32>) -> tensor<2xi32>
    %one = stablehlo.constant dense<1.0> : tensor<f32>
    %ones = stablehlo.dynamic_broadcast_in_dim %one, %shape, dims = [] : (tensor<f32>, tensor<2xi32>) -> tensor<?x4xf32>
    %sum = stablehlo.add %x, %ones : tensor<?x4xf32>
    return %sum, %rows : tensor<?x4xf32>, tensor<i32>
  }
}
"""

BOUNDED = """
module {
  func.func @main(%x: tensor<8x4xf32>, %n: tensor<i32>) -> tensor<i32> {
    %cut = stablehlo.set_dimension_size %x, %n, dim = 0
        : (tensor<8x4xf32>, tensor<i32>) -> tensor<?x4xf32, #stablehlo.bounds<8, ?>>
    %size = stablehlo.get_dimension_size %cut, dim = 0
        : (tensor<?x4xf32, #stablehlo.bounds<8, ?>>) -> tensor<i32>
    return %size : tensor<i32>
  }
}
"""


def test_unknown_sizes_are_none_and_scalars_have_none() -> None:
    program = StableHloModule.read(GROWN)
    assert program.parameters == (
        TensorType(PrimitiveType.F32, (None, 4)),
        TensorType(PrimitiveType.S32, ()),
    )
    assert not program.is_static


def test_a_bound_is_read_with_the_type_that_has_it() -> None:
    program = StableHloModule.read(BOUNDED)
    (cut,) = (op for op in program.operations() if op.name == "stablehlo.set_dimension_size")
    kind = type_of(cut.results[0].type)
    assert kind == TensorType(PrimitiveType.F32, (None, 4), (8, None))
    assert str(kind) == "tensor<?x4xf32, #stablehlo.bounds<8, ?>>"


@pytest.mark.parametrize("kind", PrimitiveType, ids=lambda kind: kind.text)
def test_every_element_type_is_spelled_as_mlir_reads_it(kind: PrimitiveType) -> None:
    spelled = str(TensorType(kind, (None, 2)))
    program = StableHloModule.read(
        f"module {{ func.func @main(%x: {spelled}) -> {spelled} {{ return %x : {spelled} }} }}"
    )
    assert program.parameters == program.results == (TensorType(kind, (None, 2)),)


def test_specialising_gives_the_program_for_these_sizes() -> None:
    program = StableHloModule.read(GROWN)
    static = program.specialised([(3, 4), ()])
    assert static.is_static
    assert static.results[0].dimensions == (3, 4)
    x = np.arange(12, dtype=np.float32).reshape(3, 4)
    value = Evaluator(static.to_hlo()).run((x, np.array(0, np.int32)))
    assert isinstance(value, tuple)
    np.testing.assert_array_equal(np.asarray(value[0]), np.asarray(jnp.add(x, 1)))
    assert value[1] == 3
    assert not program.is_static, "the program itself stays as it was"


@pytest.mark.parametrize("sizes", [[(3, 5), ()], [(3,), ()], [(3, 4)]])
def test_sizes_that_contradict_the_types_are_refused(sizes: list[tuple[int, ...]]) -> None:
    with pytest.raises(InvalidInput, match=r"which is never|2 parameters"):
        StableHloModule.read(GROWN).specialised(sizes)


def test_sizes_that_contradict_each_other_are_refused() -> None:
    program = StableHloModule.read(
        """module { func.func @main(%x: tensor<?xf32>, %y: tensor<?xf32>) -> tensor<?xf32> {
             %sum = stablehlo.add %x, %y : tensor<?xf32>
             return %sum : tensor<?xf32> } }"""
    )
    assert program.specialised([(2,), (2,)]).is_static
    with pytest.raises(InvalidInput):
        program.specialised([(2,), (3,)])


def test_an_unknown_size_without_bound_cannot_become_hlo() -> None:
    with pytest.raises(InvalidInput, match=r"parameter 0: tensor<\?x4xf32> has a size that is neither known"):
        StableHloModule.read(GROWN).to_hlo()
    opcodes = {inst.opcode for inst in StableHloModule.read(BOUNDED).to_hlo().entry_computation.instructions}
    assert {Opcode.SET_DIMENSION_SIZE, Opcode.GET_DIMENSION_SIZE} <= opcodes


def test_hlo_goes_there_and_back() -> None:
    module = read_text(
        "HloModule m\nENTRY e { x = f32[<=8]{0} parameter(0)\n ROOT y = f32[<=8]{0} add(x, x) }"
    )
    program = StableHloModule.from_hlo(module)
    assert program.parameters == (TensorType(PrimitiveType.F32, (None,), (8,)),)
    assert program.to_hlo().entry_computation.root.shape == module.entry_computation.root.shape


def test_a_clone_does_not_change_with_the_original() -> None:
    program = StableHloModule.read(GROWN)
    copy = program.clone()
    assert copy.text == program.text
    program.assign(StableHloModule.read(BOUNDED))
    assert copy.text != program.text


@pytest.mark.parametrize(
    ("source", "place"),
    [
        ("module {\n  nonsense\n}", (2, 3)),
        (
            "module {\n func.func @main(%a: tensor<?xf32>) -> tensor<4xf32> {\n  return %a : tensor<?xf32> } }",
            (3, 3),
        ),
    ],
)
def test_a_fault_in_the_text_is_named_with_its_place(source: str, place: tuple[int, int]) -> None:
    with pytest.raises(InvalidInput) as caught:
        StableHloModule.read(source)
    assert (caught.value.line, caught.value.column) == place


def test_why_sizes_do_not_fit_is_said_in_a_line_without_how_the_program_was_exported() -> None:
    batch, length = export.symbolic_shape("b, s")
    program = export_jax(
        lambda x, y: jnp.einsum("bd,btd->bt", x, y),
        jax.ShapeDtypeStruct((batch, 8), jnp.float32),
        jax.ShapeDtypeStruct((batch, length, 8), jnp.float32),
    )
    with pytest.raises(InvalidInput, match=r"^batching dimension sizes must match for lhs/rhs$"):
        program.specialised([(2, 8), (3, 2, 8)])
    with pytest.raises(InvalidInput, match=r"^Expected value >= 1 for dimension variable 's'\.$"):
        program.specialised([(2, 8), (2, 0, 8)])
