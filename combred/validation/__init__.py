"""Validation: comparison with CVODE, acceptance criteria, timing, and storage of the results."""

from combred.validation.acceptance import (
    AcceptanceCriteria,
    References,
    draw_flames,
    draw_ignitions,
    judge,
)
from combred.validation.storage import (
    read_flames,
    read_rollouts,
    read_stirred,
    write_flames,
    write_rollouts,
    write_stirred,
)
from combred.validation.timing import compare_times, time_per_state

__all__ = [
    "AcceptanceCriteria",
    "References",
    "compare_times",
    "draw_flames",
    "draw_ignitions",
    "judge",
    "read_flames",
    "read_rollouts",
    "read_stirred",
    "time_per_state",
    "write_flames",
    "write_rollouts",
    "write_stirred",
]
