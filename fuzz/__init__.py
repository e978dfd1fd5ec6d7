"""Campaigns over HLO passes: the only layer that touches disk, clock and environment."""
