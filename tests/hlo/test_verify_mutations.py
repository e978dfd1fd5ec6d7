"""Is every way to spoil a valid program caught, for every opcode; and where do MLIR and we disagree?

What MLIR sees is the module as StableHLO, so breaks that cannot be written to a proto are ours alone to catch.
"""

import dataclasses
from collections.abc import Callable, Iterator
from fnmatch import fnmatch
from importlib.metadata import version

import pytest

from hlo import NEWER, HloInstruction, HloModule, IllegalRewrite, Opcode
from hlo.attributes import NONE, UNMODELLED, Dimensions, ParameterNumber
from hlo.infer import RULES
from hlo.interchange import export_proto, import_proto, installed_opcodes
from hlo.interchange.bridge import text_to_proto
from hlo.opcode import SPECS
from hlo.verify import INVARIANTS, verify
from tests.hlo.examples import roots, text_of
from tests.hlo.mlir_verdicts import DIED, FINE, verdicts
from tests.hlo.mutations import mutations

MEASURED_WITH = "0.10.2"
"""The jaxlib that the tables of differences below are exact for."""

ONLY_OURS = {
    "a sum may be wider than what is summed: StableHLO promotes, XLA allows that for floats only": (
        "reduce: operand type",
        "reduce-window: operand type",
        "scatter: operand type",
        "select-and-scatter: operand type",
        "select-and-scatter: callee parameter type",
    ),
    "StableHLO takes any two element types for a product": (
        "dot: operand type",
        "convolution: operand type",
        "ragged-dot: operand type",
    ),
    "StableHLO has no window size and no dilation here, so the conversion loses them": (
        "convolution: attribute window",
        "convolution: operand size",
        "select-and-scatter: attribute dimensions",
    ),
    "the conversion reads a group count below 1 as 1": (
        "convolution: attribute feature_group_count",
        "convolution: attribute batch_group_count",
    ),
    "StableHLO counts a negative dimension from the end": ("sort: attribute dimension",),
    "StableHLO stretches a dimension of size 1": ("broadcast: operand size",),
    "the conversion writes all dimensions of a map, whatever they were": ("map: attribute dimensions",),
    "XLA's inference does not look at the length of a complex transform, which has no meaning": (
        "fft: attribute length",
    ),
    "a comparison of floats by the order of integers has no meaning": ("compare: attribute type",),
    "MLIR compares no dimensions where the widths are equal": (
        "bitcast-convert: operand type",
        "bitcast-convert: result type",
    ),
    "fusion, bitcast and stochastic-convert become mhlo operations, which are hardly verified": (
        "fusion: *",
        "bitcast: *",
        "stochastic-convert: result type",
    ),
    "branches become regions, which take no arguments": (
        "conditional: callee parameter *",
        "conditional: operand tuple",
    ),
    "tuples are flattened at calls, and a result too many is ignored": ("call: callee result tuple",),
    "the sizes become one array, whatever they were": ("dynamic-reshape: operand rank",),
    "MLIR takes a dynamic dimension for compatible with any size": (
        "set-dimension-size: operand size",
        "set-dimension-size: result size",
    ),
    "the generators' states are unsigned": (
        "rng-bit-generator: operand type",
        "rng-bit-generator: result element type",
    ),
}

ONLY_MLIR = {
    "StableHLO does not know it": ("mulhi: valid", "mulhi: operand swapped", "scaled-dot: *"),
    "XLA lets floats differ in precision, StableHLO does not": (
        "batch-norm-training: operand type",
        "batch-norm-inference: operand type",
        "batch-norm-grad: operand type",
    ),
}


@dataclasses.dataclass(frozen=True)
class Mutant:
    root: str
    opcode: Opcode
    kind: str
    violations: tuple[str, ...]
    proto: bytes | None
    """None where it cannot be written."""


def mutants(*, every: bool) -> Iterator[Mutant]:
    """Each example as it is and mutated; unless `every`, one mutant of each kind for each opcode."""
    seen: set[tuple[Opcode, str]] = set()
    for root in roots():
        proto = text_to_proto(text_of(root))
        original = import_proto(proto)
        opcode = original.entry_computation.root.opcode
        for kind, apply in [("valid", lambda _: None), *mutations(original)]:
            if not every and (opcode, kind) in seen:
                continue
            seen.add((opcode, kind))
            module = import_proto(proto)
            apply(module)
            found = tuple(map(str, verify(module)))
            try:
                written = export_proto(module)
            except IllegalRewrite:
                written = None
            yield Mutant(root, opcode, kind, found, written)


def covered(table: dict[str, tuple[str, ...]], case: str) -> set[str]:
    return {row for rows in table.values() for row in rows if fnmatch(case, row)}


def compare_with_mlir(*, every: bool) -> tuple[set[str], set[str]]:
    """The cases that only we refuse, and those that only MLIR refuses. Nothing that kills MLIR may pass with us."""
    only_ours, only_mlir = set[str](), set[str]()
    written: list[tuple[Mutant, bytes]] = []
    for mutant in mutants(every=every):
        if mutant.proto is None:
            assert mutant.violations, mutant
        else:
            written.append((mutant, mutant.proto))
    for (mutant, _), verdict in zip(written, verdicts([proto for _, proto in written]), strict=True):
        case = f"{mutant.opcode}: {mutant.kind}"
        if verdict == DIED:
            assert mutant.violations, mutant
        elif mutant.violations and verdict == FINE:
            only_ours.add(case)
        elif not mutant.violations and verdict != FINE:
            only_mlir.add(case)
    return only_ours, only_mlir


def test_every_modelled_opcode_has_a_valid_example() -> None:
    modules = [import_proto(text_to_proto(text_of(root))) for root in roots()]
    absent = NEWER.keys() - set(installed_opcodes())
    assert {module.entry_computation.root.opcode for module in modules} == RULES.keys() - absent
    assert {str(violation) for module in modules for violation in verify(module)} == set()


def test_mlir_and_we_agree_on_a_mutant_of_each_kind() -> None:
    only_ours, only_mlir = compare_with_mlir(every=False)
    if version("jaxlib") == MEASURED_WITH:
        assert {case for case in only_ours if not covered(ONLY_OURS, case)} == set()
        assert {case for case in only_mlir if not covered(ONLY_MLIR, case)} == set()


@pytest.mark.slow
def test_the_tables_of_differences_with_mlir_are_exact() -> None:
    if version("jaxlib") != MEASURED_WITH:
        pytest.skip(f"measured with jaxlib {MEASURED_WITH}")
    for table, cases in zip((ONLY_OURS, ONLY_MLIR), compare_with_mlir(every=True), strict=True):
        assert {case for case in cases if not covered(table, case)} == set()
        rows = {row for rows in table.values() for row in rows}
        assert rows == {row for case in cases for row in covered(table, case)}


# what cannot be written

Break = Callable[[HloModule, HloInstruction], object]


def put(thing: object, field: str, value: object) -> None:
    setattr(thing, field, value)


def stranger() -> HloInstruction:
    inst = HloModule("other").add_computation("elsewhere").add_parameter(0, SCALAR)
    inst.name = "stranger"
    return inst


SCALAR = import_proto(text_to_proto(text_of("f32[2] parameter()"))).entry_computation.root.shape


def use_itself(_m: HloModule, root: HloInstruction) -> None:
    root.parent.set_operands(root, [root, *root.operands[1:]])


def call_the_entry(module: HloModule, root: HloInstruction) -> None:
    root.parent.replace_called_computations(root, [module.entry_computation])


def add_a_second_parameter(module: HloModule, root: HloInstruction) -> None:
    root.parent.add(Opcode.PARAMETER, SCALAR, (), ParameterNumber(77), name="second")


def control_one_way(_m: HloModule, root: HloInstruction) -> None:
    before = root.parent.add_parameter(0, SCALAR) if root.opcode is Opcode.PARAMETER else root
    root._control_predecessors[before] = None


BREAKS: dict[str, tuple[str, Break]] = {
    "no entry": ("entry", lambda m, _: put(m, "_entry", None)),
    "no root": ("root", lambda m, _: put(m.entry_computation, "_root", None)),
    "a root from elsewhere": ("root", lambda m, _: put(m.entry_computation, "_root", stranger())),
    "a name twice": ("name", lambda m, root: root.parent.add_parameter(99, SCALAR) and _rename_all(m)),
    "no parent": ("parent", lambda _, root: put(root, "_parent", None)),
    "a user too many": ("users", lambda _, root: root._users.update({stranger(): 1})),
    "a user miscounted": ("users", lambda _, root: root._users.update({root: 2})),
    "an operand from elsewhere": (
        "operand",
        lambda _, root: put(root, "_operands", [*root.operands[:-1], stranger()]),
    ),
    "a cycle": ("cycle", use_itself),
    "a control edge one way": ("control", control_one_way),
    "recursion": ("recursion", call_the_entry),
    "a gap in the parameters": ("parameter", add_a_second_parameter),
    "a callee from elsewhere": (
        "callee",
        lambda _, root: put(root, "_called_computations", [stranger().parent]),
    ),
}


def _rename_all(module: HloModule) -> None:
    for inst in module.entry_computation.instructions:
        inst.name = "same"


@pytest.mark.parametrize("what", BREAKS)
def test_a_broken_link_is_caught_whatever_the_opcode(what: str) -> None:
    rule, break_it = BREAKS[what]
    for root in roots():
        module = import_proto(text_to_proto(text_of(root)))
        break_it(module, module.entry_computation.root)
        assert rule in {violation.rule for violation in verify(module)}, root


def test_another_record_is_caught_whatever_the_opcode() -> None:
    for root in roots():
        for record in (NONE, UNMODELLED, Dimensions((0,))):
            module = import_proto(text_to_proto(text_of(root)))
            inst = module.entry_computation.root
            if SPECS[inst.opcode].attributes is not type(record):
                inst.attributes = record
                assert "attributes" in {violation.rule for violation in verify(module)}, root


def test_a_field_of_another_type_is_caught_or_harmless_and_never_raises() -> None:
    """None for a number, a list or a name is a violation; a flag that nobody counts with may be anything."""
    for root in roots():
        record = import_proto(text_to_proto(text_of(root))).entry_computation.root.attributes
        for field in dataclasses.fields(record):
            if getattr(record, field.name) is None:
                continue
            module = import_proto(text_to_proto(text_of(root)))
            inst = module.entry_computation.root
            inst.attributes = dataclasses.replace(record, **{field.name: None})
            rules = {violation.rule for violation in verify(module)}
            assert rules <= INVARIANTS.keys()
            assert rules or isinstance(getattr(record, field.name), bool | float | str), (root, field.name)


@pytest.mark.parametrize("opcode", [opcode for opcode in RULES if SPECS[opcode].arity is not None])
def test_an_operand_too_few_or_too_many_is_caught(opcode: Opcode) -> None:
    for root in roots():
        if f" {opcode}(" not in root:
            continue
        for change in (lambda operands: operands[:-1], lambda operands: [*operands, operands[-1]]):
            module = import_proto(text_to_proto(text_of(root)))
            inst = module.entry_computation.root
            if inst.operands:
                module.entry_computation.set_operands(inst, change(inst.operands))
                assert "arity" in {violation.rule for violation in verify(module)}, root
