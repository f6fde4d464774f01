"""What a flame is solved for: a user's arguments, checked, and the errors that say what is wrong.

Takes a solver or a mechanism and an unburnt gas; gives a `Gas`, which has the compiled library and
the burnt gas.
"""

import threading
from dataclasses import dataclass
from functools import lru_cache

import cantera as ct
import numpy as np

from combred.chemistry.equilibrium import equilibrium
from combred.chemistry.mechanism import Mechanism, load_mechanism
from combred.chemistry.polynomials import GAS_CONSTANT
from combred.chemistry.states import Rows, require_columns, require_states, states_of
from combred.native.flame_library import TRANSPORT, FlameLibrary, flame_library
from combred.native.solver.library import Integrator

# K, by which gas at equilibrium is warmer than the unburnt gas, at least, where it burns.
LEAST_RISE = 200.0
# m/s: the speed of a flame that fails to become steady at last, below which the gas does not burn.
LEAST_SPEED = 0.005
EQUILIBRIUM = threading.Lock()  # of the phases of `_phase`


class FlameError(ValueError):
    """A flame was not found; the message has what was tried."""


class NoFlame(FlameError):
    """The gas does not burn: it is below its limit, or has no fuel."""


@dataclass(frozen=True, eq=False)
class Gas:
    """Unburnt gas T [K], p [Pa], Y (n_species,) of a mechanism, with factors (n_reactions,) on its
    rate constants; transport: a key of `TRANSPORT`; burnt_T [K], burnt_Y (n_species,): at
    equilibrium."""

    mechanism: Mechanism
    T: float
    p: float
    Y: np.ndarray
    factors: np.ndarray
    transport: str
    burnt_T: float
    burnt_Y: np.ndarray

    @property
    def library(self) -> FlameLibrary:
        """The compiled library of the mechanism."""
        return flame_library(self.mechanism)

    @property
    def density(self) -> float:
        """Of the unburnt gas [kg/m3]."""
        return float(density(self.mechanism, self.p, np.array([self.T]), self.Y[None])[0])


def density(mechanism: Mechanism, p: float, T: Rows, Y: Rows) -> Rows:
    """rho (n,) [kg/m3] of T (n,) [K], Y (n, n_species)."""
    return p / (GAS_CONSTANT * T * (Y / mechanism.molecular_weights).sum(1))


def mechanism_of(solver: Integrator | Mechanism | str) -> tuple[Mechanism, np.ndarray]:
    """The mechanism of a solver, a mechanism itself or the one of a name, and factors
    (n_reactions,) on its rate constants. Raises ValueError for a solver that has no flames."""
    if isinstance(solver, str | Mechanism):
        mechanism = load_mechanism(solver) if isinstance(solver, str) else solver
        return mechanism, _unit_factors(mechanism)
    if not isinstance(solver, Integrator) or not hasattr(solver, "mechanism"):
        raise ValueError(
            f"{type(solver).__name__} has no rates of a mechanism, which a flame needs: give "
            "combred.solver(MECHANISM)"
        )
    if solver.reactor:
        raise ValueError("a flame has constant pressure: give combred.solver(MECHANISM) itself")
    if solver.sources:
        raise ValueError("a flame has no sources beside its own: give solver.with_sources(None)")
    factors = getattr(solver, "factors", None)
    return solver.mechanism, _unit_factors(solver.mechanism) if factors is None else factors


@lru_cache(maxsize=8)
def _phase(mechanism: Mechanism) -> ct.Solution:
    """A phase of a mechanism, read once: hold `EQUILIBRIUM` while its state is in use."""
    return mechanism.solution(transport=False)


def _unit_factors(mechanism: Mechanism) -> np.ndarray:
    return np.ones(_phase(mechanism).n_reactions)


def require_neutral(mechanism: Mechanism) -> None:
    """ValueError where a mechanism has ions, whose transport depends on an electric field."""
    charges = _phase(mechanism).charges
    ions = [name for name, q in zip(mechanism.species_names, charges, strict=True) if q]
    if ions:
        raise ValueError(
            f"{mechanism.name} has ions ({' '.join(ions[:5])}), whose transport depends on an "
            "electric field: give a mechanism without them"
        )


def gases(
    solver: Integrator | Mechanism | str, T: Rows, p: Rows, Y: Rows, transport: str
) -> list[Gas | FlameError]:
    """The unburnt gases of states T (n,) [K], p (n,) [Pa], Y (n, n_species), or why one has no
    flame. Raises ValueError for states that are none, and for a solver, a mechanism or a transport
    without flames."""
    mechanism, factors = mechanism_of(solver)
    if transport not in TRANSPORT:
        raise ValueError(f"transport={transport!r}: give one of {', '.join(map(repr, TRANSPORT))}")
    states = states_of(T, p, Y)
    require_columns(states.shape, 2 + mechanism.n_species)
    require_states(states, "unburnt gases")
    require_neutral(mechanism)
    T, p, Y = states[:, 0], states[:, 1], np.maximum(states[:, 2:], 0.0)
    Y /= Y.sum(1, keepdims=True)
    with EQUILIBRIUM:
        burnt_T, burnt_Y = equilibrium(_phase(mechanism), T, p, Y)
    answers: list[Gas | FlameError] = []
    for i in range(len(T)):
        if not np.isfinite(burnt_T[i]):
            words = describe(mechanism, T[i], p[i], Y[i])
            answers.append(FlameError(f"Cantera finds no equilibrium of {words}"))
            continue
        if burnt_T[i] - T[i] < LEAST_RISE:
            answers.append(NoFlame(
                f"{describe(mechanism, T[i], p[i], Y[i])} does not burn: at equilibrium it has "
                f"{burnt_T[i]:.0f} K. Give fuel and oxidizer, nearer to phi = 1"
            ))  # fmt: skip
            continue
        unburnt = float(T[i]), float(p[i]), Y[i]
        burnt = float(burnt_T[i]), burnt_Y[i]
        answers.append(Gas(mechanism, *unburnt, factors, transport, *burnt))
    return answers


def describe(mechanism: Mechanism, T: float, p: float, Y: np.ndarray) -> str:
    """A gas in words: T, p and its most abundant species."""
    largest = np.argsort(-Y)[:3]
    species = ", ".join(f"{mechanism.species_names[k]} {Y[k]:.3g}" for k in largest if Y[k] > 0.0)
    return f"the gas of T = {T:g} K, p = {p:g} Pa and mass fractions {species}"
