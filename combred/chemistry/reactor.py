"""Reference chemistry: the adiabatic constant-pressure reactor, integrated by CVODE.

Takes a `Mechanism`; gives the state `dt` later. `Advance` is the one interface between chemistry
and whatever tests it: CVODE is one, a surrogate is one.
"""

from typing import Protocol

import cantera as ct
import numpy as np

from combred.chemistry.mechanism import Mechanism


class Advance(Protocol):
    """Chemistry over one fixed step `dt` at constant pressure and enthalpy.

    T (n,) [K], p (n,) [Pa], Y (n, n_species) [-]  ->  T (n,) [K], Y (n, n_species) [-]
    """

    def advance(
        self, T: np.ndarray, p: np.ndarray, Y: np.ndarray
    ) -> tuple[np.ndarray, np.ndarray]: ...


class IntegrationError(RuntimeError):
    """CVODE gave up on a state."""


class Reactor:
    """One adiabatic constant-pressure reactor, re-initialised for each new state.

    dY_k/dt = W_k w_k / rho,  dT/dt = -sum_k h_k W_k w_k / (rho cp)   (Cantera's
    IdealGasConstPressureReactor). `rtol` [-] and `atol` (of the reactor's variables) are CVODE's.
    """

    MAX_STEP = 1e-3  # s; near equilibrium CVODE's steps would otherwise grow past all use

    def __init__(self, mechanism: Mechanism, rtol: float, atol: float):
        self._mechanism, self._tolerances = mechanism, (rtol, atol)
        self._build()

    def _build(self) -> None:
        self.gas = self._mechanism.solution()
        self._reactor = ct.IdealGasConstPressureReactor(self.gas, clone=False)
        self.net = ct.ReactorNet([self._reactor])
        self.net.rtol, self.net.atol = self._tolerances
        self.net.max_steps = 20_000
        self.net.max_time_step = self.MAX_STEP

    def _fail(self, error: ct.CanteraError) -> IntegrationError:
        # A new phase and integrator: nothing of the failure is carried into the next state.
        self._build()
        lines = [line.strip() for line in str(error).splitlines()]
        told = [line for line in lines if line and not line.startswith("*")]
        return IntegrationError("; ".join(told[:2]))

    def start(self, T: float, p: float, Y: np.ndarray) -> None:
        """Put the reactor at t = 0 in the state T [K], p [Pa], Y (n_species,).

        Raises IntegrationError where this is no state of the gas (NaN, for one).
        """
        try:
            self.gas.set_unnormalized_mass_fractions(Y)
            self.gas.TP = T, p
        except ct.CanteraError as error:
            raise self._fail(error) from error
        # The mass is a variable of CVODE: with the volume that the last state left, it would drift.
        self._reactor.volume = 1.0
        self._reactor.syncState()
        self.net.initial_time = 0.0
        self.net.reinitialize()

    def advance(self, t: float) -> tuple[float, np.ndarray]:
        """Integrate to t [s] after `start`; returns T [K] and Y (n_species,).

        Raises IntegrationError where CVODE fails; the reactor must then be started anew.
        """
        try:
            self.net.advance(t)
        except ct.CanteraError as error:
            raise self._fail(error) from error
        return self._reactor.T, self.gas.Y

    def step(self) -> tuple[float, float]:
        """One internal step of the integrator; returns t [s] and T [K]."""
        try:
            t = self.net.step()
        except ct.CanteraError as error:
            raise self._fail(error) from error
        return t, self._reactor.T


class CVODE:
    """The reference `Advance`: every state integrated by CVODE from a cold start.

    A state that CVODE cannot integrate comes back as NaN; `failed` counts them.
    """

    def __init__(self, mechanism: Mechanism, dt: float, rtol: float = 1e-8, atol: float = 1e-16):
        self.dt = dt
        self.failed = 0
        self.reactor = Reactor(mechanism, rtol, atol)

    def advance(self, T: np.ndarray, p: np.ndarray, Y: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        T_next, Y_next = np.full(len(T), np.nan), np.full(Y.shape, np.nan)
        for i in range(len(T)):
            try:
                self.reactor.start(T[i], p[i], Y[i])
                T_next[i], Y_next[i] = self.reactor.advance(self.dt)
            except IntegrationError:
                self.failed += 1
        return T_next, Y_next
