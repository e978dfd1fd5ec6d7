"""Does the verifier find each kind of break, by name, and nothing else?

Each break starts from one valid module and goes through private fields or the mutation door.
"""

from collections.abc import Callable

import numpy as np
import pytest

from hlo import (
    ArrayShape,
    HloComputation,
    HloInstruction,
    HloModule,
    Literal,
    Opcode,
    PrimitiveType,
    TupleShape,
)
from hlo.attributes import NONE, ConstantValue, Dimensions, ParameterNumber, SliceSizes
from hlo.builder import Builder
from hlo.verify import INVARIANTS, verify

F32, S32, PRED = PrimitiveType.F32, PrimitiveType.S32, PrimitiveType.PRED
MATRIX, VECTOR, INDEX = ArrayShape(F32, (8, 4)), ArrayShape(F32, (4,)), ArrayShape(S32)


def valid() -> HloModule:
    """main: reads a row, hands it to `twice`, writes it back and counts in a while."""
    module = HloModule("m")
    twice = Builder(module.add_computation("twice"))
    p = twice.parameter(0, VECTOR, name="row_in")
    twice.computation.set_root(twice.op(Opcode.ADD, p, p, name="sum"))
    body = Builder(module.add_computation("body"))
    one = body.constant(1, S32, name="one")
    body.computation.set_root(body.op(Opcode.ADD, body.parameter(0, INDEX, name="count"), one, name="next"))
    condition = Builder(module.add_computation("condition"))
    limit = condition.constant(3, S32, name="limit")
    condition.computation.set_root(
        condition.compare(condition.parameter(0, INDEX, name="counted"), limit, "LT", name="more")
    )
    main = Builder(module.add_computation("main"))
    module.set_entry_computation(main.computation)
    x, i = main.parameter(0, MATRIX, name="x"), main.parameter(1, INDEX, name="i")
    row = main.reshape(main.dynamic_slice(x, [i, i], (1, 4), name="read"), (4,), name="row")
    doubled = main.reshape(main.call(twice.computation, row, name="call"), (1, 4), name="back")
    written = main.dynamic_update_slice(x, doubled, [i, i], name="written")
    loop = main.while_(condition.computation, body.computation, i, name="loop")
    main.computation.add_control_dependency(row, loop)
    main.computation.set_root(main.tuple_(written, loop, name="result"))
    return module


Part = Callable[[str], HloInstruction]
Break = Callable[[HloModule, Part], object]
Found = dict[tuple[str, str], str]
"""(where, rule) of every violation there must be, and a part of its message."""


def test_a_valid_module_has_no_violations() -> None:
    assert verify(valid()) == []
    assert verify(valid().clone()) == []


def put(thing: object, field: str, value: object) -> None:
    setattr(thing, field, value)


def alien(*, removed: bool = False) -> HloInstruction:
    """An instruction of another module, or one removed from it."""
    elsewhere = HloModule("other").add_computation("elsewhere")
    inst = elsewhere.add(Opcode.PARAMETER, INDEX, (), ParameterNumber(0), name="alien")
    if removed:
        elsewhere.remove_instruction(inst)
    return inst


def put_operand(user: HloInstruction, index: int, new: HloInstruction) -> None:
    """Replace an operand and keep the users right."""
    user.parent.set_operands(user, [*user._operands[:index], new, *user._operands[index + 1 :]])


def far(name: str = "far") -> HloComputation:
    """A computation of another module."""
    builder = Builder(HloModule("other").add_computation(name))
    builder.computation.set_root(builder.op(Opcode.NEGATE, builder.parameter(0, VECTOR)))
    return builder.computation


LINKS: list[tuple[Break, Found]] = [
    (lambda m, _: put(m, "_entry", None), {("m", "entry"): "no entry"}),
    (lambda m, _: put(m, "_entry", far()), {("m", "entry"): "far is not in"}),
    (lambda m, _: put(m.computations[0], "name", "body"), {("body", "name"): "2 computations"}),
    (lambda _, part: put(part("read"), "name", "x"), {("x", "name"): "2 instructions"}),
    (lambda _, part: put(part("one"), "name", "limit"), {("limit", "name"): "2 instructions"}),
    (lambda _, part: put(part("read"), "_parent", None), {("read", "parent"): "to be in main"}),
    (lambda _, part: put(part("read"), "_parent", part("one").parent), {("read", "parent"): "to be in main"}),
    (lambda m, _: put(m.computations[0], "module", HloModule("o")), {("twice", "parent"): "another module"}),
    (lambda m, _: put(m.computations[0], "_root", None), {("twice", "root"): "no root"}),
    (lambda m, part: put(m.computations[0], "_root", part("one")), {("twice", "root"): "one is not in it"}),
    (lambda _, part: put(part("i"), "attributes", ParameterNumber(2)), {("main", "parameter"): "[0, 2]"}),
    (lambda _, part: put(part("i"), "attributes", ParameterNumber(0)), {("main", "parameter"): "[0, 0]"}),
    (
        lambda _, part: put_operand(part("loop"), 0, part("one")),
        {("loop", "operand"): "one is not in main", ("one", "users"): "actual are {next: 1}"},
    ),
    (lambda _, part: put_operand(part("loop"), 0, alien()), {("loop", "operand"): "alien is not in main"}),
    (
        lambda _, part: put_operand(part("loop"), 0, alien(removed=True)),
        {("loop", "operand"): "alien is not in main"},
    ),
    (
        lambda _, part: part("row")._users.clear(),
        {("row", "users"): "recorded are {}, actual are {call: 1}"},
    ),
    (
        lambda _, part: part("row")._users.update({part("loop"): 1}),
        {("row", "users"): "recorded are {call: 1, loop: 1}, actual are {call: 1}"},
    ),
    (
        # the sum is right, the parts are not
        lambda _, part: part("i")._users.update({part("read"): 1, part("written"): 3}),
        {("i", "users"): "{read: 1, written: 3, loop: 1}, actual are {read: 2, written: 2, loop: 1}"},
    ),
    (
        lambda m, part: m.entry_computation._instructions.pop(part("row")),
        {
            ("call", "operand"): "row is not in main",
            ("read", "users"): "{row: 1}",
            ("loop", "control"): "row is",
        },
    ),
    (
        lambda _, part: part("loop")._control_predecessors.clear(),
        {("row", "control"): "successor loop does not know"},
    ),
    (
        lambda _, part: part("row")._control_successors.clear(),
        {("loop", "control"): "predecessor row does not know"},
    ),
    (
        lambda m, part: m.entry_computation.add_control_dependency(part("x"), part("one")),
        {
            ("x", "control"): "successor one is not in main",
            ("one", "control"): "predecessor x is not in body",
        },
    ),
    (
        lambda _, part: put_operand(part("read"), 0, part("written")),
        {("read", "cycle"): "read <- written <- back"},
    ),
    (
        lambda m, part: m.entry_computation.add_control_dependency(part("call"), part("read")),
        {("read", "cycle"): "read <- call <- row <- read"},
    ),
    (lambda _, part: put_operand(part("next"), 0, part("next")), {("next", "cycle"): "next <- next"}),
]


@pytest.mark.parametrize(("break_it", "expected"), LINKS)
def test_a_broken_link_is_found(break_it: Break, expected: Found) -> None:
    assert_found(break_it, expected)


def drop_operand(inst: HloInstruction) -> None:
    inst.parent.set_operands(inst, inst.operands[:-1])


FORMS: list[tuple[Break, Found]] = [
    (lambda _, part: drop_operand(part("next")), {("next", "arity"): "add has 1 operands, not 2"}),
    (
        lambda _, part: put(part("loop"), "opcode", Opcode.CALL),
        {("loop", "arity"): "call has 2 callees, not 1"},
    ),
    (lambda _, part: part("call")._called_computations.clear(), {("call", "arity"): "0 callees, not 1"}),
    (
        lambda _, part: put(part("read"), "attributes", NONE),
        {("read", "attributes"): "dynamic-slice has NoAttributes, not SliceSizes"},
    ),
    (
        lambda _, part: put(part("read"), "attributes", SliceSizes(None)),  # pyright: ignore[reportArgumentType]
        {("read", "attributes"): "sizes=None"},
    ),
    (
        lambda _, part: put(part("i"), "attributes", Dimensions((0,))),
        {("main", "parameter"): "[0, None]", ("i", "attributes"): "parameter has Dimensions"},
    ),
    (
        lambda _, part: part("call")._called_computations.__setitem__(0, far()),
        {("call", "callee"): "far is not in the module"},
    ),
    (
        lambda m, part: part("call")._called_computations.__setitem__(0, m.entry_computation),
        {("main", "recursion"): "it calls main", ("call", "shape"): "the callee takes 2 arguments, got 1"},
    ),
]


def call_each_other(module: HloModule, part: Part) -> None:
    """twice calls body, and body calls twice; main, above them, is not to blame."""
    twice, body, *_ = module.computations
    Builder(twice).call(body, Builder(twice).constant(0, S32))
    Builder(body).call(twice, Builder(body).constant([0.0] * 4, F32))


FORMS.append(
    (
        call_each_other,
        {("twice", "recursion"): "it calls body", ("body", "recursion"): "it calls twice"},
    )
)


@pytest.mark.parametrize(("break_it", "expected"), FORMS)
def test_what_the_opcode_table_forbids_is_found(break_it: Break, expected: Found) -> None:
    assert_found(break_it, expected)


WRONG = ArrayShape(F32, (5,))

SHAPES: list[tuple[Break, Found]] = [
    (
        lambda _, part: put(part("sum"), "shape", WRONG),
        {
            ("sum", "shape"): "add gives f32[4], declared f32[5]",
            ("call", "shape"): "call gives f32[5], declared f32[4]",
        },
    ),
    (lambda _, part: put(part("result"), "shape", TupleShape()), {("result", "shape"): "declared ()"}),
    (lambda _, part: put(part("result"), "shape", None), {("result", "shape"): "declared None"}),
    (
        lambda _, part: put(part("read"), "attributes", SliceSizes((1, 5))),
        {("read", "shape"): "size 5 does not"},
    ),
    (
        lambda _, part: put(part("row"), "shape", WRONG),
        {("row", "shape"): "f32[1,4] has 4 elements", ("call", "shape"): "argument 0"},
    ),
    (
        lambda _, part: put(part("one"), "attributes", ConstantValue(Literal(np.zeros(2, np.int32)))),
        {("one", "shape"): "the literal is s32[2], declared s32[]"},
    ),
    (
        lambda _, part: put(part("row_in"), "shape", WRONG),
        {("sum", "shape"): "gives f32[5]", ("call", "shape"): "parameter 0 of the callee is f32[5]"},
    ),
    (
        lambda _, part: put(part("counted"), "shape", ArrayShape(PrimitiveType.S64)),
        {("more", "shape"): "operands differ", ("loop", "shape"): "of the condition is s64[]"},
    ),
    (
        lambda _, part: part("loop")._called_computations.reverse(),
        {("loop", "shape"): "the body gives pred[]"},
    ),
]


@pytest.mark.parametrize(("break_it", "expected"), SHAPES)
def test_a_shape_that_does_not_fit_is_found(break_it: Break, expected: Found) -> None:
    assert_found(break_it, expected)


def assert_found(break_it: Break, expected: Found) -> None:
    module = valid()
    by_name = {inst.name: inst for c in module.computations for inst in c.instructions}
    break_it(module, by_name.__getitem__)
    found = {(violation.where, violation.rule): violation.message for violation in verify(module)}
    assert found.keys() == expected.keys()
    for key, part in expected.items():
        assert part in found[key]


def test_every_invariant_is_broken_by_some_test() -> None:
    tested = {rule for _, expected in (*LINKS, *FORMS, *SHAPES) for _, rule in expected}
    assert tested | {"binding"} == INVARIANTS.keys()  # that one: test_parameter_binding.py


def test_everything_wrong_is_reported_at_once() -> None:
    module = valid()
    twice, body, *_ = module.computations
    twice._root = None
    body.root.shape = WRONG
    module._entry = None
    assert [(v.where, v.rule) for v in verify(module)] == [
        ("m", "entry"),
        ("twice", "root"),
        ("next", "shape"),
        ("loop", "shape"),
    ]


def test_an_empty_module_lacks_an_entry() -> None:
    assert [str(violation) for violation in verify(HloModule("m"))] == [
        "m: entry: no entry computation is set"
    ]


def test_insertion_order_need_not_be_execution_order() -> None:
    module = HloModule("m")
    b = Builder(module.add_computation("main"))
    module.set_entry_computation(b.computation)
    x = b.parameter(0, INDEX)
    first = b.op(Opcode.NEGATE, x)
    b.computation.replace_operand(first, 0, b.op(Opcode.ABS, x))
    b.computation.set_root(first)
    assert verify(module) == []


def test_dynamic_flags_and_layouts_may_differ() -> None:
    module = valid()
    back = next(inst for inst in module.entry_computation.instructions if inst.name == "back")
    back.shape = ArrayShape(F32, (1, 4), (False, True), layout=b"layout")
    assert verify(module) == []
