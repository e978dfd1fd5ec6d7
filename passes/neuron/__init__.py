"""The passes reconstructed from neuronx-cc, one a file, and the channels through which they talk."""

from passes.neuron.dynamic_slice_mover import DynamicSliceMover
from passes.neuron.neuron_dus_ds_index_simplifier import NeuronDusDsIndexSimplifier

NEURON_PASSES = (NeuronDusDsIndexSimplifier, DynamicSliceMover)

__all__ = ["NEURON_PASSES", "DynamicSliceMover", "NeuronDusDsIndexSimplifier"]
