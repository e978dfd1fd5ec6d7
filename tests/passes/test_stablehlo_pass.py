from dataclasses import dataclass
from typing import Any, ClassVar

import pytest

from hlo import HloModule, InvalidInput, Opcode
from hlo.interchange import read_text, write_text
from hlo.stablehlo import StableHloModule, apply_patterns, dialect, integer_constant, type_of
from passes import StableHloPass, Trace, parse_pipeline, run_on_program

HLO = """HloModule m
ENTRY e {
  p = (f32[<=8,4]{1,0}, s32[]) parameter(0)
  x = f32[<=8,4]{1,0} get-tuple-element(p), index=0
  rows = s32[] get-dimension-size(x), dimensions={0}
  columns = s32[] get-dimension-size(x), dimensions={1}, metadata={op_name="columns"}
  ROOT t = (s32[], s32[]) tuple(columns, rows)
}
"""

UNKNOWN = """module { func.func @main(%x: tensor<?x4xf32>) -> tensor<i32> {
  %columns = stablehlo.get_dimension_size %x, dim = 1 : (tensor<?x4xf32>) -> tensor<i32>
  return %columns : tensor<i32> } }"""


@dataclass(frozen=True)
class FoldKnownSizes(StableHloPass):
    """Folds the sizes that are known."""

    name: ClassVar[str] = "fold-known-sizes"

    def rewrite(self, program: StableHloModule, trace: Trace) -> bool:
        before = sum(trace.fired.values())

        def fold(op: Any, rewriter: Any) -> bool:
            size = type_of(op.operands[0].type).dimensions[int(op.attributes["dimension"])]
            if size is None:
                return False
            rewriter.replace_op(op, [integer_constant(size)])
            trace.fire("fold")
            return True

        apply_patterns(program, [("stablehlo.get_dimension_size", fold)])
        return sum(trace.fired.values()) > before


def opcodes(module: HloModule) -> list[Opcode]:
    return [inst.opcode for inst in module.entry_computation.make_instruction_post_order()]


def test_on_hlo_the_rest_of_the_program_stays_as_it_was() -> None:
    module = read_text(HLO)
    trace = Trace()
    assert FoldKnownSizes().run(module, trace)
    assert trace.fired == {"fold": 1}
    entry = module.entry_computation
    assert entry.parameters[0].shape == read_text(HLO).entry_computation.parameters[0].shape
    assert [operand.opcode for operand in entry.root.operands] == [
        Opcode.CONSTANT,
        Opcode.GET_DIMENSION_SIZE,
    ]
    assert entry.root.operands[1].name == "rows"


def test_hlo_that_the_pass_does_not_change_never_leaves_its_form() -> None:
    module = read_text(HLO)
    assert FoldKnownSizes().run(module, Trace())
    text = write_text(module)
    assert not FoldKnownSizes().run(module, Trace())
    assert write_text(module) == text


def test_a_program_with_unknown_sizes_stays_stablehlo() -> None:
    program, changed = run_on_program(FoldKnownSizes(), StableHloModule.read(UNKNOWN), Trace())
    assert isinstance(program, StableHloModule)
    assert changed
    assert "stablehlo.constant dense<4>" in program.text


def test_a_pass_over_hlo_makes_hlo_of_what_can_be_hlo() -> None:
    (dce,) = parse_pipeline("dce").passes
    static = StableHloModule.read(UNKNOWN).specialised([(2, 4)])
    program, _ = run_on_program(dce, static, Trace())
    assert isinstance(program, HloModule)
    assert Opcode.CONSTANT in opcodes(program)
    with pytest.raises(InvalidInput, match="neither known nor bounded"):
        run_on_program(dce, StableHloModule.read(UNKNOWN), Trace())


def test_what_a_pattern_raises_comes_through() -> None:
    def fail(op: Any, rewriter: Any) -> bool:
        raise InvalidInput(f"no {op.name}")

    with pytest.raises(InvalidInput, match=r"no stablehlo\.get_dimension_size"):
        apply_patterns(StableHloModule.read(UNKNOWN), [("stablehlo.get_dimension_size", fail)])


def test_patterns_build_where_the_operation_was_and_earlier_ones_go_first() -> None:
    seen: list[str] = []

    def first(op: Any, rewriter: Any) -> bool:
        seen.append("first")
        rewriter.replace_op(op, [dialect().negate(integer_constant(7))])
        return True

    def second(op: Any, rewriter: Any) -> bool:
        seen.append("second")
        return False

    program = StableHloModule.read(UNKNOWN)
    apply_patterns(
        program, [("stablehlo.get_dimension_size", first), ("stablehlo.get_dimension_size", second)]
    )
    assert seen == ["first"]
    assert program.violations() == []
    assert [op.name for op in program.operations()][2:5] == [
        "stablehlo.constant",
        "stablehlo.negate",
        "func.return",
    ]
