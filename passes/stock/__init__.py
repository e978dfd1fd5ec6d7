"""Our own implementation of the stock XLA passes that the Neuron passes lean on, one a file."""

from passes.stock.call_inliner import CallInliner, inline_all, inline_call
from passes.stock.constant_folding import ConstantFolding
from passes.stock.dce import Dce
from passes.stock.tuple_simplifier import TupleSimplifier

STOCK_PASSES = (CallInliner, ConstantFolding, Dce, TupleSimplifier)

__all__ = [
    "STOCK_PASSES",
    "CallInliner",
    "ConstantFolding",
    "Dce",
    "TupleSimplifier",
    "inline_all",
    "inline_call",
]
