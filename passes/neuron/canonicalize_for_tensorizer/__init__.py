"""The cleanup of StableHLO that comes last before the Tensorizer: seven rewrites in the page's order."""

from passes.neuron.canonicalize_for_tensorizer.canonicalize_for_tensorizer import (
    CanonicalizeForTensorizer,
    NotATensor,
)

__all__ = ["CanonicalizeForTensorizer", "NotATensor"]
