"""What happens to a program that JAX compiles while passes are to run on it?"""

from __future__ import annotations

import warnings
from collections import Counter
from collections.abc import Generator
from contextlib import contextmanager
from dataclasses import dataclass, field

from fuzz.calling import pack_arguments
from fuzz.inside_jax.door import intercept
from hlo import (
    ArrayShape,
    HloFuzzError,
    HloModule,
    InvalidInput,
    Opcode,
    Shape,
    TupleShape,
    UnsupportedOpcode,
    leaves,
)
from hlo.interchange import read_stablehlo, write_stablehlo
from hlo.verify import verify
from oracle.guarded import Crash, run_guarded
from passes import Pass, PassError, Pipeline, Trace, parse_pipeline


class PassFailed(HloFuzzError):
    """A pass crashed or left a broken program while JAX compiled `program`. `before` is what the pass got."""

    def __init__(self, program: str, pass_name: str, message: str, before: HloModule) -> None:
        self.program = program
        self.pass_name = pass_name
        self.message = message
        self.before = before
        super().__init__(f"{pass_name}, while JAX compiled {program}: {message}")


@dataclass
class CompiledProgram:
    """One program that JAX compiled inside. `after` is None where it was compiled as it was.

    `fired` counts by "pass:rule". `left_alone` says why the passes could not run, and is empty where they did.
    """

    name: str
    before: HloModule | None = None
    after: HloModule | None = None
    fired: Counter[str] = field(default_factory=Counter[str])
    left_alone: str = ""

    @property
    def changed(self) -> bool:
        """Whether JAX compiled something else than it wanted to."""
        return self.after is not None


@contextmanager
def inside_jax(pipeline: Pipeline | str, *, pack: bool = True) -> Generator[list[CompiledProgram]]:
    """In this thread, run `pipeline` on each program that JAX compiles, before XLA gets it.

    Gives the list of these programs, which grows meanwhile: those of `jax.jit` functions and of single operations
    outside of them. Functions that are compiled already are compiled again inside, and what was compiled inside is
    not used outside; only a `jax.stages.Lowered` keeps what its first `compile()` gave. `pack`: the calls of a
    program take one tuple (`fuzz.calling`), as the slice passes need it.

    A program that a pass refuses, or that we cannot read, is compiled as it is, with a warning. Where a pass
    crashes or leaves a broken program, the call of the function raises PassFailed, and JAX stays usable. Raises
    InvalidInput for text that is no pipeline, and BridgeUnavailable where this JAX has no place for us.
    """
    passes = parse_pipeline(pipeline, allow_code=True) if isinstance(pipeline, str) else pipeline
    programs: list[CompiledProgram] = []

    def rewrite(name: str, bytecode: bytes) -> str | None:
        program = CompiledProgram(name)
        programs.append(program)
        try:
            return _rewritten(program, bytecode, passes, pack)
        except (InvalidInput, UnsupportedOpcode, PassError) as error:
            program.left_alone = str(error)
            program.after = None
            warnings.warn(f"{name} is compiled without the passes: {error}", stacklevel=2)
            return None

    with intercept(rewrite):
        yield programs


def _rewritten(program: CompiledProgram, bytecode: bytes, pipeline: Pipeline, pack: bool) -> str | None:
    module = read_stablehlo(bytecode)
    if pack:
        pack_arguments(module)
    program.before = module
    result = module
    for pass_ in pipeline.passes:
        result = _after(pass_, result, program)
    if not program.fired:
        return None
    _spell_bitcasts(result)
    text = write_stablehlo(result)
    program.after = result
    return text


def _spell_bitcasts(module: HloModule) -> None:
    """StableHLO has no bitcasts. Between arrays that lie in memory row by row they are reshapes or bitcast-converts.

    Raises UnsupportedOpcode for others. Passes of XLA's that run after it chose layouts make them.
    """
    for computation in module.computations:
        for inst in computation.instructions:
            if inst.opcode is Opcode.BITCAST:
                opcode = _spelled(inst.operand(0).shape, inst.shape)
                computation.replace_instruction(inst, computation.add(opcode, inst.shape, inst.operands))


def _spelled(old: Shape, new: Shape) -> Opcode:
    if isinstance(old, ArrayShape) and isinstance(new, ArrayShape) and not old.layout and not new.layout:
        if old.element_type is new.element_type:
            return Opcode.RESHAPE
        if old.dimensions == new.dimensions:
            return Opcode.BITCAST_CONVERT
    raise UnsupportedOpcode(Opcode.BITCAST, "the way back to StableHLO")


def _after(pass_: Pass, before: HloModule, program: CompiledProgram) -> HloModule:
    """What `pass_` makes of `before`, which stays."""
    after, trace = before.clone(), Trace()
    outcome = run_guarded(pass_, after, trace)
    program.fired.update({f"{pass_.name}:{rule}": count for rule, count in trace.fired.items()})
    if isinstance(outcome, Crash):
        failed = PassFailed(program.name, pass_.name, outcome.error, before)
        failed.add_note("\n".join(outcome.lines))
        raise failed
    # XLA trusts what it gets, and would take the process along.
    if violations := verify(after):
        raise PassFailed(program.name, pass_.name, f"the result is not valid HLO: {violations[0]}", before)
    if _signature(after) != _signature(before):
        raise PassFailed(
            program.name, pass_.name, "the entry's parameters or result have other types now", before
        )
    return after


def _signature(module: HloModule) -> tuple[list[Shape], list[Shape]]:
    """The types of all arrays that go in and come out: to JAX there are no tuples there."""
    entry = module.entry_computation
    whole = TupleShape(tuple(parameter.shape for parameter in entry.parameters))
    return [shape for _, shape in leaves(whole)], [shape for _, shape in leaves(entry.root.shape)]
