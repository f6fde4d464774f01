"""The compiled solvers in Python.

Takes the libraries of `build.py`; gives `CVODE` and `Implicit`, which advance states as an
`Advance` does (`combred.chemistry.reactor`), and `Chemistry`, the equations that they integrate,
for tests.
"""

import ctypes

import numpy as np

from benchmarks.solvers.build import build
from combred.chemistry.mechanism import Mechanism

METHODS = ("rosenbrock34", "seulex")


class Counts(ctypes.Structure):
    """What an integration did, summed over its states (source/counts.hpp)."""

    _fields_ = [
        (name, ctypes.c_long)
        for name in ("steps", "rejected", "rates", "jacobians", "factorisations", "failed")
    ]


class Chemistry:
    """dy/dt at constant pressure, y = [T, Y] (n), n = 1 + n_species."""

    def __init__(self, mechanism: Mechanism):
        self._calls = ctypes.CDLL(str(build(mechanism, "implicit")))
        self.n = 1 + mechanism.n_species

    def derivative(self, p: float, y: np.ndarray) -> np.ndarray:
        """dy/dt (n) [K/s, 1/s] at p [Pa] and y (n)."""
        y, dydt = np.ascontiguousarray(y, dtype=np.float64), np.empty(self.n)
        self._calls.evaluate(ctypes.c_double(p), _pointer(y), _pointer(dydt))
        return dydt


class CVODE:
    """SUNDIALS' CVODE with generated rates: BDF, dense matrices, one integrator for all states,
    reinitialised for each.

    rtol, atol: its tolerances, the same for T [K] and Y; tuned: with the exact Jacobian matrix and
    an LU factorisation of fixed size, instead of CVODE's difference quotients and SUNDIALS' dense
    factorisation. `counts` is of the last call. Raises
    MissingError where something is not installed.
    """

    def __init__(self, mechanism: Mechanism, rtol: float, atol: float, tuned: bool):
        self._calls = ctypes.CDLL(str(build(mechanism, "cvode")))
        self._tolerances, self._tuned = (rtol, atol), tuned
        self.counts = Counts()

    def advance(
        self, T: np.ndarray, p: np.ndarray, Y: np.ndarray, dt: float
    ) -> tuple[np.ndarray, np.ndarray]:
        """As `Advance` says, for one dt [s]; NaN where CVODE fails."""
        states, self.counts = np.column_stack([T, p, Y]), Counts()
        rtol, atol = map(ctypes.c_double, self._tolerances)
        failed = self._calls.cvode(
            ctypes.c_long(len(states)), _pointer(states), ctypes.c_double(dt), rtol, atol,
            int(self._tuned), ctypes.byref(self.counts),
        )  # fmt: skip
        if failed:
            raise RuntimeError("CVODE cannot be set up")
        return states[:, 0], states[:, 2:]


class Implicit:
    """A linearly implicit method with an exact Jacobian matrix and generated rates.

    method: one of `METHODS`; rtol, atol: its tolerances, the same for T [K] and Y. `counts` is of
    the last call. Raises MissingError where something is not installed.
    """

    def __init__(self, mechanism: Mechanism, method: str, rtol: float, atol: float):
        if method not in METHODS:
            raise ValueError(f"there is no method {method!r}: give one of {', '.join(METHODS)}")
        self._call = getattr(ctypes.CDLL(str(build(mechanism, "implicit"))), method)
        self._tolerances = rtol, atol
        self.counts = Counts()

    def advance(
        self, T: np.ndarray, p: np.ndarray, Y: np.ndarray, dt: float
    ) -> tuple[np.ndarray, np.ndarray]:
        """As `Advance` says, for one dt [s]; NaN where the method fails."""
        states, self.counts = np.column_stack([T, p, Y]), Counts()
        rtol, atol = map(ctypes.c_double, self._tolerances)
        self._call.restype = None
        self._call(
            ctypes.c_long(len(states)), _pointer(states), ctypes.c_double(dt), rtol, atol,
            ctypes.byref(self.counts),
        )  # fmt: skip
        return states[:, 0], states[:, 2:]


def _pointer(values: np.ndarray) -> ctypes.c_void_p:
    return ctypes.c_void_p(values.ctypes.data)
