"""Validation: comparison with CVODE, acceptance criteria, timing, and storage of the results.

The names below are loaded at their first use: a comparison with CVODE needs no torch.
"""

from combred.names import loader

_HOMES = {
    "AcceptanceCriteria": "validation.acceptance:AcceptanceCriteria",
    "References": "validation.acceptance:References",
    "compare_times": "validation.timing:compare_times",
    "draw_flames": "validation.acceptance:draw_flames",
    "draw_ignitions": "validation.acceptance:draw_ignitions",
    "judge": "validation.acceptance:judge",
    "read_runs": "experiments.storage:read_runs",
    "time_per_state": "validation.timing:time_per_state",
    "write_runs": "experiments.storage:write_runs",
}
__all__ = list(_HOMES)

__getattr__ = loader("combred.validation", _HOMES)
