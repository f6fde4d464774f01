"""The solver of a flame on a grid: its Jacobian, its elimination and its solution."""

import cantera as ct
import numpy as np
import pytest

from combred.chemistry.transport import transport_polynomials
from combred.native import flame_library
from combred.native.builder import build_alone
from combred.native.flame_library import FlameLibrary, FlameProblem, Method, flame_files

POINTS = 12
FIXED = 5
KINDS = "mixture-averaged", "unity-Lewis-number"


@pytest.fixture(scope="module")
def library(h2o2) -> FlameLibrary:
    """That of hydrogen, in lanes."""
    files = flame_files(h2o2)
    return FlameLibrary(build_alone(files, ("-O1",)), *transport_polynomials(h2o2))


@pytest.fixture(scope="module")
def state(h2o2):
    """Profiles (POINTS, 1 + n_species) between hydrogen with air and its burnt gas, with a little
    of all species, and a mass flux."""
    gas = h2o2.solution()
    gas.TPY = 300.0, ct.one_atm, h2o2.mixture("H2:1", "O2:1, N2:3.76", 0.8)
    cold = np.append(gas.T, gas.Y)
    gas.equilibrate("HP")
    share = np.linspace(0.0, 1.0, POINTS)[:, None] ** 2
    x = (1.0 - share) * cold + share * np.append(gas.T, gas.Y)
    rng = np.random.default_rng(0)
    x[:, 1:] += 1e-3 * rng.random((POINTS, gas.n_species))
    x[:, 1:] /= x[:, 1:].sum(1, keepdims=True)
    return x, 1.7


def problem(h2o2, x, kind="mixture-averaged", factor=1.0):
    grid = 1e-3 * np.linspace(0.0, 1.0, len(x)) ** 1.3
    Y = h2o2.mixture("H2:1", "O2:1, N2:3.76", 0.8)
    factors = np.full(h2o2.solution(transport=False).n_reactions, factor)
    return FlameProblem(300.0, ct.one_atm, Y, grid, FIXED, 900.0, factors, kind)


def unknowns(library, x, M):
    """T / 1000 K, Y in the order of the library, and M."""
    columns = np.concatenate([[0], 1 + library.order])
    return np.append((x[:, columns] / ([1e3] + [1.0] * library.n_species)).ravel(), M)


def profiles(library, unknown):
    """The profiles and M of unknowns."""
    values, x = unknown[:-1].reshape(-1, 1 + library.n_species), None
    x = np.empty_like(values)
    x[:, 0], x[:, 1 + library.order] = 1e3 * values[:, 0], values[:, 1:]
    return x, float(unknown[-1])


def dense(library, flame, x, M, complete):
    """The Jacobian, column by column."""
    size = x.size + 1
    return np.array([library.product(flame, x, M, unit, complete) for unit in np.eye(size)]).T


@pytest.mark.parametrize("kind", KINDS)
def test_the_jacobian_is_that_of_differences(library, h2o2, state, kind):
    x, M = state
    flame, u = problem(h2o2, x, kind), unknowns(library, x, M)
    J, h = dense(library, flame, x, M, complete=True), 1e-6
    for i in range(len(u)):
        residuals = []
        for sign in (1.0, -1.0):
            moved = u.copy()
            moved[i] += sign * h
            residuals.append(library.residual(flame, *profiles(library, moved)))
        column = (residuals[0] - residuals[1]) / (2.0 * h)
        # Second differences of rates, of order h^2 of a relative change of 1e-3 in Y.
        np.testing.assert_allclose(J[:, i], column, rtol=0, atol=1e-5 * np.abs(column).max())


def test_blocks_lack_the_derivatives_of_transport_by_composition_alone(library, h2o2, state):
    x, M = state
    flame = problem(h2o2, x)
    lacks = dense(library, flame, x, M, True) - dense(library, flame, x, M, False)
    size = x.shape[1]
    assert np.abs(lacks).max() > 0.0
    assert not lacks[:, -1].any() and not lacks[-1].any()
    assert not lacks[:, ::size][:, :-1].any()  # T


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("transposed", [False, True])
@pytest.mark.parametrize("tolerance", [0.0, 1e-10])
def test_solutions_are_those_of_dense_matrices(library, h2o2, state, kind, transposed, tolerance):
    x, M = state
    flame = problem(h2o2, x, kind)
    J = dense(library, flame, x, M, complete=tolerance > 0.0)
    b = np.random.default_rng(1).standard_normal(x.size + 1)
    expected = np.linalg.solve(J.T if transposed else J, b)
    result = library.solution(flame, x, M, b, transposed, tolerance)
    # The condition of the matrix is some 1e9.
    np.testing.assert_allclose(result, expected, rtol=0, atol=1e-6 * np.abs(expected).max())


def test_transport_is_cantera_s(library, h2o2, state):
    """Fluxes of two points without reactions: their residual is that of Cantera's coefficients."""
    x, M = state
    flame = problem(h2o2, x, factor=0.0)
    gas, W = h2o2.solution(), h2o2.molecular_weights
    gas.transport_model = "mixture-averaged"
    X = x[:, 1:] / W / (x[:, 1:] / W).sum(1, keepdims=True)
    flux = []
    for i in (FIXED - 1, FIXED):
        gas.TPY = x[i : i + 2, 0].mean(), flame.p, x[i : i + 2, 1:].mean(0)
        D = gas.density * gas.mix_diff_coeffs * W / gas.mean_molecular_weight
        flux_k = D * (X[i] - X[i + 1]) / (flame.grid[i + 1] - flame.grid[i])
        flux.append(flux_k - flux_k.sum() * x[i, 1:])
    z = flame.grid[FIXED - 1 : FIXED + 2]
    gas.TPY = x[FIXED, 0], flame.p, x[FIXED, 1:]
    convection = M * (x[FIXED, 1:] - x[FIXED - 1, 1:]) / (z[1] - z[0])
    expected = -(convection + (flux[1] - flux[0]) * 2.0 / (z[2] - z[0])) / gas.density
    rows = library.residual(flame, x, M)[:-1].reshape(x.shape)
    result = np.empty(library.n_species)
    result[library.order] = rows[FIXED, 1:]
    np.testing.assert_allclose(result, expected, rtol=0, atol=1e-12 * np.abs(expected).max())


def test_reactions_are_cantera_s(library, h2o2, state):
    x, _ = state
    result, gas = library.progress(problem(h2o2, x, factor=2.0), x), h2o2.solution()
    for i in (1, POINTS - 1):
        gas.TPY = x[i, 0], ct.one_atm, x[i, 1:]
        expected = 2.0 * gas.net_rates_of_progress
        np.testing.assert_allclose(result.rates[i], expected, rtol=1e-9, atol=1e-9 * expected.max())
        assert result.heat_release[i] == pytest.approx(2.0 * gas.heat_release_rate, rel=1e-9)
        assert result.density[i] == pytest.approx(gas.density, rel=1e-12)
        assert result.heat_capacity[i] == pytest.approx(gas.cp_mass, rel=1e-10)


def test_one_state_at_a_time_gives_the_same(library, h2o2, state):
    """Compiled without vectors, as where a compiler has none."""
    files, (x, M) = flame_files(h2o2), state
    build = build_alone(files, ("-O0", "-DCOMBRED_BYTES=0"))
    alone, flame = FlameLibrary(build, *transport_polynomials(h2o2)), problem(h2o2, x)
    for method in (Method(newton_first=False, rounds=1), Method(rounds=0)):
        lanes, scalar = (library_.solve(flame, x, M, method) for library_ in (library, alone))
        # Rounding grows over 8 pseudo-time steps.
        np.testing.assert_allclose(lanes.x, scalar.x, rtol=1e-6, atol=1e-9)
    expected, result = (library_.residual(flame, x, M) for library_ in (library, alone))
    np.testing.assert_allclose(result, expected, rtol=0, atol=1e-9 * np.abs(expected).max())


@pytest.mark.parametrize(
    "change",
    [{"grid": np.zeros(POINTS)}, {"p": np.nan}, {"fixed_point": 0}, {"fixed_point": POINTS - 1}],
    ids=["grid", "p", "first point", "last point"],
)
def test_what_is_no_problem_is_refused(library, h2o2, state, change):
    from dataclasses import replace

    x, M = state
    wrong = replace(problem(h2o2, x), **change)
    for use in (library.residual, lambda *a: library.solve(*a, Method())):
        with pytest.raises(ValueError, match="does not rise|not positive"):
            use(wrong, x, M)


def test_arrays_of_other_sizes_are_refused(library, h2o2, state):
    from dataclasses import replace

    x, M = state
    with pytest.raises(ValueError, match=r"give \(n, 11\)"):
        library.residual(problem(h2o2, x), x[:, :-1], M)
    with pytest.raises(ValueError, match="another mechanism"):
        library.residual(replace(problem(h2o2, x), factors=np.ones(3)), x, M)
    assert flame_library.flame_files(h2o2)
