"""Reference chemistry: the adiabatic reactor at constant pressure, integrated by CVODE.

Takes a `Mechanism`, states and a time step dt; gives the states dt later, as an `Advance`.
"""

from typing import NamedTuple

import cantera as ct
import numpy as np

from combred.chemistry.mechanism import Mechanism
from combred.chemistry.states import Real, Rows, is_state, require_columns, states_of, steps_of
from combred.chemistry.stepper import Solution, require_advanced, warn_of_pressure


class IntegrationError(RuntimeError):
    """CVODE (or Cantera's flame solver) failed."""


class Tolerances(NamedTuple):
    """Relative and absolute tolerance of CVODE, the latter in the units of a reactor's variables;
    the default is that of every reference: ten times tighter, delays move by 2e-6 at most."""

    rtol: float = 1e-8
    atol: float = 1e-16


REFERENCE = Tolerances()
FIRST = 1e-9  # s, to advance after a start: CVODE's own first step can be far too long


class Reactor:
    """One adiabatic reactor at constant pressure, started again for each state.

        dY_k/dt = W_k w_k / rho    dT/dt = -sum_k h_k W_k w_k / (rho cp)

    with the molar production rates w_k (Cantera's IdealGasConstPressureReactor). rtol and atol are
    CVODE's tolerances, relative and absolute (in the units of the reactor's variables).
    """

    MAX_STEP = 1e-3  # s; near equilibrium CVODE's steps would grow beyond any time of interest

    def __init__(
        self, mechanism: Mechanism, rtol: float = REFERENCE.rtol, atol: float = REFERENCE.atol
    ):
        self.mechanism, self._tolerances = mechanism, (rtol, atol)
        self._build()

    def _build(self) -> None:
        self.gas = self.mechanism.solution(transport=False)
        self._reactor = ct.IdealGasConstPressureReactor(self.gas, clone=False)
        self.net = ct.ReactorNet([self._reactor])
        self.net.rtol, self.net.atol = self._tolerances
        self.net.max_steps = 20_000
        self.net.max_time_step = self.MAX_STEP

    def _fail(self, error: ct.CanteraError) -> IntegrationError:
        # A new phase and a new integrator: the failure must not affect the next state.
        self._build()
        lines = [line.strip() for line in str(error).splitlines()]
        message = [line for line in lines if line and not line.startswith("*")]
        return IntegrationError("; ".join(message[:2]))

    def start(self, T: float, p: float, Y: np.ndarray) -> None:
        """Set the reactor to the state T [K], p [Pa], Y (n_species,) at t = 0.

        Raises IntegrationError where Cantera refuses the state, for example NaN.
        """
        try:
            self.gas.set_unnormalized_mass_fractions(Y)
            self.gas.TP = T, p
        except ct.CanteraError as error:
            raise self._fail(error) from error
        # The mass is a variable of CVODE. It follows from the volume, which the last state changed.
        self._reactor.volume = 1.0
        self._reactor.syncState()
        self.net.initial_time = 0.0
        self.net.reinitialize()

    def advance(self, t: float) -> tuple[float, np.ndarray]:
        """Integrate to the time t [s] after `start`; returns T [K] and Y (n_species,).

        Raises IntegrationError where CVODE fails; the reactor must then be started again.
        """
        try:
            self.net.advance(t)
        except ct.CanteraError as error:
            raise self._fail(error) from error
        return self._reactor.T, self.gas.Y

    def step(self) -> tuple[float, float]:
        """One internal step of CVODE; returns the time t [s] after `start` and T [K].

        Raises IntegrationError as `advance` does.
        """
        try:
            t = self.net.step()
        except ct.CanteraError as error:
            raise self._fail(error) from error
        return t, self._reactor.T


class CVODE:
    """The reference `Advance`: CVODE integrates every state from a cold start, that is without the
    step size and history of an earlier integration.

    rtol, atol: CVODE's tolerances. `reactor` is the `Reactor` that it uses.
    """

    def __init__(
        self, mechanism: Mechanism, rtol: float = REFERENCE.rtol, atol: float = REFERENCE.atol
    ):
        self.mechanism = mechanism
        self.reactor = Reactor(mechanism, rtol, atol)

    def advance(self, T: Rows, p: Real, Y: Rows, dt: Real) -> tuple[Rows, Rows]:
        """T (n,) [K] and Y (n, n_species) of the states T (n,) [K], p [Pa], Y (n, n_species), dt
        [s] later; p and dt: one for all, or (n,). Raises ValueError for other arrays, for a dt that
        is not positive and finite, and where rows are no states or CVODE fails."""
        found = self.attempt(T, p, Y, dt)
        require_advanced(found, lambda _: "CVODE fails: take a shorter dt")
        warn_of_pressure(p)
        return found.T, found.Y

    def attempt(self, T: Rows, p: Real, Y: Rows, dt: Real) -> Solution:
        """As `advance`, for those who judge: a row that is no state, or where CVODE fails, is as it
        was, with an infinite error; other errors and all steps are 0, for they are not known."""
        state = states_of(T, p, Y)
        require_columns(state.shape, 2 + self.reactor.gas.n_species)
        steps, error = steps_of(dt, len(state)), np.full(len(state), np.inf)
        for i in np.flatnonzero(is_state(state)):
            try:
                self.reactor.start(state[i, 0], state[i, 1], state[i, 2:])
                state[i, 0], state[i, 2:] = self.reactor.advance(steps[i])
                error[i] = 0.0
            except IntegrationError:
                pass
        return Solution(state[:, 0], state[:, 1], state[:, 2:], error, np.zeros(len(state), int))
