"""Reference chemistry: the adiabatic reactor at constant pressure, integrated by CVODE.

Takes a `Mechanism`, states and a time step dt; gives the states dt later. `Advance` is the
interface between chemistry and all that tests or uses it: `CVODE` is one, a surrogate is one.
"""

from typing import Protocol

import cantera as ct
import numpy as np

from combred.chemistry.mechanism import Mechanism


class Advance(Protocol):
    """Chemistry over a time step dt, at constant pressure and enthalpy."""

    def advance(
        self, T: np.ndarray, p: np.ndarray, Y: np.ndarray, dt: float | np.ndarray
    ) -> tuple[np.ndarray, np.ndarray]:
        """T (n,) [K] and Y (n, n_species) of the states T (n,) [K], p (n,) [Pa], Y (n, n_species),
        dt [s] later: one positive time step for all, or one for each state (n,). Raises ValueError
        for other arrays (`states_of`) and another dt (`steps_of`)."""
        ...


def states_of(T: np.ndarray, p: np.ndarray, Y: np.ndarray) -> np.ndarray:
    """The states [T, p, Y] (n, 2 + n_species), float64, of T (n,) [K], p (n,) [Pa] and
    Y (n, n_species) [-]: arrays or lists of real numbers of any type.

    Raises ValueError for other shapes, and for what is not real numbers.
    """
    T, p, Y = require_real("T", T), require_real("p", p), require_real("Y", Y)
    if T.ndim != 1 or p.shape != T.shape or Y.ndim != 2 or len(Y) != len(T):
        raise ValueError(
            "T and p have the shape (n,), one value for each of n states, and Y (n, n_species); "
            f"these have the shapes {T.shape}, {p.shape} and {Y.shape}"
        )
    states = np.empty((len(T), 2 + Y.shape[1]))
    states[:, 0], states[:, 1], states[:, 2:] = T, p, Y
    return states


def require_columns(shape: tuple[int, ...], columns: int) -> None:
    """ValueError unless the shape is that of states [T, p, Y] of so many columns."""
    if len(shape) != 2 or shape[1] != columns:
        raise ValueError(
            f"states have the shape (n, {columns}): T [K], p [Pa] and mass fractions Y; these have "
            f"shape {tuple(shape)}"
        )


def steps_of(dt: float | np.ndarray, n: int) -> np.ndarray:
    """The time step of each of n states, (n,) float64 [s]; dt: one for all, or an array (n,).

    Raises ValueError for another shape, for what is not real numbers, and for a time step that is
    not positive and finite.
    """
    steps = np.array(require_real("dt", dt))
    if steps.shape not in ((), (n,)):
        raise ValueError(
            f"dt has shape {steps.shape}, and there are {n} states: give one time step [s] for all "
            f"of them, or an array ({n},)"
        )
    bad = ~(np.isfinite(steps) & (steps > 0))
    if bad.any():
        raise ValueError(
            f"dt = {np.atleast_1d(steps)[np.atleast_1d(bad)][0]} s: a time step has to be positive "
            "and finite"
        )
    return steps if steps.ndim else np.full(n, steps)


def require_real(name: str, values: np.ndarray | float) -> np.ndarray:
    """Real numbers as float64. Complex numbers, text, times and objects are refused: a conversion
    would drop an imaginary part or a unit without a word."""
    try:
        found = np.asarray(values)
    except ValueError as error:  # lists of different lengths
        raise ValueError(f"{name} is not an array of numbers: {error}") from error
    if not np.can_cast(found.dtype, np.float64, "same_kind"):
        raise ValueError(f"{name} has to be real numbers; this is of type {found.dtype}")
    return found.astype(np.float64, copy=False)


class IntegrationError(RuntimeError):
    """CVODE (or Cantera's flame solver) failed."""


FIRST = 1e-9  # s, to advance after a start: CVODE's own first step can be far too long


class Reactor:
    """One adiabatic reactor at constant pressure, started again for each state.

        dY_k/dt = W_k w_k / rho    dT/dt = -sum_k h_k W_k w_k / (rho cp)

    with the molar production rates w_k (Cantera's IdealGasConstPressureReactor). rtol and atol are
    CVODE's tolerances, relative and absolute (in the units of the reactor's variables).
    """

    MAX_STEP = 1e-3  # s; near equilibrium CVODE's steps would grow beyond any time of interest

    def __init__(self, mechanism: Mechanism, rtol: float, atol: float):
        self.mechanism, self._tolerances = mechanism, (rtol, atol)
        self._build()

    def _build(self) -> None:
        self.gas = self.mechanism.solution()
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

    rtol, atol: CVODE's tolerances. A state that CVODE cannot integrate is returned as NaN, and
    counted in `failed`. `reactor` is the `Reactor` that it uses.
    """

    def __init__(self, mechanism: Mechanism, rtol: float = 1e-8, atol: float = 1e-16):
        self.failed = 0
        self.reactor = Reactor(mechanism, rtol, atol)

    def advance(
        self, T: np.ndarray, p: np.ndarray, Y: np.ndarray, dt: float | np.ndarray
    ) -> tuple[np.ndarray, np.ndarray]:
        """T (n,) [K] and Y (n, n_species) of the states T (n,) [K], p (n,) [Pa], Y (n, n_species),
        dt [s] later, a float or (n,); NaN where CVODE fails. Raises ValueError for other arrays and
        for a dt that is not positive and finite."""
        state = states_of(T, p, Y)
        require_columns(state.shape, 2 + self.reactor.gas.n_species)
        steps = steps_of(dt, len(state))
        T_next, Y_next = np.full(len(state), np.nan), np.full(state[:, 2:].shape, np.nan)
        for i, (T0, p0, *_) in enumerate(state):
            try:
                self.reactor.start(T0, p0, state[i, 2:])
                T_next[i], Y_next[i] = self.reactor.advance(steps[i])
            except IntegrationError:
                self.failed += 1
        return T_next, Y_next
