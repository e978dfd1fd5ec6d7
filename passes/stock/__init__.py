"""Our own implementation of the stock XLA passes that the Neuron passes lean on, one a file."""

from passes.stock.call_inliner import CallInliner, inline_all, inline_call
from passes.stock.canonicalize_dynamism import CanonicalizeDynamism
from passes.stock.constant_folding import ConstantFolding
from passes.stock.dce import Dce
from passes.stock.dynamic_dimension_simplifier import DynamicDimensionSimplifier
from passes.stock.dynamic_index_splitter import DynamicIndexSplitter
from passes.stock.dynamic_padder import DynamicPadder
from passes.stock.dynamic_parameter_binding import DynamicParameterBinding
from passes.stock.dynamic_shape_removing_visitor import DynamicShapeRemovingVisitor
from passes.stock.tuple_simplifier import TupleSimplifier
from passes.stock.while_loop_unroller import WhileLoopUnroller

STOCK_PASSES = (
    CallInliner,
    CanonicalizeDynamism,
    ConstantFolding,
    Dce,
    DynamicDimensionSimplifier,
    DynamicIndexSplitter,
    DynamicPadder,
    DynamicParameterBinding,
    DynamicShapeRemovingVisitor,
    TupleSimplifier,
    WhileLoopUnroller,
)

__all__ = [
    "STOCK_PASSES",
    "CallInliner",
    "CanonicalizeDynamism",
    "ConstantFolding",
    "Dce",
    "DynamicDimensionSimplifier",
    "DynamicIndexSplitter",
    "DynamicPadder",
    "DynamicParameterBinding",
    "DynamicShapeRemovingVisitor",
    "TupleSimplifier",
    "WhileLoopUnroller",
    "inline_all",
    "inline_call",
]
