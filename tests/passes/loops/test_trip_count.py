"""Is a loop's number of iterations what it runs, and is it refused wherever that is not sure?"""

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from hlo import HloInstruction, HloModule, Opcode, PrimitiveType
from hlo.interchange import read_text
from passes.loops import Counter, CountRefused, Trips, count_trips, known_trip_count, trips_of
from tests.passes.loops import programs

LIMIT = 300
INTEGERS = [PrimitiveType.S8, PrimitiveType.U8, PrimitiveType.S16, PrimitiveType.U16]
DIRECTIONS = {
    "LT": np.less,
    "LE": np.less_equal,
    "GT": np.greater,
    "GE": np.greater_equal,
    "EQ": np.equal,
    "NE": np.not_equal,
}


def while_of(module: HloModule) -> HloInstruction:
    (found,) = (i for i in module.entry_computation.instructions if i.opcode is Opcode.WHILE)
    return found


def trips(text: str, *, no_wrap: bool = True) -> Trips | CountRefused:
    return trips_of(while_of(read_text(text)), no_wrap=no_wrap)


def count(**options: object) -> int | CountRefused:
    found = trips(programs.loop(**options))  # pyright: ignore[reportArgumentType]
    return found.count if isinstance(found, Trips) else found


def counted_by_running(counter: Counter) -> tuple[int | None, bool]:
    """(iterations, or None if they are more than LIMIT; whether the counter wrapped), in NumPy."""
    dtype = counter.element_type.numpy
    holds = DIRECTIONS[counter.direction]
    value, exact, wrapped = np.array(counter.init, dtype), counter.init, False
    step = np.array(counter.step % (1 << counter.element_type.bit_width)).astype(dtype)
    for trip in range(LIMIT + 1):
        if not holds(value, np.array(counter.bound, dtype)):
            return trip, wrapped
        exact += counter.moved
        value = (value + step).astype(dtype)
        wrapped |= int(value) != exact
    return None, wrapped


@st.composite
def counters(draw: st.DrawFn) -> Counter:
    kind = draw(st.sampled_from(INTEGERS))
    info = np.iinfo(kind.numpy)
    near = st.one_of(
        st.integers(-6, 6), st.integers(info.min, info.min + 6), st.integers(info.max - 6, info.max)
    ).filter(lambda value: info.min <= value <= info.max)
    step = (
        st.integers(-7, 7)
        if kind.is_signed
        else st.one_of(st.integers(0, 7), st.integers(info.max - 6, info.max))
    )
    return Counter(0, kind, draw(near), draw(step), draw(st.sampled_from(list(DIRECTIONS))), draw(near))


@given(counters())
@example(Counter(0, PrimitiveType.U8, 250, 10, "LT", 253))  # 26 iterations, by way of 4
@example(Counter(0, PrimitiveType.S8, 0, -1, "GE", -128))  # never ends
@example(Counter(0, PrimitiveType.S8, 0, 1, "GE", 0))  # away from its bound, which it meets at once
@example(Counter(0, PrimitiveType.U8, 3, 255, "GT", 0))  # counts down
@example(Counter(0, PrimitiveType.U8, 0, 3, "NE", 10))  # steps over its bound, and meets it after 174
def test_a_count_is_what_running_the_loop_gives_and_no_wrapping_counter_is_counted(counter: Counter) -> None:
    ran, wrapped = counted_by_running(counter)
    found = count_trips(counter)
    if isinstance(found, CountRefused):
        assert ran != 0
        assert ran is None or wrapped
    elif found <= LIMIT:
        assert ran == found
        assert not wrapped


@given(counters())
def test_a_loop_that_ends_before_its_counter_wraps_is_counted(counter: Counter) -> None:
    ran, wrapped = counted_by_running(counter)
    if ran is not None and not wrapped:
        assert count_trips(counter) == ran


@pytest.mark.parametrize(
    ("options", "expected"),
    [
        ({}, 5),
        ({"init": 4, "bound": 10}, 6),
        ({"step": 2, "bound": 6}, 3),
        ({"step": 2, "bound": 1}, 1),  # tensorflow#123067: not rounded down
        ({"step": 2, "bound": 7}, 4),
        ({"direction": "LE"}, 6),
        ({"direction": "LE", "step": 4}, 2),
        ({"direction": "LE", "bound": -1}, 0),
        ({"bound": 0}, 0),
        ({"bound": -3}, 0),
        ({"compare": "n, i", "direction": "GT"}, 5),
        ({"compare": "n, i", "direction": "GE"}, 6),
        ({"update": "add(step, i)"}, 5),
        ({"init": 7, "bound": 2, "direction": "GT", "step": -1}, 5),
        ({"init": 7, "bound": 2, "direction": "GE", "step": -2}, 3),
        ({"init": 7, "bound": 2, "direction": "GT", "step": 2, "update": "subtract(i, step)"}, 3),
        ({"compare": "n, i", "direction": "LT", "init": 7, "bound": 2, "step": -1}, 5),
        ({"direction": "NE"}, 5),
        ({"direction": "NE", "step": 5}, 1),
        ({"direction": "NE", "bound": 0}, 0),
        ({"direction": "EQ", "bound": 0}, 1),
        ({"direction": "EQ"}, 0),
        ({"type_": "s16"}, 5),
        ({"type_": "s64", "init": -(2**63), "bound": -(2**63) + 3}, 3),
        ({"type_": "u64", "init": 2**64 - 4, "bound": 2**64 - 1}, 3),
        ({"type_": "u8", "init": 250, "bound": 255}, 5),
        ({"type_": "u8", "init": 5, "bound": 1, "direction": "GT", "step": 1, "update": "subtract(i, step)"}, 4),
        ({"type_": "u8", "init": 5, "bound": 1, "direction": "GT", "step": 255}, 4),
    ],
)  # fmt: skip
def test_a_counting_loop_is_counted(options: dict[str, object], expected: int) -> None:
    assert count(**options) == expected


@pytest.mark.parametrize(
    ("options", "refusal"),
    [
        ({"bound": "k"}, CountRefused.BOUND),
        ({"init": "k"}, CountRefused.INIT),
        ({"compare": "n, n", "direction": "LE", "bound": "k"}, CountRefused.CONDITION),
        ({"compare": "i, i", "direction": "LE"}, CountRefused.BOUND),
        ({"update": "multiply(i, step)", "init": 1}, CountRefused.COUNTER),
        ({"update": "add(i, i)", "init": 1}, CountRefused.COUNTER),
        ({"update": "subtract(step, i)"}, CountRefused.COUNTER),
        ({"step": 0}, CountRefused.DIRECTION),
        ({"step": -1}, CountRefused.DIRECTION),
        ({"init": 7, "direction": "GT"}, CountRefused.DIRECTION),
        ({"init": 5, "direction": "GE"}, CountRefused.DIRECTION),
        ({"init": 5, "direction": "LE", "step": -1}, CountRefused.DIRECTION),
        ({"direction": "NE", "step": 2}, CountRefused.DIRECTION),
        ({"direction": "NE", "init": 6}, CountRefused.DIRECTION),
        ({"type_": "u8", "bound": 255, "direction": "LE"}, CountRefused.WRAPS),
        ({"type_": "u8", "init": 250, "bound": 253, "step": 10}, CountRefused.WRAPS),
        ({"type_": "s8", "init": 120, "bound": 125, "step": 10}, CountRefused.WRAPS),
        ({"type_": "u8", "init": 9, "bound": 0, "direction": "GE", "step": 255}, CountRefused.WRAPS),
        ({"type_": "s64", "bound": 2**63 - 1, "direction": "LE"}, CountRefused.WRAPS),
    ],
)
def test_what_is_not_sure_is_refused(options: dict[str, object], refusal: CountRefused) -> None:
    assert count(**options) is refusal


def test_a_float_is_no_counter() -> None:
    text = programs.loop(type_="f32").replace("dynamic-slice(x, i)", "dynamic-slice(x, sum)")
    assert trips(text) is CountRefused.COUNTER


def test_two_conditions_are_refused() -> None:
    text = programs.loop().replace(
        "ROOT more = pred[] compare(i, n), direction=LT",
        "sum = s32[] get-tuple-element(p), index=2\n  small = pred[] compare(sum, n), direction=LT\n"
        "  few = pred[] compare(i, n), direction=LT\n  ROOT more = pred[] and(few, small)",
    )
    assert trips(text) is CountRefused.CONDITION


def test_two_conditions_of_which_one_is_false_at_once_mean_no_iteration() -> None:
    text = programs.loop().replace(
        "ROOT more = pred[] compare(i, n), direction=LT",
        "sum = s32[] get-tuple-element(p), index=2\n  big = pred[] compare(sum, n), direction=GT\n"
        "  few = pred[] compare(i, n), direction=LT\n  ROOT more = pred[] and(few, big)",
    )
    assert trips(text) == Trips(0, None)


def test_without_no_wrap_integers_have_no_width() -> None:
    found = trips(programs.loop(type_="u8", init=250, bound=253, step=10), no_wrap=False)
    assert isinstance(found, Trips)
    assert found.count == 1


@pytest.mark.parametrize(
    ("before", "after"),
    [
        # the step is an element that no iteration changes, as constant sinking would find it
        ("  step = s32[] constant(1)\n", "  step = s32[] get-tuple-element(p), index=3\n"),
        # through copies and tuples
        (
            "  next = s32[] add(i, step)\n",
            "  pair = (s32[], s32[8]) tuple(i, x)\n  same = s32[] get-tuple-element(pair), index=0\n"
            "  copied = s32[] copy(same)\n  next = s32[] add(copied, step)\n",
        ),
        # what folds to a constant
        ("  step = s32[] constant(1)\n", "  two = s32[] constant(2)\n  step = s32[] divide(two, two)\n"),
    ],
    ids=["invariant", "tuple", "folded"],
)
def test_a_counter_is_found_through(before: str, after: str) -> None:
    text = programs.loop(bound="one").replace(
        "  k = s32[] parameter(1)\n", "  k = s32[] parameter(1)\n  one = s32[] constant(1)\n"
    )
    text = text.replace(
        "ROOT more = pred[] compare(i, n)", "five = s32[] constant(5)\n  ROOT more = pred[] compare(i, five)"
    )
    assert before in text
    found = trips(text.replace(before, after))
    assert isinstance(found, Trips)
    assert found.count == 5


def test_a_bound_that_an_iteration_changes_is_no_bound() -> None:
    text = programs.loop(bound="five").replace(
        "  k = s32[] parameter(1)\n", "  k = s32[] parameter(1)\n  five = s32[] constant(5)\n"
    )
    found = trips(text)
    assert isinstance(found, Trips)
    assert found.count == 5
    assert (
        trips(text.replace("tuple(next, x, total, n)", "tuple(next, x, total, total)")) is CountRefused.BOUND
    )


def test_condition_and_body_are_looked_at_through_the_calls_they_make() -> None:
    text = programs.loop().replace(
        "body {",
        "plus {\n  a = s32[] parameter(0)\n  b = s32[] parameter(1)\n  ROOT c = s32[] add(b, a)\n}\n"
        "less {\n  a = s32[] parameter(0)\n  b = s32[] constant(5)\n  ROOT c = pred[] compare(a, b), direction=LT\n}\n"
        "body {",
        1,
    )
    text = text.replace("s32[] add(i, step)", "s32[] call(step, i), to_apply=plus")
    text = text.replace("pred[] compare(i, n), direction=LT", "pred[] call(i), to_apply=less")
    found = trips(text)
    assert isinstance(found, Trips)
    assert found.count == 5


def test_where_a_loop_starts_is_found_after_another_loop_only_once_that_is_unrolled() -> None:
    text = programs.loop().replace(
        "  i = s32[] get-tuple-element(w), index=0\n  sum",
        "  v = (s32[], s32[8], s32[]) while(w), condition=cond, body=body\n"
        "  i = s32[] get-tuple-element(v), index=0\n  sum",
    )
    module = read_text(text)
    second = module.find_instruction("v")
    assert second is not None
    assert trips_of(second) is CountRefused.INIT


@pytest.mark.parametrize(
    ("config", "expected"),
    [
        ("", None),
        (programs.known_trip_count(5), 5),
        (', backend_config={"known_trip_count":{"n":7}}', 7),
        (', backend_config={"known_trip_count":{}}', None),
        (', backend_config={"known_init_step":{"init":"0","step":"1"}}', None),
        (programs.known_trip_count("many"), None),
        (', backend_config="text"', None),
        (', backend_config="[1]"', None),
    ],
)
def test_the_claim_in_backend_config_is_read(config: str, expected: int | None) -> None:
    assert known_trip_count(while_of(read_text(programs.loop(config=config)))) == expected
