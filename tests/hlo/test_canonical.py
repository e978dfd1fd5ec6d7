"""Does `structure` differ exactly where printing would, and not where only the bookkeeping does?"""

from collections.abc import Callable

import numpy as np
import pytest

from hlo import ArrayShape, HloInstruction, HloModule, Literal, Opcode, OpMetadata, PrimitiveType
from hlo.attributes import ConstantValue, Dimensions
from hlo.canonical import structure
from hlo.interchange import read_text, write_text

TEXT = """\
HloModule m
f {
  a = f32[2] parameter(0)
  ROOT n = f32[2] negate(a)
}
g {
  a = f32[2] parameter(0)
  ROOT n = f32[2] abs(a)
}
ENTRY e {
  x = f32[2] parameter(0)
  k = f32[2] constant({1, nan})
  s = f32[2] subtract(x, k), metadata={op_name="here" op_type="Sub"}, frontend_attributes={a="1"}
  u = f32[2] multiply(s, s), sharding={replicated}
  c = f32[2] call(u), to_apply=f
  d = f32[2] call(c), to_apply=g
  b = f32[2,2] broadcast(d), dimensions={0}
  unused = f32[2] abs(x)
  ROOT t = (f32[2], f32[2,2]) tuple(c, b)
}"""


def named(module: HloModule, name: str) -> HloInstruction:
    found = module.find_instruction(name)
    assert found is not None
    return found


def swap_operands(module: HloModule) -> None:
    s = named(module, "s")
    module.entry_computation.set_operands(s, s.operands[::-1])


def use_another(module: HloModule) -> None:
    module.entry_computation.replace_operand(named(module, "u"), 1, named(module, "x"))


def swap_callees(module: HloModule) -> None:
    c, d = named(module, "c"), named(module, "d")
    f, g = c.called_computations, d.called_computations
    module.entry_computation.replace_called_computations(c, g)
    module.entry_computation.replace_called_computations(d, f)


def set_(name: str, field: str, value: object) -> Callable[[HloModule], None]:
    return lambda module: setattr(named(module, name), field, value)


F32 = PrimitiveType.F32
CHANGES: dict[str, Callable[[HloModule], object]] = {
    "module name": lambda m: setattr(m, "name", "other"),
    "module rest": lambda m: setattr(m, "carried", b"\x58\x01"),
    "entry": lambda m: m.set_entry_computation(m.computations[0]),
    "computation name": lambda m: setattr(m.computations[0], "name", "h"),
    "computation rest": lambda m: setattr(m.computations[0], "carried", b"\x38\x01"),
    "a new computation": lambda m: m.add_computation("h"),
    "root": lambda m: m.entry_computation.set_root(named(m, "d"), accept_different_shape=True),
    "instruction name": set_("s", "name", "other"),
    "opcode": set_("s", "opcode", Opcode.ADD),
    "dimensions": set_("s", "shape", ArrayShape(F32, (3,))),
    "a dynamic dimension": set_("s", "shape", ArrayShape(F32, (2,), (True,))),
    "a layout (memory space 5)": set_("s", "shape", ArrayShape(F32, (2,), layout=b"\n\x01\x00@\x05")),
    "the order of operands": swap_operands,
    "an operand": use_another,
    "attributes": set_("b", "attributes", Dimensions((1,))),
    "a constant's value": set_("k", "attributes", ConstantValue(Literal(np.array([1, 2], np.float32)))),
    "op_name": set_("s", "metadata", OpMetadata("there", "Sub")),
    "op_type": set_("s", "metadata", OpMetadata("here", "Add")),
    "metadata rest": set_("s", "metadata", OpMetadata("here", "Sub", b" \x03")),
    "frontend attributes": set_("s", "frontend_attributes", {"a": "2"}),
    "sharding": set_("u", "carried", b""),
    "callees": swap_callees,
    "a control edge": lambda m: m.entry_computation.add_control_dependency(named(m, "k"), named(m, "s")),
    "an unused instruction": lambda m: m.entry_computation.remove_instruction(named(m, "unused")),
}
NAMES_ONLY = {"module name", "computation name", "instruction name", "op_name"}


@pytest.mark.parametrize("change", CHANGES)
def test_every_change_shows(change: str) -> None:
    module = read_text(TEXT)
    before, unnamed = structure(module), structure(module, names=False)
    CHANGES[change](module)
    assert structure(module) != before
    assert (structure(module, names=False) == unnamed) == (change in NAMES_ONLY)


def test_a_clone_is_the_same() -> None:
    module = read_text(TEXT)
    assert structure(module.clone()) == structure(module)
    assert hash(structure(module.clone())) == hash(structure(module))


@pytest.mark.parametrize("order", ["xyadbcr", "xydabcr", "dcxayrb"])
def test_the_order_in_the_list_of_instructions_does_not_show(order: str) -> None:
    # x and y are parameters, r = add(x, negate(y)) the root; nothing uses b = subtract(abs(y), abs(x)).
    shape = ArrayShape(F32)
    operands = {"x": "", "y": "", "a": "x", "d": "y", "b": "da", "c": "y", "r": "xc"}
    opcodes = {"a": Opcode.ABS, "d": Opcode.ABS, "b": Opcode.SUBTRACT, "c": Opcode.NEGATE, "r": Opcode.ADD}

    def build(names: str) -> HloModule:
        module = HloModule("m")
        entry = module.add_computation("e")
        module.set_entry_computation(entry)
        made: dict[str, HloInstruction] = {}
        for name in names:
            if name in "xy":
                made[name] = entry.add_parameter("xy".index(name), shape, name)
            else:
                made[name] = entry.add(opcodes[name], shape, (), name=name)
        for name, inst in made.items():
            entry.set_operands(inst, [made[operand] for operand in operands[name]])
        entry.set_root(made["r"])
        return module

    assert structure(build(order)) == structure(build("xyadbcr"))


@pytest.mark.parametrize("order", ["fe123", "213fe", "2f1e3"])
def test_the_order_in_the_list_of_computations_does_not_show(order: str) -> None:
    # The entry e calls f. Nothing calls 3, which calls 1 and 2.
    text = {
        "f": "f {\n  ROOT a = s32[] parameter(0)\n}\n",
        "e": "ENTRY e {\n  b = s32[] parameter(0)\n  ROOT c = s32[] call(b), to_apply=f\n}\n",
        "1": "one {\n  ROOT g = s32[] parameter(0)\n}\n",
        "2": "two {\n  ROOT h = s32[] parameter(0)\n}\n",
        "3": "i {\n  j = s32[] parameter(0)\n  k = s32[] call(j), to_apply=one\n"
        "  ROOT l = s32[] call(k), to_apply=two\n}\n",
    }
    module = read_text("HloModule m\n" + "".join(text[name] for name in order))
    assert structure(module) == structure(read_text("HloModule m\n" + "".join(text.values())))


def test_an_operand_is_not_a_control_predecessor() -> None:
    text = "HloModule m\nENTRY e {\n  x = s32[] parameter(0)\n  y = s32[] parameter(1)\n"
    target = 'custom_call_target="t"'
    both = read_text(text + f"  ROOT c = s32[] custom-call(x, y), {target}\n}}")
    edge = read_text(text + f"  ROOT c = s32[] custom-call(x), {target}, control-predecessors={{y}}\n}}")
    assert structure(both) != structure(edge)


def test_an_edit_that_is_undone_does_not_show() -> None:
    module = read_text(TEXT)
    before = structure(module)
    entry = module.entry_computation
    extra = entry.add(Opcode.ABS, entry.parameters[0].shape, entry.parameters)
    assert structure(module) != before
    entry.remove_instruction(extra)
    assert structure(module) == before


def test_equal_bits_are_equal_and_signs_of_zero_are_not() -> None:
    module = HloModule("m")
    entry = module.add_computation("e")
    zero = entry.add_constant(np.array([0.0, np.nan]))
    entry.set_root(zero)
    module.set_entry_computation(entry)
    before = structure(module)
    zero.attributes = ConstantValue(Literal(np.array([0.0, np.nan])))
    assert structure(module) == before
    zero.attributes = ConstantValue(Literal(np.array([-0.0, np.nan])))
    assert structure(module) != before


def test_what_differs_in_structure_differs_in_text() -> None:
    for change, apply in CHANGES.items():
        module = read_text(TEXT)
        before = write_text(module)
        apply(module)
        # `is_dynamic`, the fusion flag and a name of a computation that is called by name alone do not print,
        # and a computation without a root cannot be written.
        if change not in ("module rest", "computation rest", "a new computation"):
            assert write_text(module) != before, change


def test_modules_that_no_proto_can_hold_have_a_structure() -> None:
    module = HloModule("m")
    entry = module.add_computation("e")
    assert structure(module) == ("m", -1, b"", ("e", -1, b""))
    shape = ArrayShape(F32)
    first = entry.add(Opcode.NEGATE, shape, [entry.add_parameter(0, shape)])
    second = entry.add(Opcode.CALL, shape, [first], called_computations=[entry])
    entry.replace_operand(first, 0, second)
    foreign = HloModule("n").add_computation("f")
    entry.add(Opcode.CALL, shape, [first], called_computations=[foreign])
    assert structure(module) == structure(module)
