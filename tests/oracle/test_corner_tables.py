"""What the definitions of the operations say where implementations differ first, asked of every engine.

Each row of `tests/oracle/corners` has its right value from a sentence of the definition. Our evaluator and the JAX
reference give it, and so do at least two of the foreign engines, unless the definition leaves it open; who differs,
how and why is in the row.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence

import pytest

from hlo import HloFuzzError, Value
from oracle.engines import ENGINES, Engine, Ran
from tests.oracle.corners import empty, floats, integers, places
from tests.oracle.corners.table import FOREIGN, Corner, together

TOPICS: Mapping[str, Callable[[], Iterator[Corner]]] = {
    "integer division and remainder by zero and of the least by -1": integers.divisions,
    "shifts at and beyond the width": integers.shifts,
    "signs of integers": integers.signs,
    "clamp of integers with min > max": integers.clamps,
    "powers of integers": integers.powers,
    "float to integer out of range and NaN": floats.to_integers,
    "min, max and clamp of NaN and signed zeros": floats.extremes,
    "compare of NaN and signed zeros, by value and by total order": floats.comparisons,
    "sort of NaN and signed zeros": floats.sorts,
    "sign, round to even, roots": floats.unary,
    "pow, atan2 and arithmetic specials": floats.binary,
    "rounding and overflow of wide floats": floats.rounding,
    "rounding and overflow of 8-bit floats": floats.eight_bits,
    "rounding of narrow arithmetic": floats.small_arithmetic,
    "subnormals": floats.subnormals,
    "empty dims everywhere": empty.rows,
    "dynamic slices out of bounds, U64 starts of 2^63 and above": places.slices,
    "gather out of bounds, U64 starts of 2^63 and above": places.gathers,
    "scatter out of bounds, U64 starts of 2^63 and above": places.scatters,
    "iota in every type": places.iotas,
    "reduce of nothing": places.reductions,
}
_IN_ONE_PROGRAM = 24


def answers(engine: Engine, rows: Sequence[Corner]) -> Iterator[Value | None]:
    """What an engine gives for each row, None for nothing. One program holds many rows, as long as it runs."""
    if len(rows) == 1:
        outcome = engine.run(rows[0].module, rows[0].inputs)
        yield outcome.value if isinstance(outcome, Ran) else None
        return
    outcome = engine.run(*together(rows))
    if isinstance(outcome, Ran):
        assert isinstance(outcome.value, tuple)
        yield from outcome.value
        return
    middle = len(rows) // 2
    yield from answers(engine, rows[:middle])
    yield from answers(engine, rows[middle:])


def chunks(engine: Engine, rows: Sequence[Corner]) -> Iterator[Sequence[Corner]]:
    """Rows that go into one program; one that may end the process is alone."""
    together_ = [row for row in rows if engine.name not in row.silent]
    yield from (together_[i : i + _IN_ONE_PROGRAM] for i in range(0, len(together_), _IN_ONE_PROGRAM))
    yield from ([row] for row in rows if engine.name in row.silent)


def complaint(engine: Engine, row: Corner, value: Value | None) -> str | None:
    """What is not as the row says."""
    if engine.name in row.unsteady:
        return None
    if engine.name in row.silent:
        return None if value is None else "gives a value"
    if value is None:
        return "gives no value"
    wrong = row.differs(value)
    if engine.name not in row.dissent:
        return wrong
    if wrong is None:
        return "no longer dissents"
    other = row.dissent[engine.name].value
    return None if other is None else row.differs(value, other)


@pytest.mark.parametrize("engine", ENGINES, ids=lambda engine: engine.name)
@pytest.mark.parametrize("topic", TOPICS)
def test_every_engine_gives_what_the_row_says(topic, engine):
    rows = list(TOPICS[topic]())
    found = [
        f"{row.name}: {said} ({row.says})"
        for chunk in chunks(engine, rows)
        for row, value in zip(chunk, answers(engine, chunk), strict=True)
        if (said := complaint(engine, row, value))
    ]
    assert not found, "\n".join(found)


@pytest.mark.parametrize("topic", TOPICS)
def test_two_engines_confirm_what_is_not_open(topic):
    rows = list(TOPICS[topic]())
    assert rows
    for row in rows:
        others = row.dissent.keys() | row.silent.keys() | row.unsteady.keys()
        confirming = [name for name in FOREIGN if name not in others]
        assert (len(confirming) >= 2) != bool(row.open), row.name
        # ours and the reference answer every row, and only what is open may part them
        assert "evaluator" not in row.dissent, row.name
        assert "jax" not in row.dissent or row.open, row.name
        assert not {"evaluator", "jax"} & (row.silent.keys() | row.unsteady.keys()), row.name


def test_rows_are_valid_programs_and_told_apart():
    rows = [row for rows in TOPICS.values() for row in rows()]
    keys = [(row.says, row.name, repr([x.tobytes() for x in row.inputs])) for row in rows]
    assert len(set(keys)) == len(keys)
    assert len(rows) > 700


def test_a_wrong_value_is_noticed():
    row = next(integers.divisions())
    (ours, *_) = ENGINES
    (value,) = answers(ours, [row])
    assert complaint(ours, row, value) is None
    assert complaint(ours, row, row.inputs[0]) is not None
    assert complaint(ours, row, None) == "gives no value"
    with pytest.raises(HloFuzzError):
        Corner("no such thing", "s32[] nothing(p0)", (), row.right).module  # noqa: B018
