"""What does the padder leave of a program? Scenarios: `stock_passes.md` section 5.19, IR level."""

import pytest

from hlo import HloInstruction, HloModule, Opcode
from hlo.canonical import structure
from hlo.verify import verify
from passes import Trace
from passes.stock import DynamicDimensionSimplifier, DynamicPadder
from passes.stock.dynamic_dimension_inference import DynamismRefused
from tests.passes.stock.dynamic.programs import FLOAT_ADD, program


def padded(module: HloModule, padder: DynamicPadder | None = None) -> Trace:
    """What was done to `module`, in which only the edges are dynamic afterwards."""
    trace = Trace()
    assert (padder or DynamicPadder()).run(module, trace)
    assert verify(module) == []
    sizes = {Opcode.GET_DIMENSION_SIZE, Opcode.SET_DIMENSION_SIZE, Opcode.DYNAMIC_RESHAPE}
    for computation in module.make_computation_post_order():
        assert not sizes & {inst.opcode for inst in computation.instructions}
        assert all(
            inst.shape.is_static or inst.opcode in (Opcode.PARAMETER, Opcode.CUSTOM_CALL, Opcode.TUPLE)
            for inst in computation.instructions
        )
    return trace


def only(module: HloModule, opcode: Opcode) -> HloInstruction:
    (found,) = [inst for inst in module.entry_computation.instructions if inst.opcode is opcode]
    return found


def test_what_is_reduced_is_a_select() -> None:
    module = program(
        "x = f32[1,2,<=2] parameter(0)\n zero = f32[] constant(0)\n"
        "ROOT r = f32[2] reduce(x, zero), dimensions={0,2}, to_apply=add",
        FLOAT_ADD,
    )
    padded(module)
    assert only(module, Opcode.REDUCE).operand(0).opcode is Opcode.SELECT


@pytest.mark.parametrize(
    ("flags", "masks"),
    [("<=3,2,4", 0), ("3,<=2,4", 2)],
    ids=["batch", "feature"],
)
def test_a_convolution_masks_features_and_not_batches(flags: str, masks: int) -> None:
    batch = flags.split(",")[0]
    module = program(
        f"""x = f32[{flags}] parameter(0)
            k = f32[2,5,1] parameter(1)
            ROOT r = f32[{batch},5,4] convolution(x, k), window={{size=1}}, dim_labels=bf0_io0->bf0"""
    )
    assert (
        padded(module).fired.get("mask-convolution", 0) == masks
    )  # the kernel's features, too: 0 times NaN is NaN


def test_without_the_guard_only_the_side_with_the_size_is_masked() -> None:
    module = program(
        """x = f32[3,<=2,4] parameter(0)
           k = f32[2,5,1] parameter(1)
           ROOT r = f32[3,5,4] convolution(x, k), window={size=1}, dim_labels=bf0_io0->bf0"""
    )
    assert padded(module, DynamicPadder(mask_both_sides=False)).fired["mask-convolution"] == 1
    convolution = only(module, Opcode.CONVOLUTION)
    assert [o.opcode for o in convolution.operands] == [Opcode.SELECT, Opcode.PARAMETER]


WINDOW = "window={size=2x1 pad=0_0x0_0}"


def test_a_window_of_one_needs_no_mask() -> None:
    module = program(
        f"""x = f32[3,<=2] parameter(0)
            zero = f32[] constant(0)
            ROOT r = f32[2,<=2] reduce-window(x, zero), {WINDOW}, to_apply=add""",
        FLOAT_ADD,
    )
    assert "mask-reduce-window" not in padded(module).fired


def test_windows_of_one_over_several_arrays_need_no_mask() -> None:
    module = program(
        f"""x = f32[3,<=2] parameter(0)
            y = f32[3,<=2] parameter(1)
            zero = f32[] constant(0)
            ROOT r = (f32[2,<=2], f32[2,<=2]) reduce-window(x, y, zero, zero), {WINDOW}, to_apply=pair""",
        "pair { a = f32[] parameter(0)\n b = f32[] parameter(1)\n c = f32[] parameter(2)\n d = f32[] parameter(3)\n"
        " s = f32[] add(a, c)\n t = f32[] add(b, d)\n ROOT r = (f32[], f32[]) tuple(s, t) }\n",
    )
    assert "mask-reduce-window" not in padded(module).fired


def test_a_dot_of_bytes_is_static_and_its_result_cut() -> None:
    module = program(
        """x = s8[<=16,32] parameter(0)
           y = s8[32,64] parameter(1)
           ROOT r = s32[<=16,64] dot(x, y), lhs_contracting_dims={1}, rhs_contracting_dims={0}"""
    )
    padded(module)
    dot, root = only(module, Opcode.DOT), module.entry_computation.root
    assert [str(o.shape) for o in dot.operands] == ["s8[16,32]", "s8[32,64]"]
    assert str(dot.shape) == "s32[16,64]"
    assert root.custom_call_target == "SliceToDynamic"
    assert root.operand(0) is dot


def test_what_a_custom_call_returns_stays_where_nobody_works_on_it() -> None:
    module = program(
        'x = f32[64] parameter(0)\n ROOT r = f32[<=128] custom-call(x), custom_call_target="Unknown"'
    )
    DynamicPadder().run(module, Trace())
    root = module.entry_computation.root
    assert root.custom_call_target == "Unknown"
    assert str(root.shape) == "f32[<=128]"


def test_a_loop_whose_body_sets_the_bound_gets_a_fifth_element() -> None:
    state = "(s32[], s32[], f32[], f32[<=32,216])"
    module = program(
        f"""x.0 = f32[32,216] parameter(0)
            n = s32[] parameter(1)
            x = f32[<=32,216] set-dimension-size(x.0, n), dimensions={{0}}
            zero = s32[] constant(0)
            f = f32[] constant(1)
            t = {state} tuple(zero, zero, f, x)
            w = {state} while(t), condition=condition, body=body
            ROOT r = f32[<=32,216] get-tuple-element(w), index=3""",
        f"""body {{ s = {state} parameter(0)
          i = s32[] get-tuple-element(s), index=0
          f = f32[] get-tuple-element(s), index=2
          one = s32[] constant(1)
          k = s32[] add(i, one)
          b = f32[32,216] broadcast(f), dimensions={{}}
          bound = s32[] constant(32)
          d = f32[<=32,216] set-dimension-size(b, bound), dimensions={{0}}
          ROOT r = {state} tuple(k, i, f, d) }}
        """,
        f"""condition {{ s = {state} parameter(0)
          i = s32[] get-tuple-element(s), index=0
          two = s32[] constant(2)
          ROOT r = pred[] compare(i, two), direction=LT }}
        """,
    )
    padded(module)
    assert str(only(module, Opcode.WHILE).shape) == "(s32[], s32[], f32[], f32[32,216], s32[])"
    assert str(module.entry_computation.root.shape) == "f32[<=32,216]"


def test_a_reshape_back_says_by_its_flag_which_dimension_is_dynamic() -> None:
    """Upstream looks for an earlier reshape the other way round (HandleReshapeCheckPastReshape); ours for the flag."""
    entry = """x = f32[<=4,511,432] parameter(0)
        y = f32[432,337] parameter(1)
        flat = f32[<=2044,432] reshape(x)
        d = f32[<=2044,337] dot(flat, y), lhs_contracting_dims={1}, rhs_contracting_dims={0}
        t = f32[<=2044,337] transpose(d), dimensions={0,1}
        ROOT r = f32[<=4,511,337] reshape(t)"""
    module = program(entry)
    padded(module)
    assert str(module.entry_computation.root.shape) == "f32[<=4,511,337]"
    without = program(entry.replace("f32[<=4,511,337] reshape", "f32[4,511,337] reshape"))
    with pytest.raises(DynamismRefused, match="no dimension of the result could take up the size"):
        DynamicPadder().run(without, Trace())


def test_sizes_of_static_dimensions_are_constants() -> None:
    module = program(
        """x = s32[3,4] parameter(0)
           a = s32[] get-dimension-size(x), dimensions={0}
           b = s32[] get-dimension-size(x), dimensions={1}
           ROOT r = (s32[], s32[]) tuple(a, b)"""
    )
    padded(module)
    assert [int(size.literal.value) for size in module.entry_computation.root.operands] == [3, 4]  # pyright: ignore[reportArgumentType]


def test_a_size_that_was_got_is_set_and_got_again() -> None:
    module = program(
        """x = s32[<=3] parameter(0)
           n = s32[] get-dimension-size(x), dimensions={0}
           y = s32[3] parameter(1)
           z = s32[<=3] set-dimension-size(y, n), dimensions={0}
           m = s32[] get-dimension-size(z), dimensions={0}
           ROOT r = s32[] multiply(m, m)"""
    )
    padded(module)
    size = module.entry_computation.root.operand(0)
    assert size.tuple_index == 1
    assert size.operand(0).custom_call_target == "PadToStatic"


@pytest.mark.parametrize(
    ("entry", "message"),
    [
        ("x = s32[<=3] parameter(0)\n ROOT r = s64[] get-dimension-size(x), dimensions={0}", "s64"),
        ("x = s32[<=3,4] parameter(0)\n ROOT r = s32[] get-dimension-size(x), dimensions={2}", "dimension"),
    ],
    ids=["IllegalType", "IllegalDimension"],
)
def test_the_verifier_catches_ill_typed_sizes_before_any_pass(entry: str, message: str) -> None:
    """Upstream's padder does; here a pass may rely on valid HLO."""
    (violation, *_) = verify(program(entry))
    assert message in str(violation)


SAME_SIZE = """x.0 = f32[4] parameter(0)
    y.0 = f32[4] parameter(1)
    n = s32[] parameter(2)
    m = s32[] {other}
    x = f32[<=4] set-dimension-size(x.0, n), dimensions={{0}}
    y = f32[<=4] set-dimension-size(y.0, m), dimensions={{0}}
    ROOT r = f32[<=4] add(x, y)"""


def test_sizes_that_cannot_be_proved_equal_are_refused_at_compile_time() -> None:
    checked = DynamicPadder(shape_check="compile-time")
    with pytest.raises(DynamismRefused, match="n and m cannot be proved equal"):
        checked.run(program(SAME_SIZE.format(other="parameter(3)")), Trace())


def test_sizes_become_provably_equal_by_simplification() -> None:
    checked = DynamicPadder(shape_check="compile-time")
    round_trip = SAME_SIZE.replace(
        "m = s32[] {other}", "v = s32[1] reshape(n)\n m = s32[] reshape(v)"
    ).format()
    with pytest.raises(DynamismRefused, match="n and m cannot be proved equal"):
        checked.run(program(round_trip), Trace())
    module = program(round_trip)
    assert DynamicDimensionSimplifier().run(module, Trace())
    assert checked.run(module, Trace())


def test_a_loop_that_only_carries_an_array_has_no_bridge() -> None:
    """Nothing works on it, so that it may stay as it is."""
    state = "(s32[], f32[<=4])"
    module = program(
        f"""x = f32[<=4] parameter(0)
            zero = s32[] constant(0)
            t = {state} tuple(zero, x)
            ROOT w = {state} while(t), condition=condition, body=body""",
        f"""body {{ s = {state} parameter(0)
          i = s32[] get-tuple-element(s), index=0
          x = f32[<=4] get-tuple-element(s), index=1
          one = s32[] constant(1)
          k = s32[] add(i, one)
          ROOT r = {state} tuple(k, x) }}
        """,
        f"""condition {{ s = {state} parameter(0)
          i = s32[] get-tuple-element(s), index=0
          two = s32[] constant(2)
          ROOT r = pred[] compare(i, two), direction=LT }}
        """,
    )
    before = structure(module, names=False)
    DynamicPadder().run(module, Trace())
    assert verify(module) == []
    assert structure(module, names=False) == before
