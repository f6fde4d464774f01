"""Counterflow flames of fuel against oxidizer, compared by peak temperature, profile and radicals.

Takes streams and an `Advance`; gives a `CounterflowFlame` of each case
(`combred.experiments.counterflow.flame`), and errors as plain numbers.
"""

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from scipy.interpolate import PchipInterpolator
from scipy.optimize import minimize_scalar

from combred.chemistry.mechanism import Mechanism
from combred.chemistry.reactor import IntegrationError
from combred.experiments.counterflow import flame
from combred.experiments.counterflow.cantera_flame import CounterflowCase
from combred.experiments.counterflow.flame import CounterflowFlame, CounterflowMarch
from combred.experiments.counterflow.grid import CounterflowProfile
from combred.experiments.flames import MarchedFlames
from combred.experiments.metrics import peak_errors, tracked_species

POSITION = 0.05  # of the flame's thickness: largest shift by which profiles are aligned
FAILED = {"peak_T_error": np.nan, "profile_T_error": np.nan, "peak_errors": {}}


@dataclass(frozen=True)
class CounterflowFlames(MarchedFlames[CounterflowFlame]):
    """Flames of the `CounterflowCase`s at the strain rate `strain` [1/s] of the inlets."""

    march: CounterflowMarch = flame.MARCH
    strain: float = 100.0

    name: ClassVar = "counterflow flames"
    kind: ClassVar = CounterflowFlame
    marched: ClassVar = staticmethod(flame.burn)

    def begin(self, case: CounterflowCase) -> CounterflowProfile:
        """Cantera's flame. Raises ValueError where it finds none, or where it is extinct."""
        try:
            return flame.start(self.mechanism, case, self.strain, self.march.cells)
        except IntegrationError as error:
            raise ValueError(str(error)) from error

    def compare(self, found: list[CounterflowFlame], references: list[CounterflowFlame]) -> dict:
        """The errors of each case ("cases", `compare`); NaN where one flame does not burn."""
        rows = [
            compare(self.mechanism, of_flame(one), of_flame(reference))
            if one.burns and reference.burns
            else dict(FAILED)
            for one, reference in zip(found, references, strict=True)
        ]
        return {"cases": rows}


# -- errors of a profile ---------------------------------------------------------------------------


@dataclass(frozen=True)
class Curve:
    """A profile: x (n,) [m], from the stagnation plane on; T (n,) [K]; Y (n, n_species)."""

    x: np.ndarray
    T: np.ndarray
    Y: np.ndarray

    @property
    def thickness(self) -> float:
        """Width [m] of the profile at half the excess of T over the hotter stream."""
        hottest = max(self.T[0], self.T[-1])
        hot = self.x[self.T > 0.5 * (hottest + self.T.max())]
        return float(np.ptp(hot))

    @property
    def peak_T(self) -> float:
        """The highest temperature [K]: that of the parabola through the highest point and its
        neighbours."""
        i = int(np.clip(np.argmax(self.T), 1, len(self.T) - 2))
        a, b, c = np.polyfit(self.x[i - 1 : i + 2] - self.x[i], self.T[i - 1 : i + 2], 2)
        return float(c - b * b / (4 * a)) if a < 0 else float(self.T[i])


def of_flame(flame: CounterflowFlame) -> Curve:
    """The last profile of a marched flame."""
    return Curve(flame.x, flame.T, flame.Y)


def compare(mechanism: Mechanism, curve: Curve, reference: Curve) -> dict:
    """The errors of a burning flame against a reference.

    peak_T_error [K]; shift [m]: of `curve` to the right by which the profiles of T agree best, at
    most `POSITION` of the reference's thickness; profile_T_error [K]: largest difference of T with
    this shift, at the points of `reference` within `curve`; peak_errors: relative errors of the
    largest mass fractions of radicals.
    """
    spline, limit = PchipInterpolator(curve.x, curve.T), POSITION * reference.thickness

    def off(shift: float) -> float:
        x = reference.x - shift
        inside = (x >= curve.x[0]) & (x <= curve.x[-1])
        return float(np.abs(spline(x) - reference.T)[inside].max())

    shifts = np.linspace(-limit, limit, 21)
    best = shifts[int(np.argmin([off(shift) for shift in shifts]))]
    step = shifts[1] - shifts[0]
    found = minimize_scalar(
        off, bounds=(max(best - step, -limit), min(best + step, limit)), method="bounded"
    )
    shift = float(found.x) if found.fun < off(best) else float(best)
    tracked = tracked_species(mechanism, [reference])
    return {
        "peak_T_error": abs(curve.peak_T - reference.peak_T),
        "shift": shift,
        "thickness": reference.thickness,
        "profile_T_error": off(shift),
        "peak_errors": peak_errors(mechanism, curve.Y, reference.Y, tracked),
    }
