"""What does a program do before any pass has run? Worked out once, however many passes are judged by it."""

from __future__ import annotations

import zlib
from collections.abc import Sequence
from functools import cached_property

from hlo import HloFuzzError, HloModule, InvalidInput, UnsupportedOpcode, Value
from hlo.canonical import Tree, structure
from hlo.evaluator import EvaluationLimit, SizeOutOfBounds
from hlo.verify import verify
from oracle.checks.values import InputSets
from oracle.compare import BITWISE, compare
from oracle.running import Form, Runner, static_program
from oracle.true_size import UndefinedSizes


class PaddingShows(HloFuzzError):
    """A program gives another result where something else lies in its padding: it has no meaning."""


Unable = UnsupportedOpcode | EvaluationLimit | UndefinedSizes | SizeOutOfBounds | PaddingShows
"""Why an engine has no value for a program."""


class Original:
    """A program and its input sets. What engines make of it is worked out when it is first asked for, and kept.

    `module` must not change while this is in use. Importing JAX, which takes a second, waits until it is needed.
    """

    def __init__(self, module: HloModule, inputs: InputSets, *, most_referred: int | None = None) -> None:
        """Raises InvalidInput for a module that the verifier refuses, and where there are no inputs.

        `most_referred` limits the input sets that JAX meets, where each makes a program of its own; see `referred`.
        """
        if not inputs:
            raise InvalidInput("no inputs to judge by")
        if violations := verify(module):
            raise InvalidInput(f"not valid HLO: {violations[0]}")
        self.module = module
        self._given = inputs
        self._most_referred = most_referred
        self._programs: list[HloModule] = []
        self._expected: dict[int, Value | UnsupportedOpcode | EvaluationLimit] = {}
        self._seen: dict[int, str | None] = {}

    @cached_property
    def structure(self) -> Tree:
        """The module's structure (`hlo.canonical`)."""
        return structure(self.module)

    @property
    def inputs(self) -> InputSets:
        """The input sets by which it is judged: all but those whose sizes leave a dynamic program without meaning."""
        found = self._runs
        return found[0] if isinstance(found, tuple) else self._given

    @property
    def values(self) -> list[Value] | Unable:
        """What the program gives for each of `inputs`, or why it gives nothing.

        Raises InvalidInput for inputs that do not fit.
        """
        found = self._runs
        return found[1] if isinstance(found, tuple) else found

    @property
    def referred(self) -> Sequence[int]:
        """The numbers of those of `inputs` for which JAX is asked what the program gives: all of a static program.

        A program of dynamic arrays is another static one for each set of sizes, and compiling its operations is what
        JAX takes its time for. So of these JAX may meet some only, other ones for each program: which is decided by
        the inputs themselves, so that it is the same each time.
        """
        numbers = range(len(self.inputs))
        most = self._most_referred
        if most is None or len(numbers) <= most or all(program is self.module for program in self._programs):
            return numbers
        lot = zlib.crc32(repr(self.inputs[0]).encode())
        return sorted((lot + i) % len(numbers) for i in range(most))

    @property
    def left_out(self) -> int:
        """How many input sets leave the program without meaning."""
        return len(self._given) - len(self.inputs)

    @cached_property
    def _runs(self) -> tuple[InputSets, list[Value]] | Unable:
        runner = Runner(self.module)
        kept: list[tuple[Value, ...]] = []
        values: list[Value] = []
        without: UndefinedSizes | PaddingShows | None = None
        try:
            for one_set in self._given:
                try:
                    values.append(self._value(runner, one_set))
                    kept.append(one_set)
                except (UndefinedSizes, PaddingShows) as error:
                    without = error
        except (UnsupportedOpcode, EvaluationLimit, SizeOutOfBounds) as error:
            return error
        return (kept, values) if without is None or values else without

    def _value(self, runner: Runner, inputs: tuple[Value, ...]) -> Value:
        if runner.form is Form.STATIC:
            return runner.run(inputs)
        if runner.form is Form.DYNAMIC:
            runs = runner.specialised(inputs)
            readings = [run.value for run in runs]
        else:
            runs, readings = [], runner.readings(inputs)
        for other in readings[1:]:
            if compare(readings[0], other, tolerance=BITWISE, left="", right=""):
                raise PaddingShows(f"{self.module.name}: its result depends on what lies in the padding")
        self._programs.append(runs[0].module if runs else static_program(self.module, inputs))
        return readings[0]

    def program(self, number: int) -> HloModule:
        """The program without dynamic dimensions that this is for the input set `number`; it takes the same inputs."""
        return self._programs[number] if self._programs else self.module

    @cached_property
    def _reference(self):
        from oracle.reference import Reference

        return Reference(self.module)

    def _referred(self, number: int) -> Value:
        from oracle.reference import run_jax

        inputs = self.inputs[number]
        return run_jax(self._programs[number], inputs) if self._programs else self._reference(inputs)

    def expected(self, number: int) -> Value:
        """What JAX gives for number `number` of `inputs`, from 0. Raises what `oracle.reference.Reference` raises."""
        if number not in self._expected:
            try:
                self._expected[number] = self._referred(number)
            except (UnsupportedOpcode, EvaluationLimit) as error:
                self._expected[number] = error
        found = self._expected[number]
        if isinstance(found, UnsupportedOpcode | EvaluationLimit):
            raise found
        return found

    def seen_differently(self, number: int) -> str | None:
        """The first instruction that JAX and the evaluator see differently for an input set (`oracle.agreement`)."""
        if number not in self._seen:
            from oracle.agreement import first_disagreement

            self._seen[number] = first_disagreement(self.program(number), self.inputs[number])
        return self._seen[number]
