"""What is a pass over StableHLO, and how does it run on HLO, and on a program that cannot be HLO?"""

from __future__ import annotations

from abc import abstractmethod
from dataclasses import dataclass
from typing import ClassVar

from hlo import ArrayShape, HloModule, InvalidInput, Opcode, Shape
from hlo.canonical import structure
from hlo.stablehlo import StableHloModule
from passes.base import Exactness, Pass, PassError, Trace
from passes.xla import Wrapped, restored, wrapped

AnyProgram = HloModule | StableHloModule
"""A program in either form."""


class NotInStableHlo(PassError):
    """A module of HLO that is not the same any more after it was StableHLO, so that a pass over that cannot have it.

    What is lost: flags of dynamic dimensions that XLA infers otherwise, windows and dimension labels of custom-calls.
    What is not there at all: a broadcast or reshape with two dynamic dimensions, a custom-call of two computations.
    """


@dataclass(frozen=True)
class StableHloPass(Pass):
    """A rewrite of a StableHLO program. On HLO it rewrites the program's StableHLO form, and comes back if it changed.

    On the way back jaxlib folds constants and drops what is dead (`hlo.stablehlo`), and tuples are flattened in
    calls; names, metadata and the entry's signature are as they were.
    """

    # of its own: jaxlib folds floats with other rounding than anybody else
    promise: ClassVar[Exactness] = Exactness.REASSOCIATES

    @abstractmethod
    def rewrite(self, program: StableHloModule, trace: Trace) -> bool:
        """Rewrite `program` in place. Returns whether anything changed. Raises PassError where upstream fails."""

    def run(self, module: HloModule, trace: Trace) -> bool:
        """Raises what `rewrite` raises, and NotInStableHlo."""
        origin = wrapped(module, wrap=False, guard_calls=False)
        program = self._converted(origin)
        if not self.rewrite(program, trace):
            return False
        if lost := _lost_on_the_way(self._back(self._converted(origin)), origin):
            raise NotInStableHlo(self.name, lost)
        result = restored(self._back(program), module, origin)
        if structure(result) == structure(module):
            return False  # jaxlib wrote it as it was
        module.assign(result)
        return True

    def _converted(self, origin: Wrapped) -> StableHloModule:
        try:
            return StableHloModule.from_proto(origin.proto)
        except InvalidInput as error:
            raise NotInStableHlo(self.name, origin.readable(str(error))) from None

    def _back(self, program: StableHloModule) -> HloModule:
        try:
            return program.to_hlo()
        except InvalidInput as error:
            raise NotInStableHlo(self.name, str(error)) from None


def _lost_on_the_way(there_and_back: HloModule, origin: Wrapped) -> str:
    """The first instruction of `origin` that came back as another one, and how; empty where there is none."""
    for computation in there_and_back.computations:
        for inst in computation.instructions:
            original = origin.original_of(inst.metadata.op_name)
            if original is None or original.opcode is not inst.opcode or inst.opcode is Opcode.CONSTANT:
                continue
            if not _has_same_flags(inst.shape, original.shape):
                return f"{original.name} comes back as {inst.shape}, not {original.shape}"
            if inst.opcode is Opcode.CUSTOM_CALL and inst.attributes != original.attributes:
                return f"{original.name} comes back with other attributes"
    return ""


def _has_same_flags(shape: Shape, original: Shape) -> bool:
    """Of tuples nothing is asked: MLIR has none, and what is taken out of them is looked at."""
    if not isinstance(shape, ArrayShape) or not isinstance(original, ArrayShape):
        return True
    return shape.dynamic == original.dynamic


def run_on_program(pass_: Pass, program: AnyProgram, trace: Trace) -> tuple[AnyProgram, bool]:
    """Run one pass on a program in either form. Returns what it became, and whether anything changed.

    A pass over StableHLO keeps the form; a pass over HLO makes HLO of a StableHLO program, which raises InvalidInput
    where a size is neither known nor bounded. `program` itself may be edited, or not.
    """
    if isinstance(program, StableHloModule):
        if isinstance(pass_, StableHloPass):
            return program, pass_.rewrite(program, trace)
        program = program.to_hlo()
    return program, pass_.run(program, trace)
