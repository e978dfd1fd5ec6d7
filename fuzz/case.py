"""What exactly is judged: a program, its inputs, the passes and the switches. And how is a verdict written?"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from hlo import ArrayShape, HloModule, InvalidInput, Shape, Token, TokenShape, TupleShape, Value, value_shape
from hlo.stablehlo import StableHloModule, TensorType
from oracle.verdict import Agree, Disagree, Finding, Kind, Skip, SkipReason, Verdict
from passes import AnyProgram, Pipeline

AGREE = "agree"
_EXPECTATIONS = '"agree", "disagree CHECK/KIND PASS" or "skip REASON"'


@dataclass(frozen=True, eq=False)
class Case:
    """Everything a verdict depends on. `inputs` are sets of one value per entry parameter."""

    module: HloModule
    pipeline: Pipeline
    inputs: tuple[tuple[Value, ...], ...]
    environment: Mapping[str, str]


@dataclass(frozen=True, eq=False)
class SymbolicCase:
    """As `Case`, for a program whose sizes are unknown: it is judged for the sizes that the inputs have."""

    module: StableHloModule
    pipeline: Pipeline
    inputs: tuple[tuple[Value, ...], ...]
    environment: Mapping[str, str]


AnyCase = Case | SymbolicCase


def case_for(
    module: AnyProgram,
    pipeline: Pipeline,
    inputs: tuple[tuple[Value, ...], ...],
    environment: Mapping[str, str],
) -> AnyCase:
    """The case that a program in either form is."""
    if isinstance(module, HloModule):
        return Case(module, pipeline, inputs, environment)
    return SymbolicCase(module, pipeline, inputs, environment)


def verdict_text(verdict: Verdict) -> str:
    """The verdict in the words of a corpus file's EXPECT line: agree, disagree CHECK/KIND PASS or skip REASON."""
    match verdict:
        case Agree():
            return AGREE
        case Disagree(finding):
            return f"disagree {finding_text(finding)}"
        case Skip(reason):
            return f"skip {reason.value}"


def finding_text(finding: Finding) -> str:
    """A finding's identity in words: CHECK/KIND PASS."""
    return f"{finding.check}/{finding.kind.value} {finding.pass_name}"


def check_expectation(text: str) -> str:
    """`text` if some verdict could be written so. Raises InvalidInput otherwise."""
    word, _, rest = text.partition(" ")
    if text == AGREE or (word == "skip" and any(rest == reason.value for reason in SkipReason)):
        return text
    if word == "disagree":
        _, slash, rest = rest.partition("/")
        if slash and any(rest.startswith(f"{kind.value} ") for kind in Kind):
            return text
        raise InvalidInput(f"{text!r} names no kind; one of: {', '.join(kind.value for kind in Kind)}")
    if word == "skip":
        raise InvalidInput(
            f"{text!r} names no reason; one of: {', '.join(reason.value for reason in SkipReason)}"
        )
    raise InvalidInput(f"{text!r} is no verdict; write {_EXPECTATIONS}")


def fits_type(value: Value, kind: TensorType) -> bool:
    """Whether `value` can be handed to a parameter of type `kind`; an unknown dimension takes any size in its bound."""
    given = value_shape(value)
    return (
        isinstance(given, ArrayShape)
        and given.element_type is kind.element_type
        and given.rank == kind.rank
        and all(
            known == size or (known is None and (bound is None or size <= bound))
            for size, known, bound in zip(given.dimensions, kind.dimensions, kind.bounds, strict=True)
        )
    )


def fits(value: Value, shape: Shape) -> bool:
    """Whether `value` can be handed to a parameter of `shape`; a dynamic dimension takes any size in its bound."""
    if isinstance(shape, TokenShape) or isinstance(value, Token):
        return isinstance(shape, TokenShape) and isinstance(value, Token)
    if isinstance(shape, TupleShape) or isinstance(value, tuple):
        return (
            isinstance(shape, TupleShape)
            and isinstance(value, tuple)
            and len(value) == len(shape.elements)
            and all(fits(element, wanted) for element, wanted in zip(value, shape.elements, strict=True))
        )
    if not isinstance(shape, ArrayShape):
        return False
    given = value_shape(value)
    return (
        isinstance(given, ArrayShape)
        and given.element_type is shape.element_type
        and given.rank == shape.rank
        and all(
            size == bound or (shape.is_dynamic_dimension(i) and size < bound)
            for i, (size, bound) in enumerate(zip(given.dimensions, shape.dimensions, strict=True))
        )
    )
