"""Which engines run in child processes? jaxlib's own interpreter and compiler, which abort on what they dislike.

The child of each kind is warm and shared; one that died or hung is replaced at the next request.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np

import hlo
from hlo import (
    ArrayShape,
    HloInstruction,
    HloModule,
    Opcode,
    Shape,
    Token,
    TupleShape,
    UnsupportedOpcode,
    Value,
    leaves,
)
from hlo.evaluator import EvaluationLimit, Evaluator
from hlo.interchange import export_proto
from hlo.isolation import ChildDied, ChildHung, ChildProcess, WarmChild, pack_arrays, unpack_arrays
from oracle.engine import Crashed, Lineage, Outcome, Ran, TimedOut, Unsupported
from oracle.engines.plain import NotForEngines, refuse_foreign, without_fusions, without_identities

Array = np.ndarray[Any, np.dtype[Any]]

TIME_LIMIT = 10.0
"""Seconds for one request. Compiling takes 20 to 100 ms, more where the machine is busy."""

INTERPRETED_ELEMENTS = 1_000_000
"""Elements, over all instructions, that the interpreter is given: it takes some microseconds for each."""

MEMORY_LIMIT = 4 << 30
"""Bytes of private memory that a child may have. The compiler needs 0.5 GiB."""


def child_command(machine: str, memory_limit: int = MEMORY_LIMIT) -> tuple[str, ...]:
    """How the child of a kind ("interpreter", "compiler") is started. It imports what we import, and JAX on the CPU."""
    root = str(Path(hlo.__file__).parents[1])
    path = os.pathsep.join(dict.fromkeys(filter(None, (root, *sys.path))))
    return (
        *("env", f"PYTHONPATH={path}", "JAX_PLATFORMS=cpu", "TF_CPP_MIN_LOG_LEVEL=2"),
        *(sys.executable, "-P", str(Path(__file__).with_name(f"{machine}_child.py")), str(memory_limit)),
    )


INTERPRETER = WarmChild(lambda: ChildProcess(child_command("interpreter")))
COMPILER = WarmChild(lambda: ChildProcess(child_command("compiler")))


class InChild:
    """An engine in a child process. `options` are XLA's debug options by name."""

    def __init__(
        self,
        name: str,
        lineage: Lineage,
        child: WarmChild[ChildProcess],
        *,
        options: dict[str, bool | int | str] | None = None,
        time_limit: float = TIME_LIMIT,
    ) -> None:
        self.name = name
        self.lineage = lineage
        self._child = child
        self._options = options or {}
        self._time_limit = time_limit

    @property
    def process_id(self) -> int:
        """The system's number of the warm child. Raises ChildDied where it does not start."""
        return self._child.get().process_id

    def run(self, module: HloModule, inputs: Sequence[Value]) -> Outcome:
        """See `Engine`."""
        return self.run_sets(module, [inputs])[0]

    def run_sets(self, module: HloModule, input_sets: Sequence[Sequence[Value]]) -> list[Outcome]:
        """The outcome for each input set, compiled once; one outcome that is no value stands for all."""
        try:
            plain = without_identities(module)
            refuse_foreign(plain)
            for inputs in input_sets:
                plain = self.prepared(plain, inputs)
        except NotForEngines as error:
            return [Unsupported(str(error))] * len(input_sets)
        packed = [pack_arrays(array for value in inputs for array in _arrays(value)) for inputs in input_sets]
        proto = export_proto(plain)
        head = {
            "proto": len(proto),
            "arrays": [described for described, _ in packed],
            "options": self._options,
        }
        body = b"".join((proto, *(data for _, data in packed)))
        answer = self._asked(head, body)
        if not isinstance(answer, tuple):
            return [answer] * len(input_sets)
        described, data = answer
        arrays = iter(unpack_arrays([array for one_set in described for array in one_set], data))
        shape = module.entry_computation.root.shape
        return [Ran(_rebuilt(shape, arrays)) for _ in input_sets]

    def _asked(
        self, head: dict[str, Any], body: bytes
    ) -> tuple[list[list[dict[str, Any]]], bytes] | Unsupported | Crashed | TimedOut:
        """What the child answers: the descriptions of the results of each set, and their bytes."""
        try:
            answer, data = self._child.get().ask(head, body, self._time_limit)
        except ChildHung as error:
            return TimedOut(error.message)
        except ChildDied as error:
            return Crashed(f"{error.message}; {_last_words(error.log)}")
        if "unsupported" in answer:
            return Unsupported(answer["unsupported"])
        return answer["arrays"], data

    def prepared(self, module: HloModule, inputs: Sequence[Value]) -> HloModule:
        """`module` as the engine takes it. Raises NotForEngines for what it is known to get wrong or to die of."""
        return module


class StableHloInterpreter(InChild):
    """StableHLO's reference interpreter: the specification's own voice, independent of XLA's compilers."""

    def __init__(self, *, time_limit: float = TIME_LIMIT) -> None:
        super().__init__("stablehlo-interpreter", Lineage.STABLEHLO, INTERPRETER, time_limit=time_limit)

    def prepared(self, module: HloModule, inputs: Sequence[Value]) -> HloModule:
        """Without fusions. Raises NotForEngines for what is too large, for large unsigned starts, which it reads as
        negative, and for integers divided by zero, which end it."""
        instructions = [inst for computation in module.computations for inst in computation.instructions]
        elements = sum(
            s.element_count
            for inst in instructions
            for _, s in leaves(inst.shape)
            if isinstance(s, ArrayShape)
        )
        if elements > INTERPRETED_ELEMENTS:
            raise NotForEngines(f"{elements} elements are too many for it")
        if any(_divides_integers(inst) or _unsigned_starts(inst) for inst in instructions):
            _refuse_values(module, inputs)
        return without_fusions(module)


class XlaCpu(InChild):
    """XLA's CPU compiler with all its passes."""

    def __init__(self, *, time_limit: float = TIME_LIMIT) -> None:
        super().__init__("xla-cpu", Lineage.XLA, COMPILER, time_limit=time_limit)


# Switching off all passes (`xla_disable_all_hlo_passes`) also switches off layout assignment and copy insertion,
# without which transposes, dots and loops give wrong results or abort the process, and the expanders of operations
# that have no code generator. What is left on rewrites nothing that code can be generated for as it is.
OPTIMISATIONS = (
    *(
        "algsimp",
        "batch-dot-simplification",
        "call-inliner",
        "conditional-to-select",
        "constant_folding",
        "cse",
    ),
    *("convolution-canonicalization", "cpu-parallel-task-assigner", "dynamic-dimension-simplifier", "fusion"),
    *("dot-library-rewriter", "gemv-rewriter", "literal-canonicalizer", "reduce-window-rewriter"),
    *("reshape-mover", "simplify-conditional", "simplify-sorts", "simplify-while-loops"),
    *("small-while-loop-hoisting", "transpose-folding", "tree_reduction_rewriter", "tuple-simplifier"),
    *("while-loop-constant-sinking", "while-loop-invariant-code-motion", "while-loop-trip-count-annotator"),
    *("zero_sized_hlo_elimination",),
)


class XlaCpuUnoptimised(InChild):
    """XLA's CPU compiler with the HLO passes off that it can do without: hardly more than the code generator."""

    def __init__(self, *, time_limit: float = TIME_LIMIT) -> None:
        options: dict[str, bool | int | str] = {"xla_disable_hlo_passes": ",".join(OPTIMISATIONS)}
        super().__init__("xla-cpu-unoptimised", Lineage.XLA, COMPILER, options=options, time_limit=time_limit)


def _divides_integers(inst: HloInstruction) -> bool:
    return inst.opcode in (Opcode.DIVIDE, Opcode.REMAINDER) and inst.array_shape.element_type.is_integral


def _unsigned_starts(inst: HloInstruction) -> range:
    """The numbers of the operands that are starts of an unsigned type."""
    match inst.opcode:
        case Opcode.DYNAMIC_SLICE | Opcode.DYNAMIC_UPDATE_SLICE:
            numbers = range(inst.first_index_operand, len(inst.operands))
        case Opcode.GATHER:
            numbers = range(1, 2)
        case Opcode.SCATTER:
            middle = len(inst.operands) // 2
            numbers = range(middle, middle + 1)
        case _:
            return range(0)
    unsigned = inst.operand(numbers.start).array_shape.element_type.is_unsigned if numbers else False
    return numbers if unsigned else range(0)


def _refuse_values(module: HloModule, inputs: Sequence[Value]) -> None:
    """What is divided by zero, and which starts are large, only running the program tells."""
    found: list[str] = []

    def observe(inst: HloInstruction, operands: Sequence[Value], _value: Value) -> None:
        if _divides_integers(inst) and not all(np.all(divisor) for divisor in _arrays(operands[1])):
            found.append(f"{inst.name} divides an integer by zero, which ends it")
        for number in _unsigned_starts(inst):
            half = 1 << (inst.operand(number).array_shape.element_type.bit_width - 1)
            if any(np.any(starts >= half) for starts in _arrays(operands[number])):
                found.append(f"unsigned start in {inst.name} that it reads as negative")

    try:
        Evaluator(module, observer=observe).run(inputs)
    except (UnsupportedOpcode, EvaluationLimit) as error:
        raise NotForEngines(f"it may divide an integer by zero, and we cannot tell: {error}") from None
    if found:
        raise NotForEngines(found[0])


def _arrays(value: Value) -> Iterator[Array]:
    """The arrays of a value in order: StableHLO has no tuples at its borders."""
    if isinstance(value, tuple):
        for element in value:
            yield from _arrays(element)
    else:
        assert not isinstance(value, Token)  # `refuse_foreign` does
        yield value


def _rebuilt(shape: Shape, arrays: Iterator[Array]) -> Value:
    if isinstance(shape, TupleShape):
        return tuple(_rebuilt(element, arrays) for element in shape.elements)
    assert isinstance(shape, ArrayShape)
    return next(arrays)


def _last_words(log: str) -> str:
    """What a process said when it ended, in a line."""
    lines = [
        line.strip() for line in log.splitlines() if line.strip() and not line.startswith(("***", "    @"))
    ]
    return lines[-1] if lines else "it said nothing"
