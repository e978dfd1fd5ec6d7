"""What is a whole program? Computations, an entry, and what the proto said besides."""

from __future__ import annotations

import re
from collections.abc import Mapping

from hlo.errors import IllegalRewrite
from hlo.graph import HloComputation, HloInstruction, clone_instructions
from hlo.parameter_binding import NO_BINDING, DynamicParameterBinding

_NUMBERED = re.compile(r"\.\d+$")


class NameUniquer:
    """Hands out names, each once. Computations and instructions have a name space each, as in XLA."""

    def __init__(self) -> None:
        self._taken: set[str] = set()
        self._next_number: dict[str, int] = {}

    def unique(self, wanted: str) -> str:
        """`wanted` if it is free, otherwise its stem with the next free number, as XLA's name uniquer does."""
        if wanted not in self._taken:
            self._taken.add(wanted)
            return wanted
        stem = _NUMBERED.sub("", wanted)
        number = self._next_number.get(stem, 1)
        while f"{stem}.{number}" in self._taken:
            number += 1
        self._next_number[stem] = number + 1
        name = f"{stem}.{number}"
        self._taken.add(name)
        return name

    def absorb(self, other: NameUniquer) -> None:
        """Treat every name that `other` handed out as taken here too."""
        self._taken |= other._taken
        self._next_number |= other._next_number


class HloModule:
    """A program. Has identity.

    `carried` is the serialised rest of the `HloModuleProto` that the IR does not model (schedule, aliasing,
    entry layout, shardings, …). `dynamic_parameter_binding` says which parameters have the sizes of others'
    dimensions; writing the module out turns it into instructions (`hlo.bound_parameters`).
    """

    def __init__(self, name: str) -> None:
        self.name = name
        self.carried: bytes = b""
        self.dynamic_parameter_binding: DynamicParameterBinding = NO_BINDING
        self._computations: dict[HloComputation, None] = {}
        self._entry: HloComputation | None = None
        self.computation_names = NameUniquer()
        self.instruction_names = NameUniquer()

    @property
    def computations(self) -> tuple[HloComputation, ...]:
        """All computations, in insertion order."""
        return tuple(self._computations)

    @property
    def has_entry(self) -> bool:
        """Whether an entry computation is set."""
        return self._entry is not None

    @property
    def entry_computation(self) -> HloComputation:
        """Where execution starts. Raises IllegalRewrite with upstream's message where none is set."""
        if self._entry is None:
            raise IllegalRewrite("nullptr != entry_computation_")
        return self._entry

    def set_entry_computation(self, computation: HloComputation) -> None:
        """Make `computation` the entry."""
        self._entry = computation

    def add_computation(self, name: str) -> HloComputation:
        """Append an empty computation under a name unique in the module."""
        computation = HloComputation(self.computation_names.unique(name), self)
        self._computations[computation] = None
        return computation

    def remove_computation(self, computation: HloComputation) -> None:
        """Take `computation` out. Raises IllegalRewrite while an instruction calls it or it is the entry."""
        if computation is self._entry or computation.caller_instructions:
            raise IllegalRewrite(f"computation {computation.name} is still in use")
        del self._computations[computation]

    def remove_unused_computations(self) -> bool:
        """Take out every computation that the entry cannot reach. Returns whether any was."""
        reachable = set(self.make_computation_post_order())
        unused = [computation for computation in self._computations if computation not in reachable]
        for computation in unused:
            del self._computations[computation]
        return bool(unused)

    def make_computation_post_order(self) -> list[HloComputation]:
        """The computations that the entry reaches, callees before callers."""
        order: list[HloComputation] = []
        done: set[HloComputation] = set()
        stack: list[tuple[HloComputation, bool]] = [(self.entry_computation, False)]
        while stack:
            computation, expanded = stack.pop()
            if computation in done:
                continue
            if expanded:
                done.add(computation)
                order.append(computation)
                continue
            stack.append((computation, True))
            called = [callee for callee in computation.make_callee_list() if callee not in done]
            stack.extend((callee, False) for callee in reversed(called))
        return order

    @property
    def instruction_count(self) -> int:
        """Instructions in all computations."""
        return sum(len(computation) for computation in self._computations)

    def find_instruction(self, name: str) -> HloInstruction | None:
        """The instruction called `name`, in any computation."""
        for computation in self._computations:
            for inst in computation.instructions:
                if inst.name == name:
                    return inst
        return None

    def clone(self) -> HloModule:
        """A deep copy: same names, ids, metadata, binding and carried fields; no link to this module."""
        return self.clone_with_mapping()[0]

    def clone_with_mapping(self) -> tuple[HloModule, Mapping[HloInstruction, HloInstruction]]:
        """A deep copy and where each instruction went."""
        copy = HloModule(self.name)
        copy.carried = self.carried
        copy.dynamic_parameter_binding = self.dynamic_parameter_binding
        computations: dict[HloComputation, HloComputation] = {}
        for computation in self._computations:
            twin = computations[computation] = copy.add_computation(computation.name)
            twin.carried = computation.carried
            twin.unique_id = computation.unique_id
        mapping: dict[HloInstruction, HloInstruction] = {}
        for computation, twin in computations.items():
            order = computation.make_instruction_post_order()
            mapping |= clone_instructions(computation, twin, computations, order, keep_ids=True)
        copy.computation_names.absorb(self.computation_names)
        copy.instruction_names.absorb(self.instruction_names)
        if self._entry is not None:
            copy._entry = computations[self._entry]
        return copy, mapping

    def assign(self, other: HloModule) -> None:
        """Become what `other` is: take over its name, computations, entry, binding and carried fields.

        `other` is left empty. Computations that this module had so far are in no module any more.
        """
        if other is self:
            return
        self.name, self.carried = other.name, other.carried
        self.dynamic_parameter_binding = other.dynamic_parameter_binding
        self._computations, self._entry = other._computations, other._entry
        self.computation_names, self.instruction_names = other.computation_names, other.instruction_names
        for computation in self._computations:
            computation.module = self
        other._computations, other._entry = {}, None
        other.dynamic_parameter_binding = NO_BINDING
        other.computation_names, other.instruction_names = NameUniquer(), NameUniquer()

    def __repr__(self) -> str:
        return f"<HloModule {self.name}: {len(self._computations)} computations>"
