import pytest

from fuzz.work import DEEDS, DynamicCopy, dynamic_copies, left_in, work_done
from hlo.interchange import read_text
from passes import PASSES

LOOP = """HloModule m
body { p = (s32[], s32[8]) parameter(0)
 i = s32[] get-tuple-element(p), index=0
 one = s32[] constant(1)
 next = s32[] add(i, one)
 x = s32[8] get-tuple-element(p), index=1
 piece = s32[2] dynamic-slice(x, i), dynamic_slice_sizes={2}, metadata={op_name="NAME"}
 zero = s32[] constant(0)
 y = s32[8] dynamic-update-slice(x, piece, zero)
 ROOT state = (s32[], s32[8]) tuple(next, y) }
condition { p = (s32[], s32[8]) parameter(0)
 i = s32[] get-tuple-element(p), index=0
 three = s32[] constant(3)
 ROOT on = pred[] compare(i, three), direction=LT }
unused { ROOT x = s32[8] parameter(0) }
ENTRY main { x = s32[8] parameter(0)
 zero = s32[] constant(0)
 state = (s32[], s32[8]) tuple(zero, x)
 loop = (s32[], s32[8]) while(state), body=body, condition=condition
 ROOT y = s32[8] get-tuple-element(loop), index=1 }
"""


@pytest.mark.parametrize(
    ("name", "text"),
    [
        (
            "jit(f)/slice",
            "1 loop, 1 dynamic-update-slice with known starts, 1 dynamic-slice with unknown starts",
        ),
        (
            "slice,dsidxnow=1,iterationidx=1",
            "1 loop, 1 dynamic-slice with known starts, 1 dynamic-update-slice with known starts",
        ),
    ],
)
def test_a_start_is_known_if_it_is_constant_or_a_token_tells_it(name: str, text: str) -> None:
    assert str(left_in(read_text(LOOP.replace("NAME", name)))) == text


def test_of_a_program_without_loops_and_slices_nothing_is_left() -> None:
    assert str(left_in(read_text("HloModule m\nENTRY main { ROOT x = s32[8] parameter(0) }"))) == ""


def test_what_is_copied_at_run_time_addresses_is_told_with_its_scratch() -> None:
    module = read_text("""HloModule m
 ENTRY e { x = bf16[64,300] parameter(0)
 y = bf16[2,300] parameter(1)
 i = s32[] parameter(2)
 zero = s32[] constant(0)
 written = bf16[64,300] dynamic-update-slice(x, y, i, zero)
 read = bf16[1,300] dynamic-slice(written, i, zero), dynamic_slice_sizes={1,300}
 known = bf16[1,300] dynamic-slice(written, zero, zero), dynamic_slice_sizes={1,300}
 ROOT t = (bf16[1,300], bf16[1,300]) tuple(read, known) }""")
    written, read = dynamic_copies(module)
    assert written == DynamicCopy("written", "dynamic-update-slice", "bf16[2,300]", 1200)
    assert (read.bytes, read.bytes_per_partition) == (600, 5)
    assert str(read) == "read: dynamic-slice of bf16[1,300], about 600 bytes, 5 a partition"


def test_only_what_the_passes_of_a_pipeline_can_do_is_told() -> None:
    fired = {"dynamic-slice-mover:move-static": 2, "dynamic-slice-mover:move-dynamic": 1}
    assert work_done(fired, {"dce"}) == {}
    done = work_done(fired, {"dynamic-slice-mover"})
    assert done == {"slices made static": 0, "slices moved": 3}


@pytest.mark.parametrize("what", DEEDS)
def test_what_is_told_is_what_a_rule_counts(what: str) -> None:
    pass_name, rules = DEEDS[what]
    assert set(rules) <= set(PASSES[pass_name].rules)
