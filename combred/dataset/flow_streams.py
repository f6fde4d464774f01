"""The streams that meet in a flow: fresh gas, burnt gas, air, fuel, and states that have reacted.

Takes `SamplingSettings`, a `Reactor` and a random generator; gives random streams and mixtures of
them, from which the trajectories of `combred.dataset.flow_states` start.
"""

import warnings

import numpy as np

from combred.chemistry.reactor import Reactor
from combred.config import SamplingSettings

# Probability of each kind of stream.
STREAMS = {"fresh": 0.2, "burnt": 0.25, "air": 0.15, "fuel": 0.1, "aged": 0.3}
FRESH_T, AIR_T = (280.0, 1000.0), (280.0, 1600.0)  # K, ranges of premixed gas and fuel, and of air
COLD, COLDEST = 0.5, 50.0  # share of streams near the colder end of their range; by so many K
DIRICHLET = 0.7  # concentration of the weights of a mixture: most are near one stream
# Share of oxidizers with other inert gas; range of its moles over those of the settings' oxidizer.
OTHER, INERT_GAS = 0.1, (0.25, 2.0)
T_RANGE = 270.0, 3400.0  # K; states outside are not kept

Labelled = tuple[np.ndarray, np.ndarray, float]  # state [T, p, Y], its label [T, p, Y], dt [s]


def log_uniform(rng: np.random.Generator, low: float, high: float) -> float:
    """A number between both, uniform in the logarithm."""
    return float(np.exp(rng.uniform(np.log(low), np.log(high))))


class FlowStreams:
    """Draws streams and mixes them, in the gas of `reactor`.

    settings: `fuel`, `oxidizer` as compositions in moles; range `phi`. aged: states [T, p, Y] of
    earlier trajectories, which become streams.
    """

    def __init__(self, settings: SamplingSettings, reactor: Reactor, rng: np.random.Generator):
        self.settings, self.reactor, self.rng = settings, reactor, rng
        self.aged: list[np.ndarray] = []

    def log_uniform(self, low: float, high: float) -> float:
        """A number between both, uniform in the logarithm."""
        return log_uniform(self.rng, low, high)

    def oxidizer(self) -> np.ndarray:
        """Mole fractions (n_species,) of the oxidizer; sometimes with less or more inert gas, and
        with any of those that the mechanism has."""
        gas, inert = self.reactor.gas, self.reactor.mechanism.inert
        gas.X = self.settings.oxidizer
        X = gas.X
        if inert.any() and self.rng.random() < OTHER:
            gases = self.rng.dirichlet(np.full(inert.sum(), DIRICHLET))
            X[inert] = X[inert].sum() * self.log_uniform(*INERT_GAS) * gases
        return X / X.sum()

    def premixed(self, T: float, p: float) -> np.ndarray:
        """Mass fractions of fuel and oxidizer at a random equivalence ratio; the gas is set."""
        gas, s = self.reactor.gas, self.settings
        oxidizer = self.oxidizer()
        gas.TP = T, p
        gas.set_equivalence_ratio(self.log_uniform(*s.phi), s.fuel, oxidizer)
        return gas.Y

    def draw(self, p: float) -> tuple[float, np.ndarray]:
        """Specific enthalpy [J/kg] and mass fractions (n_species,) of a random stream at p [Pa]."""
        gas, rng = self.reactor.gas, self.rng
        kind = rng.choice(list(STREAMS), p=list(STREAMS.values()))
        if kind == "aged" and self.aged:
            state = self.aged[rng.integers(len(self.aged))]
            gas.TPY = state[0], p, state[2:]
        elif kind == "air":
            oxidizer = self.oxidizer()
            gas.TPX = self.temperature(AIR_T), p, oxidizer
        elif kind == "fuel":
            gas.TPX = self.temperature(FRESH_T), p, self.settings.fuel
        else:  # fresh, burnt, or aged while there is no aged state
            self.premixed(self.temperature(FRESH_T), p)
            if kind == "burnt":
                self.equilibrate()
        return gas.h, gas.Y

    def equilibrate(self) -> None:
        """The gas at equilibrium, with its enthalpy and pressure. Cantera warns of cold air, which
        it can do: below 300 K the polynomials are extrapolated."""
        with warnings.catch_warnings():
            warnings.filterwarnings("ignore", message="ChemEquil")
            self.reactor.gas.equilibrate("HP", rtol=1e-7)

    def temperature(self, limits: tuple[float, float]) -> float:
        """A temperature [K] between the limits: many streams of a flow are not preheated."""
        low, high = limits
        return self.rng.uniform(low, low + COLDEST if self.rng.random() < COLD else high)

    def mixed(
        self, streams: list[tuple[float, np.ndarray]], weights: np.ndarray, p: float
    ) -> np.ndarray:
        """The state [T, p, Y] of streams mixed with the mass fractions `weights`; the gas is set.
        Raises ct.CanteraError where no temperature has the enthalpy of the mixture."""
        gas = self.reactor.gas
        gas.HPY = (
            sum(w * h for w, (h, _) in zip(weights, streams, strict=True)),
            p,
            sum(w * Y for w, (_, Y) in zip(weights, streams, strict=True)),
        )
        return self.now()

    def now(self) -> np.ndarray:
        """The state [T, p, Y] of the gas; undershoots of Y, of the order of atol, set to zero."""
        gas = self.reactor.gas
        return np.concatenate([[gas.T, gas.P], np.maximum(gas.Y, 0.0)])
