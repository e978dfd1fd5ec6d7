from fuzz.campaign import Plan, Programs, Result, Statistics, Table
from fuzz.campaign.contents import contents
from fuzz.campaign.source import for_each_program
from fuzz.campaign.summary import summary_json, summary_lines
from fuzz.generators import Program
from hlo import Opcode
from hlo.interchange import read_text
from hlo.stablehlo import StableHloModule
from passes import Pipeline

MODULE = read_text("""HloModule m
add {
  a = f32[] parameter(0)
  b = f32[] parameter(1)
  ROOT s = f32[] add(a, b)
}
ENTRY main {
  x = f32[2,0] parameter(0)
  zero = f32[] constant(0)
  sum = f32[2] reduce(x, zero), dimensions={1}, to_apply=add
  ROOT r = (f32[2], s8[1,1,1,1]) tuple(sum, s8[1,1,1,1] constant({ { { {1} } } }))
}""")


def counted(kind: Programs) -> Result:
    """A campaign that has drawn a few programs."""
    statistics = Statistics()

    def visit(_: int, program: Program) -> None:
        statistics.count_graph(program, {})

    for_each_program(3, 0, 10, visit, kind)
    plan = Plan((Pipeline(),), {}, seed=3, workers=1, directory=None, cache=None)  # pyright: ignore[reportArgumentType]
    return Result(plan, statistics, 1.0, (), interrupted=False, notes=())


def test_the_contents_of_all_computations_are_seen() -> None:
    inside = contents(MODULE)
    assert inside.opcodes >= {Opcode.ADD, Opcode.REDUCE, Opcode.TUPLE}
    assert inside.types == {"f32", "s8"}
    assert inside.shapes == {"scalar", "empty", "single element", "rank 1", "rank 2", "rank 4 or more"}


def test_the_contents_of_all_functions_are_seen() -> None:
    inside = contents(
        StableHloModule.read(
            """module {
  func.func @main(%x: tensor<?x2xf32>) -> tensor<i32> {
    %n = func.call @size(%x) : (tensor<?x2xf32>) -> tensor<i32>
    return %n : tensor<i32> }
  func.func private @size(%x: tensor<?x2xf32>) -> tensor<i32> {
    %y = stablehlo.negate %x : tensor<?x2xf32>
    %n = stablehlo.get_dimension_size %y, dim = 0 : (tensor<?x2xf32>) -> tensor<i32>
    return %n : tensor<i32> }
}"""
        )
    )
    assert inside.opcodes == {"negate", "get_dimension_size"}
    assert inside.types == {"f32", "s32"}
    assert inside.shapes == {"dynamic", "scalar"}


def test_a_summary_says_what_was_in_whole_graphs() -> None:
    result = counted(Programs.GRAPHS)
    text = "\n".join(summary_lines(result))
    opcode, count = result.statistics[Table.OPCODES].most_common(1)[0]
    assert f"{opcode} {100 * count / result.statistics.graphs:.1f} %" in text
    assert "element types (graphs):" in text
    assert "rank 2 " in text
    assert "features of loops" not in text
    told = summary_json(result)
    assert told["opcodes"][opcode] == count
    assert told["types"]
    assert told["shapes"]


def test_a_summary_of_loops_has_their_features_too() -> None:
    text = "\n".join(summary_lines(counted(Programs.LOOPS)))
    assert "features of loops (graphs):" in text
    assert "dynamic-slice " in text
