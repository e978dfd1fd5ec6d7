"""How does a module of ours reach XLA's passes as it is?

XLA's compiler takes StableHLO only, and on the way in MLIR's canonicaliser folds constants, simplifies algebra
and drops what is dead: a pass would get what that left. So each instruction is wrapped in a function of its
own, which MLIR does not look into, and XLA's own `call-inliner`, which runs with every pass, unwraps it. Calls of
the program itself say `inlineable="false"` meanwhile, unless they are to be inlined.

What still changes on the way: tuples are taken apart and put together again at calls, loops and branches, and
`get-tuple-element(tuple(…))` goes away; control dependencies, layouts and the module's aliasing are lost;
a constant that repeats one value becomes a broadcast; fusions and reducers of one operation are not wrapped; and
XLA's inliner ends by removing what is dead. So `dce` works on the functions as they are, and we unwrap the rest.

Each instruction carries a mark in its `op_name`, by which `restored` knows it again.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from types import MappingProxyType

from hlo import HloComputation, HloInstruction, HloModule, Opcode, OpMetadata, TokenShape, TupleShape
from hlo.interchange import export_proto

INLINER = "call-inliner"
"""The pass that unwraps."""

WRAPPER = "hlofuzz_wrapped"
"""What the names of the functions begin with."""

INLINEABLE = "inlineable"
"""The frontend attribute that keeps XLA's call-inliner away from a call, where it is "false"."""

_MARK = re.compile(r"hlofuzz-mark\.(\d+)")
_MARK_BEFORE = re.compile(rf"{_MARK.pattern}/")
_MARKS_AT_END = re.compile(rf"(?:/?{_MARK.pattern})+$")

# Their bodies are regions in MLIR, and their tuples would only be taken apart once more.
_NOT_WRAPPED = frozenset(
    {Opcode.PARAMETER, Opcode.TUPLE, Opcode.GET_TUPLE_ELEMENT, Opcode.CALL, Opcode.WHILE, Opcode.CONDITIONAL}
)
_CONTROL = frozenset({Opcode.CALL, Opcode.WHILE, Opcode.CONDITIONAL})


@dataclass(frozen=True)
class Wrapped:
    """A module on its way to XLA: its proto, and the original of each marked instruction, by number."""

    proto: bytes
    originals: tuple[HloInstruction, ...]

    def mark_of(self, original: HloInstruction) -> str:
        """The `op_name` that means `original`."""
        return _mark(self.originals.index(original))

    def original_of(self, op_name: str) -> HloInstruction | None:
        """The instruction that the mark in `op_name` means. Inlining puts the marks of calls in front."""
        numbers = _MARK.findall(op_name)
        return self.originals[int(numbers[-1])] if numbers else None

    def readable(self, message: str) -> str:
        """The first line of one of XLA's messages, with the names of instructions in place of their marks."""
        line = message.strip().partition("\n")[0]
        return _MARK.sub(self._name_of, line)

    def _name_of(self, mark: re.Match[str]) -> str:
        # XLA names instructions after their marks, and counts on where a name is taken
        number = int(mark[1])
        return self.originals[number].name if number < len(self.originals) else mark[0]


def _mark(number: int) -> str:
    return f"hlofuzz-mark.{number}"


def without_marks(op_name: str) -> str:
    """`op_name` as it was before marking."""
    return _MARK_BEFORE.sub("", _MARKS_AT_END.sub("", op_name))


def wrapped(module: HloModule, *, wrap: bool = True, guard_calls: bool = True) -> Wrapped:
    """A marked copy of `module`.

    `wrap`: each instruction in a function of its own. `guard_calls`: the module's own calls are not inlined.
    """
    copy, mapping = module.clone_with_mapping()
    copy.carried = b""
    for number, twin in enumerate(mapping.values()):
        op_name = twin.metadata.op_name
        twin.metadata = replace(
            twin.metadata, op_name=_mark(number) + (f"/{op_name}" if op_name else ""), carried=b""
        )
        twin.parent.drop_control_dependencies(twin)
        if guard_calls and twin.opcode is Opcode.CALL:
            twin.frontend_attributes = MappingProxyType({**twin.frontend_attributes, INLINEABLE: "false"})
    if wrap:
        marks = {twin: _mark(number) for number, twin in enumerate(mapping.values())}
        for computation in _to_wrap(copy):
            for inst in computation.make_instruction_post_order():
                if inst.opcode not in _NOT_WRAPPED and _is_of_arrays(inst):
                    _wrap(copy, computation, inst, marks[inst])
    return Wrapped(export_proto(copy), tuple(mapping))


def _to_wrap(module: HloModule) -> list[HloComputation]:
    """The computations whose instructions are wrapped: not the bodies of fusions, nor reducers of one operation."""
    callers: dict[HloComputation, set[Opcode]] = {}
    for computation in module.computations:
        for inst in computation.instructions:
            for callee in inst.called_computations:
                callers.setdefault(callee, set()).add(inst.opcode)
    return [
        computation
        for computation in module.computations
        if Opcode.FUSION not in (called_by := callers.get(computation, set()))
        and (called_by <= _CONTROL or _operations(computation) > 1)
    ]


def _operations(computation: HloComputation) -> int:
    return sum(inst.opcode is not Opcode.PARAMETER for inst in computation.instructions)


def _is_of_arrays(inst: HloInstruction) -> bool:
    return not any(
        isinstance(s, TupleShape | TokenShape) for s in (inst.shape, *(o.shape for o in inst.operands))
    )


def _wrap(module: HloModule, computation: HloComputation, inst: HloInstruction, mark: str) -> None:
    function = module.add_computation(WRAPPER)
    parameters = [function.add_parameter(i, operand.shape) for i, operand in enumerate(inst.operands)]
    function.set_root(function.add_clone(inst, parameters))
    call = computation.add(Opcode.CALL, inst.shape, inst.operands, called_computations=[function])
    # Inlining puts the call's op_name in front of the instruction's, and gives it to a constant in place of its own.
    call.metadata = OpMetadata(mark)
    computation.replace_instruction(inst, call)
