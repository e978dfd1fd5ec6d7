"""Which decisions make up a rolled loop? Their names, and the records that hold them, before anything is built."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum, auto

from fuzz.generators.palette import Buffer, Lane
from fuzz.generators.vocabulary import Source
from hlo import PrimitiveType
from hlo.attributes import Ints


class Way(Enum):
    """How the counter goes on."""

    UP = auto()
    DOWN = auto()
    DOUBLING = auto()
    HALVING = auto()


class Begin(Enum):
    """Where the counter's way lies in its type."""

    ZERO = auto()
    SMALL = auto()
    NEGATIVE = auto()
    LIMIT = auto()  # the bound, or the first value, is the end of the type
    WRAPPING = auto()


class Origin(Enum):
    """Where a number comes from."""

    CONSTANT = auto()  # in the computation that uses it
    ELEMENT = auto()  # of the state, where it is a constant at first
    PARAMETER = auto()  # of the state, where it is an entry parameter at first


class Spelling(Enum):
    """How the counter's next value is written."""

    PLAIN = auto()
    LEFT = auto()  # the step is the first operand
    SUBTRACTED = auto()
    TUPLE = auto()  # and read back out of a tuple


class Exit(Enum):
    """What else ends the loop."""

    NONE = auto()
    FLAG = auto()  # an element that the body sets, from the counter
    DATA = auto()  # … from data
    SECOND = auto()  # a second bound


class Annotation(Enum):
    """The number of trips that the backend_config tells."""

    NONE = auto()
    RIGHT = auto()
    WRONG = auto()


class Action(Enum):
    """What a body does with a buffer."""

    READ = auto()
    WRITE = auto()
    STACK = auto()
    MOVE = auto()
    SHIFT = auto()


class Index(Enum):
    """Where it does it."""

    COUNTER = auto()
    OFFSET = auto()
    REVERSED = auto()
    RING = auto()
    SCALED = auto()
    CLAMPED = auto()
    NORMALISED = auto()
    LITERAL = auto()
    EXTREME = auto()
    PARAMETER = auto()
    LOADED = auto()
    OUTER = auto()


class Style(Enum):
    """Whose loop it looks like."""

    FREE = auto()
    FORI = auto()  # jax.lax.fori_loop: counter, bound and value in the state
    SCAN = auto()  # jax.lax.scan: counter first, reads xs, stacks ys, the body in a call


class Habit(Enum):
    """Something that the state or the body has besides."""

    NONE = auto()
    CONDITIONAL = auto()
    CALL = auto()
    INVARIANT_CODE = auto()
    INVARIANT = auto()
    UNUSED = auto()
    TWICE = auto()
    SWAPPED = auto()
    NESTED_STATE = auto()
    STEP_FIRST = auto()
    EDGE = auto()
    RETURN_COUNTER = auto()


class Place(Enum):
    """Which computation holds the loop."""

    HERE = auto()
    CALL = auto()
    CALL_TWICE = auto()


class Part(Enum):
    """What an element of the state is for. The order is that of the tuple, before it is turned."""

    COUNTER = auto()
    BOUND = auto()
    STEP = auto()
    FLAG = auto()
    OUTER = auto()  # the counter of the loop around
    START = auto()
    INDICES = auto()
    MAIN = auto()
    SECOND = auto()
    ROW = auto()  # of the shape of a slice
    INVARIANT = auto()  # of that shape, too
    UNUSED = auto()
    TWIN = auto()  # of the main buffer


@dataclass(frozen=True, slots=True)
class Count:
    """How a loop counts. `comparison` has the counter on the left, whatever `flipped` says."""

    kind: PrimitiveType
    way: Way
    step: int
    comparison: str
    flipped: bool
    trips: int
    """As asked for: see `counting.settled` for the ones that there are."""
    begin: Begin
    uneven: int
    spelling: Spelling
    init: Origin
    bound: Origin
    step_origin: Origin


@dataclass(frozen=True, slots=True)
class Access:
    """One use of a buffer in the body."""

    action: Action
    index: Index
    offset: int
    """Which of the offsets that matter, where the index has one."""
    second: bool
    """The buffer is the second one."""
    everywhere: bool
    """The index counts in every dimension, not only in the first."""


@dataclass(frozen=True, slots=True)
class While:
    """A rolled loop."""

    lane: Lane
    buffer: Buffer
    sizes: Ints
    count: Count
    exit: Exit
    annotation: Annotation
    style: Style
    source: Source
    second_source: Source
    row_is_parameter: bool
    turned: int
    """By how many places the state's elements are rotated."""
    habits: frozenset[Habit]
    place: Place
    accesses: tuple[Access, ...]
    inner: While | None
    depends: bool
    """The bound of `inner` is the outer counter."""
