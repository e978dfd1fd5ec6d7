"""Do chains that write a value piece by piece become a concatenate exactly where nothing is wrong with them?"""

from collections import Counter
from dataclasses import replace
from itertools import product

import pytest

from fuzz.generators import Program, draw_sample
from fuzz.generators.draft import Draft
from fuzz.generators.palette import LANES, Lane
from fuzz.generators.tape import Tape
from fuzz.generators.tiling import Fault, Order, Tiling, Told, read_tiling, tell, write_tiling
from fuzz.generators.vocabulary import Source
from fuzz.generators.whiles import whiles
from hlo import HloModule, Opcode, same_bits
from hlo.evaluator import evaluate
from hlo.verify import verify
from oracle.inputs import draw_inputs
from passes import Trace, parse_pipeline
from passes.neuron import NeuronRepeatedDusToConcat

PLAIN = Tiling(
    lane=LANES[0],
    buffer=LANES[0].buffers[0],
    source=Source.PARAMETER,
    axis=0,
    pieces=4,
    order=Order.UP,
    fault=Fault.NONE,
    victim=0,
    told=Told.NOTHING,
    calls=0,
    shared=False,
    given=False,
    chains=1,
)
IN_CALLS = replace(PLAIN, calls=0b1111)
HARMLESS = (Fault.NONE, Fault.BEHIND, Fault.BEFORE)  # a start out of range is clamped to its place


def written(tiling: Tiling) -> HloModule:
    draft = Draft("tiling")
    updates = write_tiling(draft, tiling)
    draft.entry.computation.set_root(draft.entry.tuple_(*dict.fromkeys(draft.outputs)))
    tell(tiling, updates)
    return draft.module


def concats(module: HloModule, *, first: str = "") -> int:
    trace = Trace()
    parse_pipeline(first).run(module, Trace())
    NeuronRepeatedDusToConcat().run(module, trace)
    return trace.fired["concatenate"]


@pytest.mark.parametrize("lane", dict.fromkeys(LANES), ids=lambda lane: f"{lane.data}-{lane.index}")
def test_every_tiling_is_valid_on_every_lane(lane: Lane) -> None:
    options = product(lane.buffers, Fault, (2, 4), (0, 0b0101, 0b1111), (False, True), (1, 2))
    for buffer, fault, pieces, calls, given, chains in options:
        axes = [axis for axis, size in enumerate(buffer.dimensions) if size > 1]
        for axis in axes[-1:]:
            tiling = replace(PLAIN, lane=lane, buffer=buffer, axis=axis, fault=fault, pieces=pieces)
            module = written(replace(tiling, calls=calls, given=given, chains=chains, shared=given))
            assert verify(module) == []


@pytest.mark.parametrize("order", Order)
@pytest.mark.parametrize("calls", [0, 0b1111, 0b0110])
@pytest.mark.parametrize("given", [False, True])
@pytest.mark.parametrize("chains", [1, 2])
def test_a_chain_with_nothing_wrong_becomes_a_concatenate(
    order: Order, calls: int, given: bool, chains: int
) -> None:
    tiling = replace(PLAIN, order=order, calls=calls, given=given, chains=chains)
    # a start that is not there yet as a constant needs its token
    assert concats(written(tiling), first="neuron-dus-ds-index-simplifier" if given else "") == chains


@pytest.mark.parametrize("tiling", [PLAIN, IN_CALLS], ids=["here", "in calls"])
@pytest.mark.parametrize("fault", Fault)
def test_a_fault_that_matters_keeps_a_chain_as_it_is(tiling: Tiling, fault: Fault) -> None:
    for victim in (0, 100, 200):
        module = written(replace(tiling, fault=fault, victim=victim))
        assert concats(module) == (fault in HARMLESS)


def test_a_body_that_all_calls_share_keeps_its_updates() -> None:
    assert concats(written(replace(IN_CALLS, given=True, shared=True)), first="neuron:3") == 0


@pytest.mark.parametrize("told", [Told.TOKENS, Told.WORDS])
@pytest.mark.parametrize("tiling", [PLAIN, IN_CALLS], ids=["here", "in calls"])
def test_who_believes_what_was_said_of_a_piece_before_it_moved_changes_the_result(
    tiling: Tiling, told: Told
) -> None:
    before = written(replace(tiling, fault=Fault.MOVED, told=told))
    after = before.clone()
    NeuronRepeatedDusToConcat(fresh_tokens=False).run(after, Trace())
    (inputs,) = draw_inputs(before, 0, 1)
    assert not same_bits(evaluate(before, inputs), evaluate(after, inputs))
    assert concats(before) == 0


def test_what_an_earlier_run_left_is_told_and_true_where_nothing_moved() -> None:
    module = written(replace(PLAIN, told=Told.TOKENS, order=Order.DOWN))
    names = [
        i.metadata.op_name
        for i in module.entry_computation.instructions
        if i.opcode is Opcode.DYNAMIC_UPDATE_SLICE
    ]
    assert names == [f"dusidxnow={start},iterationidx={start}" for start in (6, 4, 2, 0)]
    assert concats(module) == 1


def test_a_tape_of_zeros_has_no_tiling() -> None:
    tape = Tape(bytes(13))
    assert read_tiling(tape, LANES[0], (False, True)) is None
    assert tape.left == 0


def share_with_concats(programs: list[Program], pipeline: str) -> float:
    formed: Counter[bool] = Counter()
    for program in programs:
        module = program.module.clone()
        formed[concats(module, first=pipeline) > 0] += 1
    return formed[True] / len(programs)


def test_concatenates_form_in_a_share_of_all_programs(drawn: list[Program]) -> None:
    assert share_with_concats(drawn, "") > 0.05
    assert share_with_concats(draw_sample(whiles(), 150), "neuron:3") > 0.05
