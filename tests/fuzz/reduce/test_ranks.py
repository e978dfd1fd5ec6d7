"""Do arrays lose dimensions that a failure does not need, with what belongs to them?"""

from dataclasses import replace

import numpy as np
import pytest

from fuzz.case import Case
from fuzz.reduce.driver import reduce_case
from fuzz.reduce.ranks import fewer_dimensions
from hlo import Opcode, same_bits
from hlo.interchange import read_text
from hlo.verify import verify
from passes import Pipeline

SLICES = """HloModule m

ENTRY main {
  x = s32[2,3] parameter(0)
  i = s32[] parameter(1)
  one = s32[] constant(1)
  a = s32[1,2] dynamic-slice(x, i, one), dynamic_slice_sizes={1,2}
  c = s32[1,2] constant({{7, 8}})
  b = s32[1,2] add(a, c)
  ROOT s = s32[1,1] slice(b), slice={[0:1], [1:2]}
}
"""

FIRST_DROPPED = """HloModule m

ENTRY main {
  x = s32[3] parameter(0)
  i = s32[] parameter(1)
  one = s32[] constant(1)
  a = s32[2] dynamic-slice(x, one), dynamic_slice_sizes={2}
  c = s32[2] constant({7, 8})
  b = s32[2] add(a, c)
  ROOT s = s32[1] slice(b), slice={[1:2]}
}
"""

FIRST_DROPPED_AND_OPENED = FIRST_DROPPED.replace("one = s32[] constant(1)", "one = s32[] parameter(2)")

LAST_DROPPED = """HloModule m

ENTRY main {
  x = s32[2] parameter(0)
  i = s32[] parameter(1)
  a = s32[1] dynamic-slice(x, i), dynamic_slice_sizes={1}
  c = s32[1] constant({7})
  b = s32[1] add(a, c)
  ROOT s = s32[1] slice(b), slice={[0:1]}
}
"""

UPDATE = """HloModule m

ENTRY main {
  x = f32[2,3,4] parameter(0)
  u = f32[1,3,4] parameter(1)
  i = s32[] parameter(2)
  zero = s32[] constant(0)
  ROOT d = f32[2,3,4] dynamic-update-slice(x, u, i, zero, zero)
}
"""


def sound(case: Case) -> list[Case]:
    cases = [made for candidate in fewer_dimensions(case) if (made := candidate()) is not None]
    return [made for made in cases if not verify(made.module)]


@pytest.mark.parametrize("smaller", [FIRST_DROPPED, FIRST_DROPPED_AND_OPENED, LAST_DROPPED])
def test_a_dimension_goes_with_its_starts_sizes_and_bounds(make_case, offers, smaller: str) -> None:
    assert offers(fewer_dimensions, make_case(SLICES), smaller)


def test_an_update_loses_the_same_dimension_as_what_it_updates(make_case, offers) -> None:
    flat = UPDATE.replace("3,4]", "3]").replace("zero, zero)", "zero)")
    assert offers(fewer_dimensions, make_case(UPDATE), flat)


@pytest.mark.parametrize("smaller", ["f32[4],f32[3,4]", "f32[3],f32[2,3]"])
def test_a_dimension_is_counted_from_the_front_or_from_the_back(make_case, offers, smaller: str) -> None:
    def text(x: str, y: str) -> str:
        return (
            f"HloModule m\nENTRY main {{\n x = {x} parameter(0)\n y = {y} parameter(1)\n"
            f" ROOT r = ({x}, {y}) tuple(x, y)\n}}\n"
        )

    x, _, y = smaller.partition(",")
    assert offers(fewer_dimensions, make_case(text("f32[3,4]", "f32[2,3,4]")), text(x, y))


def test_a_slice_stays_one_of_an_array(make_case) -> None:
    case = make_case(LAST_DROPPED)
    assert all(candidate() is None for candidate in fewer_dimensions(case))
    assert list(fewer_dimensions(case))


def test_inputs_keep_the_first_elements_or_the_last(make_case) -> None:
    x = np.arange(6, dtype=np.int32).reshape(2, 3)
    case = replace(make_case(SLICES), inputs=((x, np.array(0, np.int32)),))
    kept = [tuple(np.asarray(made.inputs[0][0]).tolist()) for made in sound(case)]
    assert {(0, 1, 2), (3, 4, 5), (0, 3), (2, 5)} <= set(kept)


def test_a_constant_start_that_becomes_a_parameter_is_given_its_value(make_case) -> None:
    opened = [made for made in sound(make_case(SLICES)) if len(made.inputs[0]) == 3]
    assert opened
    assert all(same_bits(made.inputs[0][2], np.array(1, np.int32)) for made in opened)


def test_arrays_without_elements_lose_dimensions_too(make_case) -> None:
    case = make_case("HloModule m\nENTRY main {\n x = s32[0,2] parameter(0)\n ROOT n = s32[0,2] negate(x)\n}")
    shapes = {str(made.module.entry_computation.root.shape) for made in sound(case)}
    assert shapes == {"s32[0]", "s32[2]"}


def test_one_vector_of_starts_stays_whole() -> None:
    module = read_text(
        """HloModule m
ENTRY main {
  x = s32[4,4] parameter(0)
  i = s32[2] parameter(1)
  ROOT a = s32[2,2] dynamic-slice(x, i), dynamic_slice_sizes={2,2}
}
"""
    )
    inputs = (np.zeros((4, 4), np.int32), np.zeros(2, np.int32))
    for candidate in fewer_dimensions(Case(module, Pipeline(), (inputs,), {})):
        made = candidate()
        assert made is not None
        assert len(made.module.entry_computation.root.operands) == 2


def test_what_fails_with_a_start_that_nobody_knows_is_reduced_to_one_dimension(make_case) -> None:
    def holds(case: Case) -> bool:
        """There is a slice of two elements or more whose start is a parameter."""
        return any(
            inst.opcode is Opcode.DYNAMIC_SLICE
            and inst.array_shape.element_count > 1
            and any(start.opcode is Opcode.PARAMETER for start in inst.index_operands)
            for inst in case.module.entry_computation.instructions
        )

    case = reduce_case(make_case(SLICES), holds).case
    assert holds(case)
    assert str(case.module.entry_computation.root.shape) == "s32[2]"
