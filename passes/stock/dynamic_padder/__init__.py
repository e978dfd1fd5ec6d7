"""Dynamic dimensions padded to their bounds, and every operation made right for padding."""

from passes.stock.dynamic_padder.padder import DynamicPadder

__all__ = ["DynamicPadder"]
