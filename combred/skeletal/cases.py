"""The cases by which skeletons are judged, and those that are held out.

Takes the conditions of a mechanism: fuel, oxidizer, and ranges of T, p and phi; gives states of
ignitions, and unburnt gas of flames and of stirred reactors. Held-out cases lie inside the same
ranges, and no search sees them.
"""

import math
from collections.abc import Iterable
from dataclasses import dataclass, field, replace

import cantera as ct
import numpy as np

from combred.chemistry.mechanism import Mechanism

UNBURNT_T, WARMER = 300.0, 50.0  # K, of flames and reactors; where p has no range
APART = (
    1.0 / 6000.0
)  # 1/K, of the initial T of ignitions: four from 1000 to 2000 K. Low-temperature
# ignition begins at 600 K; with four from there, mechanisms are wrong between them
PRESSURES, RATIOS = 3, 3  # p and phi of ignitions
HELD_OUT, SEED = 60, 52  # ignitions at random
ATM = ct.one_atm
Gas = tuple[float, float, float]  # T [K], p [Pa], phi
Pair = tuple[float, float]  # the ends of a range


@dataclass(frozen=True)
class Ranges:
    """fuel, oxidizer: compositions in moles; T0 [K], p [Pa], phi: ranges of ignitions; flame_p
    [Pa], flame_phi: of flames and reactors."""

    fuel: str
    oxidizer: str
    T0: tuple[float, float]
    p: tuple[float, float] = (0.5 * ATM, 40.0 * ATM)
    phi: tuple[float, float] = (0.5, 1.5)
    flame_p: tuple[float, float] = (ATM, 10.0 * ATM)
    flame_phi: tuple[float, float] = (0.7, 1.3)

    def within(self, p: Pair | None, phi: Pair | None) -> "Ranges":
        """With other ranges of p [Pa] and phi, None: as they are. Flames and reactors are in the
        part of theirs that is inside, or in all of them where there is none."""
        p, phi = p or self.p, phi or self.phi
        flame_p, flame_phi = _inside(self.flame_p, p), _inside(self.flame_phi, phi)
        return replace(self, p=p, phi=phi, flame_p=flame_p, flame_phi=flame_phi)


def _inside(usual: Pair, asked: Pair) -> Pair:
    low, high = max(usual[0], asked[0]), min(usual[1], asked[1])
    return (low, high) if low < high else asked


@dataclass(frozen=True)
class Cases:
    """Ignitions, flames and stirred reactors, each by T [K], p [Pa] and phi of its unburnt gas."""

    ignitions: list[Gas] = field(default_factory=list)
    flames: list[Gas] = field(default_factory=list)
    reactors: list[Gas] = field(default_factory=list)


def judged(of: Ranges) -> Cases:
    """The cases of the search. Ignitions: a grid, uniform in 1 / T0, ln p and phi."""
    cold, hot = 1.0 / of.T0[0], 1.0 / of.T0[1]
    T0 = 1.0 / np.linspace(cold, hot, 1 + math.ceil(round((cold - hot) / APART, 6)))
    grid = np.meshgrid(T0, np.geomspace(*of.p, PRESSURES), np.linspace(*of.phi, RATIOS))
    rows = np.stack(grid, axis=-1).reshape(-1, 3).tolist()
    ignitions = list(dict.fromkeys((T, p, phi) for T, p, phi in rows))
    (low, high), (lean, rich), middle = of.flame_p, of.flame_phi, _middle(of)
    premixed = [(UNBURNT_T, low, phi) for phi in dict.fromkeys((middle, lean, rich))]
    premixed += [(UNBURNT_T, high, middle)] * (high > low)
    return Cases(ignitions, premixed, premixed)


def held_out(of: Ranges) -> Cases:
    """Ignitions at random in the ranges; flames and reactors between those of `judged`."""
    rng = np.random.default_rng(SEED)
    T0 = 1.0 / rng.uniform(1.0 / of.T0[1], 1.0 / of.T0[0], HELD_OUT)
    p = of.p[0] * (of.p[1] / of.p[0]) ** rng.random(HELD_OUT)
    phi = rng.uniform(*of.phi, HELD_OUT)
    ignitions = list(zip(T0.tolist(), p.tolist(), phi.tolist(), strict=True))
    (low, high), middle = of.flame_p, _middle(of)
    between = [0.5 * (middle + phi) for phi in of.flame_phi if phi != middle]
    premixed = [(UNBURNT_T, low, phi) for phi in between]
    warmer = WARMER * (high == low)  # else it is one of the judged
    premixed += [(UNBURNT_T + warmer, float(np.sqrt(low * high)), middle)]
    return Cases(ignitions, premixed, premixed)


def _middle(of: Ranges) -> float:
    """The phi of flames that is nearest to 1."""
    lean, rich = of.flame_phi
    return min(max(1.0, lean), rich)


def states(
    mechanism: Mechanism, of: Ranges, gases: list[Gas]
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """T (n,) [K], p (n,) [Pa], Y (n, n_species) of gases."""
    T, p, phi = np.array(gases, dtype=float).reshape(-1, 3).T
    return T, p, mechanism.mixture(of.fuel, of.oxidizer, phi)


def named(gas: Gas) -> str:
    """A case in words."""
    T, p, phi = gas
    return f"{T:.0f} K, {p / ATM:.3g} atm, phi {phi:.3g}"


def distinct(names: Iterable[str]) -> list[str]:
    """Names of cases, of which each that stood before gets its number."""
    found: dict[str, None] = {}
    for name in names:
        found[name if name not in found else f"{name}, case {len(found) + 1}"] = None
    return list(found)
