"""Does a module keep its computations and names in order, and its clone apart from itself?"""

import pytest

from hlo import ArrayShape, HloComputation, HloModule, IllegalRewrite, Opcode, PrimitiveType
from hlo.canonical import structure

S32 = ArrayShape(PrimitiveType.S32)


def calling(module: HloModule, name: str, *callees: HloComputation) -> HloComputation:
    computation = module.add_computation(name)
    last = computation.add_parameter(0, S32)
    for callee in callees:
        last = computation.add(Opcode.CALL, S32, (last,), called_computations=[callee])
    computation.set_root(last)
    return computation


def diamond() -> tuple[HloModule, dict[str, HloComputation]]:
    """main calls left, right and left again; both call leaf; nothing calls lonely."""
    module = HloModule("m")
    leaf = calling(module, "leaf")
    left, right = calling(module, "left", leaf), calling(module, "right", leaf)
    main = calling(module, "main", left, right, left)
    lonely = calling(module, "lonely", leaf)
    module.set_entry_computation(main)
    return module, {c.name: c for c in (leaf, left, right, main, lonely)}


def test_callees_come_before_callers_each_once() -> None:
    module, _ = diamond()
    assert [c.name for c in module.make_computation_post_order()] == ["leaf", "left", "right", "main"]


def test_callers_are_found_in_every_computation() -> None:
    _, found = diamond()
    assert [inst.parent.name for inst in found["leaf"].caller_instructions] == ["left", "right", "lonely"]
    assert found["main"].is_entry
    assert not found["left"].is_entry


def test_a_computation_in_use_cannot_be_removed() -> None:
    module, found = diamond()
    for name in ("main", "left"):
        with pytest.raises(IllegalRewrite, match=f"computation {name} is still in use"):
            module.remove_computation(found[name])
    module.remove_computation(found["lonely"])
    assert found["lonely"] not in module.computations


def test_unused_computations_go() -> None:
    module, found = diamond()
    assert module.remove_unused_computations()
    assert found["lonely"] not in module.computations
    assert not module.remove_unused_computations()


def test_a_module_without_an_entry_says_what_upstream_says() -> None:
    with pytest.raises(IllegalRewrite, match=r"^nullptr != entry_computation_$"):
        HloModule("m").entry_computation  # noqa: B018
    assert not HloModule("m").has_entry


def test_a_name_that_is_taken_gets_the_next_number() -> None:
    module = HloModule("m")
    first, second = module.add_computation("e"), module.add_computation("e")
    assert (first.name, second.name) == ("e", "e.1")
    names = [
        first.add(Opcode.AFTER_ALL, S32, name=name).name for name in ("add", "add.7", "add", "add.7", "add.1")
    ]
    assert names == ["add", "add.7", "add.1", "add.2", "add.3"]
    assert second.add(Opcode.AFTER_ALL, S32, name="add").name not in names


def test_a_clone_has_no_link_to_the_original() -> None:
    module, found = diamond()
    before = structure(module)
    clone, mapping = module.clone_with_mapping()
    assert structure(clone) == before
    assert {inst.parent.module for inst in mapping.values()} == {clone}
    assert all(c in clone.computations for i in mapping.values() for c in i.called_computations)
    clone.entry_computation.add(Opcode.NEGATE, S32, clone.entry_computation.parameters)
    clone.remove_unused_computations()
    assert structure(module) == before
    assert found["lonely"] in module.computations


def test_names_once_taken_in_the_original_are_taken_in_the_clone() -> None:
    module, found = diamond()
    gone = found["main"].add(Opcode.NEGATE, S32, found["main"].parameters, name="gone")
    found["main"].remove_instruction(gone)
    module.remove_computation(found["lonely"])
    clone = module.clone()
    assert clone.entry_computation.add_parameter(1, S32, "gone").name == "gone.1"
    assert clone.add_computation("lonely").name == "lonely.1"


def test_an_instruction_is_found_by_its_name() -> None:
    module, found = diamond()
    assert module.find_instruction("call.2") in found["main"].instructions
    assert module.find_instruction("nothing") is None
    assert module.instruction_count == sum(len(c) for c in found.values())


def test_a_module_can_become_another() -> None:
    module, _ = diamond()
    other = HloModule("n")
    entry = calling(other, "solo")
    other.set_entry_computation(entry)
    other.carried = b"rest"
    before = structure(other)
    module.assign(other)
    assert structure(module) == before
    assert entry.module is module
    assert entry.is_entry
    assert module.add_computation("solo").name == "solo.1"
    assert not other.computations
    assert not other.has_entry
    assert other.add_computation("solo").name == "solo"


def test_a_module_that_becomes_itself_stays() -> None:
    module, _ = diamond()
    before = structure(module)
    module.assign(module)
    assert structure(module) == before
