"""Errors of flames against references: speed, thickness, temperatures, peaks of radicals.

Takes flames, and references of the same cases (`combred.experiments.premixed.experiment`);
gives plain numbers for validation.json.
"""

import numpy as np
from scipy.interpolate import CubicSpline

from combred.chemistry.mechanism import Mechanism
from combred.experiments.metrics import (
    peak_errors,
    relative_error,
    summarize,
    tracked_species,
)
from combred.experiments.premixed.flame import Flame


def compare(mechanism: Mechanism, flames: list[Flame], references: list[Flame]) -> dict:
    """The errors of `flames` against the `references`: of each case ("cases"), and median, mean and
    worst error of the speed (`combred.experiments.metrics.summarize`).

    speed_error, thickness_error, peak_errors: relative; burnt_T_error [K]: of the last cell;
    profile_T_error [K]: `profile_difference`. The errors of a flame that failed (`Flame.outcome`)
    are NaN in its row, and infinite in mean and worst.
    """
    tracked = tracked_species(mechanism, references)
    rows = [
        _case_errors(mechanism, flame, reference, tracked)
        for flame, reference in zip(flames, references, strict=True)
    ]
    speeds = [row["speed_error"] for row in rows]
    worst = int(np.argmax(np.where(np.isfinite(speeds), speeds, np.inf)))
    return {
        "cases": rows,
        "worst_case": rows[worst]["case"],
        "speed_error": summarize(speeds),
    }


def _case_errors(mechanism: Mechanism, flame: Flame, reference: Flame, tracked: list[str]) -> dict:
    """The errors of one flame."""
    case = reference.case
    peaks, burnt_T_error, profile_T_error = dict.fromkeys(tracked, np.nan), np.nan, np.nan
    if flame.burns:
        peaks = peak_errors(mechanism, flame.Y, reference.Y, tracked)
        burnt_T_error = abs(float(flame.T[-1] - reference.T[-1]))
        profile_T_error = profile_difference(flame, reference)
    return {
        "case": str(case),
        "T": case.T,
        "p": case.p,
        "phi": case.phi,
        "steps": len(flame.t),
        "outcome": flame.outcome,
        "burns": flame.burns,
        "steady": flame.steady,
        "speed": flame.speed,
        "displacement_speed": flame.displacement_speed,
        "reference_speed": reference.speed,
        "speed_error": relative_error(flame.speed, reference.speed),
        "thickness": flame.thickness,
        "reference_thickness": reference.thickness,
        "thickness_error": relative_error(flame.thickness, reference.thickness),
        "burnt_T_error": burnt_T_error,
        "profile_T_error": profile_T_error,
        "peak_errors": peaks,
    }


def profile_difference(flame: Flame, reference: Flame) -> float:
    """Largest difference of T [K] at the cells of `reference` that lie within `flame`, once both
    fronts lie at the same x; between the cells of `flame`, T is a cubic spline."""
    x = reference.x + (flame.front_x - reference.front_x)
    inside = (x >= flame.x[0]) & (x <= flame.x[-1])
    return float(np.abs(CubicSpline(flame.x, flame.T)(x) - reference.T)[inside].max())
