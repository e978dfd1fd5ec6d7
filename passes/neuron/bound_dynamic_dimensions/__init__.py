"""A bound for every size that is not known before the program runs, so that it can be HLO."""

from passes.neuron.bound_dynamic_dimensions.bound_dynamic_dimensions import BoundDynamicDimensions
from passes.neuron.bound_dynamic_dimensions.entry import size_slots
from passes.neuron.bound_dynamic_dimensions.inlining import inline_calls
from passes.neuron.bound_dynamic_dimensions.refusal import NotBounded

__all__ = ["BoundDynamicDimensions", "NotBounded", "inline_calls", "size_slots"]
