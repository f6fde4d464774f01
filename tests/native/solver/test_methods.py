"""The Rosenbrock methods of source/solver/methods.hpp: order conditions, stability, and one step of
the library against the published equations in numpy.

Order conditions are those of Hairer & Wanner, Solving Ordinary Differential Equations II (1996),
section IV.7, eq. (7.11) and table 7.1, here with gamma on the diagonal: a vertex of a tree with one
branch has beta_ij = alpha_ij + gamma_ij, one with several has alpha_ij. The header has the
coefficients in the transformed form of eq. (7.25):

    Gamma^-1 = diag(1 / gamma) - C    alpha = A Gamma    b = m Gamma
"""

import re

import numpy as np
import pytest
from cantera_truth import cvode_later, ignition_rows, truth_of

from combred.native.solver.generator import SOURCE

HEADER = (SOURCE / "solver" / "methods.hpp").read_text()
METHODS = re.findall(r"^struct (\w+) \{$", HEADER, re.MULTILINE)


class Method:
    """The coefficients of one method: those of the header, and alpha, Gamma, beta, b and the b of
    the embedded method in the form of Hairer & Wanner."""

    def __init__(self, name: str):
        body = HEADER.partition(f"struct {name} {{")[2].partition("\n};")[0]
        given = dict(re.findall(r"(\w+)(?:\[\d+\])*\s*=\s*([^;=]*?)\s*(?:;|, (?=ORDER))", body))
        self.stages, self.order = int(given["STAGES"]), int(given["ORDER"])
        self.gamma = float(given["GAMMA"])
        self.A, self.C = self._table(given["A"]), self._table(given["C"])
        self.m, self.e = (np.array(self._numbers(given[name])) for name in "ME")
        self.new = [word == "true" for word in re.findall("true|false", given["NEW_F"])]
        for i in range(self.stages):
            if not self.new[i]:  # f of the stage before
                self.A[i] = self.A[i - 1]
        self.Gamma = np.linalg.inv(np.eye(self.stages) / self.gamma - self.C)
        self.alpha = self.A @ self.Gamma
        self.beta = self.alpha + self.Gamma
        self.b, self.embedded = self.m @ self.Gamma, (self.m - self.e) @ self.Gamma

    def _table(self, text: str) -> np.ndarray:
        rows = re.findall(r"\{([^{}]*)\}", text)
        table = np.zeros((self.stages, self.stages))
        for i, row in enumerate(rows):
            numbers = self._numbers(row)
            table[i, : len(numbers)] = numbers
        return table

    @staticmethod
    def _numbers(text: str) -> list[float]:
        found = []
        for word in text.strip("{} \n").split(","):
            if word.strip():
                numerator, _, denominator = word.partition("/")
                found.append(float(numerator) / float(denominator or 1.0))
        return found


@pytest.fixture(params=METHODS)
def method(request) -> Method:
    """Each method of the header."""
    return Method(request.param)


def conditions(method: Method) -> dict[int, list[tuple[np.ndarray, float]]]:
    """By order: vectors v and values of the conditions b . v = value."""
    alpha, beta = method.alpha, method.beta
    a, s = alpha.sum(axis=1), beta.sum(axis=1)
    return {
        1: [(np.ones(method.stages), 1.0)],
        2: [(s, 1 / 2)],
        3: [(a**2, 1 / 3), (beta @ s, 1 / 6)],
        4: [
            (a**3, 1 / 4),
            (a * (alpha @ s), 1 / 8),
            (beta @ a**2, 1 / 12),
            (beta @ beta @ s, 1 / 24),
        ],
        5: [
            (a**4, 1 / 5),
            (a**2 * (alpha @ s), 1 / 10),
            ((alpha @ s) ** 2, 1 / 20),
            (a * (alpha @ a**2), 1 / 15),
            (a * (alpha @ beta @ s), 1 / 30),
            (beta @ a**3, 1 / 20),
            (beta @ (a * (alpha @ s)), 1 / 40),
            (beta @ beta @ a**2, 1 / 60),
            (beta @ beta @ beta @ s, 1 / 120),
        ],
    }


def residual(method: Method, b: np.ndarray, order: int) -> float:
    """The largest error of the conditions of one order."""
    return max(abs(b @ v - value) for v, value in conditions(method)[order])


def test_order(method):
    """Coefficients have 16 digits and are up to 100: 1e-13. The embedded method has one order less,
    and no more: else the estimate would vanish."""
    for b, order in ((method.b, method.order), (method.embedded, method.order - 1)):
        assert max(residual(method, b, lower) for lower in range(1, order + 1)) < 1e-12
        assert order == 5 or residual(method, b, order + 1) > 1e-4


def test_stages_are_implicit_alike(method):
    """One matrix is factorised: gamma is on the whole diagonal."""
    assert np.allclose(np.diag(method.Gamma), method.gamma, rtol=1e-13, atol=0)
    assert np.array_equal(method.A, np.tril(method.A, -1))


def growth(method: Method, b: np.ndarray, z: complex) -> complex:
    """R(z) = 1 + z b (I - z beta)^-1 1."""
    return 1.0 + z * b @ np.linalg.solve(np.eye(method.stages) - z * method.beta, b * 0 + 1)


def test_stability(method):
    """A-stable; the method of the doubles is L-stable, too. R of Shampine's is 1/3 at infinity."""
    for y in np.logspace(-3, 6, 200):
        assert abs(growth(method, method.b, 1j * y)) <= 1.0 + 1e-10
    end = abs(growth(method, method.b, -1e12))
    assert end == pytest.approx(1 / 3, rel=1e-9) if method.order == 4 else end < 1e-6


def one_step(method: Method, f, J: np.ndarray, y: np.ndarray, h: float) -> np.ndarray:
    """y(t + h) by eq. (7.25)."""
    U = np.zeros((method.stages, len(y)))
    matrix = np.eye(len(y)) / (method.gamma * h) - J
    for i in range(method.stages):
        U[i] = np.linalg.solve(matrix, f(y + method.A[i] @ U) + method.C[i] @ U / h)
    return y + method.m @ U


@pytest.fixture(scope="module")
def one_step_of(solver_of):
    """A function: Y before one step, and after it by the equations, by the library and by CVODE."""

    def run(mechanism, name, volume, T, p, Y, dt, tolerance, max_steps):
        solver, truth = solver_of(mechanism, volume), truth_of(mechanism)
        truth.set(T, p, Y)
        rho = truth.gas.density if volume else 0.0
        y = np.array([T, *Y])
        J = solver.jacobian(T, p, Y)
        made = one_step(Method(name), lambda x: truth.source(x[0], p, x[1:], rho), J, y, dt)
        batch = np.array([T]), np.array([p]), Y[None]
        found = solver.attempt(*batch, dt, tolerance, max_steps)
        assert found.steps[0] == 1 and np.isfinite(found.error[0])
        exact = cvode_later(mechanism, volume, *batch, [dt])[2][0]
        return y[1:], made[1:], found.Y[0], exact

    return run


REACTORS = pytest.mark.parametrize("volume", [False, True], ids=["pressure", "volume"])


@REACTORS
@pytest.mark.parametrize("name, fuel", [("h2o2", "H2:1"), ("drm19", "CH4:1")])
def test_one_step_in_doubles(request, one_step_of, name, fuel, volume):
    """The Jacobian is exact: the step is that of the equations in T and Y to rounding, and nearer
    to it than the exact solution. (T of a library's step follows from Y and the energy.)"""
    mechanism = request.getfixturevalue(name)
    T, p, Y = ignition_rows(mechanism, 30, fuel, 1300.0, 1e5)
    for i in (14, 18):
        y, made, found, exact = one_step_of(
            mechanism, METHODS[1], volume, T[i], p[i], Y[i], 4e-8, 9.99e-5, 0
        )
        # Of Y, and of changes by 1e-4; stages are a hundred times the change.
        allowed = 1e-15 + 1e-12 * np.abs(made - y).max()
        assert np.abs(found - made).max() <= allowed
        assert np.abs(exact - made).max() > 10.0 * allowed


@REACTORS
def test_one_step_in_floats(equimolar, one_step_of, volume):
    """Of reactions that keep the number of moles, and without third bodies: what the Jacobian of
    the floats leaves out is zero. At a tolerance of 1 any step is accepted (at more, a state is one
    in which nothing happens), and the first is dt where no trace grows."""
    rng = np.random.default_rng(0)
    for T in (900.0, 1400.0, 2200.0):
        Y = rng.dirichlet(np.full(equimolar.n_species, 5.0))
        y, made, found, exact = one_step_of(equimolar, METHODS[0], volume, T, 1e4, Y, 3e-7, 1.0, 1)
        change = np.abs(made - y).max()
        # The rounding of float32, of rates that cancel by a factor of ten or so.
        assert np.abs(found - made).max() <= 2e-6 * change
        assert np.abs(exact - made).max() > 5e-6 * change
