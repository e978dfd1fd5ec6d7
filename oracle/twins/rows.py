"""Which of our passes has XLA, too, and in which ways may the two differ?

A new twin is one row of `TWINS`. `ALONE` says why a pass of `passes.stock` has none.
"""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

from hlo import ArrayShape, HloComputation, HloInstruction, HloModule, Opcode, OpMetadata, TupleShape
from hlo.attributes import ConstantValue
from hlo.builder import Builder
from oracle.compare import EQUAL, Tolerance, compare
from oracle.tolerance import epsilon
from oracle.twins.twin import Difference, Twin
from passes import Trace
from passes.stock import ConstantFolding
from passes.xla import xla_pass

NOTHING = "nothing"  # to XLA and back

# --- differences: each makes the copies of both results alike, in place, where it is all that differs ----------

_LAST_PLACES = 8
"""How many units in the last place apart two implementations of a transcendental function may be."""


def _same_rounding(ours: HloModule, theirs: HloModule) -> None:
    """Give their float constants our values, where they are as near as rounding explains."""
    mine = _constants(ours)
    for other in _constants(theirs):
        found = next((one for one in mine if _is_near(one, other)), None)
        if found is not None:
            other.attributes = ConstantValue(found.literal)


def _is_near(one: HloInstruction, other: HloInstruction) -> bool:
    if one.shape != other.shape or not isinstance(one.shape, ArrayShape):
        return False
    kind = one.shape.element_type
    near = Tolerance(relative=_LAST_PLACES * epsilon(kind)) if kind.is_float or kind.is_complex else EQUAL
    values = one.literal.value, other.literal.value
    return compare(*values, tolerance=near, left="ours", right="theirs") is None


def _constants(module: HloModule) -> list[HloInstruction]:
    return [
        inst
        for computation in module.make_computation_post_order()
        for inst in computation.make_instruction_post_order()
        if inst.opcode is Opcode.CONSTANT
    ]


def _fold_what_xla_cannot_evaluate(_ours: HloModule, theirs: HloModule) -> None:
    """Fold on, from the topks of constants that XLA left."""
    left = [
        inst
        for computation in theirs.computations
        for inst in computation.instructions
        if inst.opcode is Opcode.TOPK and inst.operand(0).opcode is Opcode.CONSTANT
    ]
    if left:
        ConstantFolding().run(theirs, Trace())


def _forget_metadata_of_constants(ours: HloModule, theirs: HloModule) -> None:
    for module in (ours, theirs):
        for constant in _constants(module):
            constant.metadata = OpMetadata()


def _drop_unused_results(ours: HloModule, theirs: HloModule) -> None:
    """Send both to XLA and back, where ours has a reduction of several results and one of them is unused."""
    if any(map(_has_unused_results, ours.computations)):
        for module in (ours, theirs):
            xla_pass(NOTHING)().run(module, Trace())


def _has_unused_results(computation: HloComputation) -> bool:
    return any(
        inst.opcode in (Opcode.REDUCE, Opcode.REDUCE_WINDOW)
        and isinstance(inst.shape, TupleShape)
        and len({user.tuple_index for user in inst.users if user.opcode is Opcode.GET_TUPLE_ELEMENT})
        < len(inst.shape.elements)
        for inst in computation.instructions
    )


ROUNDING = Difference(
    "rounding",
    "A folded constant differs in its last places: XLA's functions and NumPy's round differently, and both are within "
    "what is allowed.",
    _same_rounding,
)
TOPK = Difference(
    "topk",
    "XLA's evaluator has no rule for `topk`, so that one of a constant stays, and all that depends on it; ours has.",
    _fold_what_xla_cannot_evaluate,
)
METADATA = Difference(
    "metadata",
    "A constant comes back from XLA without metadata, which StableHLO has no place for.",
    _forget_metadata_of_constants,
)

UNUSED = Difference(
    "unused results",
    "On the way to XLA, MLIR's canonicaliser takes results that nothing uses out of a reduction of several; ours keeps "
    "the reduction as it is.",
    _drop_unused_results,
)

# --- preparations: they make work that programs seldom have, on what the entry returns -------------------------


def plant_dead_code(module: HloModule) -> None:
    """Return every second result only."""
    results = _results(module)
    if len(results) > 1:
        _return(module.entry_computation, results[::2])


def plant_detours(module: HloModule) -> None:
    """What sizes of dynamic dimensions are put together of: reshapes, slices and concatenations, one on the other."""
    builder = Builder(module.entry_computation)
    results: list[HloInstruction] = []
    for result in _results(module):
        shape = result.array_shape
        if not shape.element_count:
            continue
        if shape.is_scalar:
            one = builder.broadcast(result, (1,), ())
            two = builder.concatenate([one, builder.reshape(result, (1,))], 0)
            three = builder.concatenate([two, one], 0)
            results += [builder.reshape(one, ()), three, builder.slice_(two, (1,), (2,))]
            continue
        # Not the same dimensions again, and not without elements: MLIR drops that before XLA's passes see it.
        there = builder.reshape(result, (1, *shape.dimensions))
        back = builder.reshape(there, shape.dimensions)
        twice = builder.concatenate([back, result], 0)
        results += [builder.concatenate([twice, result], 0), builder.reshape(back, (*shape.dimensions, 1))]
    _return(module.entry_computation, results)


def _results(module: HloModule) -> list[HloInstruction]:
    """The arrays that the entry returns, of sizes that do not change."""
    root = module.entry_computation.root
    results = root.operands if root.opcode is Opcode.TUPLE else (root,)
    return [result for result in results if isinstance(result.shape, ArrayShape) and result.shape.is_static]


def _return(entry: HloComputation, results: list[HloInstruction]) -> None:
    if not results:
        return
    old = entry.root
    entry.set_root(entry.add_tuple(results), accept_different_shape=True)
    if old.opcode is Opcode.TUPLE and not old.users:
        entry.remove_instruction(old)


# --- the table --------------------------------------------------------------------------------------------------

TWINS: tuple[Twin, ...] = (
    Twin("call-inliner", "xla:flatten-call-graph,xla:call-inliner"),
    Twin("call-inliner{single_call_site=true}", "xla:call-inliner"),
    Twin("constant-folding", "xla:constant_folding", (ROUNDING, TOPK)),
    Twin("dce", "xla:dce", (METADATA, UNUSED), prepare=plant_dead_code, levelled=False),
    Twin("dynamic-dimension-simplifier", "xla:dynamic-dimension-simplifier", prepare=plant_detours),
    Twin("tuple-simplifier", "xla:tuple-simplifier"),
)
"""Our passes with what does the same in XLA. In XLA's CPU pipeline `call-inliner` inlines single calls only, and
`flatten-call-graph` makes all calls such."""

ALONE: Mapping[str, str] = MappingProxyType(
    {
        "canonicalize-dynamism": "Its twins are passes over StableHLO: docs/stablehlo_twins.md.",
        "dynamic-index-splitter": "Start indices in one array have no StableHLO, and slices of scalars are gone before "
        "XLA's passes run, so that its pass never has anything to do.",
        "dynamic-padder": "What it leaves in the padding has no meaning, so that neither text nor plain values can be "
        "held together: docs/dynamic_twins.md compares true sizes and what is there.",
        "dynamic-parameter-binding": "XLA no longer has bindings of parameters to sizes.",
        "dynamic-shape-removing-visitor": "In XLA it is a part of the padder, not a pass of its own.",
        "while-loop-unroller": "XLA's CPU pipeline has none but the one for loops inside elementwise computations.",
    }
)
"""Our stock passes that have no twin, each with the reason."""
