"""Flame speeds, burnt temperatures and peaks of species as judges of skeletons.

Takes a mechanism and cases; gives the relative errors of a skeleton. The flames of the detailed
mechanism are Cantera's; those of a skeleton start from them and keep their grid, so that both have
the same error of discretisation. Adjoint sensitivities of the detailed flames tell to first order
how a removal changes the speed.
"""

from dataclasses import dataclass, replace
from itertools import compress

import cantera as ct
import numpy as np

from combred.chemistry.mechanism import Mechanism
from combred.chemistry.phase import multipliers_of
from combred.chemistry.reactor import IntegrationError
from combred.chemistry.transport import solution_with_transport
from combred.experiments.premixed.cantera_flame import THINNER, WIDTH, solve, solve_free_flame
from combred.skeletal.cases import Gas, named
from combred.skeletal.phases import phase_of
from combred.skeletal.skeleton import Skeleton

STEADY = 1e-5, 1e-10  # relative and absolute tolerance of Cantera's flames
FIRST = {"ratio": 10, "slope": 0.8, "curve": 0.8}  # of a flame that starts from nothing
JUDGED = {"ratio": 4, "slope": 0.2, "curve": 0.4}  # grids of the flames of a search
HELD_OUT = {"ratio": 4, "slope": 0.1, "curve": 0.2}
FLAT, WIDENED = 0.01, 3  # largest gradient at the ends of the domain, relative to that inside, and
# how often a domain is doubled until they are below
FIELDS = 7  # arrays of a `DetailedFlame`
FIXED = 0.5  # of the rise of T: where the flame is held
FORMED = 1e-12  # largest mole fraction: of a smaller one, a relative error has no meaning


@dataclass(frozen=True, eq=False)
class DetailedFlame:
    """A flame of the detailed mechanism: unburnt T [K], p [Pa], Y (n_species,); grid (n,) [m];
    profiles of T [K], velocity [m/s] (n,), and Y (n_species, n); sensitivities (n_reactions,): d ln
    speed / d ln k, 0 where they were not asked for."""

    T: float
    p: float
    Y: np.ndarray
    grid: np.ndarray
    profile_T: np.ndarray
    velocity: np.ndarray
    profile_Y: np.ndarray
    sensitivities: np.ndarray

    @property
    def arrays(self) -> list[np.ndarray]:
        """The fields as arrays, from which `of` makes the flame again."""
        profiles = self.grid, self.profile_T, self.velocity, self.profile_Y
        return [np.array([self.T, self.p]), self.Y, *profiles, self.sensitivities]

    @staticmethod
    def of(arrays: list[np.ndarray]) -> "DetailedFlame":
        """The flame of the first of these arrays."""
        (T, p), *rest = arrays[:FIELDS]
        return DetailedFlame(float(T), float(p), *rest)

    def start(self, gas: ct.Solution, grid: np.ndarray, kept: np.ndarray) -> ct.FreeFlame:
        """A flame of the gas, which is unburnt and has the species `kept` (n_species,) bool, on a
        grid [m], with these profiles, stretched to it."""
        flame = ct.FreeFlame(gas, grid=grid)
        flame.transport_model = "mixture-averaged"
        flame.set_initial_guess(locs=np.array([0.0, 0.3, 0.5, 1.0]))
        place = ((self.grid - self.grid[0]) / (self.grid[-1] - self.grid[0])).tolist()
        profiles = {"T": self.profile_T, "velocity": self.velocity}
        profiles |= dict(zip(gas.species_names, self.profile_Y[kept], strict=True))
        for name, values in profiles.items():
            flame.flame.set_profile(name, place, values.tolist())
        flame.flame.set_steady_tolerances(default=STEADY)
        low, high = self.profile_T[[0, -1]]
        flame.fixed_temperature = low + FIXED * (high - low)
        return flame


def detailed_flame(
    mechanism: Mechanism,
    unburnt: tuple[float, float, np.ndarray],
    near: DetailedFlame | None,
    criteria: dict,
    sensitive: bool,
) -> DetailedFlame | None:
    """The flame of the unburnt state T [K], p [Pa], Y (n_species,), refined by Cantera's criteria;
    None where Cantera finds none. It starts from a flame `near` it, if there is one.

    sensitive: with its sensitivities. Raises ValueError without transport data.
    """
    gas = solution_with_transport(mechanism)
    try:
        flame = None if near is None else _continued(gas, unburnt, near, criteria)
    except IntegrationError:
        flame = None
    try:
        flame = flame or _first(gas, unburnt, criteria)
        flame = flame or solve_free_flame(mechanism, *unburnt, (criteria,))
        for _ in range(WIDENED):
            if _is_flat(flame):
                break
            flame = _continued(gas, unburnt, _kept(unburnt, flame), criteria, 2.0)
        sensitivities = speed_sensitivities(flame) if sensitive else None
    except (IntegrationError, ct.CanteraError):
        return None
    return _kept(unburnt, flame, sensitivities)


def speed_sensitivities(flame: ct.FreeFlame) -> np.ndarray:
    """d ln speed / d ln k (n_reactions,) of a flame. Cantera's are by the multipliers, which they
    leave at 1."""
    multipliers = multipliers_of(flame.gas)
    sensitivities = flame.get_flame_speed_reaction_sensitivities()
    for i, factor in enumerate(multipliers):
        flame.gas.set_multiplier(float(factor), i)
    return sensitivities * multipliers


def flame_of_part(part: Skeleton, unburnt: tuple, criteria: dict) -> DetailedFlame | None:
    """The flame of a skeleton of an unburnt state of all species, without the other species, as one
    near that of the detailed mechanism: a large one then takes a tenth of the time. None where
    there is none."""
    (T, p, Y), kept = unburnt, part.species
    flame = _first(phase_of(part), (T, p, Y[kept]), criteria)
    if flame is None:
        return None
    found = _kept((T, p, Y[kept]), flame)
    profiles = np.zeros((len(Y), len(found.grid)))
    profiles[kept] = found.profile_Y
    return replace(found, Y=Y, profile_Y=profiles, sensitivities=np.zeros(len(part.listed)))


def _first(gas: ct.Solution, unburnt: tuple, criteria: dict) -> ct.FreeFlame | None:
    """A flame from Cantera's own guess; None where it is not found. Without `auto`, which solves it
    on domains that double, it takes half the time."""
    gas.TPY = unburnt
    flame = ct.FreeFlame(gas, width=WIDTH * (ct.one_atm / unburnt[1]) ** THINNER)
    try:
        solve(flame, (FIRST, criteria))
    except IntegrationError:
        return None
    return flame


def _continued(
    gas: ct.Solution, unburnt: tuple, near: DetailedFlame, criteria: dict, wider: float = 1.0
) -> ct.FreeFlame:
    """The flame from one of another mixture, pressure or width of the domain."""
    gas.TPY = unburnt
    scale = wider * (near.p / unburnt[1]) ** THINNER
    flame = near.start(gas, near.grid * scale, np.ones(gas.n_species, bool))
    solve(flame, (criteria,))
    return flame


def _is_flat(flame: ct.FreeFlame) -> bool:
    """Whether T does not change at the ends of the domain."""
    slopes = np.abs(np.diff(flame.T) / np.diff(flame.grid))
    return bool(max(slopes[0], slopes[-1]) < FLAT * slopes.max())


def _kept(
    unburnt: tuple, flame: ct.FreeFlame, sensitivities: np.ndarray | None = None
) -> DetailedFlame:
    found = np.zeros(flame.gas.n_reactions) if sensitivities is None else sensitivities
    T, p, Y = unburnt
    return DetailedFlame(T, p, Y, flame.grid, flame.T, flame.velocity, flame.Y, found)


class Flame:
    """Judges skeletons by one flame. detailed: the flame of the detailed mechanism, of the case
    `gas`; peaks: species whose largest mole fractions are judged where it forms them; reference:
    its `results`, which are the `values`. cases: of each error, in words."""

    name = "flame"

    def __init__(
        self, detailed: DetailedFlame, gas: Gas, peaks: tuple[str, ...], reference: np.ndarray
    ):
        formed = reference[2:] > FORMED
        self.detailed, self.peaks = detailed, tuple(compress(peaks, formed))
        self.values = np.concatenate([reference[:2], reference[2:][formed]])
        judged = ["speed", "largest T", *(f"peak of {name}" for name in self.peaks)]
        self.cases = [f"{named(gas)}, {what}" for what in judged]

    def first_order(self, skeleton: Skeleton) -> float:
        """The relative change of the speed to first order in the rate constants."""
        return float(self.detailed.sensitivities @ (skeleton.multipliers - 1.0))

    def errors(self, skeleton: Skeleton) -> np.ndarray:
        """Relative errors (n,) of the speed, the largest T and the peaks; infinite where there is
        no flame."""
        errors = results(self.detailed, self.peaks, skeleton) / self.values - 1.0
        return np.where(np.isfinite(errors), errors, np.inf)

    def speed(self, skeleton: Skeleton) -> tuple[float, np.ndarray]:
        """The relative error of the speed, and d ln speed / d ln k (n_reactions,); NaN where there
        is no flame."""
        found = np.full(len(skeleton.listed), np.nan)
        flame = steady(self.detailed, skeleton)
        if flame is None:
            return np.nan, found
        found[skeleton.reactions] = speed_sensitivities(flame)
        return flame.velocity[0] / self.values[0] - 1.0, found


def results(of: DetailedFlame, peaks: tuple[str, ...], skeleton: Skeleton) -> np.ndarray:
    """Speed [m/s], largest T [K] and largest mole fractions of the skeleton's flame; NaN where
    there is none."""
    flame = steady(of, skeleton)
    if flame is None:
        return np.full(2 + len(peaks), np.nan)
    names = flame.gas.species_names
    largest = [flame.X[names.index(name)].max() if name in names else 0.0 for name in peaks]
    return np.array([flame.velocity[0], flame.T.max(), *largest])


def steady(of: DetailedFlame, skeleton: Skeleton) -> ct.FreeFlame | None:
    """The flame of a skeleton, from that of the detailed mechanism and on its grid; None where
    there is none."""
    gas = phase_of(skeleton)
    try:
        gas.TPY = of.T, of.p, of.Y[skeleton.species]
        flame = of.start(gas, of.grid, skeleton.species)
        flame.solve(0, refine_grid=False)
    except (ct.CanteraError, IndexError):  # the latter where nothing burns at equilibrium
        return None
    return flame


@dataclass(frozen=True, eq=False)
class Solved:
    """How flames are solved: Cantera's refine criteria, whether with sensitivities, and the species
    whose peaks are judged."""

    criteria: dict
    sensitive: bool
    peaks: tuple[str, ...]


def flame_of(
    whole: Skeleton, unburnt: tuple, near: DetailedFlame | None, how: Solved
) -> list[np.ndarray]:
    """Of an unburnt state, as of `detailed_flame`, the arrays of the flame, and its `results` with
    the tolerances of skeletons; [] where there is none."""
    mechanism = whole.network.mechanism
    detailed = detailed_flame(mechanism, unburnt, near, how.criteria, how.sensitive)
    return [*detailed.arrays, results(detailed, how.peaks, whole)] if detailed else []
