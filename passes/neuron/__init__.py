"""The passes reconstructed from neuronx-cc, one a file, and the channels through which they talk."""

from passes.neuron.bound_dynamic_dimensions import BoundDynamicDimensions
from passes.neuron.canonicalize_for_tensorizer import CanonicalizeForTensorizer
from passes.neuron.dynamic_slice_mover import DynamicSliceMover
from passes.neuron.neuron_dus_ds_index_simplifier import NeuronDusDsIndexSimplifier
from passes.neuron.neuron_repeated_dus_to_concat import NeuronRepeatedDusToConcat
from passes.neuron.tensorizer_guard import TensorizerGuard

NEURON_PASSES = (
    NeuronDusDsIndexSimplifier,
    DynamicSliceMover,
    NeuronRepeatedDusToConcat,
    BoundDynamicDimensions,
    CanonicalizeForTensorizer,
    TensorizerGuard,
)

__all__ = [
    "NEURON_PASSES",
    "BoundDynamicDimensions",
    "CanonicalizeForTensorizer",
    "DynamicSliceMover",
    "NeuronDusDsIndexSimplifier",
    "NeuronRepeatedDusToConcat",
    "TensorizerGuard",
]
