"""How does XLA's result become a module that looks like the one we sent: signature, names and metadata?"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from types import MappingProxyType

from hlo import HloComputation, HloInstruction, HloModule, Opcode, OpMetadata, Shape, TupleShape, leaves
from hlo.attributes import ParameterNumber
from hlo.module import NameUniquer
from passes.xla.wrapping import INLINEABLE, WRAPPER, Wrapped, without_marks


def restored(result: HloModule, module: HloModule, origin: Wrapped) -> HloModule:
    """`result`, which XLA made of `origin`, with the names, metadata and entry signature of `module`. In place.

    Where passes changed how many parameters or results the entry has, the signature stays as they left it.
    """
    result.name, result.carried = module.name, module.carried
    _unwrap(result)
    entry = result.entry_computation
    _restore_parameters(entry, module.entry_computation.parameters, origin)
    _restore_result(entry, module.entry_computation.root.shape)
    _restore_names(result, module, origin)
    for computation in result.computations:
        for inst in computation.instructions:
            if (original := origin.original_of(inst.metadata.op_name)) is not None:
                _restore_facts(inst, original)
    return result


def _unwrap(result: HloModule) -> None:
    """Put in place what is still in a function of its own."""
    for computation in result.computations:
        for call in computation.instructions:
            if call.opcode is Opcode.CALL and call.called_computations[0].name.startswith(WRAPPER):
                _inline(computation, call)
    result.remove_unused_computations()


def _inline(computation: HloComputation, call: HloInstruction) -> None:
    (function,) = call.called_computations
    became: dict[HloInstruction, HloInstruction] = {}
    for inst in function.make_instruction_post_order():
        if inst.opcode is Opcode.PARAMETER:
            became[inst] = call.operand(inst.parameter_number)
        else:
            became[inst] = computation.add_clone(inst, [became[operand] for operand in inst.operands])
    computation.replace_instruction(call, became[function.root])


# --- the signature of the entry: MLIR has no tuples there ------------------------------------------------


def _restore_parameters(entry: HloComputation, wanted: Sequence[HloInstruction], origin: Wrapped) -> None:
    flat = entry.parameters
    if len(flat) != sum(len(list(leaves(parameter.shape))) for parameter in wanted):
        return
    rest = iter(flat)
    for number, parameter in enumerate(wanted):
        if not isinstance(parameter.shape, TupleShape):
            next(rest).attributes = ParameterNumber(number)
            continue
        whole = entry.add_parameter(number, parameter.shape)
        whole.metadata = OpMetadata(origin.mark_of(parameter))
        for index, _ in leaves(parameter.shape):
            leaf = next(rest)
            if leaf.users or leaf.is_root:
                entry.replace_all_uses_with(leaf, _element(whole, index))
            entry.remove_instruction(leaf)


def _element(whole: HloInstruction, index: tuple[int, ...]) -> HloInstruction:
    for i in index:
        whole = whole.parent.add_get_tuple_element(whole, i)
    return whole


def _restore_result(entry: HloComputation, wanted: Shape) -> None:
    root = entry.root
    count = len(list(leaves(wanted)))
    if root.shape == wanted or not isinstance(wanted, TupleShape):
        return
    if not isinstance(root.shape, TupleShape):
        elements = [root]  # a tuple of one element is that element to MLIR
    elif root.opcode is Opcode.TUPLE:
        elements = list(root.operands)
    else:
        elements = [entry.add_get_tuple_element(root, i) for i in range(len(root.shape.elements))]
    if len(elements) != count:
        return
    entry.set_root(_nested(entry, wanted, iter(elements)), accept_different_shape=True)
    if root.opcode is Opcode.TUPLE and not root.users:
        entry.remove_instruction(root)


def _nested(entry: HloComputation, shape: Shape, elements: Iterator[HloInstruction]) -> HloInstruction:
    if not isinstance(shape, TupleShape):
        return next(elements)
    return entry.add_tuple([_nested(entry, element, elements) for element in shape.elements])


# --- names and metadata ----------------------------------------------------------------------------------


def _restore_names(result: HloModule, module: HloModule, origin: Wrapped) -> None:
    """The first thing that an instruction or computation of `module` became gets its name.

    Other instructions are named by their opcode.
    """
    kept: dict[HloInstruction, str] = {}
    called: dict[HloComputation, str] = {result.entry_computation: module.entry_computation.name}
    for computation in result.computations:
        for inst in computation.instructions:
            original = origin.original_of(inst.metadata.op_name)
            if original is None or original.opcode is not inst.opcode:
                continue
            kept[inst] = original.name
            for now, then in zip(inst.called_computations, original.called_computations, strict=False):
                called.setdefault(now, then.name)
    result.computation_names, result.instruction_names = NameUniquer(), NameUniquer()
    # Those that keep their names first, so that none of the others takes one.
    for computation in sorted(result.computations, key=lambda computation: computation not in called):
        computation.name = result.computation_names.unique(called.get(computation, computation.name))
    instructions = [inst for computation in result.computations for inst in computation.instructions]
    for inst in sorted(instructions, key=lambda inst: inst not in kept):
        inst.name = result.instruction_names.unique(kept.get(inst, inst.opcode))


def _restore_facts(inst: HloInstruction, original: HloInstruction) -> None:
    op_name = without_marks(inst.metadata.op_name)
    if inst.opcode is original.opcode is Opcode.CONSTANT:
        op_name = op_name or original.metadata.op_name  # inlining leaves a constant with its call's
    inst.metadata = OpMetadata(op_name, original.metadata.op_type, original.metadata.carried)
    attributes = inst.frontend_attributes
    if INLINEABLE in attributes and INLINEABLE not in original.frontend_attributes:
        inst.frontend_attributes = MappingProxyType({k: v for k, v in attributes.items() if k != INLINEABLE})
