"""What becomes of programs whose types say something else than their sizes?

HLO's verifier does not compare flags, and the type of a clamp is that of what is clamped (`stock_passes.md` section
3.6), so that types need not tell of sizes.
"""

import numpy as np
import pytest

from hlo import ArrayShape, Opcode, PrimitiveType
from hlo.infer import infer_shape
from oracle import Agree, Skip, SkipReason, judge
from oracle.true_size import UndefinedSizes, specialise
from passes import Trace, parse_pipeline
from passes.stock import DynamicPadder
from passes.stock.dynamic_dimension_inference import DynamismRefused
from tests.passes.stock.dynamic.programs import ADD, array, program

GIVEN = "x = s32[4] parameter(0)\n lo = s32[<=4] parameter(1)\n"
CLAMP = "clamp(lo, x, lo)"


def test_a_clamp_has_the_type_of_what_is_clamped() -> None:
    static, dynamic = ArrayShape(PrimitiveType.S32, (4,)), ArrayShape(PrimitiveType.S32, (4,), (True,))
    assert infer_shape(Opcode.CLAMP, [dynamic, static, dynamic]) == static


@pytest.mark.parametrize("operation", [CLAMP, "add(lo, x)", "negate(lo)"])
@pytest.mark.parametrize(
    ("root", "name"),
    [
        ("ROOT r = s32[4] {}", "r"),
        ("y = s32[4] {}\n t = (s32[4]) tuple(y)\n ROOT r = ((s32[4])) tuple(t)", "y"),
    ],
)
def test_a_result_without_a_flag_for_its_size_is_refused(operation: str, root: str, name: str) -> None:
    module = program(GIVEN + root.format(operation))
    with pytest.raises(DynamismRefused, match="the type of the result has no flag for its size") as refused:
        DynamicPadder().run(module.clone(), Trace())
    assert (refused.value.instruction, refused.value.dimension) == (name, 0)
    verdict = judge(module, parse_pipeline("dynamic"), [(array([1, 2, 3, 4]), array([2, 2]))], {}).verdict
    assert isinstance(verdict, Skip)
    assert verdict.reason is SkipReason.REFUSED


def test_a_result_as_large_as_its_bound_needs_no_cut_where_nothing_is_cut() -> None:
    module = program(GIVEN + f"ROOT r = s32[4] {CLAMP}")
    assert DynamicPadder(slice_dynamic_output=False).run(module, Trace())
    assert module.entry_computation.root.shape.is_static


def test_such_a_result_has_no_meaning_unless_it_is_as_large_as_its_bound() -> None:
    module = program(GIVEN + f"ROOT r = s32[4] {CLAMP}")
    x = array([1, 2, 3, 4])
    with pytest.raises(UndefinedSizes, match=r"its size is 2 in dimension 0 of s32\[4\], which is static"):
        specialise(module, [x, array([2, 2])])
    np.testing.assert_array_equal(specialise(module, [x, array([2, 2, 2, 2])]).value, [2, 2, 2, 2])


def test_inside_a_program_a_size_needs_no_flag() -> None:
    module = program(
        f"""{GIVEN} c = s32[4] {CLAMP}
            zero = s32[] constant(0)
            ROOT r = s32[] reduce(c, zero), dimensions={{0}}, to_apply=add""",
        ADD,
    )
    sets = [(array([1, 2, 3, 4]), array([7] * size)) for size in range(5)]
    assert judge(module, parse_pipeline("dynamic"), sets, {}).verdict == Agree()


def test_a_dynamic_reshape_has_other_sizes_only_where_its_type_says_so() -> None:
    module = program(
        """x = s32[<=6] parameter(0)
           n = s32[] parameter(1)
           m = s32[] parameter(2)
           ROOT r = s32[2,<=3] dynamic-reshape(x, n, m)"""
    )
    x = array([1, 2])
    with pytest.raises(UndefinedSizes, match="size 1 for dimension 0, which is static"):
        specialise(module, [x, array(1), array(2)])
    value = specialise(module, [x, array(2), array(1)]).value
    np.testing.assert_array_equal(value, [[1], [2]])
