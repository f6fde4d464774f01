"""Flame speeds, burnt temperatures and peaks of species as judges of skeletons.

Takes a mechanism and cases; gives the relative errors of a skeleton. The flames of the detailed
mechanism are Cantera's; those of a skeleton start from them and keep their grid, so that both have
the same error of discretisation. Adjoint sensitivities of the detailed flames tell to first order
how a removal changes the speed.
"""

from collections.abc import Callable
from dataclasses import dataclass

import cantera as ct
import numpy as np

from combred.chemistry.mechanism import Mechanism
from combred.chemistry.reactor import IntegrationError
from combred.experiments.premixed.cantera_flame import solve_free_flame
from combred.skeletal.cases import Gas, Ranges, states
from combred.skeletal.phases import Phases
from combred.skeletal.skeleton import ReactionNetwork, Skeleton

STEADY = 1e-5, 1e-10  # relative and absolute tolerance of Cantera's flames
GRID = {"ratio": 4, "slope": 0.1, "curve": 0.2}


@dataclass(frozen=True, eq=False)
class DetailedFlame:
    """A flame of the detailed mechanism: unburnt T [K], p [Pa], Y (n_species,); grid (n,) [m];
    profiles of T [K], velocity [m/s] (n,), and Y (n_species, n); sensitivities (n_reactions,): d ln
    speed / d ln k."""

    T: float
    p: float
    Y: np.ndarray
    grid: np.ndarray
    profile_T: np.ndarray
    velocity: np.ndarray
    profile_Y: np.ndarray
    sensitivities: np.ndarray


def detailed_flame(mechanism: Mechanism, T: float, p: float, Y: np.ndarray) -> DetailedFlame | None:
    """The flame of the unburnt state T [K], p [Pa], Y (n_species,); None where Cantera finds none.
    Raises ValueError without transport data."""
    try:
        flame = solve_free_flame(mechanism, T, p, Y, (GRID,))
    except IntegrationError:
        return None
    return DetailedFlame(
        T, p, Y, flame.grid, flame.T, flame.velocity, flame.Y,
        flame.get_flame_speed_reaction_sensitivities(),
    )  # fmt: skip


class FlameSolver:
    """What a process solves flames of skeletons with."""

    def __init__(self, mechanism: Mechanism, detailed: list[DetailedFlame], peaks: tuple[str, ...]):
        self.network, self.phases = ReactionNetwork.of(mechanism), Phases(mechanism.solution())
        self.detailed, self.peaks = detailed, peaks

    def results(self, skeleton: Skeleton, of: DetailedFlame) -> np.ndarray:
        """Speed [m/s], largest T [K] and peaks of the skeleton's flame; NaN where there is none."""
        left, names = np.flatnonzero(skeleton.species), self.network.mechanism.species_names
        gas = self.phases.of(skeleton)
        try:
            gas.TPY = of.T, of.p, of.Y[left]
            flame = ct.FreeFlame(gas, grid=of.grid)
            flame.transport_model = "mixture-averaged"
            place = ((of.grid - of.grid[0]) / (of.grid[-1] - of.grid[0])).tolist()
            flame.set_initial_guess(locs=np.array([0.0, 0.3, 0.5, 1.0]))
            for name, values in (("T", of.profile_T), ("velocity", of.velocity)):
                flame.flame.set_profile(name, place, values.tolist())
            for k in left:
                flame.flame.set_profile(names[k], place, of.profile_Y[k].tolist())
            flame.flame.set_steady_tolerances(default=STEADY)
            flame.fixed_temperature = 0.5 * (of.profile_T[0] + of.profile_T[-1])
            flame.solve(0, refine_grid=False)
        except (ct.CanteraError, IndexError):  # the latter where nothing burns at equilibrium
            return np.full(2 + len(self.peaks), np.nan)
        peaks = [flame.X[gas.species_index(n)].max() if n in gas.species_names else 0.0
                 for n in self.peaks]  # fmt: skip
        return np.array([flame.velocity[0], flame.T.max(), *peaks])


Task = tuple[np.ndarray, np.ndarray, np.ndarray | None, int]


def solve_task(own: FlameSolver, task: Task) -> np.ndarray:
    """The results of a flame by its number, for species, listed and factors of a skeleton."""
    species, listed, factors, i = task
    return own.results(Skeleton(own.network, species, listed, factors), own.detailed[i])


class Flames:
    """Judges skeletons by their flames. detailed: flames of the detailed mechanism; words: the case
    of each; peaks: species whose largest mole fractions are judged; ask(work, tasks): the results
    of processes that have a `FlameSolver`."""

    name = "flame"

    def __init__(
        self,
        detailed: list[DetailedFlame],
        words: list[str],
        peaks: tuple[str, ...],
        whole: Skeleton,
        ask: Callable[[Callable, list], list[np.ndarray]],
    ):
        self.detailed, self.ask = detailed, ask
        self.reference = self._results(whole)  # with the tolerances of skeletons
        judged = ["speed", "largest T", *(f"peak of {name}" for name in peaks)]
        self.cases = [f"{word}, {what}" for word in words for what in judged]

    def first_order(self, skeleton: Skeleton) -> np.ndarray:
        """Relative changes of the speeds (n_flames,) to first order in the rate constants."""
        change = skeleton.multipliers - 1.0
        return np.array([flame.sensitivities @ change for flame in self.detailed])

    def errors(self, skeleton: Skeleton) -> np.ndarray:
        """Relative errors (n,) of the speeds, largest temperatures and peaks of all flames;
        infinite where there is no flame."""
        pairs = zip(self._results(skeleton), self.reference, strict=True)
        errors = np.concatenate([found / known - 1.0 for found, known in pairs])
        return np.where(np.isfinite(errors), errors, np.inf)

    def _results(self, skeleton: Skeleton) -> list[np.ndarray]:
        """What is judged of each flame, NaN where there is none."""
        parts = skeleton.species, skeleton.listed, skeleton.factors
        return self.ask(solve_task, [(*parts, i) for i in range(len(self.detailed))])


def flame_tasks(mechanism: Mechanism, gases: list[Gas], of: Ranges) -> list[tuple]:
    """The arguments of `detailed_flame` for each gas."""
    rows = zip(*states(mechanism, of, gases), strict=True)
    return [(mechanism, float(T), float(p), Y) for T, p, Y in rows]
