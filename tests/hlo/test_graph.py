"""Do the links of a computation agree with each other, whatever is done to it?"""

from collections import Counter

import pytest
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, rule

from hlo import (
    ArrayShape,
    HloComputation,
    HloInstruction,
    HloModule,
    IllegalRewrite,
    Opcode,
    OpMetadata,
    PrimitiveType,
    TupleShape,
    scalar,
)
from hlo.attributes import CustomCallTarget
from hlo.canonical import structure

S32, F32 = ArrayShape(PrimitiveType.S32, (2,)), ArrayShape(PrimitiveType.F32, (2,))
ANY = st.integers(0, 2**30)  # picks one of however many there are


def depends_on(inst: HloInstruction, other: HloInstruction) -> bool:
    """Whether `inst` is `other` or comes after it."""
    waiting, seen = [inst], {inst}
    while waiting:
        for before in (*(found := waiting.pop()).operands, *found.control_predecessors):
            if before not in seen:
                seen.add(before)
                waiting.append(before)
    return other in seen


class Edits(RuleBasedStateMachine):
    """Random edits through the mutation door. The invariants recount every link from the operands."""

    def __init__(self) -> None:
        super().__init__()
        self.module = HloModule("m")
        self.computation = self.module.add_computation("e")
        self.module.set_entry_computation(self.computation)
        self.computation.set_root(self.computation.add_parameter(0, S32))
        self.removed: list[HloInstruction] = []

    def pick(self, number: int) -> HloInstruction:
        return self.computation.instructions[number % len(self.computation)]

    def pick_like(self, inst: HloInstruction, number: int) -> HloInstruction:
        alike = [i for i in self.computation.instructions if i.shape == inst.shape]
        return alike[number % len(alike)]

    def note_removed(self, before: tuple[HloInstruction, ...]) -> None:
        self.removed += [inst for inst in before if inst not in self.computation]

    @rule(shape=st.sampled_from([S32, F32]))
    def add_parameter(self, shape: ArrayShape) -> None:
        self.computation.add_parameter(len(self.computation.parameters), shape)

    @rule(first=ANY, second=ANY)
    def add_binary(self, first: int, second: int) -> None:
        left = self.pick(first)
        inst = self.computation.add(Opcode.ADD, left.shape, (left, self.pick_like(left, second)))
        assert inst.parent is self.computation

    @rule(numbers=st.lists(ANY, max_size=3))
    def add_tuple(self, numbers: list[int]) -> None:
        self.computation.add_tuple([self.pick(number) for number in numbers])

    @rule(number=ANY)
    def add_clone(self, number: int) -> None:
        inst = self.pick(number)
        assert self.computation.add_clone(inst, inst.operands).operands == inst.operands

    @rule(number=ANY, slot=ANY, other=ANY)
    def replace_operand(self, number: int, slot: int, other: int) -> None:
        user = self.pick(number)
        if not user.operands:
            return
        index = slot % len(user.operands)
        new = self.pick_like(user.operands[index], other)
        if not depends_on(new, user):
            self.computation.replace_operand(user, index, new)
            assert user.operand(index) is new

    @rule(number=ANY, others=st.lists(ANY, max_size=3))
    def set_operands(self, number: int, others: list[int]) -> None:
        user = self.pick(number)
        operands = [inst for inst in map(self.pick, others) if not depends_on(inst, user)]
        self.computation.set_operands(user, operands)
        assert user.operands == tuple(operands)

    @rule(number=ANY, other=ANY)
    def replace_all_uses_with(self, number: int, other: int) -> None:
        old = self.pick(number)
        new = self.pick_like(old, other)
        if old is new or any(depends_on(new, user) for user in old.users if user is not new):
            return
        was_root = old.is_root
        self.computation.replace_all_uses_with(old, new)
        assert set(old.users) <= {new}
        assert not was_root or new.is_root

    @rule(number=ANY, other=ANY)
    def replace_instruction(self, number: int, other: int) -> None:
        old = self.pick(number)
        new = self.pick_like(old, other)
        if any(depends_on(new, after) for after in (old, *old.users, *old.control_successors)):
            return
        self.computation.replace_instruction(old, new)
        self.removed.append(old)

    @rule(number=ANY)
    def remove_instruction(self, number: int) -> None:
        inst = self.pick(number)
        if inst.users or inst.is_root or inst.has_control_dependencies:
            with pytest.raises(IllegalRewrite, match=inst.name):
                self.computation.remove_instruction(inst)
        else:
            self.computation.remove_instruction(inst)
            self.removed.append(inst)

    @rule(number=ANY)
    def remove_with_unused_operands(self, number: int) -> None:
        before = self.computation.instructions
        self.computation.remove_instruction_and_unused_operands(self.pick(number))
        self.note_removed(before)

    @rule(number=ANY)
    def set_root(self, number: int) -> None:
        self.computation.set_root(self.pick(number), accept_different_shape=True)

    @rule(number=ANY, other=ANY)
    def add_control_dependency(self, number: int, other: int) -> None:
        before, after = self.pick(number), self.pick(other)
        if not depends_on(before, after):
            self.computation.add_control_dependency(before, after)

    @rule(number=ANY)
    def cut_control_dependencies(self, number: int) -> None:
        inst = self.pick(number)
        around = [(b, a) for b in inst.control_predecessors for a in inst.control_successors]
        self.computation.relay_control_dependencies(inst)
        assert not inst.has_control_dependencies
        assert all(before in after.control_predecessors for before, after in around)

    @rule()
    def go_on_with_a_clone(self) -> None:
        clone, mapping = self.module.clone_with_mapping()
        assert structure(clone) == structure(self.module)
        assert mapping.keys() == set(self.computation.instructions)
        self.module, self.computation = clone, clone.entry_computation

    @invariant()
    def users_are_those_that_have_it_as_an_operand(self) -> None:
        instructions = self.computation.instructions
        uses = Counter((operand, user) for user in instructions for operand in user.operands)
        for inst in instructions:
            assert set(inst.users) == {user for operand, user in uses if operand is inst}
            assert inst.use_count == sum(n for (operand, _), n in uses.items() if operand is inst)

    @invariant()
    def control_edges_are_known_at_both_ends(self) -> None:
        instructions = self.computation.instructions
        forward = {(inst, after) for inst in instructions for after in inst.control_successors}
        assert forward == {(before, inst) for inst in instructions for before in inst.control_predecessors}

    @invariant()
    def every_link_stays_in_the_computation(self) -> None:
        inside = set(self.computation.instructions)
        assert self.computation.root in inside
        for inst in inside:
            assert inst.parent is self.computation
            assert inside.issuperset((*inst.operands, *inst.users, *inst.control_predecessors))

    @invariant()
    def what_was_removed_has_no_links(self) -> None:
        for inst in self.removed:
            assert inst.is_removed
            assert (inst.operands, inst.users, inst.has_control_dependencies) == ((), (), False)

    @invariant()
    def names_are_unique(self) -> None:
        assert len({inst.name for inst in self.computation.instructions}) == len(self.computation)

    @invariant()
    def post_order_has_operands_first(self) -> None:
        order = {inst: place for place, inst in enumerate(self.computation.make_instruction_post_order())}
        assert order.keys() == set(self.computation.instructions)
        for inst, place in order.items():
            assert all(order[before] < place for before in (*inst.operands, *inst.control_predecessors))


TestEdits = Edits.TestCase


def chain() -> tuple[HloComputation, HloInstruction, HloInstruction, HloInstruction]:
    """x, y = negate(x), z = add(y, y), which is the root."""
    module = HloModule("m")
    entry = module.add_computation("e")
    module.set_entry_computation(entry)
    x = entry.add_parameter(0, S32, "x")
    y = entry.add(Opcode.NEGATE, S32, (x,), name="y")
    z = entry.add(Opcode.ADD, S32, (y, y), name="z")
    entry.set_root(z)
    return entry, x, y, z


def test_users_are_in_the_order_of_first_use_and_counted() -> None:
    entry, x, y, z = chain()
    w = entry.add(Opcode.ADD, S32, (y, x))
    assert (y.users, y.use_count) == ((z, w), 3)
    assert x.users == (y, w)


def test_a_cycle_is_reported_by_name() -> None:
    entry, _, y, z = chain()
    entry.replace_operand(y, 0, z)
    with pytest.raises(IllegalRewrite, match=r"cycle through (y|z) in computation e"):
        entry.make_instruction_post_order()


def test_a_long_chain_needs_no_recursion() -> None:
    entry, _, _, last = chain()
    for _ in range(5_000):
        last = entry.add(Opcode.NEGATE, S32, (last,))
    entry.set_root(last)
    assert len(entry.make_instruction_post_order()) == 5_003
    assert structure(entry.module.clone()) == structure(entry.module)


def test_a_use_cannot_change_its_shape_unasked() -> None:
    entry, x, y, z = chain()
    other = entry.add_parameter(1, F32)
    for edit in (
        lambda: entry.replace_operand(y, 0, other),
        lambda: entry.replace_all_uses_with(x, other),
        lambda: entry.set_root(other),
    ):
        with pytest.raises(IllegalRewrite, match=r"s32\[2\].*f32\[2\]"):
            edit()
    assert (y.operands, entry.root) == ((x,), z)
    entry.replace_all_uses_with_different_shape(x, other)
    assert y.operands == (other,)


def test_a_dynamic_flag_alone_is_no_other_shape() -> None:
    entry, x, y, _ = chain()
    dynamic = entry.add_parameter(1, ArrayShape(PrimitiveType.S32, (2,), (True,)))
    entry.replace_operand(y, 0, dynamic)
    assert (x.users, y.operands) == ((), (dynamic,))


def test_links_to_another_computation_are_refused() -> None:
    entry, _, y, _ = chain()
    foreign = chain()[1]
    with pytest.raises(IllegalRewrite, match="not both in computation e"):
        entry.replace_operand(y, 0, foreign)
    with pytest.raises(IllegalRewrite, match="x is not in computation e"):
        entry.set_root(foreign)


def test_the_replacement_may_use_what_it_replaces() -> None:
    entry, x, y, z = chain()
    wrapper = entry.add(Opcode.COPY, S32, (y,))
    entry.replace_all_uses_with(y, wrapper)
    assert (wrapper.operands, z.operands) == ((y,), (wrapper, wrapper))
    assert y.users == (wrapper,)
    assert x.users == (y,)


def test_control_edges_are_relayed_when_an_instruction_is_replaced() -> None:
    entry, x, y, z = chain()
    new = entry.add(Opcode.ABS, S32, (x,))
    entry.add_control_dependency(x, y)
    entry.add_control_dependency(y, z)
    entry.replace_instruction(y, new)
    assert (x.control_successors, z.control_predecessors) == ((z,), (x,))


def test_unused_operands_go_but_parameters_and_side_effects_stay() -> None:
    entry, x, y, z = chain()
    effect = entry.add(Opcode.CUSTOM_CALL, S32, (x,), CustomCallTarget("t", has_side_effect=True))
    top = entry.add_tuple([effect, entry.add(Opcode.ABS, S32, (x,))])
    entry.remove_instruction_and_unused_operands(top)
    assert entry.instructions == (x, y, z, effect)
    entry.set_root(effect)
    entry.remove_instruction_and_unused_operands(z)
    assert entry.instructions == (x, effect)


def test_what_an_instruction_was_made_like_is_remembered() -> None:
    entry, _, y, _ = chain()
    y.metadata, y.frontend_attributes, y.carried = OpMetadata("n"), {"k": "v"}, b"\x92\x02\x00"
    new = entry.add(Opcode.ABS, S32, (y,), like=y)
    assert (new.metadata, new.frontend_attributes, new.carried) == (
        y.metadata,
        y.frontend_attributes,
        y.carried,
    )


def test_the_wrong_question_about_an_instruction_is_a_type_error() -> None:
    entry, x, y, _ = chain()
    pair = entry.add_tuple([x, y])
    constant = entry.add_constant(scalar(3, PrimitiveType.S32))
    assert (x.parameter_number, constant.literal.value, pair.tuple_shape) == (0, 3, TupleShape((S32, S32)))
    assert entry.add_get_tuple_element(pair, 1).tuple_index == 1
    for question in (
        lambda: pair.array_shape,
        lambda: x.tuple_shape,
        lambda: x.literal,
        lambda: y.dimensions,
    ):
        with pytest.raises(TypeError):
            question()
