"""Judges programs whose sizes are unknown: each is judged as the static program that it is for given sizes."""

from oracle.symbolic.draw import Sizes, draw_sized_inputs, draw_sizes
from oracle.symbolic.judge import judge_symbolic
from oracle.symbolic.specialise import Assignment, assignment_of, known_parameters, specialise
from oracle.symbolic.stages import largest_size

__all__ = [
    "Assignment",
    "Sizes",
    "assignment_of",
    "draw_sized_inputs",
    "draw_sizes",
    "judge_symbolic",
    "known_parameters",
    "largest_size",
    "specialise",
]
