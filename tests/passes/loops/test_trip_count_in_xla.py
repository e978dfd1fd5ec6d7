"""Does XLA count the iterations of a loop as we do, where neither is mistaken?"""

import pytest

from hlo import HloModule, Opcode
from hlo.interchange import read_text
from passes import Trace, parse_pipeline
from passes.loops import Trips, known_trip_count, trips_of
from passes.stock import WhileLoopUnroller
from tests.passes.loops.programs import loop

ANNOTATOR = parse_pipeline("xla:while-loop-trip-count-annotator")


def annotated(text: str) -> HloModule:
    """The program, with XLA's number of iterations in its loop's backend_config."""
    module = read_text(text)
    ANNOTATOR.run(module, Trace())
    return module


def both_counts(text: str) -> tuple[int | None, int | None]:
    """Ours and XLA's."""
    (found,) = (i for i in annotated(text).entry_computation.instructions if i.opcode is Opcode.WHILE)
    trips = trips_of(found)
    return trips.count if isinstance(trips, Trips) else None, known_trip_count(found)


@pytest.mark.parametrize(
    "options",
    [
        {},
        {"step": 2, "bound": 6},
        {"step": 2, "bound": 7},
        {"direction": "LE"},
        {"bound": 0},
        {"bound": -3},
        {"direction": "LE", "bound": -1},
        {"compare": "n, i", "direction": "GT"},
        {"init": 7, "bound": 2, "direction": "GT", "step": -1},
        {"direction": "NE"},
        {"direction": "EQ", "bound": 0},
        {"bound": "k"},
    ],
)
def test_xla_counts_as_we_do(options: dict[str, int | str]) -> None:
    ours, theirs = both_counts(loop(**options))  # pyright: ignore[reportArgumentType]
    assert ours == theirs


@pytest.mark.parametrize(
    "options",
    [
        {"type_": "u8", "init": 250, "bound": 253, "step": 10},  # 26, as the evaluator and JAX run it
        {"type_": "s8", "init": 120, "bound": 125, "step": 10},  # 103
        {"type_": "u8", "bound": 255, "direction": "LE"},  # without end
    ],
)
def test_what_xla_counts_wrong_is_not_believed(options: dict[str, int | str]) -> None:
    module = annotated(loop(**options))  # pyright: ignore[reportArgumentType]
    trace = Trace()
    assert not WhileLoopUnroller().run(module, trace)
    assert trace.declined["no_wrap"] == 1  # and check_known_trip_count, as long as XLA claims something
