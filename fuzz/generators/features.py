"""What may be present in a generated program? One name for each thing worth counting.

A generator notes a feature where it writes it down, so statistics tell what the passes really met. The spelling
is for people: it is printed in a campaign's summary.
"""

from __future__ import annotations

from enum import StrEnum, auto


class Feature(StrEnum):
    """A property of a program. Its value is its name in lower case, words joined by hyphens."""

    @staticmethod
    def _generate_next_value_(name: str, start: int, count: int, last_values: list[str]) -> str:
        return name.lower().replace("_", "-")

    # how a loop is written
    INLINE_LOOP = auto()
    SHARED_BODY = auto()  # one computation, called for every iteration
    BODY_PER_ITERATION = auto()
    MIXED_BODIES = auto()  # a wrapper an iteration around one shared body
    ROLLED_LOOP = auto()  # a while
    CALL_IN_ROLLED_LOOP = auto()
    SINGLE_ITERATION = auto()
    LONG_LOOP = auto()  # eight iterations or more
    NESTED_CALLS = auto()
    CALLED_TWICE = auto()  # one computation has two call sites
    CALLED_ELSEWHERE = auto()  # … of which one is outside the loop

    # what it slices
    RANK_0 = auto()
    RANK_1 = auto()
    RANK_2 = auto()
    RANK_3 = auto()
    RANK_4 = auto()
    WHOLE_SIZE_SLICE = auto()
    EMPTY_SLICE = auto()
    PARAMETER_SOURCE = auto()
    TUPLE_PARAMETER_SOURCE = auto()
    COMPUTED_SOURCE = auto()
    CONSTANT_SOURCE = auto()
    LOOP_RESULT_SOURCE = auto()

    # where the slice starts
    LITERAL_START = auto()
    COUNTER_START = auto()  # iteration × stride + offset
    ELEMENT_START = auto()  # computed by the caller, read from the tuple
    CONVERTED_START = auto()
    BOUNDED_START = auto()  # through clamp, remainder or select
    DYNAMIC_START = auto()
    SHIFTED_START = auto()  # dynamic plus constant
    INDEX_VECTOR_START = auto()
    LOADED_START = auto()  # sliced from a vector of indices
    DATA_START = auto()
    BARRIER_START = auto()  # a constant behind an opt-barrier
    NEGATIVE_START = auto()
    PAST_END_START = auto()
    EXTREME_START = auto()
    CARRIED_COUNTER = auto()  # the body returns counter + 1
    DYNAMIC_COUNTER = auto()

    # chains
    UPDATE_OF_UPDATE = auto()
    SLICE_OF_UPDATE = auto()
    UPDATE_OF_SLICE = auto()
    SLICE_OF_SLICE = auto()
    UPDATE_WITH_SLICE = auto()

    # chains that write a value piece by piece
    TILING_UPDATES = auto()
    TILING_DISTURBED = auto()  # … but for one piece, or with a reader on the way
    TILING_IN_CALLS = auto()
    TWO_TILINGS_IN_TURN = auto()

    # what else touches the tuple element that is sliced
    PASSED_THROUGH = auto()
    PASSED_UNREAD = auto()  # … and the caller goes on with its own value
    PASSED_BY_SECOND_GTE = auto()
    PASSED_TO_OTHER_INDEX = auto()
    ELEMENT_UPDATED = auto()
    SLICED_TWICE = auto()
    SLICED_BY_TWO_GTES = auto()
    USED_WHOLE = auto()
    INPUT_NOT_GTE = auto()  # a copy, a barrier or a local tuple stands between
    NESTED_TUPLE = auto()

    # what else touches the tuple, its parameter and its call
    PARAMETER_RETURNED = auto()
    PARAMETER_PASSED_ON = auto()  # the parameter is the operand of a nested call
    OPERAND_NOT_TUPLE = auto()
    SEPARATE_OPERANDS = auto()
    BARE_ROOT = auto()  # the body returns an array

    # markers
    MARKED_OPERAND = auto()
    MARKED_PARAMETER = auto()
    MARKED_ROOT = auto()
    MARKED_RESULT = auto()
    MARKED_SLICE_INPUT = auto()
    MARKED_SLICE = auto()
    MARKED_PASS_THROUGH = auto()
    MARKED_SOURCE = auto()

    # metadata, edges, environment
    SHARED_OP_NAMES = auto()
    UNIQUE_OP_NAMES = auto()
    TOKEN_LIKE_TEXT = auto()
    STALE_TOKEN = auto()
    CONTROL_EDGE = auto()
    FRONTEND_ATTRIBUTES = auto()
    KILL_SWITCH_ON = auto()
    KILL_SWITCH_OFF = auto()

    # company
    TWO_LOOPS = auto()
    TWO_LANES = auto()
    CONDITIONAL = auto()
    OTHER_OPERATIONS = auto()
    ARRAY_ROOT = auto()
