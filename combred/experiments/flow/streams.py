"""The streams that meet in a flow: fresh gas, burnt gas, air, fuel, and states that have reacted.

Takes `SamplingSettings` and a `Solver`; gives arrays of random streams and of
mixtures of them, from which the trajectories of a flow start. NaN marks a state that could not be
computed: those of its trajectory are dropped.
"""

import cantera as ct
import numpy as np

from combred.chemistry.equilibrium import equilibrium
from combred.chemistry.mechanism import Mechanism
from combred.chemistry.thermo import Thermo
from combred.config.data import SamplingSettings
from combred.native.solver.library import Solver

# Probability of each kind of stream.
STREAMS = {"fresh": 0.2, "burnt": 0.25, "air": 0.15, "fuel": 0.1, "aged": 0.3}
FRESH_T, AIR_T = (280.0, 1000.0), (280.0, 1600.0)  # K, ranges of premixed gas and fuel, and of air
COLD, COLDEST = 0.5, 50.0  # share of streams near the colder end of their range; by so many K
DIRICHLET = 0.7  # concentration of the weights of a mixture: most are near one stream
# Share of oxidizers with other inert gas; range of its moles over those of the settings' oxidizer.
OTHER, INERT_GAS = 0.1, (0.25, 2.0)
T_RANGE = 270.0, 3400.0  # K; states outside are not kept
TOLERANCE = 1e-3  # of the solver between the states, whose labels are more precise
VALENCE = {"C": 1.0, "S": 1.0, "H": 0.25, "O": -0.5}  # moles of O2 that a mole of atoms consumes
GUESS = 1200.0  # K, for Newton's method

Range = tuple[float, float] | list[float]
Stream = tuple[np.ndarray, np.ndarray]  # h (n,) [J/kg], Y (n, n_species)


class Streams:
    """Draws streams with the random numbers of `rng`, and mixes them.

    settings: `fuel`, `oxidizer` as compositions in moles; ranges `p` [Pa], `phi` and `dt` [s].
    aged (m, 2 + n_species): states [T, p, Y] of earlier trajectories, which become streams.
    """

    def __init__(self, mechanism: Mechanism, settings: SamplingSettings, solver: Solver):
        self.mechanism, self.settings, self.solver = mechanism, settings, solver
        self.gas, self.thermo = mechanism.solution(transport=False), Thermo(mechanism)
        self._fuel = self._mole_fractions(settings.fuel)
        self._oxidizer = self._mole_fractions(settings.oxidizer)
        weights = [self.gas.atomic_weight(name) for name in mechanism.element_names]
        valence = [VALENCE.get(name.upper(), 0.0) for name in mechanism.element_names]
        self._consumed = np.divide(valence, weights) @ mechanism.elements
        self.restart(0)

    def restart(self, *seed: int) -> None:
        """A new sequence of random numbers, and no aged states."""
        self.rng = np.random.default_rng(seed)
        self.aged = np.empty((0, 2 + self.mechanism.n_species))

    def _mole_fractions(self, composition: str) -> np.ndarray:
        self.gas.TPX = 300.0, ct.one_atm, composition
        return self.gas.X

    # -- random numbers --------------------------------------------------------------------------

    def log_uniform(self, limits: Range, shape: int | tuple[int, ...]) -> np.ndarray:
        """Numbers between the limits, uniform in the logarithm."""
        low, high = np.log(limits)
        return np.exp(self.rng.uniform(low, high, shape))

    def temperature(self, limits: Range, n: int) -> np.ndarray:
        """T (n,) [K] between the limits: many streams of a flow are not preheated."""
        low, high = limits
        top = np.where(self.rng.random(n) < COLD, low + COLDEST, high)
        return self.rng.uniform(low, top)

    # -- streams ---------------------------------------------------------------------------------

    def oxidizer(self, n: int) -> np.ndarray:
        """Mass fractions (n, n_species) of oxidizers; some have less or more inert gas, of any of
        the kinds that the mechanism has."""
        inert, X = self.mechanism.inert, np.tile(self._oxidizer, (n, 1))
        replaced = np.flatnonzero(self.rng.random(n) < OTHER)
        if inert.any():
            gases = self.rng.dirichlet(np.full(inert.sum(), DIRICHLET), len(replaced))
            moles = self._oxidizer[inert].sum() * self.log_uniform(INERT_GAS, len(replaced))
            X[np.ix_(replaced, inert)] = moles[:, None] * gases
        return self._by_mass(X)

    def fuel(self, n: int) -> np.ndarray:
        """Mass fractions (n, n_species) of the fuel."""
        return np.tile(self._by_mass(self._fuel[None]), (n, 1))

    def premixed(self, n: int) -> np.ndarray:
        """Mass fractions (n, n_species) of fuel and oxidizer at random equivalence ratios."""
        fuel, oxidizer, phi = self.fuel(n), self.oxidizer(n), self.log_uniform(self.settings.phi, n)
        # The oxidizer supplies the O2 that the fuel consumes, if phi is 1.
        demand, supply = self._demand(fuel), -self._demand(oxidizer)
        share = (phi * supply / (phi * supply + demand))[:, None]
        return share * fuel + (1 - share) * oxidizer

    def draw(self, p: np.ndarray) -> Stream:
        """Random streams at the pressures p (n,) [Pa]."""
        rng, n = self.rng, len(p)
        kind = rng.choice(list(STREAMS), n, p=list(STREAMS.values()))
        if not len(self.aged):
            kind[kind == "aged"] = "fresh"
        T, Y = self.temperature(FRESH_T, n), self.premixed(n)
        air, fuel, aged = kind == "air", kind == "fuel", kind == "aged"
        T[air], Y[air] = self.temperature(AIR_T, air.sum()), self.oxidizer(air.sum())
        Y[fuel] = self.fuel(fuel.sum())
        if aged.any():
            chosen = self.aged[rng.integers(len(self.aged), size=aged.sum())]
            T[aged], Y[aged] = chosen[:, 0], chosen[:, 2:]
        h, burnt = self.thermo.enthalpy(T, Y), kind == "burnt"
        Y[burnt] = self.equilibrium(T[burnt], p[burnt], Y[burnt])[1]
        return h, Y

    # -- gas -------------------------------------------------------------------------------------

    def states(self, h: np.ndarray, p: np.ndarray, Y: np.ndarray) -> np.ndarray:
        """States [T, p, Y] (n, 2 + n_species) of h (n,) [J/kg], p (n,) [Pa], Y (n, n_species); T is
        NaN where h or Y is, or where no T within `Thermo.T_bounds` has this enthalpy."""
        T, (low, high) = self.thermo.temperature(h, Y, GUESS), self.thermo.T_bounds
        return np.column_stack([np.where((T > low) & (T < high), T, np.nan), p, Y])

    def equilibrium(
        self, T: np.ndarray, p: np.ndarray, Y: np.ndarray
    ) -> tuple[np.ndarray, np.ndarray]:
        """T (n,) [K] and Y (n, n_species) at equilibrium, with the enthalpy and the pressure of the
        states; NaN where Cantera fails."""
        T, Y = equilibrium(self.gas, T, p, Y)
        return T, normalized(Y)

    def react(self, states: np.ndarray, dt: float | np.ndarray) -> np.ndarray:
        """States [T, p, Y] (n, 2 + n_species) after dt [s], a float or (n,); NaN where the solver
        cannot advance them."""
        T, p, Y = states[:, 0], states[:, 1], states[:, 2:]
        solution = self.solver.attempt(T, p, Y, dt, TOLERANCE)
        T = np.where(np.isfinite(solution.error), solution.T, np.nan)
        return np.column_stack([T, p, normalized(solution.Y)])

    def _by_mass(self, X: np.ndarray) -> np.ndarray:
        """Mass fractions of moles X, (n, n_species) each."""
        mass = X * self.mechanism.molecular_weights
        return mass / mass.sum(1, keepdims=True)

    def _demand(self, Y: np.ndarray) -> np.ndarray:
        """O2 (n,) [kmol/kg] that mass fractions Y (n, n_species) consume, less what they hold."""
        return Y @ self._consumed


def log_uniform(rng: np.random.Generator, low: float, high: float) -> float:
    """A number between low and high, uniform in the logarithm."""
    return float(np.exp(rng.uniform(np.log(low), np.log(high))))


def normalized(Y: np.ndarray) -> np.ndarray:
    """Mass fractions (n, n_species) without undershoots, with the sum 1; NaN stays."""
    Y = np.where(Y < 0.0, 0.0, Y)
    return Y / Y.sum(1, keepdims=True)


def within_range(states: np.ndarray) -> np.ndarray:
    """(n,) bool: the states [T, p, Y] whose T lies in `T_RANGE`; not those that are NaN."""
    return (states[:, 0] > T_RANGE[0]) & (states[:, 0] < T_RANGE[1])


def apart(times: np.ndarray, dt: np.ndarray) -> np.ndarray:
    """(n, m) bool: the times that are kept of ascending times (n, m) [s] of n trajectories, each
    the beginning of a time step dt (n, m) [s]: the first, and those that are not within a time step
    kept before."""
    keep, end = np.zeros(times.shape, bool), np.full(len(times), -1.0)
    for j in range(times.shape[1]):
        keep[:, j] = times[:, j] > end
        end = np.where(keep[:, j], times[:, j] + dt[:, j], end)
    return keep
