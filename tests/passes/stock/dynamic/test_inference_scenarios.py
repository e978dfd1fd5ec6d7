"""Does the inference find the sizes that upstream's own tests name? Scenarios: `stock_passes.md` section 4.14."""

import pytest

from hlo import HloInstruction, HloModule, Opcode
from hlo.verify import verify
from passes import Trace
from passes.stock.dynamic_dimension_inference import (
    DynamicSizes,
    DynamismRefused,
    infer_dynamic_dimensions,
)
from tests.passes.stock.dynamic.programs import FLOAT_ADD, program


def inferred(module: HloModule, **options: str) -> DynamicSizes:
    sizes = infer_dynamic_dimensions(module, Trace(), **options)  # pyright: ignore[reportArgumentType]
    assert verify(module) == []
    return sizes


def names(sizes: DynamicSizes, inst: HloInstruction, index: tuple[int, ...] = ()) -> list[str | None]:
    return [size and size.name for size in sizes.sizes(inst, index)]


def root_sizes(entry: str, *computations: str) -> list[str | None]:
    module = program(entry, *computations)
    sizes = inferred(module)
    return names(sizes, module.entry_computation.root)


def dynamic(shape: str, bounds: str, *dimensions: int, name: str = "x") -> str:
    """Text of a static parameter `name`, number 0 or 1, whose dimensions get sizes n0, n1, …, parameters behind it."""
    lines = [f"{name}.0 = {shape}[{bounds}] parameter(0)"]
    flags = bounds.split(",")
    for i, dimension in enumerate(dimensions):
        flags[dimension] = f"<={flags[dimension]}"
        lines.append(f"n{dimension} = s32[] parameter({i + 1})")
        target = name if i == len(dimensions) - 1 else f"{name}.{i + 1}"
        lines.append(
            f"{target} = {shape}[{','.join(flags)}] set-dimension-size({name}.{i}, n{dimension}), "
            f"dimensions={{{dimension}}}"
        )
    return "\n".join(lines) + "\n"


def test_a_parameter_gets_its_size_from_another() -> None:
    module = program(
        dynamic("f32", "1,2,2", 1)
        + "zero = f32[] constant(0)\n ROOT r = f32[1,<=2] reduce(x, zero), dimensions={2}, "
        "to_apply=add",
        FLOAT_ADD,
    )
    sizes = inferred(module)
    root = module.entry_computation.root
    assert names(sizes, root) == [None, "n1"]
    assert not any(sizes.has_dynamic(p) for p in module.entry_computation.parameters)


@pytest.mark.parametrize(
    ("entry", "expected"),
    [
        pytest.param(
            dynamic("f32", "1,2,2", 1) + "ROOT r = f32[1,<=2,2] negate(x)", [None, "n1", None], id="negate"
        ),
        pytest.param(
            dynamic("f32", "1,2,2", 1) + "zero = f32[] constant(0)\n"
            "ROOT r = f32[<=2] reduce(x, zero), dimensions={0,2}, to_apply=add",
            ["n1"],
            id="reduce-kept",
        ),
        pytest.param(
            dynamic("f32", "1,2,2", 2) + "zero = f32[] constant(0)\n"
            "ROOT r = f32[1,<=2] reduce(x, zero), dimensions={1}, to_apply=add",
            [None, "n2"],
            id="reduce-shifted",
        ),
        pytest.param(
            dynamic("f32", "3,2", 0, 1) + "y = f32[2,1] constant({{1},{1}})\n"
            "ROOT r = f32[<=3,1] dot(x, y), lhs_contracting_dims={1}, rhs_contracting_dims={0}",
            ["n0", None],
            id="dot",
        ),
        pytest.param(
            dynamic("f32", "4,128,2,8", 0) + "y = f32[4,128,2,8] parameter(2)\n"
            "ROOT r = f32[<=4,2,128,128] dot(x, y), lhs_batch_dims={0,2}, lhs_contracting_dims={3}, "
            "rhs_batch_dims={0,2}, rhs_contracting_dims={3}",
            ["n0", None, None, None],
            id="dot-batch",
        ),
        pytest.param(
            dynamic("f32", "2,2,8,64", 0, 1) + "w = f32[2,2,512] parameter(3)\n"
            "v = f32[<=2,2,512] set-dimension-size(w, n0), dimensions={0}\n"
            "y = f32[<=2,<=2,512] set-dimension-size(v, n1), dimensions={1}\n"
            "ROOT r = f32[8,64,512] dot(x, y), lhs_contracting_dims={0,1}, rhs_contracting_dims={0,1}",
            [None, None, None],
            id="dot-contracted",
        ),
        pytest.param(
            dynamic("f32", "3,2", 0, 1) + "y = f32[2,1] parameter(3)\n"
            "ROOT r = f32[1,<=3] convolution(x, y), dim_labels=bf_io->fb",
            [None, "n0"],
            id="convolution",
        ),
        pytest.param(
            dynamic("f32", "4,5,6", 0, 1, 2) + "ROOT r = f32[<=6,<=5,<=4] transpose(x), dimensions={2,1,0}",
            ["n2", "n1", "n0"],
            id="transpose",
        ),
        pytest.param(
            dynamic("f32", "4,5,6", 0, 1, 2) + "ROOT r = f32[<=6,<=4,<=5] transpose(x), dimensions={2,0,1}",
            ["n2", "n0", "n1"],
            id="transpose-order",
        ),
        pytest.param(
            dynamic("f32", "2,3,4,5,6", 2, 3) + "ROOT r = f32[6,<=4,1,<=5,2,3] reshape(x)",
            [None, "n2", None, "n3", None, None],
            id="reshape",
        ),
        pytest.param(
            dynamic("f32", "9,2", 0, 1) + "ROOT r = f32[<=9,1,<=2] reshape(x)",
            ["n0", None, "n1"],
            id="reshape-two",
        ),
        pytest.param(
            dynamic("s32", "32,20", 0) + "d = f32[20,10] parameter(2)\n"
            "ROOT r = f32[<=32,20,10] gather(d, x), offset_dims={2}, collapsed_slice_dims={0}, start_index_map={0}, "
            "index_vector_dim=2, slice_sizes={1,10}",
            ["n0", None, None],
            id="gather",
        ),
        pytest.param(
            dynamic("f32", "2", 0) + "ROOT r = f32[3,<=2,4] broadcast(x), dimensions={1}",
            [None, "n0", None],
            id="broadcast",
        ),
        pytest.param(
            dynamic("f32", "5,7", 0)
            + "y = f32[5,7] parameter(2)\n w = f32[<=5,7] set-dimension-size(y, n0), dimensions={0}\n"
            "ROOT r = f32[<=5,14] concatenate(x, w), dimensions={1}",
            ["n0", None],
            id="concatenate",
        ),
        pytest.param(
            dynamic("f32", "5,7", 0) + "ROOT r = f32[<=5,7] slice(x), slice={[0:5], [0:7]}",
            ["n0", None],
            id="slice",
        ),
        pytest.param(
            dynamic("f32", "5,7", 0) + "i = s32[] parameter(2)\n"
            "ROOT r = f32[<=5,1] dynamic-slice(x, i, i), dynamic_slice_sizes={5,1}",
            ["n0", None],
            id="dynamic-slice",
        ),
        pytest.param(
            dynamic("f32", "5,7", 0) + "i = s32[] parameter(2)\n"
            "ROOT r = f32[1,1] dynamic-slice(x, i, i), dynamic_slice_sizes={1,1}",
            [None, None],
            id="one-element",
        ),
        pytest.param(
            dynamic("f32", "9", 0) + "k = s32[] parameter(2)\n three = s32[] constant(3)\n"
            "ROOT r = f32[3,<=3] dynamic-reshape(x, three, k)",
            [None, "k"],
            id="dynamic-reshape",
        ),
    ],
)
def test_results_get_the_sizes_of_what_they_are_made_of(entry: str, expected: list[str | None]) -> None:
    assert root_sizes(entry, FLOAT_ADD) == expected


def test_a_reshape_to_a_scalar_has_no_size() -> None:
    with pytest.raises(DynamismRefused, match="no dimension of the result could take up the size"):
        root_sizes(dynamic("f32", "1", 0) + "ROOT r = f32[] reshape(x)")


def test_all_results_of_a_variadic_reduction_get_the_size() -> None:
    module = program(
        dynamic("f32", "1,2,2", 2) + "y = f32[1,2,2] parameter(2)\n zero = f32[] constant(0)\n"
        "ROOT r = (f32[1,<=2], f32[1,<=2]) reduce(x, y, zero, zero), dimensions={1}, to_apply=pair",
        "pair { a = f32[] parameter(0)\n b = f32[] parameter(1)\n c = f32[] parameter(2)\n d = f32[] parameter(3)\n"
        " s = f32[] add(a, c)\n t = f32[] add(b, d)\n ROOT r = (f32[], f32[]) tuple(s, t) }\n",
    )
    sizes = inferred(module)
    root = module.entry_computation.root
    assert [names(sizes, root, (i,)) for i in range(2)] == [[None, "n2"], [None, "n2"]]


def test_a_sort_of_several_arrays_gives_each_its_size() -> None:
    module = program(
        dynamic("f32", "5,7", 0) + "y = f32[5,7] parameter(2)\n"
        "w = f32[<=5,7] set-dimension-size(y, n0), dimensions={0}\n"
        "ROOT r = (f32[<=5,7], f32[<=5,7]) sort(x, w), dimensions={1}, to_apply=less",
        "less { a = f32[] parameter(0)\n b = f32[] parameter(1)\n c = f32[] parameter(2)\n d = f32[] parameter(3)\n"
        " ROOT r = pred[] compare(a, b), direction=LT }\n",
    )
    sizes = inferred(module)
    root = module.entry_computation.root
    assert [names(sizes, root, (i,)) for i in range(2)] == [["n0", None], ["n0", None]]


BODY = """body { s = (f32[<=2], f32[<=2]) parameter(0)
  a = f32[<=2] get-tuple-element(s), index=0
  b = f32[<=2] get-tuple-element(s), index=1
  c = f32[<=2] add(a, b)
  ROOT r = (f32[<=2], f32[<=2]) tuple(c, b) }
"""
CONDITION = """condition { s = (f32[<=2], f32[<=2]) parameter(0)
  ROOT r = pred[] constant(false) }
"""


def test_a_loop_carries_one_size_for_each_dynamic_array() -> None:
    module = program(
        dynamic("f32", "2", 0) + "t = (f32[<=2], f32[<=2]) tuple(x, x)\n"
        "ROOT w = (f32[<=2], f32[<=2]) while(t), condition=condition, body=body",
        BODY,
        CONDITION,
    )
    sizes = inferred(module)
    (loop,) = [i for i in module.entry_computation.instructions if i.opcode is Opcode.WHILE]
    assert str(loop.shape) == "(f32[2], f32[2], s32[], s32[])"
    root = module.entry_computation.root
    assert all(name is not None for i in range(2) for name in names(sizes, root, (i,)))


def test_a_loop_may_set_a_size_to_its_bound() -> None:
    module = program(
        dynamic("f32", "32,216", 0) + "zero = s32[] constant(0)\n"
        "f = f32[] constant(1)\n"
        "t = (s32[], s32[], f32[], f32[<=32,216]) tuple(zero, zero, f, x)\n"
        "ROOT w = (s32[], s32[], f32[], f32[<=32,216]) while(t), condition=condition, body=body",
        """body { s = (s32[], s32[], f32[], f32[<=32,216]) parameter(0)
  i = s32[] get-tuple-element(s), index=0
  j = s32[] get-tuple-element(s), index=1
  f = f32[] get-tuple-element(s), index=2
  one = s32[] constant(1)
  k = s32[] add(i, one)
  b = f32[32,216] broadcast(f), dimensions={}
  bound = s32[] constant(32)
  d = f32[<=32,216] set-dimension-size(b, bound), dimensions={0}
  ROOT r = (s32[], s32[], f32[], f32[<=32,216]) tuple(k, j, f, d) }
""",
        """condition { s = (s32[], s32[], f32[], f32[<=32,216]) parameter(0)
  i = s32[] get-tuple-element(s), index=0
  two = s32[] constant(2)
  ROOT r = pred[] compare(i, two), direction=LT }
""",
    )
    inferred(module)
    (loop,) = [i for i in module.entry_computation.instructions if i.opcode is Opcode.WHILE]
    assert len(loop.tuple_shape.elements) == 5


def test_a_loop_whose_state_loses_its_size_is_refused() -> None:
    with pytest.raises(
        DynamismRefused, match=r"element \[0\] is dynamic at first and not after an iteration"
    ):
        inferred(
            program(
                dynamic("f32", "2", 0) + "t = (f32[<=2]) tuple(x)\n"
                "ROOT w = (f32[<=2]) while(t), condition=condition, body=body",
                "body { s = (f32[<=2]) parameter(0)\n c = f32[2] constant({1,2})\n ROOT r = (f32[2]) tuple(c) }\n",
                "condition { s = (f32[<=2]) parameter(0)\n ROOT r = pred[] constant(false) }\n",
            )
        )


def test_checks_at_run_time_are_handed_over_as_one_predicate() -> None:
    module = program(
        dynamic("f32", "20,20", 0, 1)
        + "y.0 = f32[20,20] parameter(3)\n m = s32[] parameter(4)\n k = s32[] parameter(5)\n"
        "y.1 = f32[<=20,20] set-dimension-size(y.0, m), dimensions={0}\n"
        "y = f32[<=20,<=20] set-dimension-size(y.1, k), dimensions={1}\n"
        "ROOT r = f32[<=20,<=20] add(x, y)"
    )
    inferred(module, shape_check="run-time")
    (check,) = [i for i in module.entry_computation.instructions if i.opcode is Opcode.CUSTOM_CALL]
    assert check.custom_call_target == "DynamicShapeAssertion"
    assert check.operand(0).opcode is Opcode.AND
    assert {o.opcode for o in check.operand(0).operands} == {Opcode.COMPARE}


def test_checks_at_compile_time_refuse_what_cannot_be_proved() -> None:
    entry = (
        dynamic("f32", "20", 0) + "y.0 = f32[20] parameter(2)\n m = s32[] parameter(3)\n"
        "y = f32[<=20] set-dimension-size(y.0, {size}), dimensions={{0}}\n ROOT r = f32[<=20] add(x, y)"
    )
    head, tail = entry.split("y = f32", 1)
    tail = "y = f32" + tail.replace("{{0}}", "{0}")
    inferred(program(head + tail.replace("{size}", "n0")), shape_check="compile-time")
    with pytest.raises(DynamismRefused, match="n0 and m cannot be proved equal"):
        inferred(program(head + tail.replace("{size}", "m")), shape_check="compile-time")


@pytest.mark.parametrize(
    ("entry", "message"),
    [
        (
            dynamic("f32", "5,7", 0) + "i = s32[] parameter(2)\n"
            "ROOT r = f32[3,7] dynamic-slice(x, i, i), dynamic_slice_sizes={3,7}",
            r"r \(dynamic-slice, operand 0, dimension 0\): only a part of a dynamic dimension is taken",
        ),
        (
            dynamic("f32", "4,4", 0) + "ROOT r = f32[<=4,4] cholesky(x)",
            r"r \(cholesky, operand 0, dimension 0\): it has no rule for dynamic dimensions",
        ),
        (
            dynamic("f32", "4", 0) + 'ROOT r = f32[<=4] custom-call(x), custom_call_target="Mine"',
            r"r \(custom-call, operand 0, dimension 0\): custom-call Mine cannot have a dynamic dimension",
        ),
        (
            dynamic("f32", "4", 0) + "t = (f32[<=4]) tuple(x)\n ROOT c = (f32[<=4]) call(t), to_apply=f",
            r"c \(call, operand 0, dimension 0\): it has no rule",
        ),
    ],
)
def test_refusals_name_the_instruction_the_operand_and_the_dimension(entry: str, message: str) -> None:
    callee = (
        "f { t = (f32[<=4]) parameter(0)\n x = f32[<=4] get-tuple-element(t), index=0\n"
        " ROOT r = (f32[<=4]) tuple(x) }\n"
    )
    with pytest.raises(DynamismRefused, match=message) as caught:
        inferred(program(entry, callee if "to_apply=f" in entry else ""))
    assert caught.value.operand == 0
    assert caught.value.dimension == 0
