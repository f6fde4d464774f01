"""The solver's Jacobian, d(dT/dt, dY/dt) / d(T, Y), against differences of Cantera's rates.

The difference is a central one with one extrapolation (Richardson), of the right-hand side at
constant pressure or at constant volume, by T and by each mass fraction alone.
"""

import numpy as np
import pytest
from cantera_truth import ignition_rows, truth_of

# Relative steps of T and Y. The error of a difference by T is (E / RT)^5 STEP_T^4 / 30, E / RT up
# to 90, and by rounding 1e-14 / STEP_T, both over the sizes below: 1e-9.
STEP_T, STEP_Y = 5e-5, 1e-3
RELATIVE = 1e-8  # of creation + destruction over T or Y; seen: 2e-9


def differences(f, T, Y):
    """The derivatives of f(T, Y) by T and each Y, (1 + n_species, 1 + n_species)."""
    columns, x = [], np.array([T, *Y])
    for j in range(len(x)):

        def slope(h, j=j):
            up, down = x.copy(), x.copy()
            up[j], down[j] = x[j] + h, x[j] - h
            return (f(up[0], up[1:]) - f(down[0], down[1:])) / (up[j] - down[j])

        step = x[j] * (STEP_Y if j else STEP_T)
        columns.append((4.0 * slope(step) - slope(2.0 * step)) / 3.0)
    return np.array(columns).T


def assert_is_the_derivative(solver, truth, T, p, Y):
    """The Jacobian of a solver is that of Cantera's right-hand side."""
    truth.set(T, p, Y)
    rho = truth.gas.density if solver.volume else 0.0
    true = differences(lambda T, Y: truth.source(T, p, Y, rho, solver.enthalpy), T, Y)
    found = solver.jacobian(T, p, Y)
    allowed = RELATIVE * truth.size(T, p, Y)[:, None] / np.array([T, *Y])
    assert np.abs(true).max() > 1.0
    assert np.all(np.abs(found - true) <= allowed)
    assert not found[1:][solver.mechanism.inert].any()


pytestmark = pytest.mark.filterwarnings("ignore:.*T2=0")  # of Cantera
REACTORS = pytest.mark.parametrize("volume", [False, True], ids=["pressure", "volume"])
# The solver's volume and enthalpy, in the order of combred_reactor of combred.h.
EVERY_REACTOR = pytest.mark.parametrize(
    "kept", [(False, False), (True, False), (True, True)], ids=["pressure", "volume", "enthalpy"]
)


@EVERY_REACTOR
@pytest.mark.parametrize("name", ["drm19", "h2o2", "every_thermo", "every_kind"])
def test_jacobian_of_mixtures(request, solver_of, name, kept):
    """Species in comparable amounts, so that no entry hides behind another's; T not within 1 % of
    the 1000 K at which polynomials change."""
    mechanism = request.getfixturevalue(name)
    solver, truth = solver_of(mechanism, *kept), truth_of(mechanism)
    rng = np.random.default_rng(0)
    for T in (650.0, 1250.0, 2100.0, 2900.0):
        Y, p = rng.dirichlet(np.full(mechanism.n_species, 5.0)), 10 ** rng.uniform(4.0, 6.5)
        assert_is_the_derivative(solver, truth, T, p, Y)


@REACTORS
def test_columns_of_absent_species_are_those_of_very_little(drm19, solver_of, volume):
    """Also of the single colliders of a reaction: AR and H2O."""
    solver = solver_of(drm19, volume)
    T, p, Y = (x[1] for x in ignition_rows(drm19, 40, "CH4:1", 1500.0, 1e5))
    absent = Y < 1e-7
    assert absent[[drm19.index("AR"), drm19.index("H2O")]].all()
    found, near, next_one = (
        solver.jacobian(T, p, np.where(absent, x, Y)) for x in (0.0, 1e-14, 2e-14)
    )
    # An extrapolation: rounding of entries of up to 1e11 that cancel in the row of T.
    assert np.all(np.abs(found - (2.0 * near - next_one)) <= 1e-9 * np.abs(near).max(axis=0))


@pytest.mark.parametrize("T, p", [(27.0, 1e5), (-1000.0, 1e5), (np.nan, 1e5), (1000.0, 0.0)])
def test_what_is_no_state_has_no_rates(h2o2, solver_of, T, p):
    """Their functions of T would be those of the nearest valid one."""
    solver, Y = solver_of(h2o2), np.ones(10) / 10
    with pytest.raises(ValueError, match=r"1 of 1 states have no rates \(row 0\); the first has"):
        solver.jacobian(T, p, Y)
    with pytest.raises(ValueError, match=r"1 of 2 states have no rates \(row 1\); the first has"):
        solver.rates(np.array([1000.0, T]), np.array([1e5, p]), np.stack([Y, Y]))
    assert np.isfinite(solver.rates([1000.0], 1e5, [2.0 * Y])[0]).all()  # no mixture
