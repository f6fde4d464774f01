"""Premixed flames, freely propagating, compared by speed, thickness and profile.

Takes cases and an `Advance`; gives a `Flame` of each case (`combred.experiments.premixed.flame`),
and errors for validation.json.
"""

from dataclasses import dataclass
from itertools import product
from typing import ClassVar, Self

import numpy as np
from scipy.interpolate import CubicSpline

from combred.chemistry.fuel import Mixture
from combred.chemistry.mechanism import Mechanism
from combred.config.validation import ValidationSettings
from combred.experiments.flames import MarchedFlames
from combred.experiments.metrics import (
    peak_errors,
    relative_error,
    summarize,
    tracked_species,
    worst,
)
from combred.experiments.premixed import flame
from combred.experiments.premixed.flame import Flame, FlameMarch
from combred.experiments.premixed.grid import FlameCase, Profile


@dataclass(frozen=True)
class PremixedFlames(MarchedFlames[Flame]):
    """Flames of the `FlameCase`s."""

    march: FlameMarch = flame.MARCH

    name: ClassVar = "flames"
    kind: ClassVar = Flame
    marched: ClassVar = staticmethod(flame.burn)
    limits: ClassVar = {"flame": ("speed_error", "worst")}

    @classmethod
    def of(cls, mechanism: Mechanism, mixture: Mixture, settings: ValidationSettings) -> Self:
        """All combinations of the temperatures of fresh gas, pressures and equivalence ratios of
        the flames of `settings`."""
        values = product(settings.flame_T, settings.p, settings.flame_phi)
        cases = [FlameCase(*value) for value in values]
        return cls(mechanism, mixture, cases, settings.dt, flame.MARCH)

    def begin(self, case: FlameCase) -> Profile:
        """Cantera's flame. Raises ValueError where it finds none."""
        fresh = self.mechanism.mixture(self.mixture.fuel, self.mixture.oxidizer, case.phi)
        return flame.start(self.mechanism, case, fresh, self.march.cells)

    def compare(self, found: list[Flame], references: list[Flame]) -> dict:
        """The errors of each case ("cases"), and median, mean and worst error of the speed
        (`combred.experiments.metrics.summarize`).

        speed_error, thickness_error, peak_errors: relative; burnt_T_error [K]: of the last cell;
        profile_T_error [K]: `profile_difference`. The errors of a flame that failed
        (`Flame.outcome`) are NaN in its row, and infinite in mean and worst; outcome: that of
        the worst case.
        """
        tracked = tracked_species(self.mechanism, references)
        both = zip(found, references, strict=True)
        rows = [_case_errors(self.mechanism, one, reference, tracked) for one, reference in both]
        speeds = [row["speed_error"] for row in rows]
        last = rows[worst(speeds)]
        return {
            "cases": rows,
            "worst_case": last["case"],
            "outcome": last["outcome"],
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
        "outcome": flame.outcome,
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
