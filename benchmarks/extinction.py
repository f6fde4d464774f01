"""Counterflow flames up to extinction: the strain rate at which one is extinguished, with any
`Advance` as chemistry, and Cantera's flames on the way there.

Used by `benchmarks.counterflow`, `benchmarks.transported` and `benchmarks.flow_states`.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass

import cantera as ct
import numpy as np

from combred.chemistry.mechanism import Mechanism
from combred.chemistry.stepper import Advance
from combred.config.fields import require
from combred.experiments.counterflow.cantera_flame import (
    STEP,
    CounterflowCase,
    solve_counterflow,
    strain_further,
)
from combred.experiments.counterflow.flame import MARCH, CounterflowFlame, CounterflowMarch, burn
from combred.experiments.counterflow.grid import CounterflowProfile


@dataclass(frozen=True)
class Extinction:
    """The strain rates [1/s] of the inlets between which a flame is extinguished: the highest at
    which it burnt, NaN if there is none, and the lowest at which it did not; and all flames of the
    search, in order."""

    burning: float
    extinct: float
    flames: list[CounterflowFlame]

    @property
    def strain(self) -> float:
        """The extinction strain rate [1/s]: the geometric mean of the two."""
        return float(np.sqrt(self.burning * self.extinct))


def extinguish(
    mechanism: Mechanism,
    solver: Advance,
    dt: float,
    begin: CounterflowProfile,
    how: CounterflowMarch = MARCH,
    factor: float = 1.1,
    within: float = 0.02,
    most: int = 20,
    on_progress: Callable[[CounterflowFlame], None] = lambda _: None,
) -> Extinction:
    """The extinction strain rate of the flame `begin` with `solver` in steps of dt [s].

    The strain rate rises by `factor` until the flame goes out, and then the interval is halved
    until its ends differ by at most `within` (relative). Each flame starts from the last one that
    burnt, with its flow scaled (`CounterflowProfile.strained`). If `begin` goes out at its own
    strain rate, lower ones are tried. The search ends after `most` flames in any case: `extinct` is
    infinite if none went out. A flame that is not finite counts as extinct, one that is not steady
    as burning. on_progress(flame) after each.
    """
    require(factor > 1 and within > 0, f"factor={factor} must exceed 1, within={within} exceed 0")
    burning, extinct, strain = np.nan, np.inf, begin.strain
    flames: list[CounterflowFlame] = []
    last = begin
    while len(flames) < most:
        flame = burn(mechanism, solver, dt, last.strained(strain / last.strain), how)
        flames.append(flame)
        on_progress(flame)
        if flame.burns:
            burning, last = strain, flame.profile
        else:
            extinct = strain
        if extinct <= (1 + within) * burning:
            break
        if np.isnan(burning):
            strain = extinct / factor
        elif np.isinf(extinct):
            strain = burning * factor
        else:
            strain = float(np.sqrt(burning * extinct))
    return Extinction(float(burning), float(extinct), flames)


def strained_flames(
    mechanism: Mechanism,
    case: CounterflowCase,
    lowest: float = 20.0,
    factor: float = STEP,
    halvings: int = 4,
) -> Iterator[ct.CounterflowDiffusionFlame]:
    """The burning flames of a case from the strain rate `lowest` [1/s] on, each `factor` further,
    and near extinction in steps whose logarithm is halved `halvings` times.

    It is one flame object, which changes when the next is asked for. The last one is the nearest to
    extinction. Raises as `solve_counterflow`.
    """
    flame = solve_counterflow(mechanism, case, lowest)
    while halvings >= 0:
        yield flame
        while halvings >= 0:
            kept, mdot = flame.to_array(), (flame.fuel_inlet.mdot, flame.oxidizer_inlet.mdot)
            if strain_further(flame, factor):
                break
            flame.from_array(kept)
            flame.fuel_inlet.mdot, flame.oxidizer_inlet.mdot = mdot
            factor, halvings = factor**0.5, halvings - 1
