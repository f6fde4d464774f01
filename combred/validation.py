"""Validation: judges with limits, times, and storage of the results.

The names below are loaded at their first use: a comparison with CVODE needs no torch.
"""

from combred.names import loader

_HOMES = {
    "AcceptanceCriteria": "experiments.judges:AcceptanceCriteria",
    "References": "experiments.judges:References",
    "compare_times": "surrogates.timing:compare_times",
    "draw_flames": "experiments.judges:draw_flames",
    "draw_ignitions": "experiments.judges:draw_ignitions",
    "judge": "experiments.judges:judge",
    "read_runs": "experiments.storage:read_runs",
    "time_per_state": "surrogates.timing:time_per_state",
    "write_runs": "experiments.storage:write_runs",
}
__all__ = list(_HOMES)

__getattr__ = loader("combred.validation", _HOMES)
