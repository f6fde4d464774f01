"""Validation: comparison with CVODE, acceptance criteria, timing, and storage of the results.

The names below are loaded at their first use: a comparison with CVODE needs no torch.
"""

from combred.names import loader

_HOMES = {
    "AcceptanceCriteria": "acceptance:AcceptanceCriteria",
    "References": "acceptance:References",
    "compare_times": "timing:compare_times",
    "draw_flames": "acceptance:draw_flames",
    "draw_ignitions": "acceptance:draw_ignitions",
    "judge": "acceptance:judge",
    "read_runs": "storage:read_runs",
    "time_per_state": "timing:time_per_state",
    "write_runs": "storage:write_runs",
}
__all__ = list(_HOMES)

__getattr__ = loader("combred.validation", _HOMES)
