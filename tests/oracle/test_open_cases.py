"""Which operands leave a result open, and which inputs are drawn so that little is?"""

from typing import Any

import numpy as np
import pytest

from hlo import HloModule, Opcode
from hlo.interchange import read_text
from oracle.agreement import first_disagreement
from oracle.engine import Lineage, Ran
from oracle.inputs import MIXED, Mode, draw_inputs
from oracle.open_cases import computes, first_open_case, leaves_open
from oracle.roles import Role, Use, roles_of
from oracle.vote import sample_vote

NAN, INF = np.nan, np.inf
TINY = 1e-40
COMPUTATIONS = """HloModule m
add { a = f32[] parameter(0)
 b = f32[] parameter(1)
 ROOT r = f32[] add(a, b) }
second { a = f32[] parameter(0)
 ROOT b = f32[] parameter(1) }
up { a = f32[] parameter(0)
 b = f32[] parameter(1)
 ROOT r = pred[] compare(a, b), direction=LT }
one { a = f32[4] parameter(0)
 ROOT c = f32[4] copy(a) }
never { s = STATE parameter(0)
 ROOT r = pred[] constant(false) }
again { s = STATE parameter(0)
 x = TYPE get-tuple-element(s), index=0
 y = f32[4] get-tuple-element(s), index=1
 ROOT t = STATE tuple(x, y) }
given { t = STATE parameter(0)
 w = STATE while(t), condition=never, body=again
 x = TYPE get-tuple-element(w), index=0
 y = f32[4] get-tuple-element(w), index=1
USE }
"""


def entry(*lines: str) -> HloModule:
    head = COMPUTATIONS[: COMPUTATIONS.index("one")]
    return read_text("\n".join([head, "ENTRY e {", *lines, "}"]))


def far_away(kind: str, use: str, result: str) -> HloModule:
    """`use` of x behind a tuple, a call and a loop. y, of f32[4], goes along."""
    text = COMPUTATIONS.replace("STATE", f"({kind}, f32[4])").replace("TYPE", kind).replace("USE", use)
    return read_text(
        f"{text}ENTRY e {{\n x = {kind} parameter(0)\n y = f32[4] parameter(1)\n"
        f" t = ({kind}, f32[4]) tuple(x, y)\n ROOT c = {result} call(t), to_apply=given\n}}"
    )


def asked(root: str, *operands: Any) -> str | None:
    arrays = [np.asarray(x) for x in operands]
    names = {"float32": "f32", "float16": "f16", "complex64": "c64", "int32": "s32"}
    lines = [
        f"p{i} = {names[x.dtype.name]}[{','.join(map(str, x.shape))}] parameter({i})"
        for i, x in enumerate(arrays)
    ]
    module = entry(*lines, f"ROOT r = {root}")
    return leaves_open(module.entry_computation.root, arrays)


def f32(*values: float) -> np.ndarray:
    return np.array(values, np.float32)


def test_moving_a_number_is_never_open():
    specials = f32(TINY, NAN, INF)
    assert asked("f32[3] reverse(p0), dimensions={0}", specials) is None
    assert asked("f32[2] slice(p0), slice={[0:2]}", specials) is None
    scatter = (
        "f32[3] scatter(p0, p1, p2), update_window_dims={}, inserted_window_dims={0},"
        " scatter_dims_to_operand_dims={0}, index_vector_dim=1, to_apply="
    )
    operands = specials, np.zeros((1, 1), np.int32), f32(TINY)
    assert asked(scatter + "second", *operands) is None
    assert asked(scatter + "add", *operands) == "scatter of a subnormal"


def test_arithmetic_of_subnormals_is_open_where_a_processor_may_flush_them():
    assert asked("f32[2] add(p0, p0)", f32(TINY, 1)) == "add of a subnormal"
    assert asked("f32[2] add(p0, p0)", f32(0, 1)) is None
    assert asked("f16[1] add(p0, p0)", np.array([1e-7], np.float16)) is None
    assert asked("c64[1] negate(p0)", np.array([complex(1, TINY)], np.complex64)) == "negate of a subnormal"


def test_infinities_are_open_in_complex_arithmetic_and_in_long_algorithms_only():
    assert asked("f32[2] tanh(p0)", f32(INF, NAN)) is None
    assert asked("c64[1] tanh(p0)", np.array([complex(0, INF)], np.complex64)) is not None
    dot = "f32[] dot(p0, p0), lhs_contracting_dims={0}, rhs_contracting_dims={0}"
    assert asked(dot, f32(INF, NAN)) is None
    convolution = "f32[1,2,1] convolution(p0, p1), window={size=1}, dim_labels=b0f_0io->b0f"
    assert asked(convolution, f32(1, INF).reshape(1, 2, 1), f32(1).reshape(1, 1, 1)) is not None
    assert asked(convolution, f32(1, 2).reshape(1, 2, 1), f32(1).reshape(1, 1, 1)) is None


def test_what_overflows_on_the_way_is_open():
    normal = "(f32[2,2], f32[2], f32[2]) batch-norm-training(p0, p1, p1), epsilon=0.1, feature_index=1"
    assert asked(normal, np.full((2, 2), 1e13, np.float32), f32(1, 1)) is not None
    assert asked(normal, np.full((2, 2), 1e3, np.float32), f32(1, 1)) is None


def test_the_first_open_instruction_has_a_name():
    module = entry(
        "x = f32[2] parameter(0)", "r = f32[2] reverse(x), dimensions={0}", "ROOT n = f32[2] negate(r)"
    )
    assert first_open_case(module, (f32(TINY, 1),)) == "n: negate of a subnormal"
    assert first_open_case(module, (f32(INF, 1),)) is None
    assert not computes(module.entry_computation.root.operand(0))


def test_engines_that_differ_on_what_is_open_do_not_disagree():
    # XLA CPU flushes: 1e-40 / 1e-40 is 1 with subnormals and NaN without
    module = entry("x = f32[1] parameter(0)", "ROOT d = f32[1] divide(x, x)")
    assert first_disagreement(module, (f32(TINY),)) is None

    class Gives:
        lineage = Lineage.XLA

        def __init__(self, name: str, value: float) -> None:
            self.name, self._value = name, f32(value)

        def run(self, module: HloModule, inputs: Any) -> Ran:
            return Ran(self._value)

    engines = [Gives("a", 1.0), Gives("b", NAN)]
    assert sample_vote(module, [(f32(TINY),)], engines) is None
    assert sample_vote(module, [(f32(2),)], engines) is not None


COMPUTED, FINITE = Role(Use.COMPUTED), Role(Use.FINITE)


@pytest.mark.parametrize(
    ("kind", "use", "result", "roles"),
    [
        ("f32[4]", " ROOT r = f32[4] negate(x)", "f32[4]", {COMPUTED}),
        ("c64[4]", " ROOT r = c64[4] negate(x)", "c64[4]", {COMPUTED, FINITE}),
        ("f32[4]", " ROOT r = f32[4] reverse(x), dimensions={0}", "f32[4]", set()),
        ("f32[4]", " b = f32[4] reverse(x), dimensions={0}\n ROOT r = f32[4] sign(b)", "f32[4]", {COMPUTED}),
        # what comes of the first computation is another number
        ("f32[4]", " b = c64[4] complex(x, y)\n ROOT r = c64[4] negate(b)", "c64[4]", {COMPUTED}),
        (
            "s32[]",
            " ROOT r = f32[3] dynamic-slice(y, x), dynamic_slice_sizes={3}",
            "f32[3]",
            {Role(Use.START, 4, 3)},
        ),
        ("s32[4]", " ROOT r = s32[4] divide(x, x)", "s32[4]", {Role(Use.DIVISOR)}),
        (
            "f32[]",
            " ROOT r = f32[] reduce(y, x), dimensions={0}, to_apply=add",
            "f32[]",
            {COMPUTED, Role(Use.INIT, opcode=Opcode.ADD)},
        ),
        (
            "f32[4]",
            " ROOT r = f32[4] sort(x), dimensions={0}, to_apply=up",
            "f32[4]",
            {COMPUTED, Role(Use.KEY, unordered=True)},
        ),
        (
            "s32[]",
            " ROOT r = f32[4] conditional(x, y, y), branch_computations={one, one}",
            "f32[4]",
            {Role(Use.BRANCH, 2)},
        ),
    ],
)
def test_uses_are_found_behind_tuples_calls_and_loops(kind, use, result, roles):
    assert set(roles_of(far_away(kind, use, result)).get((0, ()), ())) == roles


def test_predicates_are_drawn_both_ways_behind_tuples_calls_and_loops():
    module = far_away("pred[]", " z = f32[4] negate(y)\n ROOT r = f32[4] select(x, y, z)", "f32[4]")
    assert {bool(x) for x, _ in draw_inputs(module, 0, 20, MIXED)} == {False, True}


def special(module: HloModule) -> np.ndarray:
    sets = draw_inputs(module, 3, 60, (Mode.SPECIAL,))
    return np.concatenate([np.asarray(x).ravel() for x, *_ in sets]).astype(np.complex128).real


def has_subnormals(values: np.ndarray) -> bool:
    return bool(np.any((values != 0) & (np.abs(values) < np.finfo(np.float32).tiny)))


def test_subnormals_are_drawn_for_what_is_only_moved():
    moved = special(far_away("f32[4]", " ROOT r = f32[4] reverse(x), dimensions={0}", "f32[4]"))
    computed = special(far_away("f32[4]", " ROOT r = f32[4] negate(x)", "f32[4]"))
    assert has_subnormals(moved)
    assert not has_subnormals(computed)
    for values in (moved, computed):
        assert np.isnan(values).any()
        assert np.isinf(values).any()
        assert (np.signbit(values) & (values == 0)).any()


def test_infinities_and_nans_are_drawn_where_arithmetic_says_what_becomes_of_them():
    moved = special(far_away("c64[4]", " ROOT r = c64[4] reverse(x), dimensions={0}", "c64[4]"))
    computed = special(far_away("c64[4]", " ROOT r = c64[4] negate(x)", "c64[4]"))
    assert np.isnan(moved).any()
    assert np.isfinite(computed).all()
    assert (np.signbit(computed) & (computed == 0)).any()


def test_mixed_sets_begin_with_the_simple_one_and_divide_by_zero_in_the_second():
    module = entry("x = s32[40] parameter(0)", "f = f32[40] parameter(1)", "ROOT d = s32[40] divide(x, x)")
    sets: list[Any] = list(draw_inputs(module, 5, 3, MIXED))
    (counting, _), (extreme, plain), (small, odd) = sets
    assert np.array_equal(counting, np.arange(1, 41))
    assert (extreme == 0).any()
    assert {-(2**31), 2**31 - 1} <= set(extreme.tolist())
    assert (small != 0).all()
    assert np.isfinite(plain).all()
    assert not np.isfinite(odd).all()
