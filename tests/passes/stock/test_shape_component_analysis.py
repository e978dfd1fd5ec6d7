"""Do symbolic sizes say what sizes are, when they are known?"""

from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from hlo import InvalidInput
from hlo.stablehlo import StableHloModule, dialect, ir
from oracle.symbolic import Assignment, draw_sizes
from oracle.twins import DYNAMISM_CASES, in_stablehlo
from passes.stock.shape_component_analysis import ShapeComponentAnalysis, Size, Symbol, dimensions, is_ranked

A, B = Symbol(0, 0), Symbol(1, 0)
INTEGERS = st.integers(-(2**63), 2**63 - 1)
SIZES = st.integers(0, 2**31 - 1)


@st.composite
def computations(draw: st.DrawFn, depth: int = 4) -> tuple[Size, dict[Symbol, int], int]:
    """A size as StableHLO computes it, in integers of 32 or 64 bits, the sizes in it, and its value."""
    values = {A: draw(SIZES), B: draw(SIZES)}

    def build(depth: int, width: int) -> tuple[Size, int]:
        kind = draw(st.sampled_from(["constant", "dimension", "sum", "difference", "product", "converted"]))
        if depth == 0 or kind in ("constant", "dimension"):
            if kind == "constant":
                value = draw(st.integers(-(2 ** (width - 1)), 2 ** (width - 1) - 1))
                return Size.of(value), value
            symbol = draw(st.sampled_from([A, B]))
            return Size.symbol(symbol), values[symbol]
        if kind == "converted":
            size, value = build(depth - 1, draw(st.sampled_from([32, 64])))
        else:
            (one, left), (two, right) = build(depth - 1, width), build(depth - 1, width)
            size, value = {
                "sum": (one + two, left + right),
                "difference": (one - two, left - right),
                "product": (one * two, left * right),
            }[kind]
        stored = size.stored(width)
        assert stored is not None
        return stored, signed(value, width)

    size, value = build(depth, draw(st.sampled_from([32, 64])))
    return size, values, value


def signed(value: int, width: int) -> int:
    return (value + 2 ** (width - 1)) % 2**width - 2 ** (width - 1)


def value_of(size: Size, values: dict[Symbol, int]) -> int:
    """Modulo 2**bits."""
    total = 0
    for monomial, factor in size.terms:
        product = factor
        for symbol in monomial:
            product *= values[symbol]
        total += product
    return total % 2**size.bits


@given(computations())
def test_a_size_is_its_value_modulo_a_power_of_two(case: tuple[Size, dict[Symbol, int], int]) -> None:
    size, values, value = case
    assert value_of(size, values) == value % 2**size.bits
    if size.exact is not None:
        assert size.exact == value
    if size.is_dimension:
        assert value in values.values()


@given(computations(), computations())
def test_what_is_the_same_extent_is_equal_where_it_is_one(
    one: tuple[Size, dict[Symbol, int], int], other: tuple[Size, dict[Symbol, int], int]
) -> None:
    """Of each the value for the same sizes, if it is in the range of sizes."""
    left, values, mine = one
    right, others, yours = other
    if values == others and left.is_same_extent(right) and mine in range(2**31) and yours in range(2**31):
        assert mine == yours


@pytest.mark.parametrize(
    ("one", "other", "same"),
    [
        (Size.symbol(A) + Size.symbol(B), Size.symbol(B) + Size.symbol(A), True),
        (Size.symbol(A) * Size.of(2), Size.symbol(A) + Size.symbol(A), True),
        (
            (Size.symbol(A) + Size.of(1)) * (Size.symbol(A) - Size.of(1)),
            Size.symbol(A) * Size.symbol(A) - Size.of(1),
            True,
        ),
        (Size.symbol(A) + Size.of(3) - Size.of(3), Size.symbol(A), True),
        (Size.symbol(A), Size.symbol(B), False),
        (Size.symbol(A), Size.symbol(A) + Size.of(1), False),
        (Size.symbol(A) * Size.symbol(B), Size.symbol(A) * Size.symbol(A), False),
        (Size.symbol(A), Size.symbol(Symbol(0, 0, is_element=True)), False),
        (Size.symbol(A), Size.symbol(Symbol(0, 1)), False),
        (Size.of(2**32 + 5), Size.of(5), False),
    ],
)
def test_sizes_are_the_same_if_their_normal_forms_are(one: Size, other: Size, same: bool) -> None:
    assert one.is_same_extent(other) == same


def test_a_constant_that_only_its_low_bits_are_known_of_is_not_exact() -> None:
    """(i64) the i32 d - d + 1, where the i32 difference is known, is exact; what only an i32 knew is not."""
    d = Size.symbol(A)
    product = (d * d).stored(32)
    assert product is not None
    one = (product - d * d + Size.of(1)).stored(64)
    assert one is not None
    assert (one.exact, one.extent) == (None, 1)
    known = (d - d + Size.of(1)).stored(64)
    assert known is not None
    assert known.exact == 1


def test_what_only_its_low_bits_are_a_dimension_of_may_be_negative() -> None:
    d = Size.symbol(A)
    wrapped = (d * d).stored(32)
    assert wrapped is not None
    wide = (wrapped - d * d + d).stored(64)
    narrow = (d + Size.of(7)).stored(32)
    assert wide is not None
    assert narrow is not None
    assert (wide.is_same_extent(d), wide.is_dimension) == (True, False)
    back = (narrow - Size.of(7)).stored(32)
    assert back == d


def test_what_cannot_be_the_size_of_a_tensor_is_none() -> None:
    assert Size.of(-1).extent is None
    assert Size.of(2**31).extent is None
    assert Size.of(0).extent == 0


# --- against StableHLO's own shape refinement ------------------------------------------------------------


def bound(program: StableHloModule, assignment: Assignment) -> StableHloModule:
    """`program` with constants for the parameters that sizes are computed from, each operation at its own location."""
    copy = StableHloModule.read(program.text)
    (body,) = copy.entry.regions[0].blocks
    for number, elements in assignment.known:
        kind = copy.parameters[number].array_shape()
        array = np.array(elements).astype(kind.element_type.numpy).reshape(kind.dimensions)
        argument = body.arguments[number]
        with body.owner.context, ir().Location.unknown(), ir().InsertionPoint.at_block_begin(body):
            value = ir().DenseElementsAttr.get(array, type=argument.type.element_type, shape=array.shape)
            argument.replace_all_uses_with(dialect().constant(value))
    return copy


def sized(program: StableHloModule) -> Iterator[tuple[str, Any]]:
    for op in program.operations():
        if (
            op.parent is not None
            and op.parent.operation.name == "func.func"
            and "unknown" not in str(op.location)
        ):
            for number, result in enumerate(op.results):
                if is_ranked(result):
                    yield f"{op.location} {number}", result


JAX_LIKE = {
    "transposed, joined and reduced": """module {
      func.func @main(%x: tensor<?x4x?xf32>, %y: tensor<?x4x?xf32>) -> tensor<?x?xf32> {
        %t = stablehlo.transpose %x, dims = [2, 1, 0] : (tensor<?x4x?xf32>) -> tensor<?x4x?xf32>
        %u = stablehlo.transpose %y, dims = [2, 1, 0] : (tensor<?x4x?xf32>) -> tensor<?x4x?xf32>
        %c = stablehlo.concatenate %t, %u, dim = 0 : (tensor<?x4x?xf32>, tensor<?x4x?xf32>) -> tensor<?x4x?xf32>
        %z = stablehlo.constant dense<0.0> : tensor<f32>
        %p = stablehlo.pad %c, %z, low = [1, 0, -1], high = [2, 0, 1], interior = [0, 0, 0]
            : (tensor<?x4x?xf32>, tensor<f32>) -> tensor<?x4x?xf32>
        %r = stablehlo.reduce(%p init: %z) applies stablehlo.add across dimensions = [1]
            : (tensor<?x4x?xf32>, tensor<f32>) -> tensor<?x?xf32>
        return %r : tensor<?x?xf32> } }""",
    "padded inside": """module {
      func.func @main(%x: tensor<4x0xf32>, %z: tensor<f32>) -> tensor<?x?xf32> {
        %p = stablehlo.pad %x, %z, low = [1, 2], high = [0, 3], interior = [2, 5]
            : (tensor<4x0xf32>, tensor<f32>) -> tensor<?x?xf32>
        return %p : tensor<?x?xf32> } }""",
    "at least three": """module {
      func.func @main(%x: tensor<?xf32>) -> tensor<?x?xf32> {
        %n = stablehlo.get_dimension_size %x, dim = 0 : (tensor<?xf32>) -> tensor<i32>
        %three = stablehlo.constant dense<3> : tensor<i32>
        %m = stablehlo.maximum %n, %three : tensor<i32>
        %n1 = stablehlo.reshape %n : (tensor<i32>) -> tensor<1xi32>
        %m1 = stablehlo.reshape %m : (tensor<i32>) -> tensor<1xi32>
        %s = stablehlo.concatenate %n1, %m1, dim = 0 : (tensor<1xi32>, tensor<1xi32>) -> tensor<2xi32>
        %i = stablehlo.dynamic_iota %s, dim = 0 : (tensor<2xi32>) -> tensor<?x?xf32>
        return %i : tensor<?x?xf32> } }""",
    "multiplied": """module {
      func.func @main(%x: tensor<?x3x?xf32>, %y: tensor<?x5x3xf32>) -> tensor<?x?x5xf32> {
        %r = stablehlo.dot_general %x, %y, batching_dims = [0] x [0], contracting_dims = [1] x [2]
            : (tensor<?x3x?xf32>, tensor<?x5x3xf32>) -> tensor<?x?x5xf32>
        return %r : tensor<?x?x5xf32> } }""",
    "gathered": """module {
      func.func @main(%x: tensor<?x4xf32>, %i: tensor<?x?x1xi32>) -> tensor<?x?x?xf32> {
        %r = "stablehlo.gather"(%x, %i) {dimension_numbers = #stablehlo.gather<offset_dims = [1],
            collapsed_slice_dims = [0], start_index_map = [0], index_vector_dim = 2>,
            slice_sizes = array<i64: 1, 2>} : (tensor<?x4xf32>, tensor<?x?x1xi32>) -> tensor<?x?x?xf32>
        return %r : tensor<?x?x?xf32> } }""",
    "windows": """module {
      func.func @main(%x: tensor<?x9xf32>) -> tensor<?x?xf32> {
        %z = stablehlo.constant dense<0.0> : tensor<f32>
        %s = stablehlo.slice %x [0:1, 1:8:2] : (tensor<?x9xf32>) -> tensor<?x?xf32>
        %r = "stablehlo.reduce_window"(%s, %z) ({
          ^bb0(%a: tensor<f32>, %b: tensor<f32>):
            %m = stablehlo.add %a, %b : tensor<f32>
            stablehlo.return %m : tensor<f32>
        }) {window_dimensions = array<i64: 1, 2>, window_strides = array<i64: 1, 2>,
            base_dilations = array<i64: 1, 2>, window_dilations = array<i64: 1, 3>,
            padding = dense<[[0, 1], [1, 1]]> : tensor<2x2xi64>} : (tensor<?x?xf32>, tensor<f32>) -> tensor<?x?xf32>
        return %r : tensor<?x?xf32> } }""",
    "convolved": """module {
      func.func @main(%x: tensor<?x8x3xf32>, %k: tensor<2x3x5xf32>) -> tensor<?x?x?xf32> {
        %y = stablehlo.convolution(%x, %k) dim_numbers = [b, 0, f]x[0, i, o]->[b, 0, f],
          window = {stride = [2], pad = [[1, 2]], lhs_dilate = [2], rhs_dilate = [3]}
          {batch_group_count = 1 : i64, feature_group_count = 1 : i64}
          : (tensor<?x8x3xf32>, tensor<2x3x5xf32>) -> tensor<?x?x?xf32>
        return %y : tensor<?x?x?xf32> } }""",
    "computed": """module {
      func.func @main(%x: tensor<?x4xf32>, %y: tensor<?xf32>) -> tensor<?x?xf32> {
        %n = stablehlo.get_dimension_size %x, dim = 0 : (tensor<?x4xf32>) -> tensor<i32>
        %m = stablehlo.get_dimension_size %y, dim = 0 : (tensor<?xf32>) -> tensor<i32>
        %zero = stablehlo.constant dense<0> : tensor<i32>
        %l = stablehlo.maximum %n, %zero : tensor<i32>
        %two = stablehlo.constant dense<2> : tensor<i32>
        %s = stablehlo.multiply %l, %two : tensor<i32>
        %t = stablehlo.subtract %s, %n : tensor<i32>
        %u = stablehlo.add %t, %m : tensor<i32>
        %seven = stablehlo.constant dense<-7> : tensor<i32>
        %q = stablehlo.divide %seven, %two : tensor<i32>
        %r = stablehlo.remainder %seven, %two : tensor<i32>
        %a = stablehlo.subtract %r, %q : tensor<i32>
        %lt = stablehlo.compare LT, %q, %r : (tensor<i32>, tensor<i32>) -> tensor<i1>
        %b = stablehlo.select %lt, %a, %u : tensor<i1>, tensor<i32>
        %t1 = stablehlo.reshape %t : (tensor<i32>) -> tensor<1xi32>
        %u1 = stablehlo.broadcast_in_dim %u, dims = [] : (tensor<i32>) -> tensor<1xi32>
        %v = stablehlo.concatenate %t1, %u1, dim = 0 : (tensor<1xi32>, tensor<1xi32>) -> tensor<2xi32>
        %w = stablehlo.slice %v [1:2] : (tensor<2xi32>) -> tensor<1xi32>
        %b1 = stablehlo.reshape %b : (tensor<i32>) -> tensor<1xi32>
        %shape = stablehlo.concatenate %w, %b1, dim = 0 : (tensor<1xi32>, tensor<1xi32>) -> tensor<2xi32>
        %i = stablehlo.dynamic_iota %shape, dim = 0 : (tensor<2xi32>) -> tensor<?x?xf32>
        return %i : tensor<?x?xf32> } }""",
}


def programs() -> dict[str, StableHloModule]:
    found = {name: StableHloModule.read(text) for name, text in JAX_LIKE.items()}
    for name, text in DYNAMISM_CASES.items():
        try:
            found[name] = StableHloModule.read(in_stablehlo(StableHloModule.read(text)).text)
        except InvalidInput:
            continue
    return found


PROGRAMS = programs()


@pytest.mark.parametrize("name", PROGRAMS)
def test_symbolic_sizes_are_what_shape_refinement_finds(name: str) -> None:
    program = PROGRAMS[name]
    if any(bound is not None for kind in program.parameters for bound in kind.bounds):
        pytest.skip("StableHLO refines no bounded parameters")
    asked = 0
    for assignment in draw_sizes(program, 5, 8).assignments:
        copy = bound(program, assignment)
        specialised = copy.specialised(assignment.sizes)
        static = {place: dimensions(value) for place, value in sized(specialised)}
        arguments = zip(copy.entry.regions[0].blocks[0].arguments, assignment.sizes, strict=True)
        actual = dict(arguments)
        actual |= {value: static[place] for place, value in sized(copy) if place in static}
        analysis = ShapeComponentAnalysis()
        for value, sizes in list(actual.items()):
            for size, wanted in zip(analysis.sizes(value), sizes, strict=True):
                symbols = {symbol for monomial, _ in size.terms for symbol in monomial}
                origins = {symbol: analysis.value_of(symbol) for symbol in symbols}
                if any(symbol.is_element or origins[symbol] not in actual for symbol in symbols):
                    continue
                values = {symbol: actual[origins[symbol]][symbol.index] or 0 for symbol in symbols}
                assert value_of(size, values) == (wanted or 0), (str(value), assignment)
                asked += any(d is None for d in dimensions(value))
    assert asked > 0 or not any(None in dimensions(value) for _, value in sized(program))


@pytest.mark.parametrize(
    ("name", "unknown"),
    [
        ("transposed, joined and reduced", 4),
        ("multiplied", 4),
        ("padded inside", 0),
        ("gathered", 3),
        ("windows", 1),
        ("convolved", 1),
        ("computed", 2),
    ],
)
def test_only_the_sizes_of_parameters_are_symbols(name: str, unknown: int) -> None:
    """Of what the rules cover, no size is a symbol of its own."""
    program = PROGRAMS[name]
    analysis = ShapeComponentAnalysis()
    symbols = {
        symbol
        for _, value in sized(program)
        for size in analysis.sizes(value)
        for monomial, _ in size.terms
        for symbol in monomial
    }
    assert len(symbols) <= unknown
    arguments = list(program.entry.regions[0].blocks[0].arguments)
    assert all(analysis.value_of(symbol) in arguments for symbol in symbols)
    assert not any(symbol.is_element for symbol in symbols)


def test_the_size_beside_a_bounded_one_is_the_bounded_one() -> None:
    program = StableHloModule.read("""module {
      func.func @main(%x: tensor<8xf32>, %n: tensor<i32>) -> tensor<?xf32, #stablehlo.bounds<8>> {
        %c = stablehlo.set_dimension_size %x, %n, dim = 0
            : (tensor<8xf32>, tensor<i32>) -> tensor<?xf32, #stablehlo.bounds<8>>
        %z = stablehlo.add %x, %c
            : (tensor<8xf32>, tensor<?xf32, #stablehlo.bounds<8>>) -> tensor<?xf32, #stablehlo.bounds<8>>
        %s = stablehlo.slice %z [0:8] : (tensor<?xf32, #stablehlo.bounds<8>>) -> tensor<?xf32, #stablehlo.bounds<8>>
        return %s : tensor<?xf32, #stablehlo.bounds<8>> } }""")
    cut, added, whole = (value for _, value in sized(program))
    analysis = ShapeComponentAnalysis()
    number = program.entry.regions[0].blocks[0].arguments[1]
    assert analysis.sizes(cut) == analysis.elements(number)
    assert analysis.sizes(added) == analysis.sizes(cut)
    assert analysis.sizes(whole)[0].extent is None
