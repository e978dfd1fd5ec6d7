"""What becomes of the loops in `examples/loops`? Writes the tables of `docs/loops.md`.

    python benchmarks/loops.py

Each program is judged by the pipeline `neuron`, as `hlofuzz check` judges it, once as it is and once with the
kill-switch of the slice mover on.
"""

from __future__ import annotations

import importlib
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import jax
import numpy as np

from fuzz.case import verdict_text
from fuzz.commands.common import prepare_jax
from fuzz.settings import read_settings
from fuzz.targets import EXAMPLE_ARGUMENTS, load_target
from fuzz.work import Left, left_in, work_done
from hlo import HloInstruction, HloModule, Opcode, Value
from hlo.evaluator import evaluate
from oracle.inputs import draw_inputs
from oracle.judge import judge_original
from oracle.original import Original
from oracle.verdict import Judgement
from passes import parse_pipeline

ROOT = Path(__file__).resolve().parents[1]
PROGRAMS = ROOT / "examples" / "loops"
DOCUMENT = ROOT / "docs" / "loops.md"
BEGIN, END = "<!-- written by benchmarks/loops.py -->", "<!-- until here -->"
WITH = "With JAX "

PIPELINE = parse_pipeline("neuron")
KILL_SWITCH = {"NEURON_DISABLE_MOVEMENT_OF_SLICE_FROM_PARAM": "1"}
_INPUT_SETS = 8

REASONS: Mapping[str, str] = {
    "while-loop-unroller:bound-not-known": "the loop's bound is data",
    "while-loop-unroller:condition-form": "the loop ends by a condition on data",
    "while-loop-unroller:never-ends": "the counter moves away from the bound, until it wraps around",
    "while-loop-unroller:no_wrap": "the counter wraps around in its type",
    "while-loop-unroller:trip-count-limit": "the loop runs more often than the unroller's limit",
    "neuron-dus-ds-index-simplifier:non-constant-start": "the start is data, or computed in a branch or loop",
    "dynamic-slice-mover:gte-other-users": "something else reads the array, too",
    "dynamic-slice-mover:input-not-gte": "the array is computed in the iteration itself",
    "dynamic-slice-mover:kill-switch": "the switch is on",
    "dynamic-slice-mover:several-slices": "several slices read the array",
    "dynamic-slice-mover:starts-not-available": "the start is computed in a body that stays",
    "neuron-repeated-dus-to-concat:gap": "the updates do not cover the array",
    "neuron-repeated-dus-to-concat:not-one-dimension": "an update is smaller than the array in several dimensions",
    "neuron-repeated-dus-to-concat:other-users": "the array is read between two updates",
    "neuron-repeated-dus-to-concat:overlap": "updates overlap",
    "neuron-repeated-dus-to-concat:start-not-constant": "the update's start is data",
}
"""Each rule that held something back in these programs, in words."""

_CONCAT = "neuron-repeated-dus-to-concat:"
_MENDED = {f"dynamic-slice-mover:{guard}" for guard in ("clamp_starts", "pass_through", "single_call_site")}
"""Guards that do not hold a move back: it is made, in another way."""


@dataclass(frozen=True)
class Outcome:
    """What the pipeline did to one program. `counter_slices` are left although their starts come from a counter."""

    verdict: str
    done: Mapping[str, int]
    left: Left
    why: Mapping[str, int]
    counter_slices: int

    @property
    def is_complete(self) -> bool:
        """Whether every slice in a loop whose start comes from a counter became static; there must be one."""
        return self.done["slices made static"] > 0 and not self.left.loops and not self.counter_slices


def programs() -> Iterator[str]:
    """Every program as `hlofuzz check` takes it: a function with example arguments."""
    for path in sorted(PROGRAMS.glob("*.py")):
        module = f"examples.loops.{path.stem}"
        for name in vars(importlib.import_module(module)):
            if name.endswith(EXAMPLE_ARGUMENTS):
                yield f"{module}:{name.removesuffix(EXAMPLE_ARGUMENTS)}"


def outcomes_of(target: str) -> tuple[Outcome, Outcome]:
    """Judge the program `target` with the kill-switch off, and with it on."""
    module = load_target(target).hlo
    original = Original(module, draw_inputs(module, 0, _INPUT_SETS))
    return _outcome(original, {}), _outcome(original, KILL_SWITCH)


def _outcome(original: Original, environment: Mapping[str, str]) -> Outcome:
    judgement = judge_original(original, PIPELINE, environment)
    result = judgement.result
    assert result is not None, judgement.verdict
    return Outcome(
        verdict_text(judgement.verdict),
        work_done(judgement.fired, {pass_.name for pass_ in PIPELINE.passes}),
        left_in(result),
        _reasons(judgement),
        _counter_slices(result, original.inputs),
    )


def _reasons(judgement: Judgement) -> dict[str, int]:
    return {rule: count for rule, count in sorted(judgement.declined.items()) if rule not in _MENDED}


def _counter_slices(result: HloModule, inputs: Sequence[tuple[Value, ...]]) -> int:
    """How many dynamic-slices of `result` start in the same places whatever the inputs are."""
    seen: dict[HloInstruction, list[list[tuple[int, ...]]]] = defaultdict(lambda: [[] for _ in inputs])
    for number, values in enumerate(inputs):

        def observe(
            inst: HloInstruction, operands: Sequence[Value], _value: Value, number: int = number
        ) -> None:
            if inst.opcode is Opcode.DYNAMIC_SLICE:
                starts = tuple(int(np.asarray(start)) for start in operands[inst.first_index_operand :])
                seen[inst][number].append(starts)

        evaluate(result, values, observer=observe)
    slices = [
        inst
        for computation in result.make_computation_post_order()
        for inst in computation.instructions
        if inst.opcode is Opcode.DYNAMIC_SLICE
    ]
    return sum(all(starts == seen[inst][0] for starts in seen[inst]) for inst in slices)


def number_row(target: str, off: Outcome, on: Outcome) -> str:
    """The line of the first table."""
    done = [off.done[what] for what in HEADINGS]
    cells = [
        _short(target),
        *done,
        "yes" if off.is_complete else "",
        off.verdict,
        on.done["slices made static"],
        on.verdict,
    ]
    return _line(cells)


def reason_row(target: str, off: Outcome) -> str:
    """The line of the second table; empty where nothing stayed."""
    if not str(off.left) and not off.why:
        return ""
    why = [f"{count} × {REASONS[rule]}" for rule, count in off.why.items()]
    if off.left.has_updates and not any(rule.startswith(_CONCAT) for rule in off.why):
        why.append("no update follows another of the same array")  # of single ones the pass does not speak
    return _line([_short(target), str(off.left) or "static slices in an outer iteration", "; ".join(why)])


HEADINGS = {
    "trips unrolled": "trips",
    "starts resolved": "starts",
    "slices made static": "static",
    "slices moved": "moved",
    "concats formed": "concats",
}
NUMBERS = ["program", *HEADINGS.values(), "all", "verdict", "static, switch on", "verdict, switch on"]
REST = ["program", "what stayed", "why"]


def jax_version() -> str:
    """The installed JAX, to the minor version: with another one programs can come out otherwise."""
    return ".".join(jax.__version__.split(".")[:2])


def _short(target: str) -> str:
    return f"`{target.removeprefix('examples.loops.')}`"


def _line(cells: Sequence[object]) -> str:
    return f"| {' | '.join(map(str, cells))} |".replace("|  |", "| |")


def _table(heads: Sequence[str], rows: Sequence[str]) -> str:
    return "\n".join([_line(heads), _line(["---"] * len(heads)), *rows])


def main() -> None:
    prepare_jax(read_settings())
    numbers, reasons = list[str](), list[str]()
    for target in programs():
        off, on = outcomes_of(target)
        print(number_row(target, off, on), flush=True)
        numbers.append(number_row(target, off, on))
        reasons.append(reason_row(target, off))
    tables = f"{_table(NUMBERS, numbers)}\n\n{_table(REST, list(filter(None, reasons)))}"
    text = f"{BEGIN}\n{WITH}{jax_version()}.\n\n{tables}\n\n{END}"
    before, _, rest = DOCUMENT.read_text("utf-8").partition(BEGIN)
    DOCUMENT.write_text(f"{before}{text}{rest.partition(END)[2]}", "utf-8")


if __name__ == "__main__":
    main()
