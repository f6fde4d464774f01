r"""How an ignition delay depends on errors of the composition on the way: by an adjoint.

Takes an ignition's states in time; gives the sensitivity of each. A change dY of the mass fractions
at the time t moves the delay tau, the time at which T reaches a given value, by -phi(t) . dY, where

    dphi/dt = -J^T phi,    phi(tau) = grad T / (dT/dt),    phi . f = 1 at every time

with dY/dt = f(Y) and J = df/dY at constant enthalpy (adjoint equations: Cao, Li, Petzold & Serban,
SIAM J. Sci. Comput. 24 (2003) 1076; the last equation is that of a shift in time, dY = f dt).
A solver that marches in steps dt, with an error e of Y at the end of each, is wrong by

    (tau' - tau) / tau = - mean over the steps of  phi . e / dt,    phi at the end of the step.
"""

import warnings
from dataclasses import dataclass

import numpy as np
from scipy.linalg import expm

from combred.chemistry.mechanism import Mechanism
from combred.chemistry.reactor import FIRST, IntegrationError, Reactor
from combred.experiments.ignition.rollout import Case
from combred.surrogates.sensitivity.source_term import SourceTerm

NORMALIZE = 0.5  # least phi . f at which phi is scaled to phi . f = 1, which it is but for rounding


@dataclass(frozen=True)
class Ignition:
    """The states of an ignition at CVODE's own steps, up to half the rise of T: t (n,) [s],
    Y (n, n_species), and the enthalpy h [J/kg]."""

    case: Case
    t: np.ndarray
    Y: np.ndarray
    h: float

    @property
    def delay(self) -> float:
        """Time [s] at the end: T is the mean of its initial value and that of equilibrium."""
        return float(self.t[-1])


def ignite(reactor: Reactor, case: Case, Y0: np.ndarray, longest: float) -> Ignition | None:
    """An ignition from the mass fractions Y0 (n_species,); None where it takes more than `longest`
    [s]. Raises IntegrationError where CVODE fails."""
    gas = reactor.gas
    gas.TPY = case.T0, case.p, Y0
    h = gas.enthalpy_mass
    with warnings.catch_warnings():  # above the range of the polynomials, which Cantera can do
        warnings.filterwarnings("ignore", message="ChemEquil")
        gas.equilibrate("HP")
    end = 0.5 * (case.T0 + gas.T)
    reactor.start(case.T0, case.p, Y0)
    T, first = reactor.advance(FIRST)
    times, compositions = [0.0, FIRST], [Y0, first]
    while T < end:
        t, T = reactor.step()
        if t > longest:
            return None
        times.append(t)
        compositions.append(reactor.gas.Y)
    return Ignition(case, np.array(times), np.array(compositions), h)


def delay_sensitivity(mechanism: Mechanism, ignition: Ignition) -> np.ndarray:
    """phi (n, n_species) [s] of the states of an ignition.

    J is constant over each of CVODE's steps, at the mean of its ends. Raises IntegrationError where
    phi is not finite.
    """
    source, h, Y = SourceTerm(mechanism, ignition.case.p), ignition.h, ignition.Y
    gradient, _ = source.gradient_of_T(h, Y[-1])
    phi = np.empty_like(Y)
    phi[-1] = gradient / (gradient @ source.at(h, Y[-1]))
    steps = np.diff(ignition.t)
    for i in range(len(Y) - 2, -1, -1):
        J = source.jacobian(h, 0.5 * (Y[i] + Y[i + 1]))[1]
        phi[i] = expm(steps[i] * J).T @ phi[i + 1]
        shift = phi[i] @ source.at(h, Y[i])
        if shift > NORMALIZE:  # not in the fresh gas, where f is nearly zero
            phi[i] /= shift
    if not np.isfinite(phi).all():
        raise IntegrationError(f"the sensitivity of the delay is not finite: {ignition.case}")
    return phi
