from collections import Counter
from collections.abc import Callable
from itertools import pairwise

import pytest
from hypothesis import Phase, find, settings

from fuzz.generators import Program
from fuzz.generators.graphs import DRAWN, GAPS, RULES, GraphProfile, graphs
from hlo import NEWER, SPECS, ArrayShape, Family, HloInstruction, Opcode, PrimitiveType, leaves
from hlo.canonical import structure
from hlo.evaluator import evaluate
from hlo.interchange import read_text, write_text
from hlo.verify import verify
from oracle.inputs import draw_inputs
from oracle.judge import judge
from oracle.reference import GAPS as NOT_REFERENCED
from oracle.verdict import Agree
from passes import parse_pipeline

Sample = Callable[..., list[Program]]

STOCK = "call-inliner,tuple-simplifier,constant-folding,dce"


def instructions(program: Program) -> list[HloInstruction]:
    return [inst for computation in program.module.computations for inst in computation.instructions]


def array_types(program: Program) -> set[PrimitiveType]:
    shapes = (leaf for inst in instructions(program) for _, leaf in leaves(inst.shape))
    return {shape.element_type for shape in shapes if isinstance(shape, ArrayShape)}


def test_rules_and_gaps_are_the_whole_table() -> None:
    assert not RULES.keys() & GAPS.keys()
    assert RULES.keys() | GAPS.keys() == set(Opcode)
    assert all(GAPS.values())


def test_every_opcode_without_a_gap_is_drawn(drawn: list[Program]) -> None:
    seen = {inst.opcode for program in drawn for inst in instructions(program)}
    assert seen == DRAWN


def test_every_family_and_every_element_type_is_drawn(drawn: list[Program]) -> None:
    families = {SPECS[inst.opcode].family for program in drawn for inst in instructions(program)}
    assert families == set(Family) - {Family.COLLECTIVE}
    assert set[PrimitiveType]().union(*map(array_types, drawn)) == set(PrimitiveType)


def test_every_graph_is_valid(drawn: list[Program]) -> None:
    assert not [violation for program in drawn for violation in verify(program.module)]


def test_every_graph_can_be_evaluated(drawn: list[Program]) -> None:
    for program in drawn:
        (inputs,) = draw_inputs(program.module, program.input_seed, 1)
        evaluate(program.module, inputs)


def test_every_graph_survives_its_text(sample: Sample) -> None:
    for program in sample(100):
        assert structure(read_text(write_text(program.module))) == structure(program.module)


def test_every_result_reaches_the_root(drawn: list[Program]) -> None:
    unused = [
        inst.name
        for program in drawn
        for inst in program.module.entry_computation.instructions
        if not inst.users and not inst.is_root and inst.opcode is not Opcode.PARAMETER
    ]
    assert not unused


def test_operations_work_on_one_anothers_results(drawn: list[Program]) -> None:
    """Through at least two others, in most graphs."""
    deep = sum(depth(program) >= 3 for program in drawn)
    assert deep > 0.6 * len(drawn)


def depth(program: Program) -> int:
    """Operations on the longest way from a parameter or constant to the root, which is not counted."""
    below: dict[HloInstruction, int] = {}
    entry = program.module.entry_computation
    for inst in entry.make_instruction_post_order():
        below[inst] = max((below[operand] + 1 for operand in inst.operands), default=0)
    return below[entry.root] - 1


def test_a_graph_has_a_part_of_everything(drawn: list[Program]) -> None:
    """Swarm: graphs differ in what they have, and each has few element types."""
    kinds = sorted(len({inst.opcode for inst in instructions(program)}) for program in drawn)
    assert kinds[len(kinds) // 2] < 25
    types = Counter(len(array_types(program)) for program in drawn)
    assert sum(n for count, n in types.items() if count <= 7) > 0.7 * len(drawn)


def test_graphs_are_neither_trivial_nor_large(drawn: list[Program]) -> None:
    sizes = sorted(program.module.instruction_count for program in drawn)
    assert 15 < sizes[len(sizes) // 2] < 60
    assert sizes[-1] < 250
    elements = [
        leaf.element_count
        for program in drawn
        for inst in instructions(program)
        for _, leaf in leaves(inst.shape)
        if isinstance(leaf, ArrayShape)
    ]
    assert max(elements) <= 512


def test_stock_passes_keep_the_meaning_of_graphs(sample: Sample) -> None:
    verdicts: Counter[str] = Counter()
    for program in sample(40):
        if any(inst.opcode in NOT_REFERENCED for inst in instructions(program)):
            continue
        inputs = draw_inputs(program.module, program.input_seed, 2)
        verdict = judge(program.module, parse_pipeline(STOCK), inputs, program.environment).verdict
        verdicts["agree" if isinstance(verdict, Agree) else str(verdict)] += 1
    assert set(verdicts) == {"agree"}


def test_the_same_draw_is_the_same_graph(sample: Sample) -> None:
    first, second = sample(30), sample(30)
    assert [structure(p.module) for p in first] == [structure(p.module) for p in second]
    assert [p.input_seed for p in first] == [p.input_seed for p in second]


@pytest.mark.parametrize("family", [Family.SHAPE, Family.LINALG, Family.REDUCTION])
def test_a_profile_can_be_kept_to_families(sample: Sample, family: Family) -> None:
    profile = GraphProfile(families=(family,))
    drawn = sample(60, profile)
    own = {opcode for opcode in RULES.keys() - NEWER.keys() if SPECS[opcode].family is family}
    assert own <= {inst.opcode for program in drawn for inst in instructions(program)}


@pytest.mark.parametrize("opcode", [Opcode.SORT, Opcode.WHILE, Opcode.DOT])
def test_a_graph_shrinks_to_little_beside_what_it_is_about(opcode: Opcode) -> None:
    smallest = find(
        graphs(),
        lambda program: any(inst.opcode is opcode for inst in instructions(program)),
        settings=settings(
            max_examples=500, database=None, deadline=None, phases=[Phase.generate, Phase.shrink]
        ),
    )
    opcodes = Counter(inst.opcode for inst in smallest.module.entry_computation.instructions)
    assert opcodes.total() - opcodes[Opcode.PARAMETER] - opcodes[Opcode.CONSTANT] <= 12


def test_the_palette_is_small(drawn: list[Program]) -> None:
    """Each element type of each operation costs a compile of 20 ms, and so does each shape of some."""
    growth = [
        len({(i.opcode, i.attributes, *(o.shape for o in i.operands)) for p in part for i in instructions(p)})
        for part in (drawn[:1000], drawn)
    ]
    assert all(later < 1.9 * earlier for earlier, later in pairwise(growth))
