"""Does a chain of updates that writes a value piece by piece become a concatenate, and does every other one stay?"""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from hlo import HloInstruction, HloModule, Opcode, same_bits
from hlo.attributes import Dimensions
from hlo.canonical import structure
from hlo.evaluator import evaluate
from hlo.interchange import read_text
from hlo.verify import verify
from passes import Trace, parse_pipeline
from passes.neuron import NeuronRepeatedDusToConcat
from tests.passes.conftest import Check, run_and_hold, some_inputs
from tests.passes.loops.programs import loop

SIZE = 6


def chain(
    *pieces: tuple[int, int],
    extra: str = "",
    root: str = "",
    index: str = "s32",
    metadata: dict[int, str] | None = None,
) -> str:
    """Updates of s32[6] x, each (start, size), on one another; `extra` are more lines, `root` the result's operands."""
    lines: list[str] = []
    for number, (start, size) in enumerate(pieces):
        base = "x" if number == 0 else f"d{number - 1}"
        note = f', metadata={{op_name="{metadata[number]}"}}' if metadata and number in metadata else ""
        lines += [
            f"  i{number} = {index}[] constant({start})",
            f"  n{number} = s32[] constant({number + 1})",
            f"  v{number} = s32[{size}] broadcast(n{number}), dimensions={{}}",
            f"  part{number} = s32[{size}] add(v{number}, v{number})",
            f"  d{number} = s32[{SIZE}] dynamic-update-slice({base}, part{number}, i{number}){note}",
        ]
    root = root or f"d{len(pieces) - 1}"
    shapes = ", ".join([f"s32[{SIZE}]"] * len(root.split(", ")))
    body = "\n".join(lines)
    return f"""HloModule m
ENTRY main {{
  x = s32[{SIZE}] parameter(0)
{body}
{extra}  ROOT out = ({shapes}) tuple({root})
}}
"""


def concat(text: str, **options: bool) -> tuple[HloModule, Trace]:
    module = read_text(text)
    return module, run_and_hold(NeuronRepeatedDusToConcat(**options), module)


def declined(text: str) -> dict[str, int]:
    """Why the chains of a program that stays as it is were left."""
    module = read_text(text)
    before = structure(module)
    trace = run_and_hold(NeuronRepeatedDusToConcat(), module)
    assert structure(module) == before
    return dict(trace.declined)


def every(module: HloModule, opcode: Opcode) -> list[HloInstruction]:
    return [i for c in module.computations for i in c.instructions if i.opcode is opcode]


@pytest.mark.parametrize(
    "pieces",
    [
        [(0, 2), (2, 2), (4, 2)],
        [(4, 2), (0, 2), (2, 2)],
        [(0, 1), (1, 5)],
        [(0, 3), (99, 3)],  # clamps to 3
        [(-7, 4), (4, 2)],  # clamps to 0
        [(0, 2), (2, 0), (2, 4)],
    ],
)
def test_pieces_that_tile_the_value_become_a_concatenate_in_index_order(
    pieces: list[tuple[int, int]],
) -> None:
    module, trace = concat(chain(*pieces))
    (joined,) = every(module, Opcode.CONCATENATE)
    assert joined.attributes == Dimensions((0,))
    assert trace.fired == {"concatenate": 1}
    assert every(module, Opcode.DYNAMIC_UPDATE_SLICE) == []


def test_nothing_but_the_pieces_is_left(becomes: Check) -> None:
    after = """
HloModule m
ENTRY main {
  x = s32[6] parameter(0)
  n0 = s32[] constant(1)
  v0 = s32[2] broadcast(n0), dimensions={}
  part0 = s32[2] add(v0, v0)
  n1 = s32[] constant(2)
  v1 = s32[4] broadcast(n1), dimensions={}
  part1 = s32[4] add(v1, v1)
  d1 = s32[6] concatenate(part0, part1), dimensions={0}
  ROOT out = (s32[6]) tuple(d1)
}
"""
    becomes(NeuronRepeatedDusToConcat(), chain((0, 2), (2, 4)), after)


def test_a_base_that_is_covered_may_itself_be_updated() -> None:
    module, _ = concat(chain((1, 2), (0, 3), (3, 3)))
    assert len(every(module, Opcode.CONCATENATE)) == 1
    assert every(module, Opcode.DYNAMIC_UPDATE_SLICE) == []


def test_what_a_later_update_overwrites_in_part_is_a_chain_of_its_own() -> None:
    module, trace = concat(chain((0, 3), (3, 3), (1, 2)))
    (update,) = every(module, Opcode.DYNAMIC_UPDATE_SLICE)
    assert update.operand(0).opcode is Opcode.CONCATENATE
    assert not trace.declined  # nothing follows anything any more


@pytest.mark.parametrize(
    ("pieces", "reason"),
    [
        ([(0, 2), (2, 2)], "gap"),
        ([(0, 3), (2, 3)], "overlap"),
        ([(0, 3), (99, 4)], "overlap"),
        ([(0, 4), (0, 2), (4, 2)], "overlap"),
        ([(0, 2), (0, 6)], "not-one-dimension"),
    ],
)
def test_gaps_and_overlaps_stay(pieces: list[tuple[int, int]], reason: str) -> None:
    assert declined(chain(*pieces)) == {reason: 1}


@pytest.mark.parametrize("piece", [(0, 6), (0, 2)])
def test_one_update_alone_is_no_chain(piece: tuple[int, int]) -> None:
    assert declined(chain(piece)) == {}


def test_an_update_that_others_read_stays() -> None:
    assert declined(chain((0, 3), (3, 3), root="d0, d1")) == {"other-users": 1}
    extra = f"  y = s32[{SIZE}] negate(d0)\n"
    assert declined(chain((0, 3), (3, 3), extra=extra, root="d1, y")) == {"other-users": 1}


def test_an_update_that_is_the_result_itself_stays_where_another_follows() -> None:
    text = chain((0, 3), (3, 3)).replace(f"  d0 = s32[{SIZE}]", f"  ROOT d0 = s32[{SIZE}]")
    assert declined(text.replace(f"  ROOT out = (s32[{SIZE}]) tuple(d1)\n", "")) == {"other-users": 1}


def test_the_last_update_may_have_many_readers() -> None:
    extra = f"  y = s32[{SIZE}] add(d1, d1)\n"
    module, _ = concat(chain((0, 3), (3, 3), extra=extra, root="d1, y"))
    assert every(module, Opcode.CONCATENATE)[0].use_count == 3


def test_an_update_at_an_unknown_start_stays() -> None:
    text = chain((0, 3), (3, 3)).replace("  i1 = s32[] constant(3)\n", "  i1 = s32[] parameter(1)\n")
    assert declined(text) == {"start-not-constant": 1}


def test_an_update_whose_start_must_be_worked_out_stays_without_a_token() -> None:
    text = chain((0, 3), (3, 3)).replace("i1 = s32[] constant(3)", "i1 = s32[] multiply(n0, three)")
    text = text.replace("  i0 = ", "  three = s32[] constant(3)\n  i0 = ")
    assert declined(text) == {"start-not-constant": 1}


def test_a_token_tells_the_start() -> None:
    text = chain((0, 3), (3, 3), metadata={1: "f/dus,dusidxnow=3,iterationidx=3"})
    text = text.replace("  i0 = ", "  three = s32[] constant(3)\n  i0 = ").replace(
        "i1 = s32[] constant(3)", "i1 = s32[] copy(three)"
    )
    (joined,) = every(concat(text)[0], Opcode.CONCATENATE)
    assert joined.metadata.op_name == "f/dus"


def test_a_token_that_is_not_true_is_not_believed() -> None:
    text = chain((0, 3), (0, 3), metadata={1: "dusidxnow=3"})
    assert declined(text) == {"fresh_tokens": 1}


def test_a_token_that_cannot_be_confirmed_is_not_believed() -> None:
    text = chain((0, 3), (3, 3), metadata={1: "dusidxnow=3"})
    assert declined(text.replace("i1 = s32[] constant(3)", "i1 = s32[] parameter(1)")) == {"fresh_tokens": 1}


def test_text_of_the_user_that_looks_like_a_token_is_none() -> None:
    text = chain((0, 3), (3, 3), metadata={1: "my_dusidxnow=0"})
    assert len(every(concat(text)[0], Opcode.CONCATENATE)) == 1


@pytest.mark.parametrize("op_name", ["dusidxnow=3", "my_dusidxnow=3"])
def test_without_fresh_tokens_a_wrong_token_changes_the_result(op_name: str) -> None:
    text = chain((0, 3), (0, 3), metadata={1: op_name})
    module = read_text(text)
    NeuronRepeatedDusToConcat(fresh_tokens=False).run(module, Trace())
    values = next(some_inputs(module))
    assert not same_bits(evaluate(module, values), evaluate(read_text(text), values))


def test_a_huge_unsigned_start_clamps_to_the_end() -> None:
    token = "dusidxnow=-1,iterationidx=-1"
    text = chain((0, 3), (2**64 - 1, 3), index="u64", metadata={1: token})
    assert len(every(concat(text)[0], Opcode.CONCATENATE)) == 1


def test_two_dimensions_are_tiled_along_one() -> None:
    text = """
HloModule m
ENTRY main {
  x = f32[4,3] parameter(0)
  a = f32[4,1] parameter(1)
  b = f32[4,2] parameter(2)
  zero = s64[] constant(5)
  one = s64[] constant(1)
  d = f32[4,3] dynamic-update-slice(x, b, zero, one)
  ROOT e = f32[4,3] dynamic-update-slice(d, a, one, one), metadata={op_name="last"}
}
"""
    assert declined(text) == {"overlap": 1}
    module, _ = concat(
        text.replace("(d, a, one, one)", "(d, a, one, zero)").replace("constant(5)", "constant(0)")
    )
    root = module.entry_computation.root
    assert root.opcode is Opcode.CONCATENATE
    assert root.attributes == Dimensions((1,))
    assert root.metadata.op_name == "last"


def test_pieces_cut_along_different_dimensions_stay() -> None:
    text = """
HloModule m
ENTRY main {
  x = f32[2,2] parameter(0)
  a = f32[2,1] parameter(1)
  b = f32[1,2] parameter(2)
  c = f32[1,1] parameter(3)
  zero = s64[] constant(0)
  d = f32[2,2] dynamic-update-slice(x, b, zero, zero)
  e = f32[2,2] dynamic-update-slice(d, a, zero, zero)
  ROOT g = f32[2,2] dynamic-update-slice(e, c, zero, zero)
}
"""
    assert declined(text) == {"not-one-dimension": 1}


def test_a_piece_cut_along_two_dimensions_fills_neither() -> None:
    text = """
HloModule m
ENTRY main {
  x = f32[2,2] parameter(0)
  column = f32[2,1] parameter(1)
  corner = f32[1,1] parameter(2)
  zero = s64[] constant(0)
  one = s64[] constant(1)
  d = f32[2,2] dynamic-update-slice(x, corner, zero, one)
  ROOT e = f32[2,2] dynamic-update-slice(d, column, zero, zero)
}
"""
    assert declined(text) == {"not-one-dimension": 1}


def test_dynamic_sizes_stay() -> None:
    text = (
        chain((0, 3), (3, 3)).replace("x = s32[6]", "x = s32[<=6]").replace("= s32[6] dyn", "= s32[<=6] dyn")
    )
    module, trace = read_text(text.replace("(s32[6]) tuple", "(s32[<=6]) tuple")), Trace()
    assert not NeuronRepeatedDusToConcat().run(module, trace)
    assert trace.declined == {"dynamic-shape": 1}


def test_an_order_that_must_be_kept_keeps_the_chain() -> None:
    text = chain((0, 3), (3, 3)).replace("part1, i1)", "part1, i1), control-predecessors={n0}")
    assert declined(text) == {"control-dependencies": 1}


# --- through the calls of an unrolled loop -----------------------------------------------------------------


def stacking(*, trips: int = 3, size: int = 3, use: str = "", root: str = "", after: str = "") -> str:
    """A loop that writes the square of its sum at its counter into an s32[size], unrolled and tagged below."""
    return f"""
HloModule stacking
body {{
  p = (s32[], s32[{size}], s32[]) parameter(0)
  i = s32[] get-tuple-element(p), index=0
  ys = s32[{size}] get-tuple-element(p), index=1
  sum = s32[] get-tuple-element(p), index=2
  one = s32[] constant(1)
  next = s32[] add(i, one)
{use or "  more = s32[] add(sum, i)"}
  square = s32[] multiply(more, more)
  piece = s32[1] reshape(square)
  done = s32[{size}] dynamic-update-slice(ys, piece, i)
  ROOT out = (s32[], s32[{size}], s32[]) tuple(next, {root or "done"}, more)
}}
cond {{
  p = (s32[], s32[{size}], s32[]) parameter(0)
  i = s32[] get-tuple-element(p), index=0
  n = s32[] constant({trips})
  ROOT more = pred[] compare(i, n), direction=LT
}}
ENTRY main {{
  ys = s32[{size}] parameter(0)
  sum = s32[] parameter(1)
  zero = s32[] constant(0)
  state = (s32[], s32[{size}], s32[]) tuple(zero, ys, sum)
{after or f"  ROOT w = (s32[], s32[{size}], s32[]) while(state), condition=cond, body=body"}
}}
"""


def unrolled(text: str) -> HloModule:
    module = read_text(text)
    parse_pipeline("neuron:3").run(module, Trace())
    return module


def concat_unrolled(module: HloModule) -> Trace:
    return run_and_hold(NeuronRepeatedDusToConcat(), module)


READ_TWICE = """  w = (s32[], s32[3], s32[]) while(state), condition=cond, body=body
  a = s32[3] get-tuple-element(w), index=1
  b = s32[3] get-tuple-element(w), index=1
  ROOT both = (s32[3], s32[3], (s32[], s32[3], s32[])) tuple(a, b, w)"""


@pytest.mark.parametrize("after", ["", READ_TWICE], ids=["the loop is the result", "read in several ways"])
def test_the_updates_of_an_unrolled_loop_become_a_concatenate_after_it(after: str) -> None:
    module = unrolled(stacking(after=after))
    trace = concat_unrolled(module)
    assert trace.fired == {"concatenate": 1, "return-update": 3}
    assert every(module, Opcode.DYNAMIC_UPDATE_SLICE) == []
    (joined,) = every(module, Opcode.CONCATENATE)
    assert joined.parent.is_entry
    calls = every(module, Opcode.CALL)
    assert [str(call.tuple_shape.elements[1]) for call in calls] == ["s32[1]"] * 3
    assert [piece.operand(0) for piece in joined.operands] == calls
    assert {call.operand(0).operand(1) for call in calls} == {module.entry_computation.parameters[0]}
    elements = [i for i in every(module, Opcode.GET_TUPLE_ELEMENT) if i.operand(0) in calls]
    assert all(i.users for i in elements if i.tuple_index == 1)


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        (stacking(trips=2), "gap"),
        (stacking(use="  first = s32[1] slice(ys), slice={[0:1]}\n  f = s32[] reshape(first)\n"
                      "  more = s32[] add(sum, f)"),
         "other-users"),
        (stacking(use="  more = s32[] add(sum, i)\n  same = s32[3] get-tuple-element(p), index=1\n"
                      "  neg = s32[3] negate(same)", root="done").replace("square = s32[] multiply(more, more)",
            "cut = s32[1] slice(neg), slice={[0:1]}\n  square = s32[] reshape(cut)"), "other-users"),
    ],
)  # fmt: skip
def test_a_chain_through_calls_that_is_not_whole_stays(text: str, reason: str) -> None:
    module = unrolled(text)
    before = structure(module)
    trace = concat_unrolled(module)
    assert structure(module) == before
    assert trace.declined[reason]


def test_an_update_after_the_whole_chain_stays_on_the_concatenate() -> None:
    module = unrolled(stacking(trips=4))  # the last start clamps to the one before
    assert concat_unrolled(module).fired == {"concatenate": 1, "return-update": 3}
    (update,) = every(module, Opcode.DYNAMIC_UPDATE_SLICE)
    assert not update.parent.is_entry


def test_an_update_whose_body_reads_the_result_again_stays() -> None:
    use = "  more = s32[] add(sum, i)"
    text = stacking(use=use).replace("tuple(next, done, more)", "tuple(next, again, more)")
    text = text.replace(
        "  ROOT out = (s32[], s32[3], s32[]) tuple(next, again",
        "  again = s32[3] negate(done)\n  ROOT out = (s32[], s32[3], s32[]) tuple(next, again",
    )
    trace = concat_unrolled(unrolled(text))
    assert not trace.fired


TWO_CALLS = """
HloModule m
first { p = (s32[2]) parameter(0)
  x = s32[2] get-tuple-element(p), index=0
  zero = s32[] constant(0)
  u = s32[1] constant({7})
  d = s32[2] dynamic-update-slice(x, u, zero)
  ROOT out = (s32[2]) tuple(d) }
second { p = (s32[2]) parameter(0)
  x = s32[2] get-tuple-element(p), index=0
  one = s32[] constant(1)
  u = s32[1] constant({8})
  d = s32[2] dynamic-update-slice(x, u, one)
  ROOT out = (s32[2]) tuple(d) }
ENTRY main { x = s32[2] parameter(0)
  s = (s32[2]) tuple(x)
  a = (s32[2]) call(s), to_apply=first
  y = s32[2] get-tuple-element(a), index=0
  t = (s32[2]) tuple(y)
  b = (s32[2]) call(t), to_apply=second
  ROOT out = (s32[2]) copy(b) }
"""


def test_a_body_with_another_caller_is_not_narrowed() -> None:
    other = (
        "  other = (s32[2]) call(s), to_apply=second\n  ROOT both = ((s32[2]), (s32[2])) tuple(b, other) }"
    )
    assert declined(TWO_CALLS.replace("  ROOT out = (s32[2]) copy(b) }", other)) == {}


def test_the_updates_of_two_calls_make_one_chain() -> None:
    assert concat(TWO_CALLS)[1].fired == {"concatenate": 1, "return-update": 2}


@pytest.mark.parametrize("whole", ["a", "t"])
def test_a_value_on_the_way_that_leaves_in_its_tuple_is_kept(whole: str) -> None:
    result = f"ROOT out = ((s32[2]), (s32[2])) tuple(b, {whole})"
    assert declined(TWO_CALLS.replace("ROOT out = (s32[2]) copy(b)", result)) == {"other-users": 1}


def test_an_update_that_its_body_returns_twice_is_none_of_a_chain() -> None:
    text = TWO_CALLS.replace("first { p", "twice { p").replace("to_apply=first", "to_apply=twice")
    text = text.replace("ROOT out = (s32[2]) tuple(d) }", "ROOT out = (s32[2], s32[2]) tuple(d, d) }", 1)
    text = text.replace("a = (s32[2]) call", "a = (s32[2], s32[2]) call")
    again = "  z = s32[2] get-tuple-element(a), index=1\n  ROOT out = ((s32[2]), s32[2]) tuple(b, z)"
    assert declined(text.replace("  ROOT out = (s32[2]) copy(b)", again)) == {}


def test_updates_in_calls_and_beside_them_make_one_chain() -> None:
    text = """
HloModule m
first { p = (s32[3]) parameter(0)
  x = s32[3] get-tuple-element(p), index=0
  zero = s32[] constant(0)
  u = s32[1] constant({7})
  d = s32[3] dynamic-update-slice(x, u, zero)
  ROOT out = (s32[3]) tuple(d) }
ENTRY main { x = s32[3] parameter(0)
  one = s32[] constant(1)
  two = s32[] constant(2)
  v = s32[1] constant({8})
  before = s32[3] dynamic-update-slice(x, v, two)
  s = (s32[3]) tuple(before)
  a = (s32[3]) call(s), to_apply=first
  y = s32[3] get-tuple-element(a), index=0
  w = s32[1] constant({9})
  ROOT z = s32[3] dynamic-update-slice(y, w, one) }
"""
    module, trace = concat(text)
    assert trace.fired == {"concatenate": 1, "return-update": 1}
    assert every(module, Opcode.DYNAMIC_UPDATE_SLICE) == []
    value = evaluate(module, [np.zeros(3, np.int32)])
    assert same_bits(value, np.array([7, 9, 8], np.int32))


@given(st.lists(st.tuples(st.integers(-2, 7), st.integers(0, 6)), min_size=1, max_size=5))
def test_any_chain_keeps_its_value(pieces: list[tuple[int, int]]) -> None:
    module, _ = concat(chain(*pieces))
    assert verify(module) == []


@given(st.permutations([(0, 1), (1, 2), (3, 3)]), st.integers(0, 3))
def test_pieces_in_any_order_behind_any_updates_become_a_concatenate(
    pieces: list[tuple[int, int]], before: int
) -> None:
    module, _ = concat(chain(*[(1, 4)] * before, *pieces))
    assert len(every(module, Opcode.CONCATENATE)) == 1
    assert every(module, Opcode.DYNAMIC_UPDATE_SLICE) == []


def test_a_counted_loop_without_updates_has_no_chain() -> None:
    assert not NeuronRepeatedDusToConcat().run(unrolled(loop()), Trace())
