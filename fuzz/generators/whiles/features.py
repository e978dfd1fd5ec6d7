"""What may be present in a program of rolled loops? One name for each thing worth counting."""

from __future__ import annotations

from enum import StrEnum, auto


class WhileFeature(StrEnum):
    """A property of a program. Its value is its name in lower case, words joined by hyphens."""

    @staticmethod
    def _generate_next_value_(name: str, start: int, count: int, last_values: list[str]) -> str:
        return name.lower().replace("_", "-")

    # how the loop counts
    COUNTED_UP = auto()
    COUNTED_DOWN = auto()
    LONGER_STEP = auto()
    UNEVEN_STEP = auto()  # which does not divide the way to the bound
    DOUBLED = auto()  # not counted: the value is multiplied
    HALVED = auto()
    LESS = auto()
    LESS_OR_EQUAL = auto()
    GREATER = auto()
    GREATER_OR_EQUAL = auto()
    NOT_EQUAL = auto()
    EQUAL = auto()
    BOUND_ON_THE_LEFT = auto()
    STEP_ON_THE_LEFT = auto()
    STEP_BY_SUBTRACTION = auto()
    STEP_THROUGH_TUPLE = auto()
    STEP_FIRST = auto()  # the body looks at the next value
    STEP_IN_STATE = auto()
    BOUND_IN_STATE = auto()
    BOUND_FROM_PARAMETER = auto()
    START_FROM_PARAMETER = auto()
    NO_TRIP = auto()
    ONE_TRIP = auto()
    SEVERAL_TRIPS = auto()
    OVER_64_TRIPS = auto()  # more than an unroller takes
    S8_COUNTER = auto()
    S16_COUNTER = auto()
    S32_COUNTER = auto()
    S64_COUNTER = auto()
    U8_COUNTER = auto()
    U16_COUNTER = auto()
    U32_COUNTER = auto()
    U64_COUNTER = auto()
    NEGATIVE_COUNTER = auto()
    COUNTER_NEAR_LIMIT = auto()  # reaches an end of its type, or the number beside it
    COUNTER_WRAPS = auto()
    KNOWN_TRIP_COUNT = auto()
    WRONG_TRIP_COUNT = auto()
    """A count in the backend_config that is not true. Only for passes that must check it: XLA believes it."""

    # when else it ends
    EXIT_BY_FLAG = auto()
    EXIT_BY_DATA = auto()
    EXIT_BY_SECOND_BOUND = auto()

    # what the body does
    READS_ROW = auto()  # xs[i]
    WRITES_ROW = auto()  # a KV cache
    STACKS_ROW = auto()  # ys of a scan
    MOVES_ROW = auto()  # from one buffer to the other
    SHIFTS_ROW = auto()  # within one buffer
    COUNTER_INDEX = auto()
    OFFSET_INDEX = auto()
    REVERSED_INDEX = auto()
    RING_INDEX = auto()
    SCALED_INDEX = auto()
    CLAMPED_INDEX = auto()
    NORMALISED_INDEX = auto()  # as JAX does with an index that may be negative
    LITERAL_INDEX = auto()
    EXTREME_INDEX = auto()
    PARAMETER_INDEX = auto()
    LOADED_INDEX = auto()
    OUTER_INDEX = auto()  # the sum of an inner and an outer counter
    OUT_OF_RANGE_INDEX = auto()
    CONDITIONAL_BODY = auto()
    CALL_IN_BODY = auto()
    INVARIANT_CODE = auto()
    INVARIANT_ELEMENT = auto()
    UNUSED_ELEMENT = auto()
    SAME_VALUE_TWICE = auto()
    ELEMENTS_SWAPPED = auto()
    NESTED_STATE = auto()
    COUNTER_NOT_FIRST = auto()

    # where the loop is
    NESTED_LOOP = auto()
    NESTED_TRIPS_DEPEND = auto()  # on the outer counter
    SEVERAL_LOOPS = auto()
    SHARED_BUFFER = auto()  # a loop goes on with what an earlier one left, or with the same parameter
    LOOP_IN_CALL = auto()
    LOOP_CALLED_TWICE = auto()
    FORI_LOOP = auto()
    SCAN = auto()
    COUNTER_RETURNED = auto()
    EDGE_AFTER_LOOP = auto()  # somebody waits for the loop
