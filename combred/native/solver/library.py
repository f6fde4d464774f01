"""A stiff solver of a mechanism: a generated library, as an `Advance`.

Takes a `Mechanism`; gives a `Solver`, which simulations take in place of CVODE. `Integrator` has
what a compiled surrogate has, too.
"""

from dataclasses import dataclass
from pathlib import Path

import numpy as np

from combred.chemistry.mechanism import Mechanism, load_mechanism
from combred.chemistry.reactor import require_real, states_of
from combred.native.builder import build
from combred.native.interface import Library
from combred.native.solver.generator import TOLERANCE, generate

PRECISE = 1e-6  # tolerance of labels and of references, in doubles


@dataclass(frozen=True)
class Solution:
    """States after an integration. T (n,) [K], p (n,) [Pa], Y (n, n_species); error (n,): the
    largest error estimate of the steps over the tolerance, infinite for a state that was not
    advanced, which is as it was; steps (n,), int64: how many the solver tried."""

    T: np.ndarray
    p: np.ndarray
    Y: np.ndarray
    error: np.ndarray
    steps: np.ndarray


def solver(mechanism: Mechanism | str, phase: str = "") -> "Solver":
    """The solver of a mechanism, compiled at its first use and then kept in the cache.

    mechanism: a loaded one, or what `load_mechanism` takes, with `phase`. Raises ValueError, with
    the names of the reactions, for rates that are not known; RuntimeError without a C++ compiler.
    """
    if not isinstance(mechanism, Mechanism):
        mechanism = load_mechanism(mechanism, phase)
    return Solver(mechanism)


class Integrator:
    """A compiled library on numpy arrays. `advance` makes it an `Advance`
    (`combred.chemistry.reactor`); threads may share it.

    tolerance: of `advance`; volume: adiabatic at constant volume, not at constant pressure.
    """

    def __init__(self, library: Library, tolerance: float, volume: bool = False):
        self.library, self.tolerance, self.volume = library, tolerance, volume

    def advance(
        self, T: np.ndarray, p: np.ndarray, Y: np.ndarray, dt: float | np.ndarray
    ) -> tuple[np.ndarray, np.ndarray]:
        """T (n,) [K], p (n,) [Pa], Y (n, n_species) [-] -> T (n,) [K] and Y after dt [s], a float
        or (n,). Raises ValueError for other shapes, and for a dt or states that cannot be
        advanced, with the first of them and a remedy."""
        found = self.integrate(T, p, Y, dt)
        bad = np.flatnonzero(~np.isfinite(found.error))
        if bad.size:
            raise ValueError(self._explain(found, bad))
        return found.T, found.Y

    def integrate(
        self,
        T: np.ndarray,
        p: np.ndarray,
        Y: np.ndarray,
        dt: float | np.ndarray,
        tolerance: float | None = None,
        max_steps: int = 0,
    ) -> Solution:
        """As `advance`, with the errors and steps of each state; a state that cannot be advanced is
        returned as it was, with an infinite error.

        tolerance: None for that of `advance`; max_steps: the largest number of the solver's steps
        of a state, 0 for 5000. Raises ValueError for other shapes, and for a dt or a tolerance that
        is not positive and finite.
        """
        states = states_of(T, p, Y)
        chosen = self.tolerance if tolerance is None else tolerance
        error, steps = self.library.integrate_in_place(states, dt, chosen, max_steps, self.volume)
        return Solution(states[:, 0], states[:, 1], states[:, 2:], error, steps)

    def rates(self, T: np.ndarray, p: np.ndarray, Y: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Net production rate dY/dt and destruction rate [1/s] of each species, (n, n_species)
        each, at T (n,) [K], p (n,) [Pa], Y (n, n_species); net 0 of inert species."""
        return self.library.rates(states_of(T, p, Y))

    def jacobian(self, T: float, p: float, Y: np.ndarray) -> np.ndarray:
        """d(dT/dt, dY/dt) / d(T, Y) of one state, (1 + n_species, 1 + n_species): T [K], p [Pa], Y
        (n_species,), each Y by itself, at constant pressure, or volume if `volume` says so."""
        state = np.concatenate([[T, p], require_real("Y", Y)])
        return self.library.jacobian(state, self.volume)

    def _explain(self, found: Solution, bad: np.ndarray) -> str:
        """Which states could not be advanced, and why."""
        i = int(bad[0])
        named = ", ".join(map(str, bad[:5].tolist())) + (", ..." if bad.size > 5 else "")
        state = f"T = {found.T[i]:g} K, p = {found.p[i]:g} Pa, sum Y = {found.Y[i].sum():g}"
        if found.steps[i] == 0:
            remedy = (
                "a state has T from 100 to 6000 K (not °C), p in Pa (not atm), no Y below -1e-6, "
                "and Y with the sum 1"
            )
        else:
            remedy = f"{found.steps[i]} steps were not enough: take a shorter dt"
        return (
            f"{bad.size} of {len(found.T)} states cannot be advanced (rows {named}); the first has "
            f"{state}: {remedy}"
        )


class Solver(Integrator):
    """A Rosenbrock method with generated rates, Jacobian and sparse elimination, one state in each
    lane of a vector.

    tolerance: relative to the change of a state over a step, plus 1 K and 1e-5 in Y. From 5e-4 on
    the lanes are floats with Shampine's method (1982), of order 4; below, down to 1e-9, they are
    doubles with the exact Jacobian and Rodas5P (Steinebach 2023), of order 5. volume: as in
    `Integrator`; folder: where sources and library are written, None for a cache. mechanism: the
    solver's; library: the compiled one, a `Library`.
    """

    def __init__(
        self,
        mechanism: Mechanism,
        tolerance: float = TOLERANCE,
        volume: bool = False,
        folder: Path | None = None,
    ):
        super().__init__(Library(build(generate(mechanism), folder)), tolerance, volume)
        self.mechanism = mechanism
