"""Does the verifier judge whole programs right: clean public ones, ill-shaped text, random corruption?"""

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hlo import TOKEN, ArrayShape, HloModule, Literal, Opcode, PrimitiveType, TokenShape, TupleShape
from hlo.attributes import (
    NONE,
    UNMODELLED,
    Comparison,
    ConstantValue,
    CustomCallTarget,
    Dimensions,
    DotDimensions,
    PaddingConfig,
    ParameterNumber,
    SliceBounds,
    SliceSizes,
    TupleIndex,
)
from hlo.infer import GAPS
from hlo.interchange import read_stablehlo, read_text
from hlo.verify import INVARIANTS, verify

F32 = PrimitiveType.F32
WRONG, INDEX = ArrayShape(F32, (5,)), ArrayShape(PrimitiveType.S32)


def test_a_dimension_without_a_bound_is_not_judged() -> None:
    module = read_text("HloModule m\nENTRY e {\n x = f32[?] parameter(0)\n ROOT y = f32[4] negate(x)\n}")
    assert verify(module) == []


def test_an_opcode_without_a_rule_may_have_any_shape() -> None:
    assert Opcode.PARTITION_ID in GAPS
    module = read_text("HloModule m\nENTRY e {\n ROOT y = u32[] partition-id()\n}")
    module.entry_computation.root.shape = WRONG
    assert verify(module) == []


BAD = {
    "f32[2,4] add(x, x)": "add gives f32[8,4], declared f32[2,4]",
    "f32[9,4] slice(x), slice={[0:9], [0:4]}": "[0:9:1] does not slice a dimension of 8",
    "f32[8,4] call(x), to_apply=f": "argument 0 is f32[8,4], but parameter 0",
    "f32[8,4] dynamic-slice(x, i, i), dynamic_slice_sizes={9,4}": "size 9 does not fit a dimension of 8",
}


@pytest.mark.parametrize(("root", "message"), BAD.items())
def test_what_the_text_parser_lets_pass_is_found(root: str, message: str) -> None:
    text = f"""\
HloModule m
f {{
  ROOT p = s32[] parameter(0)
}}
ENTRY e {{
  x = f32[8,4] parameter(0)
  i = s32[] parameter(1)
  ROOT bad = {root}
}}"""
    [violation] = verify(read_text(text))
    assert (violation.where, violation.rule) == ("bad", "shape")
    assert message in violation.message


def test_public_programs_are_clean(shared_data: Path) -> None:
    files = [*(shared_data / "enzyme_hlo").glob("*.hlo"), *(shared_data / "bug_cases").glob("*.hlo")]
    assert len(files) > 250
    assert {f.name: found for f in files if (found := verify(read_text(f.read_text())))} == {}


def test_public_stablehlo_programs_are_clean(shared_data: Path) -> None:
    files = [*(shared_data / "stablehlo_testdata").glob("*.mlir")]
    assert len(files) > 700
    assert {f.name: found for f in files if (found := verify(read_stablehlo(f.read_text())))} == {}


LOOP = """\
HloModule m
body {
  counted = s32[] parameter(0)
  one = s32[] constant(1)
  ROOT next = s32[] add(counted, one)
}
condition {
  count = s32[] parameter(0)
  limit = s32[] constant(3)
  ROOT more = pred[] compare(count, limit), direction=LT
}
ENTRY main {
  i = s32[] parameter(0)
  loop = s32[] while(i), condition=condition, body=body
  called = s32[] call(loop), to_apply=body, control-predecessors={i}
  ROOT result = (s32[], s32[]) tuple(called, loop)
}"""


RECORDS: list[object] = [
    NONE,
    UNMODELLED,
    ParameterNumber(-1),
    ConstantValue(Literal(TOKEN)),
    TupleIndex(7),
    Dimensions((9, -9)),
    SliceBounds((1,), (0, 0), ()),
    SliceSizes((-1, 2, 3)),
    PaddingConfig((-99,), (0, 0), (1, 2)),
    Comparison("?"),
    DotDimensions((0, 0), (5,), (-1,)),
    CustomCallTarget("t"),
]
SHAPES = [WRONG, INDEX, TupleShape((WRONG, TokenShape())), TokenShape(), ArrayShape(F32, (-1,))]


def corruptions() -> st.SearchStrategy[list[tuple[int, str, int]]]:
    """(number of an instruction, what to spoil, which of the wrong values to put there)."""
    fields = st.sampled_from(
        [
            "opcode",
            "attributes",
            "shape",
            "_operands",
            "_users",
            "_parent",
            "_control_predecessors",
            "callees",
        ]
    )
    return st.lists(st.tuples(st.integers(0, 9), fields, st.integers(0, 200)), min_size=1, max_size=6)


@given(corruptions())
def test_no_corruption_makes_the_verifier_raise(spoiled: list[tuple[int, str, int]]) -> None:
    module = read_text(LOOP)
    everything = [inst for computation in module.computations for inst in computation.instructions]
    alien = HloModule("other").add_computation("elsewhere").add_parameter(0, INDEX, name="alien")
    for number, field, which in spoiled:
        inst, other = everything[number], [*everything, alien][which % (len(everything) + 1)]
        values: dict[str, object] = {
            "opcode": list(Opcode)[which % len(Opcode)],
            "attributes": RECORDS[which % len(RECORDS)],
            "shape": SHAPES[which % len(SHAPES)],
            "_operands": [other, *inst.operands],
            "_users": {other: which},
            "_parent": [None, module.computations[0]][which % 2],
            "_control_predecessors": {other: None},
            "callees": [*module.computations, alien.parent][which % 5 :],
        }
        setattr(inst, {"callees": "_called_computations"}.get(field, field), values[field])
    found = verify(module)
    assert all(violation.rule in INVARIANTS and violation.message for violation in found)
