"""What tests of passes share: run a pass on HLO text and hold it to everything a pass promises."""

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest

from hlo import ArrayShape, HloModule, Shape, TupleShape, Value, same_bits
from hlo.canonical import structure
from hlo.evaluator import evaluate
from hlo.interchange import read_text
from hlo.verify import verify
from passes import Pass, Trace


def some_inputs(module: HloModule) -> Iterator[list[Value]]:
    """Three input sets: counting up from -2, down from 2, and all zero."""
    for step in (1, -1, 0):
        yield [_some_value(p.shape, step) for p in module.entry_computation.parameters]


def _some_value(shape: Shape, step: int) -> Value:
    if isinstance(shape, TupleShape):
        return tuple(_some_value(element, step) for element in shape.elements)
    assert isinstance(shape, ArrayShape)
    counting = step * (np.arange(shape.element_count).reshape(shape.dimensions) - 2)
    dtype: Any = shape.element_type.numpy
    return np.asarray(counting % 2 if dtype == np.bool_ else counting).astype(dtype)


def run_and_hold(pass_: Pass, module: HloModule) -> Trace:
    """Run `pass_` on `module`: valid, honest about `changed`, at rest afterwards, and same values."""
    before = module.clone()
    text = structure(module)
    trace = Trace()
    changed = pass_.run(module, trace)
    assert verify(module) == []
    assert changed is (structure(module) != text)
    assert changed is bool(trace.fired)
    assert set(trace.fired) <= set(pass_.rules)
    rested = structure(module)
    assert not pass_.run(module, Trace())
    assert structure(module) == rested
    for values in some_inputs(before):
        assert same_bits(evaluate(module, values), evaluate(before, values))
    return trace


Check = Callable[..., Trace]


@pytest.fixture
def becomes() -> Check:
    """`becomes(pass_, before, after)`: the pass makes the one text of the other, names aside."""

    def check(pass_: Pass, before: str, after: str) -> Trace:
        module = read_text(before)
        trace = run_and_hold(pass_, module)
        assert structure(module, names=False) == structure(read_text(after), names=False)
        return trace

    return check


@pytest.fixture
def stays() -> Check:
    """`stays(pass_, text)`: the pass leaves the program alone."""

    def check(pass_: Pass, text: str) -> Trace:
        module = read_text(text)
        trace = run_and_hold(pass_, module)
        assert structure(module) == structure(read_text(text))
        return trace

    return check
