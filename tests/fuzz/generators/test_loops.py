"""Rare pairs of decisions, which a sample would miss: each form with each pair of twists."""

import random
from collections.abc import Sequence
from itertools import combinations, product
from typing import TypeVar

import pytest

from fuzz.generators import DEFAULT, Form
from fuzz.generators.draft import Draft
from fuzz.generators.loops import write_loop
from fuzz.generators.palette import LANES
from fuzz.generators.plan import read_loop
from fuzz.generators.tape import TAPE_BYTES, Tape
from fuzz.generators.vocabulary import Action, Sink, Spelling, Twist
from hlo.verify import verify

T = TypeVar("T")


class Wishes(Tape):
    """A tape with what is wished for, once each, where it may be had, and any other option elsewhere."""

    def __init__(self, number: int, *wishes: object) -> None:
        super().__init__(b"")
        self._random = random.Random(number)
        self._wishes = list(wishes)

    def choice(self, options: Sequence[T]) -> T:
        for wish in self._wishes:
            if wish in options:
                self._wishes.remove(wish)
                return options[options.index(wish)]
        return self._random.choice(options)


@pytest.mark.parametrize("form", Form)
def test_every_pair_of_twists_is_valid_in_every_form(form: Form) -> None:
    broken = {}
    for number, (pair, iterations) in enumerate(product(combinations(Twist, 2), (1, 2, 3))):
        draft = Draft("pair")
        write_loop(draft, read_loop(Wishes(number, form, iterations, *pair), LANES, DEFAULT), 200)
        draft.entry.computation.set_root(draft.entry.tuple_(*draft.outputs))
        if violations := verify(draft.module):
            broken[pair] = violations[0]
    assert not broken


@pytest.mark.parametrize("form", Form)
@pytest.mark.parametrize("spelling", Spelling)
def test_every_spelling_is_valid_on_every_lane(form: Form, spelling: Spelling) -> None:
    for number, lane in enumerate(LANES):
        draft = Draft("lane")
        loop = read_loop(Wishes(number, lane, form, Action.SLICE, spelling, Sink.SUBTRACT), LANES, DEFAULT)
        write_loop(draft, loop, 40)
        draft.entry.computation.set_root(draft.entry.tuple_(*draft.outputs))
        assert verify(draft.module) == []


def test_a_loop_reads_its_tape_to_the_end() -> None:
    tape = Tape(bytes(TAPE_BYTES))
    loop = read_loop(tape, LANES, DEFAULT)
    assert tape.left == 0
    assert loop.iterations == 1
    assert not loop.twists
