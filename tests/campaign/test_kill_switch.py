"""What does the kill-switch hold back, and what not? Page 000, legality 4; `neuron_passes.md` section 5.

On programs as a campaign draws them: with the switch on no slice of an entry parameter leaves its computation, and
every other one that leaves without the switch leaves all the same. Where a slice is, and what it reads, is worked out
here from the programs, not taken from the pass.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import pytest

from fuzz.generators import Program, draw_sample, programs
from fuzz.generators.whiles import WhileProfile, whiles
from hlo import (
    ArrayShape,
    HloComputation,
    HloInstruction,
    HloModule,
    Opcode,
    OpMetadata,
    TupleShape,
    same_bits,
)
from hlo.canonical import structure
from hlo.evaluator import evaluate
from oracle.inputs import draw_inputs
from passes import Trace, parse_pipeline
from passes.neuron import DynamicSliceMover

VARIABLE = "NEURON_DISABLE_MOVEMENT_OF_SLICE_FROM_PARAM"
NOTICING = "NOTICING NEURON_DISABLE_MOVEMENT_OF_SLICE_FROM_PARAM=1"
NOT_MOVING = (
    "NOT MOVING DYNAMIC-SLICE FROM PRARAMS AS NEURON_DISABLE_MOVEMENT_OF_SLICE_FROM_PARAM IS ENABLED."
)
WHICH = "NOT MOVING ds= "

Path = tuple[str, ...]
"""The calls that lead to an execution of an instruction, outermost first, by their marks."""
Execution = tuple[str, Path]
"""A slice, by its mark, on one way to it."""


# what a value is: an input, a tuple, or what some instruction gives on some way to it


@dataclass(frozen=True)
class Input:
    """An entry parameter or an element of one."""


@dataclass(frozen=True)
class Made:
    by: HloInstruction
    path: Path


Origin = Input | Made | tuple["Origin", ...]


@dataclass
class Walk:
    """Every execution of every marked slice, with the origin of what it reads."""

    slices: dict[Execution, tuple[HloInstruction, Origin]] = field(default_factory=dict)
    repeated: Counter[Execution] = field(default_factory=Counter)

    def computation(self, computation: HloComputation, path: Path, arguments: Sequence[Origin]) -> Origin:
        origins: dict[HloInstruction, Origin] = {}
        for inst in computation.make_instruction_post_order():
            origins[inst] = self._origin(inst, path, arguments, origins)
        return origins[computation.root]

    def _origin(
        self,
        inst: HloInstruction,
        path: Path,
        arguments: Sequence[Origin],
        origins: Mapping[HloInstruction, Origin],
    ) -> Origin:
        operands = [origins[operand] for operand in inst.operands]
        match inst.opcode:
            case Opcode.PARAMETER:
                return arguments[inst.parameter_number]
            case Opcode.TUPLE:
                return tuple(operands)
            case Opcode.GET_TUPLE_ELEMENT:
                whole = operands[0]
                if isinstance(whole, tuple):
                    return whole[inst.tuple_index]
                return whole if isinstance(whole, Input) else Made(inst, path)
            case Opcode.CALL:
                return self.computation(inst.called_computations[0], (*path, mark_of(inst)), operands)
            case Opcode.CUSTOM_CALL if inst.custom_call_target.startswith("NeuronBoundaryMarker-"):
                return operands[0]
            case Opcode.DYNAMIC_SLICE | Opcode.SLICE if mark_of(inst).startswith("slice"):
                self.slices[mark_of(inst), path] = inst, operands[0]
                self.repeated[mark_of(inst), path] += 1
            case _:
                pass
        return Made(inst, path)


def mark_of(inst: HloInstruction) -> str:
    return inst.metadata.op_name.partition(",")[0]


def marked(module: HloModule) -> HloModule:
    """A copy in which every dynamic-slice and every call has a name of its own in its metadata."""
    module = module.clone()
    for number, inst in enumerate(i for c in module.computations for i in c.instructions):
        if inst.opcode is Opcode.DYNAMIC_SLICE:
            inst.metadata = OpMetadata(f"slice{number}")
        elif inst.opcode is Opcode.CALL:
            inst.metadata = OpMetadata(f"call{number}")
    return module


def inputs_of(shape: ArrayShape | TupleShape) -> Origin:
    if isinstance(shape, TupleShape):
        return tuple(map(inputs_of, shape.elements))  # pyright: ignore[reportArgumentType]
    return Input()


def walk(module: HloModule) -> Walk:
    found = Walk()
    entry = module.entry_computation
    found.computation(entry, (), [inputs_of(p.shape) for p in entry.parameters])  # pyright: ignore[reportArgumentType]
    return found


# runs


@dataclass(frozen=True)
class Runs:
    """A program before the mover, and after it with the switch off and on."""

    before: HloModule
    off: HloModule
    on: HloModule
    trace: Trace

    def from_input(self) -> set[Execution]:
        """The slices that read an entry parameter."""
        return {key for key, (_, origin) in walk(self.before).slices.items() if isinstance(origin, Input)}


def run_both(program: Program, first: str) -> Runs:
    before = marked(program.module)
    parse_pipeline(first).run(before, Trace())
    before = marked(before) if "unroller" in first else before
    if "unroller" in first:
        parse_pipeline("neuron-dus-ds-index-simplifier").run(before, Trace())
    off, on, trace = before.clone(), before.clone(), Trace()
    DynamicSliceMover().run(off, Trace())
    DynamicSliceMover(disable_movement_of_slice_from_param=True).run(on, trace)
    return Runs(before, off, on, trace)


def positions(module: HloModule, marks: set[str]) -> Counter[tuple[str, Path, Opcode]]:
    """Where the slices of these marks are executed, and as what."""
    found = walk(module)
    return Counter(
        {
            (mark, path, inst.opcode): found.repeated[mark, path]
            for (mark, path), (inst, _) in found.slices.items()
            if mark in marks
        }
    )


def held_back(runs: Runs) -> set[Execution]:
    """What moves without the switch only, and reads an input, or what such a slice gives and so cannot move either."""
    before, off, on = (walk(module).slices for module in (runs.before, runs.off, runs.on))
    missing = (before.keys() - off.keys()) & on.keys()
    held = missing & runs.from_input()
    while True:
        behind = {
            key
            for key in missing - held
            if isinstance(origin := before[key][1], Made) and (mark_of(origin.by), origin.path) in held
        }
        if not behind:
            return held
        held |= behind


PROGRAMS = ("loops", "whiles")


@pytest.fixture(scope="module", params=PROGRAMS)
def runs(request: pytest.FixtureRequest) -> list[Runs]:
    if request.param == "loops":
        return [
            run_both(program, "neuron-dus-ds-index-simplifier") for program in draw_sample(programs(), 250)
        ]
    rolled = draw_sample(whiles(WhileProfile(trips=(1, 2, 3))), 80)
    return [run_both(program, "while-loop-unroller") for program in rolled]


def test_there_is_something_to_hold_back_and_something_else_to_move(runs: list[Runs]) -> None:
    moved_on = moved_off = 0
    for run in runs:
        before, off, on = (walk(module).slices.keys() for module in (run.before, run.off, run.on))
        moved_off += len((before - off) & run.from_input())
        moved_on += len(before - on)
    assert moved_off > len(runs) / 4
    assert moved_on > 0


def test_no_slice_of_an_entry_parameter_moves(runs: list[Runs]) -> None:
    for run in runs:
        stays = run.from_input()
        on = walk(run.on).slices
        assert stays <= on.keys()
        assert all(on[key][0].opcode is Opcode.DYNAMIC_SLICE for key in stays)


def test_every_other_legal_move_is_made(runs: list[Runs]) -> None:
    """What is left without moving is held back, or reads a slice that is: what it reads is no tuple element then."""
    for run in runs:
        before, off, on = (walk(module).slices.keys() for module in (run.before, run.off, run.on))
        assert before - on <= before - off
        assert (before - off) - (before - on) == held_back(run)


def test_other_slices_end_where_they_do_without_the_switch(runs: list[Runs]) -> None:
    for run in runs:
        concerned = {mark for mark, _ in run.from_input() | held_back(run)}
        others = {mark for mark, _ in walk(run.before).slices} - concerned
        assert positions(run.on, others) == positions(run.off, others)


def test_a_program_without_such_slices_comes_out_the_same(runs: list[Runs]) -> None:
    same = [run for run in runs if not held_back(run)]
    assert same
    assert all(structure(run.on) == structure(run.off) for run in same)


def test_the_three_lines_are_logged_for_each_slice_that_is_held_back(runs: list[Runs]) -> None:
    for run in runs:
        messages = run.trace.messages
        at = [i for i, message in enumerate(messages) if message == NOTICING]
        told = set[str]()
        for i in at:
            assert messages[i + 1] == NOT_MOVING
            assert messages[i + 2].startswith(WHICH)
            told.add(messages[i + 2].removeprefix(WHICH))
        assert sum(VARIABLE in message for message in messages) == 2 * len(at)
        assert sum(message.startswith(WHICH) for message in messages) == len(at)
        marks = {
            inst.name: mark
            for module in (run.before, run.on)
            for (mark, _), (inst, _) in walk(module).slices.items()
        }
        assert {marks[name] for name in told} <= {mark for mark, _ in run.from_input()}
        assert {
            mark for mark, path in held_back(run) & run.from_input() if has_tuple_operand(run.on, path[-1])
        } <= {marks[name] for name in told}


def has_tuple_operand(module: HloModule, call: str) -> bool:
    """Otherwise that is why its slices stay; without the switch an earlier move may have made a tuple of it."""
    return all(
        any(operand.opcode is Opcode.TUPLE for operand in inst.operands)
        for computation in module.computations
        for inst in computation.instructions
        if inst.opcode is Opcode.CALL and mark_of(inst) == call
    )


def test_values_are_the_same_with_and_without(runs: list[Runs]) -> None:
    for number, run in enumerate(runs):
        for inputs in draw_inputs(run.before, number, 2):
            results = [evaluate(module, inputs) for module in (run.before, run.off, run.on)]
            assert same_bits(results[0], results[1])
            assert same_bits(results[0], results[2])
