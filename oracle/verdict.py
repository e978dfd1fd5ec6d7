"""What can a judge say? Verdicts are values: agree, disagree with a finding, or skip with a reason."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import Enum

from hlo import HloModule, Value
from hlo.stablehlo import StableHloModule


class SkipReason(Enum):
    """Why a case could not be judged. Counted and printed; each has a budget in the campaign."""

    UNSUPPORTED_OPCODE = "unsupported opcode"
    UNSUPPORTED_TYPE = "unsupported element type"
    LOOP_LIMIT = "loop limit reached"
    TOO_LARGE = "too large to evaluate"
    FOREIGN_CUSTOM_CALL = "foreign custom-call"
    REFUSED = "refused by the pass with a documented message"
    ENGINES_DISAGREE = "engines disagree about the original"
    UNDEFINED_SIZES = "sizes that leave the original without meaning"
    SIZE_OUT_OF_BOUNDS = "a size beyond its bound"
    UNKNOWN_SIZES = "unknown sizes where a pass over HLO comes next"
    NO_SIZES = "no sizes fit the program"


class Kind(Enum):
    """In which way a program departed; part of a finding's identity, so that reducing keeps the failure."""

    VALUE = "value"  # another value in the result
    SIZE = "size"  # a dynamic array of the result has another size
    RESULT_SHAPE = "result shape"  # the entry's parameters or result type changed
    INVALID = "invalid module"  # the verifier complains
    CHANGED_FLAG = "changed flag"  # `changed` differs from what happened
    NOT_IDEMPOTENT = "not idempotent"  # a second run still changed something
    LEFTOVER = "leftover"  # an instruction_id or a boundary marker remains
    TOKEN = "token"  # a token differs from the start really used
    LIVE_GRAPH = "live graph"  # the simplifier touched more than it may
    SWITCH = "switch"  # kill-switch on and off give different values
    NONDETERMINISTIC = "nondeterministic"  # same input, another output text
    CRASH = "crash"  # the pass raised something undocumented
    EVALUATION = "evaluation"  # the result cannot be evaluated although the original can
    ENGINES = "engines"  # no pass: engines see the original differently


@dataclass(frozen=True)
class Mismatch:
    """The first place where two values differ.

    `leaf` is the shape index of the array in the result, `index` the element in it; `expected` and `actual` are
    the elements there, as text. `count` of `total` elements differ. `left` and `right` name the two engines.
    """

    leaf: tuple[int, ...]
    index: tuple[int, ...]
    expected: str
    actual: str
    count: int
    total: int
    left: str
    right: str
    note: str = ""


@dataclass(frozen=True)
class Around:
    """A program with unknown sizes before a pass and after it, None where the pass left none.

    `sizes` are those with which something is wrong, as text; empty where they do not matter.
    """

    before: HloModule | StableHloModule
    after: HloModule | StableHloModule | None
    sizes: str = ""


@dataclass(frozen=True)
class Finding:
    """A departure: everything needed to report, reduce and replay it.

    `pass_index` counts in the pipeline, 0-based, -1 for the pipeline as a whole; `before` and `after` are the
    modules around that pass; `inputs` is the one input set that shows it. For a program with unknown sizes those are
    the static programs that it is for some sizes, and `around` has the programs themselves (`oracle.symbolic`).
    """

    check: str
    kind: Kind
    message: str
    pass_index: int
    pass_name: str
    before: HloModule
    after: HloModule | None
    inputs: tuple[Value, ...] = ()
    mismatch: Mismatch | None = None
    details: tuple[str, ...] = ()
    around: Around | None = None

    @property
    def identity(self) -> tuple[str, Kind, str]:
        """What must stay the same while the case shrinks: check, kind and first bad pass."""
        return (self.check, self.kind, self.pass_name)


@dataclass(frozen=True)
class Agree:
    """Every check held."""


@dataclass(frozen=True)
class Disagree:
    """A check failed."""

    finding: Finding


@dataclass(frozen=True)
class Skip:
    """The case could not be judged."""

    reason: SkipReason
    detail: str


Verdict = Agree | Disagree | Skip


@dataclass(frozen=True)
class Judgement:
    """A verdict and what was seen on the way.

    `fired` and `declined` count by "pass:rule"; `seconds` splits the time by stage (passes, evaluate, jax,
    compare, verify); `messages` are the passes' diagnostics.
    """

    verdict: Verdict
    fired: Mapping[str, int] = field(default_factory=dict[str, int])
    declined: Mapping[str, int] = field(default_factory=dict[str, int])
    seconds: Mapping[str, float] = field(default_factory=dict[str, float])
    messages: tuple[str, ...] = ()
    result: HloModule | None = None
