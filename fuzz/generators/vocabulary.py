"""Which decisions make up a loop? Their names, and the records that hold them, before anything is built.

Options stand simplest first. What they mean is decided in `indices`, `steps`, `bodies` and `loops`; how likely
each is, in `plan`.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum, auto

from fuzz.generators.palette import Buffer, Lane
from fuzz.generators.profile import Form


class Role(Enum):
    """What an element of the loop's state is for. The order is that of the tuple."""

    COUNTER = auto()  # the iteration, index type
    START = auto()  # a start that the caller computed
    DYNAMIC = auto()  # a start that comes from outside
    INDICES = auto()  # a vector of starts
    MAIN = auto()  # the buffer that is sliced
    SECOND = auto()  # another of the same shape
    ACCUMULATOR = auto()  # of the shape of a slice


INDEX_ROLES = frozenset({Role.COUNTER, Role.START, Role.DYNAMIC, Role.INDICES})


class Spelling(Enum):
    """How a start index is written."""

    LITERAL = auto()
    COUNTER = auto()
    ELEMENT = auto()
    CONVERTED = auto()
    CLAMPED = auto()
    REMAINDER = auto()
    SELECTED = auto()
    # not constant, however much is inlined and folded
    DYNAMIC = auto()
    SHIFTED = auto()
    INDICES = auto()
    LOADED = auto()
    DATA = auto()
    BARRIER = auto()


class Offset(Enum):
    """A start, relative to a dimension of size n of which s elements are sliced."""

    ZERO = auto()
    ONE = auto()
    LAST = auto()  # n - s, the last one in range
    PAST = auto()  # n - s + 1, the first to be clamped
    MINUS_ONE = auto()
    SIZE = auto()  # n
    BEYOND = auto()  # n + 1
    TYPE_MIN = auto()
    TYPE_MAX = auto()


class Action(Enum):
    """What a step of a body does."""

    SLICE = auto()
    UPDATE = auto()


class Target(Enum):
    """What it does it to."""

    MAIN = auto()
    SECOND = auto()
    LATEST = auto()  # what the step before gave


class Sink(Enum):
    """Where the result of a slice goes."""

    RETURN = auto()
    ADD = auto()  # to the accumulator, by the commutative operation
    SUBTRACT = auto()  # … by the other one


class Update(Enum):
    """What an update writes."""

    CONSTANT = auto()
    LATEST = auto()  # the latest slice, where it has the right shape
    ACCUMULATOR = auto()


class Rest(Enum):
    """How the starts of the dimensions after the first are written."""

    ZERO = auto()
    LITERAL = auto()
    SAME = auto()  # as the first one's, with their own offset


class Source(Enum):
    """Where a buffer comes from."""

    PARAMETER = auto()
    SAME_PARAMETER = auto()  # one that is there already
    TUPLE_PARAMETER = auto()
    COMPUTED = auto()
    CONSTANT = auto()
    LOOP_RESULT = auto()  # what an earlier loop left, where the shape is right


class Counting(Enum):
    """Where the counter's value comes from."""

    LITERAL = auto()  # the caller gives each call its number
    CARRIED = auto()  # the body returns counter + 1
    ADDED = auto()  # the caller adds 1
    DYNAMIC = auto()  # as carried, but the first value is an entry parameter


class Twist(Enum):
    """Something that makes a slice harder to move, illegal to move, or wrong to move."""

    NONE = auto()
    PASS = auto()
    PASS_UNREAD = auto()
    PASS_BY_SECOND_GTE = auto()
    PASS_MARKED = auto()
    PASS_SWAPPED = auto()
    USE_WHOLE = auto()
    SLICE_AGAIN = auto()
    SLICE_AGAIN_BY_GTE = auto()
    CALL_ELSEWHERE = auto()
    RETURN_PARAMETER = auto()
    REUSE_OPERAND = auto()
    BARRIER_OPERAND = auto()
    SEPARATE_OPERANDS = auto()
    NEST_TUPLE = auto()
    COPY_INPUT = auto()
    BARRIER_INPUT = auto()
    TUPLE_INPUT = auto()
    BARE_ROOT = auto()
    MARK_OPERAND = auto()
    MARK_PARAMETER = auto()
    MARK_ROOT = auto()
    MARK_RESULT = auto()
    MARK_INPUT = auto()
    MARK_SLICE = auto()
    MARK_SOURCE = auto()


class Place(Enum):
    """Whether a step is there, and where."""

    ABSENT = auto()
    INNER = auto()  # in the innermost body
    OUTER = auto()  # in the outermost wrapper, where there is one


@dataclass(frozen=True, slots=True)
class Step:
    """One slice or update."""

    action: Action
    target: Target
    size: int  # which of the buffer's slice sizes
    spelling: Spelling
    stride: int
    rest: Rest
    offsets: tuple[Offset, Offset, Offset, Offset]  # one for each dimension there may be
    sink: Sink
    update: Update
    salt: int  # which constant an update writes
    place: Place


@dataclass(frozen=True, slots=True)
class Loop:
    """An unrolled loop."""

    lane: Lane
    buffer: Buffer
    form: Form
    iterations: int
    depth: int  # calls around the body, 0 to 3
    counting: Counting
    source: Source
    second_source: Source
    accumulates_parameter: bool  # the accumulator starts as an entry parameter, not at zero
    spelled_start: bool  # the caller computes the start element with operations
    reversed_state: bool
    twists: frozenset[Twist]
    steps: tuple[Step, ...]
