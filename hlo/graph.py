"""How are instructions linked, and how may they be changed?

One class for every instruction, one for every computation. All links (operands, users, root, control edges)
change through `HloComputation`, the one mutation door, so that users always agree with operands; the verifier
recounts them. Names follow XLA's in Python's spelling.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from types import MappingProxyType
from typing import TYPE_CHECKING, TypeVar

from hlo.attributes import (
    NONE,
    Attributes,
    ConstantValue,
    CustomCallTarget,
    Dimensions,
    ParameterNumber,
    SliceSizes,
    TupleIndex,
)
from hlo.errors import IllegalRewrite
from hlo.literal import Literal, Value, value_shape
from hlo.metadata import NO_METADATA, OpMetadata
from hlo.opcode import SPECS, Opcode
from hlo.shape import ArrayShape, Shape, TupleShape, compatible

if TYPE_CHECKING:
    from hlo.module import HloModule

T = TypeVar("T")

NO_FRONTEND_ATTRIBUTES: Mapping[str, str] = MappingProxyType({})


class HloInstruction:
    """One operation of a computation. Has identity; compared and hashed by it.

    `carried` is the serialised rest of the `HloInstructionProto` that the IR does not model (sharding,
    backend_config, …). `unique_id` is the id it had in the proto it came from, or None.
    """

    __slots__ = (
        "_called_computations",
        "_control_predecessors",
        "_control_successors",
        "_operands",
        "_parent",
        "_users",
        "attributes",
        "carried",
        "frontend_attributes",
        "metadata",
        "name",
        "opcode",
        "shape",
        "unique_id",
    )

    def __init__(
        self,
        opcode: Opcode,
        shape: Shape,
        operands: Sequence[HloInstruction],
        attributes: Attributes,
        called_computations: Sequence[HloComputation],
        parent: HloComputation,
        name: str,
    ) -> None:
        """Called by `HloComputation.add` only."""
        self.opcode = opcode
        self.shape = shape
        self.attributes = attributes
        self.name = name
        self.metadata: OpMetadata = NO_METADATA
        self.frontend_attributes: Mapping[str, str] = NO_FRONTEND_ATTRIBUTES
        self.carried: bytes = b""
        self.unique_id: int | None = None
        self._parent: HloComputation | None = parent
        self._operands = list(operands)
        self._users: dict[HloInstruction, int] = {}
        self._called_computations = list(called_computations)
        self._control_predecessors: dict[HloInstruction, None] = {}
        self._control_successors: dict[HloInstruction, None] = {}

    @property
    def parent(self) -> HloComputation:
        """The computation it is in. Raises IllegalRewrite after removal."""
        if self._parent is None:
            raise IllegalRewrite(f"instruction {self.name} was removed")
        return self._parent

    @property
    def is_removed(self) -> bool:
        """Whether it was taken out of its computation."""
        return self._parent is None

    @property
    def operands(self) -> tuple[HloInstruction, ...]:
        """The operands, in order, repeated where repeated."""
        return tuple(self._operands)

    def operand(self, index: int) -> HloInstruction:
        """The operand at `index`, 0-based."""
        return self._operands[index]

    @property
    def users(self) -> tuple[HloInstruction, ...]:
        """Each instruction that has this one as an operand, once, in the order of first use."""
        return tuple(self._users)

    @property
    def use_count(self) -> int:
        """Operand slots that hold this instruction; `multiply(x, x)` counts two. Being root does not count."""
        return sum(self._users.values())

    @property
    def user_counts(self) -> Mapping[HloInstruction, int]:
        """How many operand slots of each user hold this instruction; a view, in the order of first use."""
        return MappingProxyType(self._users)

    @property
    def called_computations(self) -> tuple[HloComputation, ...]:
        """In the proto's order: a while's body then its condition, a conditional's branches in order."""
        return tuple(self._called_computations)

    @property
    def control_predecessors(self) -> tuple[HloInstruction, ...]:
        """Instructions that must run before this one."""
        return tuple(self._control_predecessors)

    @property
    def control_successors(self) -> tuple[HloInstruction, ...]:
        """Instructions that must run after this one."""
        return tuple(self._control_successors)

    @property
    def has_control_dependencies(self) -> bool:
        """Whether any control edge touches it."""
        return bool(self._control_predecessors or self._control_successors)

    @property
    def is_root(self) -> bool:
        """Whether it is its computation's root."""
        return self._parent is not None and self._parent.root is self

    @property
    def array_shape(self) -> ArrayShape:
        """Its shape, which must be an array. Raises TypeError otherwise."""
        if not isinstance(self.shape, ArrayShape):
            raise TypeError(f"{self.name} is not an array but {self.shape}")
        return self.shape

    @property
    def tuple_shape(self) -> TupleShape:
        """Its shape, which must be a tuple. Raises TypeError otherwise."""
        if not isinstance(self.shape, TupleShape):
            raise TypeError(f"{self.name} is not a tuple but {self.shape}")
        return self.shape

    @property
    def literal(self) -> Literal:
        """The value of a constant. Raises TypeError for another opcode."""
        return self._expect(ConstantValue).literal

    @property
    def tuple_index(self) -> int:
        """The index of a get-tuple-element. Raises TypeError for another opcode."""
        return self._expect(TupleIndex).index

    @property
    def parameter_number(self) -> int:
        """The number of a parameter. Raises TypeError for another opcode."""
        return self._expect(ParameterNumber).number

    @property
    def dimensions(self) -> tuple[int, ...]:
        """The `dimensions` attribute. Raises TypeError for an opcode without one."""
        return self._expect(Dimensions).dimensions

    @property
    def dynamic_slice_sizes(self) -> tuple[int, ...]:
        """The sizes of a dynamic-slice. Raises TypeError for another opcode."""
        return self._expect(SliceSizes).sizes

    @property
    def custom_call_target(self) -> str:
        """The target of a custom-call. Raises TypeError for another opcode."""
        return self._expect(CustomCallTarget).target

    @property
    def first_index_operand(self) -> int:
        """Where the start indices of a dynamic-slice (1) or dynamic-update-slice (2) begin."""
        return 1 if self.opcode is Opcode.DYNAMIC_SLICE else 2

    @property
    def index_operands(self) -> tuple[HloInstruction, ...]:
        """The start indices of a dynamic-slice or dynamic-update-slice."""
        return tuple(self._operands[self.first_index_operand :])

    @property
    def has_side_effect(self) -> bool:
        """Whether removing it although unused would change what the program does (its callees included)."""
        if SPECS[self.opcode].side_effect:
            return True
        if isinstance(self.attributes, CustomCallTarget) and self.attributes.has_side_effect:
            return True
        return any(
            inst.has_side_effect for callee in self._called_computations for inst in callee.instructions
        )

    def _expect(self, kind: type[T]) -> T:
        if not isinstance(self.attributes, kind):
            raise TypeError(f"{self.name} is a {self.opcode} and has no {kind.__name__}")
        return self.attributes

    def __repr__(self) -> str:
        return f"<{self.name} = {self.shape} {self.opcode}({', '.join(o.name for o in self._operands)})>"


class HloComputation:
    """A function: instructions in insertion order, parameters by number, one root. Has identity."""

    def __init__(self, name: str, module: HloModule) -> None:
        """Called by `HloModule.add_computation` only."""
        self.name = name
        self.module = module
        self.carried: bytes = b""
        self.unique_id: int | None = None
        self._instructions: dict[HloInstruction, None] = {}
        self._root: HloInstruction | None = None

    # reading

    @property
    def instructions(self) -> tuple[HloInstruction, ...]:
        """All instructions, in insertion order (which need not be an order of execution)."""
        return tuple(self._instructions)

    def __len__(self) -> int:
        return len(self._instructions)

    def __contains__(self, inst: object) -> bool:
        return inst in self._instructions

    @property
    def root(self) -> HloInstruction:
        """The instruction whose value is the result. Raises IllegalRewrite where none is set."""
        if self._root is None:
            raise IllegalRewrite(f"computation {self.name} has no root")
        return self._root

    @property
    def has_root(self) -> bool:
        """Whether a root is set."""
        return self._root is not None

    @property
    def parameters(self) -> tuple[HloInstruction, ...]:
        """The parameters, by number."""
        found = [inst for inst in self._instructions if inst.opcode is Opcode.PARAMETER]
        return tuple(sorted(found, key=lambda inst: inst.parameter_number))

    @property
    def is_entry(self) -> bool:
        """Whether it is the module's entry computation."""
        return self.module.has_entry and self.module.entry_computation is self

    @property
    def caller_instructions(self) -> tuple[HloInstruction, ...]:
        """Every instruction of the module that calls this computation."""
        return tuple(
            inst
            for computation in self.module.computations
            for inst in computation._instructions
            if inst._called_computations and self in inst._called_computations
        )

    def make_instruction_post_order(self) -> list[HloInstruction]:
        """Operands and control predecessors before users, otherwise in insertion order.

        Raises IllegalRewrite on a cycle, naming an instruction on it.
        """
        order: list[HloInstruction] = []
        done: set[HloInstruction] = set()
        for start in self._instructions:
            if start in done:
                continue
            if _can_come_next(start, done):  # as it mostly is
                done.add(start)
                order.append(start)
            else:
                self._visit_predecessors_first(start, order, done)
        return order

    def _visit_predecessors_first(
        self, start: HloInstruction, order: list[HloInstruction], done: set[HloInstruction]
    ) -> None:
        """Append to `order` what `start` waits for and is not `done`, then `start`."""
        on_path = {start}
        stack: list[tuple[HloInstruction, Iterator[HloInstruction]]] = [(start, _predecessors(start))]
        while stack:
            inst, pending = stack[-1]
            for before in pending:
                if before in done:
                    continue
                if before in on_path:
                    raise IllegalRewrite(f"cycle through {before.name} in computation {self.name}")
                if _can_come_next(before, done):
                    done.add(before)
                    order.append(before)
                    continue
                on_path.add(before)
                stack.append((before, _predecessors(before)))
                break
            else:
                stack.pop()
                on_path.discard(inst)
                done.add(inst)
                order.append(inst)

    def make_callee_list(self) -> list[HloComputation]:
        """The computations that instructions call, a computation once for each call, in insertion order."""
        return [
            callee
            for inst in self._instructions
            if inst._called_computations
            for callee in inst._called_computations
        ]

    # the mutation door

    def add(
        self,
        opcode: Opcode,
        shape: Shape,
        operands: Sequence[HloInstruction] = (),
        attributes: Attributes = NONE,
        *,
        called_computations: Sequence[HloComputation] = (),
        name: str | None = None,
        like: HloInstruction | None = None,
    ) -> HloInstruction:
        """Append an instruction and link it to its operands.

        `name` is made unique in the module. `like` is an instruction whose metadata, frontend attributes and
        carried fields the new one takes. Shapes are not checked here: the verifier does that.
        """
        inst = HloInstruction(
            opcode,
            shape,
            operands,
            attributes,
            called_computations,
            self,
            self.module.instruction_names.unique(name or opcode),
        )
        if like is not None:
            inst.metadata = like.metadata
            inst.frontend_attributes = like.frontend_attributes
            inst.carried = like.carried
        for operand in operands:
            _link(operand, inst)
        self._instructions[inst] = None
        return inst

    def add_parameter(self, number: int, shape: Shape, name: str | None = None) -> HloInstruction:
        """Append `parameter(number)`."""
        return self.add(Opcode.PARAMETER, shape, (), ParameterNumber(number), name=name or f"p{number}")

    def add_constant(self, value: Value, name: str | None = None) -> HloInstruction:
        """Append a constant with the static shape of `value`."""
        return self.add(Opcode.CONSTANT, value_shape(value), (), ConstantValue(Literal(value)), name=name)

    def add_tuple(self, elements: Sequence[HloInstruction], name: str | None = None) -> HloInstruction:
        """Append `tuple(elements…)`."""
        return self.add(Opcode.TUPLE, TupleShape(tuple(e.shape for e in elements)), elements, name=name)

    def add_get_tuple_element(
        self, source: HloInstruction, index: int, name: str | None = None
    ) -> HloInstruction:
        """Append `get-tuple-element(source), index=index`."""
        shape = source.tuple_shape.elements[index]
        return self.add(Opcode.GET_TUPLE_ELEMENT, shape, (source,), TupleIndex(index), name=name)

    def add_clone(
        self,
        inst: HloInstruction,
        operands: Sequence[HloInstruction],
        *,
        shape: Shape | None = None,
        called_computations: Sequence[HloComputation] | None = None,
        name: str | None = None,
    ) -> HloInstruction:
        """Append a copy of `inst` (of this or another computation) with other operands.

        Control edges are not copied: the caller knows which of them still mean something.
        """
        called = inst._called_computations if called_computations is None else called_computations
        return self.add(
            inst.opcode,
            inst.shape if shape is None else shape,
            operands,
            inst.attributes,
            called_computations=called,
            name=name or inst.name,
            like=inst,
        )

    def set_root(self, inst: HloInstruction, *, accept_different_shape: bool = False) -> None:
        """Make `inst` the root. Raises IllegalRewrite where the result shape would change unasked."""
        if inst not in self._instructions:
            raise IllegalRewrite(f"{inst.name} is not in computation {self.name}")
        if (
            self._root is not None
            and not accept_different_shape
            and not compatible(self._root.shape, inst.shape)
        ):
            raise IllegalRewrite(f"root of {self.name} would change from {self._root.shape} to {inst.shape}")
        self._root = inst

    def replace_operand(
        self, user: HloInstruction, index: int, new: HloInstruction, *, accept_different_shape: bool = False
    ) -> None:
        """Put `new` in the operand slot `index` of `user`."""
        old = user._operands[index]
        if old is new:
            return
        if not accept_different_shape and not compatible(old.shape, new.shape):
            raise IllegalRewrite(
                f"operand {index} of {user.name} would change from {old.shape} to {new.shape}"
            )
        if new not in self._instructions or user not in self._instructions:
            raise IllegalRewrite(f"{user.name} and {new.name} are not both in computation {self.name}")
        user._operands[index] = new
        _unlink(old, user)
        _link(new, user)

    def set_operands(self, user: HloInstruction, operands: Sequence[HloInstruction]) -> None:
        """Give `user` another operand list, whose length and shapes may differ."""
        for old in user._operands:
            _unlink(old, user)
        user._operands = list(operands)
        for new in operands:
            _link(new, user)

    def replace_all_uses_with(
        self, old: HloInstruction, new: HloInstruction, *, accept_different_shape: bool = False
    ) -> None:
        """Send every use of `old`, the root included, to `new`. `new`'s own use of `old` stays."""
        if not accept_different_shape and not compatible(old.shape, new.shape):
            raise IllegalRewrite(f"{old.name} {old.shape} cannot be replaced by {new.name} {new.shape}")
        for user, count in tuple(old._users.items()):
            if user is new:
                continue
            index = -1
            for _ in range(count):
                index = user._operands.index(old, index + 1)
                self.replace_operand(user, index, new, accept_different_shape=True)
        if self._root is old:
            self._root = new

    def replace_all_uses_with_different_shape(self, old: HloInstruction, new: HloInstruction) -> None:
        """As `replace_all_uses_with`, for a `new` of another shape; the caller repairs the users."""
        self.replace_all_uses_with(old, new, accept_different_shape=True)

    def replace_instruction(self, old: HloInstruction, new: HloInstruction) -> None:
        """Send every use of `old` to `new`, relay its control edges and remove it."""
        self.replace_all_uses_with(old, new)
        self.relay_control_dependencies(old)
        self.remove_instruction(old)

    def replace_called_computations(self, inst: HloInstruction, called: Sequence[HloComputation]) -> None:
        """Give `inst` other callees."""
        inst._called_computations = list(called)

    def add_control_dependency(self, before: HloInstruction, after: HloInstruction) -> None:
        """Demand that `before` runs before `after`."""
        before._control_successors[after] = None
        after._control_predecessors[before] = None

    def drop_control_dependencies(self, inst: HloInstruction) -> None:
        """Cut every control edge of `inst`."""
        for before in inst._control_predecessors:
            del before._control_successors[inst]
        for after in inst._control_successors:
            del after._control_predecessors[inst]
        inst._control_predecessors.clear()
        inst._control_successors.clear()

    def relay_control_dependencies(self, inst: HloInstruction) -> None:
        """Connect each control predecessor of `inst` to each successor, then cut `inst` out."""
        for before in inst._control_predecessors:
            for after in inst._control_successors:
                self.add_control_dependency(before, after)
        self.drop_control_dependencies(inst)

    def remove_instruction(self, inst: HloInstruction) -> None:
        """Take `inst` out. Raises IllegalRewrite while something uses it or a control edge touches it."""
        if inst not in self._instructions:
            raise IllegalRewrite(f"{inst.name} is not in computation {self.name}")
        if inst._users:
            raise IllegalRewrite(f"{inst.name} still has the user {next(iter(inst._users)).name}")
        if self._root is inst:
            raise IllegalRewrite(f"{inst.name} is the root of {self.name}")
        if inst.has_control_dependencies:
            raise IllegalRewrite(f"{inst.name} still has control dependencies")
        for operand in inst._operands:
            _unlink(operand, inst)
        inst._operands.clear()
        del self._instructions[inst]
        inst._parent = None

    def remove_instruction_and_unused_operands(
        self, inst: HloInstruction, removable: Callable[[HloInstruction], bool] | None = None
    ) -> None:
        """Take `inst` out, then each operand that nothing uses any more and that `removable` lets go."""
        worklist = [inst]
        while worklist:
            dead = worklist.pop()
            if dead.is_removed or dead._users or self._root is dead:
                continue
            if dead is not inst and not (removable or _is_safely_removable)(dead):
                continue
            operands = dead.operands
            self.relay_control_dependencies(dead)
            self.remove_instruction(dead)
            worklist.extend(operands)


def _is_safely_removable(inst: HloInstruction) -> bool:
    return inst.opcode is not Opcode.PARAMETER and not inst.has_side_effect


def _can_come_next(inst: HloInstruction, done: set[HloInstruction]) -> bool:
    """Whether operands and control predecessors are all `done`."""
    return done.issuperset(inst._operands) and done.issuperset(inst._control_predecessors)


def _predecessors(inst: HloInstruction) -> Iterator[HloInstruction]:
    if inst._control_predecessors:
        return iter((*inst._operands, *inst._control_predecessors))
    return iter(inst._operands)


def _link(operand: HloInstruction, user: HloInstruction) -> None:
    operand._users[user] = operand._users.get(user, 0) + 1


def _unlink(operand: HloInstruction, user: HloInstruction) -> None:
    count = operand._users[user] - 1
    if count:
        operand._users[user] = count
    else:
        del operand._users[user]


def clone_instructions(
    source: HloComputation,
    target: HloComputation,
    computations: Mapping[HloComputation, HloComputation],
    instructions: Iterable[HloInstruction],
    keep_ids: bool,
) -> dict[HloInstruction, HloInstruction]:
    """Copy `instructions` (a post order of `source`) into `target`, keeping names, control edges and root."""
    mapping: dict[HloInstruction, HloInstruction] = {}
    for inst in instructions:
        called = [computations.get(callee, callee) for callee in inst._called_computations]
        copy = target.add_clone(inst, [mapping[o] for o in inst._operands], called_computations=called)
        if keep_ids:
            copy.unique_id = inst.unique_id
        mapping[inst] = copy
    for inst, copy in mapping.items():
        for before in inst._control_predecessors:
            target.add_control_dependency(mapping[before], copy)
    if source._root is not None:
        target._root = mapping[source._root]
    return mapping
