"""Do sizes get through loops, branches and what is in them? The larger scenarios of `stock_passes.md` section 4.14."""

import numpy as np
import pytest

from hlo import HloModule, Opcode
from hlo.verify import verify
from oracle.compare import BITWISE, compare
from oracle.true_size import specialise
from passes import Trace
from passes.stock.dynamic_dimension_inference import DynamicSizes, DynamismRefused, infer_dynamic_dimensions
from tests.passes.stock.dynamic.programs import ADD, FLOAT_ADD, padded, program


def inferred(module: HloModule) -> DynamicSizes:
    sizes = infer_dynamic_dimensions(module, Trace())
    assert verify(module) == []
    return sizes


def root_sizes(module: HloModule, index: tuple[int, ...] = ()) -> list[str | None]:
    sizes = inferred(module)
    return [size and size.name for size in sizes.sizes(module.entry_computation.root, index)]


def test_a_size_may_be_an_element_of_a_tuple() -> None:
    module = program(
        """p = (f32[2,2], s32[]) parameter(0)
           x.0 = f32[2,2] get-tuple-element(p), index=0
           n = s32[] get-tuple-element(p), index=1
           x = f32[<=2,2] set-dimension-size(x.0, n), dimensions={0}
           ROOT r = f32[<=2,2] negate(x)"""
    )
    assert root_sizes(module) == ["n", None]


def test_one_size_may_be_that_of_three_dimensions() -> None:
    module = program(
        """x.0 = f32[3,2] parameter(0)
           y.0 = f32[2,1] parameter(1)
           n = s32[] parameter(2)
           x.1 = f32[<=3,2] set-dimension-size(x.0, n), dimensions={0}
           x = f32[<=3,<=2] set-dimension-size(x.1, n), dimensions={1}
           y = f32[<=2,1] set-dimension-size(y.0, n), dimensions={0}
           ROOT r = f32[<=3,1] dot(x, y), lhs_contracting_dims={1}, rhs_contracting_dims={0}"""
    )
    assert root_sizes(module) == ["n", None]


def test_several_arrays_are_reduced_to_arrays_of_one_size() -> None:
    module = program(
        """x.0 = f32[1,2,2] parameter(0)
           y.0 = f32[1,2,2] parameter(1)
           n = s32[] parameter(2)
           x = f32[1,2,<=2] set-dimension-size(x.0, n), dimensions={2}
           y = f32[1,2,<=2] set-dimension-size(y.0, n), dimensions={2}
           zero = f32[] constant(0)
           ROOT r = (f32[1,<=2], f32[1,<=2]) reduce(x, y, zero, zero), dimensions={1}, to_apply=pair""",
        "pair { a = f32[] parameter(0)\n b = f32[] parameter(1)\n c = f32[] parameter(2)\n d = f32[] parameter(3)\n"
        " s = f32[] add(a, c)\n t = f32[] add(b, d)\n ROOT r = (f32[], f32[]) tuple(s, t) }\n",
    )
    sizes = inferred(module)
    root = module.entry_computation.root
    for index in ((0,), (1,)):
        assert [size and size.name for size in sizes.sizes(root, index)] == [None, "n"]


def test_a_new_dimension_of_one_does_not_take_up_a_size() -> None:
    """Upstream lets `inferred_dimension` say so (ReshapeInferredDimension), and loses the dimension that had it."""
    entry = """x.0 = f32[4,5] parameter(0)
        n = s32[] parameter(1)
        x = f32[<=4,5] set-dimension-size(x.0, n), dimensions={0}
        ROOT r = {shape} reshape(x), inferred_dimension=0"""
    assert root_sizes(program(entry.replace("{shape}", "f32[1,<=4,5]"))) == [None, "n", None]


def test_a_reshape_multiplies_the_size_of_its_major_dimension() -> None:
    module = program(
        """x.0 = f32[32,10,4] parameter(0)
           n = s32[] parameter(1)
           x = f32[<=32,10,4] set-dimension-size(x.0, n), dimensions={0}
           ROOT r = f32[<=320,4] reshape(x)"""
    )
    sizes = inferred(module)
    size, static = sizes.sizes(module.entry_computation.root)
    assert size is not None
    assert (size.opcode, size.operand(0).name, static) == (Opcode.MULTIPLY, "n", None)


def test_batches_of_windows_keep_their_size() -> None:
    entry = """x.0 = f32[2,4] parameter(0)
        n = s32[] parameter(1)
        x = f32[<=2,4] set-dimension-size(x.0, n), dimensions={0}
        zero = f32[] constant(0)
        """
    windows = "ROOT r = f32[<=2,2] reduce-window(x, zero), window={size=1x2 stride=1x2}, to_apply=add"
    assert root_sizes(program(entry + windows, FLOAT_ADD)) == ["n", None]
    scattered = """y.0 = f32[2,2] parameter(2)
        y = f32[<=2,2] set-dimension-size(y.0, n), dimensions={0}
        ROOT r = f32[<=2,4] select-and-scatter(x, y, zero), window={size=1x2 stride=1x2}, select=gte, scatter=add"""
    select = "gte { a = f32[] parameter(0)\n b = f32[] parameter(1)\n ROOT r = pred[] compare(a, b), direction=GE }\n"
    assert root_sizes(program(entry + scattered, FLOAT_ADD, select)) == ["n", None]


def test_one_array_is_sorted_along_another_dimension() -> None:
    module = program(
        """x.0 = f32[5,7] parameter(0)
           n = s32[] parameter(1)
           x = f32[<=5,7] set-dimension-size(x.0, n), dimensions={0}
           ROOT r = f32[<=5,7] sort(x), dimensions={1}, to_apply=less""",
        "less { a = f32[] parameter(0)\n b = f32[] parameter(1)\n ROOT r = pred[] compare(a, b), direction=LT }\n",
    )
    assert root_sizes(module) == ["n", None]


def test_branches_are_given_sizes_and_give_them_back() -> None:
    """Of a branch with two elements and one with three, of which each gives one array: it comes out with a size."""
    module = program(
        """p = pred[] parameter(0)
           x.0 = f32[5] parameter(1)
           n = s32[] parameter(2)
           x = f32[<=5] set-dimension-size(x.0, n), dimensions={0}
           two = (s32[], f32[<=5]) tuple(n, x)
           three = (f32[<=5], s32[], f32[<=5]) tuple(x, n, x)
           c = (f32[<=5]) conditional(p, two, three), true_computation=yes, false_computation=no
           ROOT r = f32[<=5] get-tuple-element(c), index=0""",
        "yes { s = (s32[], f32[<=5]) parameter(0)\n x = f32[<=5] get-tuple-element(s), index=1\n"
        " y = f32[<=5] negate(x)\n ROOT r = (f32[<=5]) tuple(y) }\n",
        "no { s = (f32[<=5], s32[], f32[<=5]) parameter(0)\n x = f32[<=5] get-tuple-element(s), index=0\n"
        " y = f32[<=5] get-tuple-element(s), index=2\n z = f32[<=5] add(x, y)\n ROOT r = (f32[<=5]) tuple(z) }\n",
    )
    inferred(module)
    (chosen,) = [i for i in module.entry_computation.instructions if i.opcode is Opcode.CONDITIONAL]
    assert str(chosen.shape) == "(f32[5], s32[])"


def test_a_map_whose_parameters_are_out_of_order_is_no_obstacle() -> None:
    """After HandleMap: in a loop, beside a slice of one complex element, which is static."""
    state = "(s32[], c128[<=1])"
    module = program(
        f"""x = c128[<=1] parameter(0)
            zero = s32[] constant(0)
            t = {state} tuple(zero, x)
            w = {state} while(t), condition=condition, body=body
            ROOT r = c128[<=1] get-tuple-element(w), index=1""",
        "minus { b = s32[] parameter(1)\n a = s32[] parameter(0)\n ROOT r = s32[] subtract(a, b) }\n",
        f"""body {{ s = {state} parameter(0)
          i = s32[] get-tuple-element(s), index=0
          x = c128[<=1] get-tuple-element(s), index=1
          one = s32[] constant(-1)
          j = s32[] map(i, one), dimensions={{}}, to_apply=minus
          e = c128[1] dynamic-slice(x, i), dynamic_slice_sizes={{1}}
          y = c128[<=1] add(x, e)
          ROOT r = {state} tuple(j, y) }}
        """,
        f"""condition {{ s = {state} parameter(0)
          i = s32[] get-tuple-element(s), index=0
          n = s32[] constant(2)
          ROOT r = pred[] compare(i, n), direction=LT }}
        """,
    )
    x = np.array([1 + 2j])
    np.testing.assert_array_equal(padded(module, x), 4 * x)


BUFFER = "(f32[<=5], s32[])"
NESTED_STATE = f"(s32[], {BUFFER}, {BUFFER})"


def nested() -> HloModule:
    """After NestedControlFlow, smaller: branches within branches within a loop over nested tuples.

    With branches that take an empty tuple, a size set to the bound of a static array, a comparison with a static
    array, updates of one element, and sizes got from arrays and set again.
    """
    return program(
        f"""x = f32[<=5] parameter(0)
            n = s32[] get-dimension-size(x), dimensions={{0}}
            zero = s32[] constant(0)
            first = {BUFFER} tuple(x, n)
            y = f32[<=5] parameter(1)
            second = {BUFFER} tuple(y, zero)
            t = {NESTED_STATE} tuple(zero, first, second)
            w = {NESTED_STATE} while(t), condition=condition, body=body
            done = {BUFFER} get-tuple-element(w), index=1
            other = {BUFFER} get-tuple-element(w), index=2
            a = f32[<=5] get-tuple-element(done), index=0
            b = f32[<=5] get-tuple-element(other), index=0
            count = s32[] get-tuple-element(other), index=1
            ROOT r = (f32[<=5], f32[<=5], s32[]) tuple(a, b, count)""",
        ADD,
        """some { e = () parameter(0)
          c = s32[] constant(2)
          ROOT r = (s32[]) tuple(c) }
        none { e = () parameter(0)
          c = s32[] constant(1)
          ROOT r = (s32[]) tuple(c) }
        """,
        f"""write {{ s = {BUFFER} parameter(0)
          x = f32[<=5] get-tuple-element(s), index=0
          count = s32[] get-tuple-element(s), index=1
          zeros = f32[5] constant({{0, 0, 0, 0, 0}})
          five = s32[] constant(5)
          whole = f32[5] set-dimension-size(zeros, five), dimensions={{0}}
          above = pred[<=5] compare(x, whole), direction=GT
          chosen = f32[<=5] select(above, x, x)
          nothing = () tuple()
          odd = s32[] constant(1)
          bit = s32[] and(count, odd)
          one = s32[] constant(1)
          is_odd = pred[] compare(bit, one), direction=EQ
          step = (s32[]) conditional(is_odd, nothing, nothing), true_computation=some, false_computation=none
          by = s32[] get-tuple-element(step), index=0
          element = f32[1] constant({{9}})
          written = f32[<=5] dynamic-update-slice(chosen, element, count)
          n = s32[] get-dimension-size(x), dimensions={{0}}
          sized = f32[<=5] set-dimension-size(written, n), dimensions={{0}}
          more = s32[] add(count, by)
          ROOT r = {BUFFER} tuple(sized, more) }}
        keep {{ ROOT s = {BUFFER} parameter(0) }}
        body {{ s = {NESTED_STATE} parameter(0)
          i = s32[] get-tuple-element(s), index=0
          first = {BUFFER} get-tuple-element(s), index=1
          second = {BUFFER} get-tuple-element(s), index=2
          x = f32[<=5] get-tuple-element(second), index=0
          n = s32[] get-dimension-size(x), dimensions={{0}}
          has_room = pred[] compare(i, n), direction=LT
          after = {BUFFER} conditional(has_room, second, second), true_computation=write, false_computation=keep
          one = s32[] constant(1)
          j = s32[] add(i, one)
          ROOT r = {NESTED_STATE} tuple(j, first, after) }}
        condition {{ s = {NESTED_STATE} parameter(0)
          i = s32[] get-tuple-element(s), index=0
          three = s32[] constant(3)
          ROOT r = pred[] compare(i, three), direction=LT }}
        """,
    )


@pytest.mark.parametrize("size", [0, 1, 2, 4, 5])
def test_control_flow_within_control_flow_keeps_sizes_and_values(size: int) -> None:
    x, y = np.arange(size, dtype=np.float32), np.ones(5 - size, np.float32)
    expected = specialise(nested(), [x, y]).value
    assert (
        compare(expected, padded(nested(), x, y), tolerance=BITWISE, left="meaning", right="padded") is None
    )


def test_a_branch_argument_that_is_no_tuple_is_refused() -> None:
    module = program(
        """p = pred[] parameter(0)
           x = f32[<=5] parameter(1)
           ROOT c = f32[<=5] conditional(p, x, x), true_computation=f, false_computation=f""",
        "f { x = f32[<=5] parameter(0)\n ROOT r = f32[<=5] negate(x) }\n",
    )
    with pytest.raises(DynamismRefused, match="a branch takes a dynamic array that is in no tuple"):
        inferred(module)
