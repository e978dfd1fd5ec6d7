"""Each of the seven rewrites does what its name says, where no program can tell, and nothing elsewhere."""

import pytest

from hlo.interchange import read_text, write_text
from hlo.stablehlo import StableHloModule, ir
from oracle.inputs import MIXED
from oracle.symbolic import draw_sized_inputs, judge_symbolic
from oracle.verdict import Agree
from passes import Pipeline, Trace
from passes.neuron import CanonicalizeForTensorizer
from passes.neuron.canonicalize_for_tensorizer import NotATensor
from passes.stablehlo_pass import NotInStableHlo

SORT = """
 %r:2 = "stablehlo.sort"(%x, %i) <{{dimension = {along} : i64, is_stable = {stable}}}> ({{
 ^bb0(%a: tensor<f32>, %b: tensor<f32>, %c: tensor<{kind}>, %d: tensor<{kind}>):
   %p = stablehlo.compare {direction}, {left}, {right} : (tensor<{of}>, tensor<{of}>) -> tensor<i1>
   stablehlo.return %p : tensor<i1> }}) : (tensor<3x4xf32>, tensor<3x4x{kind}>) -> (tensor<3x4xf32>, tensor<3x4x{kind}>)
"""


def canonicalised(body: str, signature: str, **options: bool) -> tuple[StableHloModule, Trace]:
    """`func @main` of this signature and body, after the pass; what it computes stays the same for several sizes."""
    text = f"module {{ func.func @main{signature} {{ {body} }} }}"
    program, trace = StableHloModule.read(text), Trace()
    changed = CanonicalizeForTensorizer(**options).rewrite(program, trace)
    assert not program.violations()
    assert changed == (program.text != StableHloModule.read(text).text)
    if not options and "bounds" not in signature:
        sets, _ = draw_sized_inputs(StableHloModule.read(text), 0, 3, MIXED)
        pipeline = Pipeline((CanonicalizeForTensorizer(),))
        verdict = judge_symbolic(StableHloModule.read(text), pipeline, tuple(sets), {}, use_jax=False).verdict
        assert isinstance(verdict, Agree), verdict
    return program, trace


def names_in(program: StableHloModule) -> list[str]:
    found = [op.name for op in program.operations()]
    return [name for name in found if name.startswith("stablehlo.") and name != "stablehlo.constant"]


# --- replace-get-dimension-size ---------------------------------------------------------------------------

SIZE = """ %n = stablehlo.get_dimension_size %x, dim = {dimension} : ({kind}) -> tensor<i32>
 return %n : tensor<i32>"""
MIXED_SIZES = "tensor<?x?x3xf32, #stablehlo.bounds<4, ?, ?>>"
UNBOUNDED = "tensor<?x3xf32>"
BOUNDED = "tensor<?x3xf32, #stablehlo.bounds<4, ?>>"


@pytest.mark.parametrize("kind", [UNBOUNDED, BOUNDED, "tensor<2x3xf32>"])
def test_the_size_of_a_static_dimension_is_a_constant(kind: str) -> None:
    program, trace = canonicalised(SIZE.format(dimension=1, kind=kind), f"(%x: {kind}) -> tensor<i32>")
    assert "dense<3> : tensor<i32>" in program.text
    assert names_in(program) == []
    assert trace.fired == {"replace-get-dimension-size": 1}


@pytest.mark.parametrize("kind", [UNBOUNDED, BOUNDED])
def test_the_size_of_a_dynamic_dimension_stays_bounded_or_not(kind: str) -> None:
    program, trace = canonicalised(SIZE.format(dimension=0, kind=kind), f"(%x: {kind}) -> tensor<i32>")
    assert names_in(program) == ["stablehlo.get_dimension_size"]
    assert not trace.fired


@pytest.mark.parametrize(("dimension", "value"), [(0, 4), (1, 0), (2, 3)])
def test_without_the_guard_a_dynamic_dimension_has_its_bound_or_what_s32_keeps_of_kdynamic(
    dimension: int, value: int
) -> None:
    body = SIZE.format(dimension=dimension, kind=MIXED_SIZES)
    program, _ = canonicalised(body, f"(%x: {MIXED_SIZES}) -> tensor<i32>", static_dims_only=False)
    assert f"dense<{value}> : tensor<i32>" in program.text


def test_the_size_of_what_is_no_tensor_is_a_fatal_error() -> None:
    program = StableHloModule.read(
        "module { func.func @main(%t: tuple<tensor<3xf32>>, %n: tensor<i32>) -> tensor<i32> {"
        " return %n : tensor<i32> } }"
    )
    block = program.entry.regions[0].blocks[0]
    with ir().InsertionPoint.at_block_begin(block), ir().Location.unknown(program.mlir.context):
        number = ir().IntegerAttr.get(ir().IntegerType.get_signless(64), 0)
        asked = ir().Operation.create(
            "stablehlo.get_dimension_size",
            [ir().Type.parse("tensor<i32>")],
            [block.arguments[0]],
            {"dimension": number},
        )
    block.arguments[1].replace_all_uses_with(asked.results[0])
    with pytest.raises(
        NotATensor, match=r"get_dimension_size of tuple<tensor<3xf32>>, which is not a tensor"
    ):
        CanonicalizeForTensorizer().rewrite(program, Trace())


def test_in_hlo_the_size_is_folded_and_names_stay() -> None:
    module = read_text(
        """HloModule m
ENTRY main { x = f32[<=8,4] parameter(0)
 rows = s32[] get-dimension-size(x), dimensions={0}
 columns = s32[] get-dimension-size(x), dimensions={1}
 ROOT sizes = (s32[], s32[]) tuple(rows, columns) }"""
    )
    assert CanonicalizeForTensorizer().run(module, Trace())
    assert "%rows = s32[] get-dimension-size" in write_text(module)
    assert "dimensions={1}" not in write_text(module)
    assert "constant(4)" in write_text(module)


@pytest.mark.parametrize(
    ("result", "said"),
    [
        ("f32[2,<=2] reshape(x)", r"y comes back as f32\[.*\], not f32\[2,<=2\]"),
        ("f32[<=4,3,<=4] broadcast(z), dimensions={0,2}", "y: 'stablehlo.broadcast_in_dim' op result #0"),
        ('f32[<=4] custom-call(x), custom_call_target="f", window={size=2}', "y comes back with other"),
    ],
)
def test_a_module_that_stablehlo_does_not_hold_is_refused_instead_of_changed(result: str, said: str) -> None:
    module = read_text(
        f"""HloModule m
ENTRY main {{ x = f32[<=4] parameter(0)
 z = f32[<=4,<=4] parameter(1)
 k = f32[3] parameter(2)
 n = s32[] get-dimension-size(k), dimensions={{0}}
 y = {result}
 ROOT t = (s32[], {result.partition(" ")[0]}) tuple(n, y) }}"""
    )
    before = write_text(module)
    with pytest.raises(NotInStableHlo, match=said):
        CanonicalizeForTensorizer().run(module, Trace())
    assert write_text(module) == before


# --- fuse-iota-sort ---------------------------------------------------------------------------------------


def sorted_by(left: str, right: str, direction: str, **changes: str) -> tuple[StableHloModule, Trace]:
    known = {"along": "1", "stable": "true", "kind": "i32", "of": "i32", "counts": "1"} | changes
    iota = f" %i = stablehlo.iota dim = {known['counts']} : tensor<3x4x{known['kind']}>"
    body = iota + SORT.format(left=left, right=right, direction=direction, **known)
    kind = f"tensor<3x4x{known['kind']}>"
    return canonicalised(
        f"{body} return %r#0, %r#1 : tensor<3x4xf32>, {kind}",
        f"(%x: tensor<3x4xf32>) -> (tensor<3x4xf32>, {kind})",
    )


@pytest.mark.parametrize(("left", "right", "direction"), [("%c", "%d", "LT"), ("%d", "%c", "GT")])
def test_what_is_sorted_by_an_iota_is_sorted(left: str, right: str, direction: str) -> None:
    program, trace = sorted_by(left, right, direction)
    assert names_in(program) == ["stablehlo.iota"]
    assert trace.fired == {"fuse-iota-sort": 1}


@pytest.mark.parametrize(("left", "right", "direction"), [("%c", "%d", "GT"), ("%d", "%c", "LT")])
def test_what_is_sorted_against_an_iota_is_reversed(left: str, right: str, direction: str) -> None:
    program, _ = sorted_by(left, right, direction)
    assert names_in(program) == ["stablehlo.iota", "stablehlo.reverse", "stablehlo.reverse"]


@pytest.mark.parametrize(
    ("left", "right", "direction", "changes"),
    [
        ("%a", "%b", "LT", {"of": "f32"}),  # not by the iota
        ("%c", "%d", "LE", {}),  # no order that a sort may have
        ("%c", "%c", "LT", {}),  # never true
        ("%c", "%d", "LT", {"counts": "0"}),  # the iota counts along another dimension: all are equal
        ("%c", "%d", "LT", {"kind": "i2", "of": "i2"}),  # 0 1 -2 -1
        ("%c", "%d", "LT", {"kind": "f32", "of": "f32"}),
    ],
)
def test_another_sort_stays(left: str, right: str, direction: str, changes: dict[str, str]) -> None:
    program, trace = sorted_by(left, right, direction, **changes)
    assert "stablehlo.sort" in names_in(program)
    assert not trace.fired


# --- canonicalize-tuple-op --------------------------------------------------------------------------------

PAIR = "tuple<tensor<2xf32>, tensor<i32>>"


def rewritten(body: str, signature: str) -> tuple[StableHloModule, Trace]:
    """As `canonicalised`, for what cannot be judged: an entry with tuples."""
    program, trace = StableHloModule.read(f"module {{ func.func @main{signature} {{ {body} }} }}"), Trace()
    CanonicalizeForTensorizer().rewrite(program, trace)
    assert not program.violations()
    return program, trace


def test_an_element_of_a_tuple_is_what_it_was_made_of() -> None:
    program, trace = canonicalised(
        f""" %t = stablehlo.tuple %x, %n : {PAIR}
 %e = stablehlo.get_tuple_element %t[1] : ({PAIR}) -> tensor<i32>
 return %e : tensor<i32>""",
        "(%x: tensor<2xf32>, %n: tensor<i32>) -> tensor<i32>",
    )
    assert names_in(program) == []
    assert trace.fired == {"canonicalize-tuple-op": 1}


REBUILT = f""" %a = stablehlo.get_tuple_element %t[{{first}}] : ({PAIR}) -> tensor<2xf32>
 %b = stablehlo.get_tuple_element %u[1] : ({PAIR}) -> tensor<i32>
 %s = stablehlo.tuple %a, %b : {PAIR}
 return %s : {PAIR}"""


def test_a_tuple_of_all_elements_is_the_tuple_that_they_are_of() -> None:
    program, _ = rewritten(REBUILT.format(first=0).replace("%u", "%t"), f"(%t: {PAIR}, %u: {PAIR}) -> {PAIR}")
    assert names_in(program) == []


def test_elements_of_two_tuples_make_another_tuple() -> None:
    program, trace = rewritten(REBUILT.format(first=0), f"(%t: {PAIR}, %u: {PAIR}) -> {PAIR}")
    assert "stablehlo.tuple" in names_in(program)
    assert not trace.fired


def test_elements_in_another_order_make_another_tuple() -> None:
    pair = "tuple<tensor<i32>, tensor<i32>>"
    program, trace = rewritten(
        f""" %a = stablehlo.get_tuple_element %t[1] : ({pair}) -> tensor<i32>
 %b = stablehlo.get_tuple_element %t[0] : ({pair}) -> tensor<i32>
 %s = stablehlo.tuple %a, %b : {pair}
 return %s : {pair}""",
        f"(%t: {pair}) -> {pair}",
    )
    assert "stablehlo.tuple" in names_in(program)
    assert not trace.fired


# --- constants --------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("value", "before", "after", "shown"),
    [
        ("[1.5, -2.5]", "bf16", "i8", "dense<[1, -2]> : tensor<2xi8>"),
        ("[1, -3]", "i4", "ui16", "dense<[1, 65533]> : tensor<2xui16>"),
        ("[300, -1]", "i32", "i8", "dense<[44, -1]> : tensor<2xi8>"),
        ("[3.0e10, 0x7FC00000]", "f32", "i32", "dense<[2147483647, 0]> : tensor<2xi32>"),
        ("true", "i1", "f64", "dense<1.000000e+00> : tensor<2xf64>"),
    ],
)
def test_a_converted_constant_is_a_constant(value: str, before: str, after: str, shown: str) -> None:
    program, trace = canonicalised(
        f""" %c = stablehlo.constant dense<{value}> : tensor<2x{before}>
 %d = stablehlo.convert %c : (tensor<2x{before}>) -> tensor<2x{after}>
 return %d : tensor<2x{after}>""",
        f"() -> tensor<2x{after}>",
    )
    assert shown in program.text
    assert trace.fired == {"replace-converts-with-constants": 1}


def test_a_complex_constant_which_jaxlib_does_not_hand_out_stays_converted() -> None:
    program, _ = canonicalised(
        """ %c = stablehlo.constant dense<(1.0, 2.0)> : tensor<2xcomplex<f32>>
 %d = stablehlo.convert %c : (tensor<2xcomplex<f32>>) -> tensor<2xcomplex<f64>>
 return %d : tensor<2xcomplex<f64>>""",
        "() -> tensor<2xcomplex<f64>>",
    )
    assert names_in(program) == ["stablehlo.convert"]


@pytest.mark.parametrize(("value", "is_folded"), [("2.5", True), ("[1.0, 2.0]", False)])
def test_a_constant_of_one_value_that_is_spread_is_a_constant_of_one_value(
    value: str, is_folded: bool
) -> None:
    program, trace = canonicalised(
        f""" %c = stablehlo.constant dense<{value}> : tensor<2xf32>
 %d = stablehlo.broadcast_in_dim %c, dims = [1] : (tensor<2xf32>) -> tensor<3x2xf32>
 return %d : tensor<3x2xf32>""",
        "() -> tensor<3x2xf32>",
    )
    assert ("tensor<3x2xf32>" in program.text and names_in(program) == []) == is_folded
    assert trace.fired == ({"replace-broadcast-in-dim-with-constants": 1} if is_folded else {})


def test_in_hlo_a_constant_of_one_value_stays_a_broadcast_and_a_second_run_says_that_nothing_changed() -> (
    None
):
    module = read_text(
        """HloModule m
ENTRY main { c = f32[] constant(2)
 ROOT b = f32[3] broadcast(c), dimensions={} }"""
    )
    CanonicalizeForTensorizer().run(module, Trace())
    before, trace = write_text(module), Trace()
    assert "broadcast(" in before
    assert not CanonicalizeForTensorizer().run(module, trace)
    assert write_text(module) == before
    assert trace.fired["replace-broadcast-in-dim-with-constants"] == 1


# --- the rest ---------------------------------------------------------------------------------------------


def test_the_old_broadcast_is_spelled_as_the_new_one() -> None:
    program, trace = canonicalised(
        """ %d = stablehlo.broadcast %x, sizes = [3, 1] : (tensor<2xf32>) -> tensor<3x1x2xf32>
 return %d : tensor<3x1x2xf32>""",
        "(%x: tensor<2xf32>) -> tensor<3x1x2xf32>",
    )
    assert "stablehlo.broadcast_in_dim %arg0, dims = [2]" in program.text
    assert trace.fired == {"replace-broadcasts-with-broadcast-in-dim": 1}


CONFIGURED = """ %y = stablehlo.custom_call @{target}(%x) {{backend_config = "{config}", has_side_effect = true}}
   : (tensor<2xf32>) -> tensor<2xf32>
 return %y : tensor<2xf32>"""
SAME = "(%x: tensor<2xf32>) -> tensor<2xf32>"


@pytest.mark.parametrize("config", ["not json", "[1]", "77"])
def test_an_invalid_configuration_that_nobody_reads_is_dropped(config: str) -> None:
    program, trace = rewritten(CONFIGURED.format(target="Sharding", config=config), SAME)
    assert config not in program.text
    assert trace.fired == {"replace-invalid-backend-configs": 1}


@pytest.mark.parametrize(("target", "config"), [("Sharding", ""), ("Sharding", "{}"), ("mine", "not json")])
def test_a_valid_configuration_stays_and_so_does_one_that_may_be_read(target: str, config: str) -> None:
    program, trace = rewritten(CONFIGURED.format(target=target, config=config), SAME)
    assert target in program.text
    assert not trace.fired


def test_the_configuration_of_another_operation_is_a_hint_only() -> None:
    program, trace = rewritten(
        """ %y = stablehlo.add %x, %x {mhlo.backend_config = "nonsense"} : tensor<2xf32>
 %z = stablehlo.add %y, %x {mhlo.backend_config = {tile = 3 : i32}} : tensor<2xf32>
 return %z : tensor<2xf32>""",
        SAME,
    )
    assert "nonsense" not in program.text
    assert "tile = 3" in program.text
    assert trace.fired == {"replace-invalid-backend-configs": 1}


def test_the_seven_are_run_in_the_order_of_the_page() -> None:
    # a broadcast that becomes a broadcast_in_dim of a constant comes too late to be a constant
    program, trace = canonicalised(
        """ %c = stablehlo.constant dense<1> : tensor<i32>
 %d = stablehlo.broadcast %c, sizes = [2] : (tensor<i32>) -> tensor<2xi32>
 return %d : tensor<2xi32>""",
        "() -> tensor<2xi32>",
    )
    assert names_in(program) == ["stablehlo.broadcast_in_dim"]
    assert list(trace.fired) == ["replace-broadcasts-with-broadcast-in-dim"]
