"""What an integration keeps: elements, mass, energy, inert species, the pressure; Y >= 0.

States are along ignitions and of burnt gas just mixed with fresh gas, in both kinds of reactor and
on both sides of the tolerance at which floats become doubles.
"""

import numpy as np
import pytest
from cantera_truth import ignition_rows, truth_of

from combred.chemistry.polynomials import GAS_CONSTANT
from combred.chemistry.thermo import Thermo

DT = 1e-5  # s
FUEL = {"drm19.yaml": "CH4:1", "h2o2.yaml": "H2:1"}
TOLERANCES = pytest.mark.parametrize("tolerance", [1e-2, 1e-3, 1e-6])
# The solver's volume and enthalpy, in the order of combred_reactor of combred.h.
REACTORS = pytest.mark.parametrize(
    "kept", [(False, False), (True, False), (True, True)], ids=["pressure", "volume", "enthalpy"]
)


@pytest.fixture(scope="module")
def states(mechanism):
    """T, p, Y of 120 states: burnt, burning and fresh, and mixtures of them; the sum of Y is 1."""
    T, p, Y = ignition_rows(mechanism, 40, FUEL[mechanism.name], 1200.0, 1e5)
    fresh = [0.0, 0.5, 0.9]
    T = np.concatenate([share * T[0] + (1.0 - share) * T for share in fresh])
    Y = np.concatenate([share * Y[0] + (1.0 - share) * Y for share in fresh])
    return T, np.concatenate([p, 20.0 * p, 0.1 * p]), Y


def assert_kept(mechanism, truth, volume, T, p, Y, found):
    """Y of the sum 1; found: the `Solution`."""
    assert np.isfinite(found.error).all()
    assert found.Y.min() >= 0.0
    # Some 20 numbers, rounded in float64.
    assert np.abs(found.Y.sum(axis=1) - 1.0).max() <= 2e-15
    assert np.abs((found.Y - Y) @ mechanism.elements.T).max() <= 2e-15
    for i in range(0, len(T), 3):
        start, _ = truth.energy(T[i], p[i], Y[i], volume)
        end, size = truth.energy(found.T[i], found.p[i], found.Y[i], volume)
        # Heats of formation are up to 10 times cp T, terms of polynomials as much; both cancel.
        assert abs(end - start) <= 1e-13 * size


@REACTORS
@TOLERANCES
def test_elements_mass_energy_inert_species_and_pressure(
    mechanism, states, solver_of, kept, tolerance
):
    T, p, Y = states
    found = solver_of(mechanism, *kept).attempt(T, p, Y, DT, tolerance)
    assert np.abs(found.T - T).max() > 500.0  # K: something burns
    assert_kept(mechanism, truth_of(mechanism), kept == (True, False), T, p, Y, found)
    assert np.abs(Y.sum(axis=1) - 1.0).max() < 1e-15  # rounding is no reason to change N2
    assert np.array_equal(found.Y[:, mechanism.inert], Y[:, mechanism.inert])
    if not kept[0]:
        assert np.array_equal(found.p, p)
        return
    before, after = ((Y / mechanism.molecular_weights).sum(axis=1) for Y in (Y, found.Y))
    # p = rho R T sum Y/W at the density of the beginning; float64.
    assert np.allclose(found.p, p * (found.T * after) / (T * before), rtol=1e-14, atol=0)
    assert np.abs(found.p / p - 1.0).max() > 0.1


@REACTORS
@TOLERANCES
def test_many_steps_add_up_to_rounding(mechanism, states, solver_of, kept, tolerance):
    """A flow solver calls thousands of times: errors of the conserved quantities do not grow
    systematically."""
    solver, truth = solver_of(mechanism, *kept), truth_of(mechanism)
    T, p, Y = (x[::10] for x in states)
    now = solver.attempt(T, p, Y, 1e-7, tolerance)
    for _ in range(299):
        now = solver.attempt(now.T, now.p, now.Y, 1e-7, tolerance)
    assert np.isfinite(now.error).all()
    # 300 roundings in one direction would be 5e-14, and of the energy 1e-12.
    assert np.abs(now.Y.sum(axis=1) - 1.0).max() <= 5e-15
    assert np.abs((now.Y - Y) @ mechanism.elements.T).max() <= 1e-14
    for i in range(len(T)):
        start, _ = truth.energy(T[i], p[i], Y[i], kept == (True, False))
        end, size = truth.energy(now.T[i], now.p[i], now.Y[i], kept == (True, False))
        assert abs(end - start) <= 1e-12 * size


@REACTORS
@TOLERANCES
def test_states_whose_mass_fractions_are_a_little_off(
    mechanism, states, solver_of, kept, tolerance
):
    """Negative by 1e-7, as of transport, or with a sum off by 1e-4: what is kept is that of the
    state with Y >= 0 and the sum 1."""
    T, p, Y = states
    rng = np.random.default_rng(0)
    off = Y * (1.0 + 1e-4 * rng.uniform(-1.0, 1.0, (len(T), 1)))
    off[rng.random(Y.shape) < 0.2] -= 1e-7
    off[0] = Y[0] - 1e-7 * (Y[0] == 0.0)
    assert off.min() < -9e-8 and np.abs(off.sum(axis=1) - 1.0).max() > 9e-5
    found = solver_of(mechanism, *kept).attempt(T, p, off, DT, tolerance)
    taken = np.maximum(off, 0.0)
    taken /= taken.sum(axis=1, keepdims=True)
    assert_kept(mechanism, truth_of(mechanism), kept == (True, False), T, p, taken, found)


def test_an_element_that_is_absent_stays_absent(drm19, solver_of):
    """Hydrogen in air in a mechanism of methane: no carbon."""
    T, p, Y = ignition_rows(drm19, 20, "H2:1", 1200.0, 1e5)
    of_carbon = drm19.elements[drm19.element_names.index("C")] > 0.0
    for tolerance in (1e-3, 1e-6):
        found = solver_of(drm19).attempt(T, p, Y, DT, tolerance)
        assert np.isfinite(found.error).all() and np.abs(found.T - T).max() > 500.0
        assert not found.Y[:, of_carbon].any()


@REACTORS
@pytest.mark.parametrize("tolerance", [0.3, 0.1, 0.01])
def test_energy_and_mass_are_kept_at_any_tolerance(mechanism, solver_of, kept, tolerance):
    """Random states, few species at a time, far from any flame: predictions that miss by thousands
    of K. A state is closed to rounding, or it stays as it was."""
    rng, n = np.random.default_rng(7), 5_000
    T, p = rng.uniform(200.0, 6000.0, n), 10.0 ** rng.uniform(2.0, 7.3, n)
    Y = rng.exponential(1.0, (n, mechanism.n_species)) ** rng.uniform(0.5, 8.0, (n, 1))
    Y[n // 2 :] *= rng.random(Y[n // 2 :].shape).argsort(axis=1) < 3
    Y /= Y.sum(axis=1, keepdims=True)
    found = solver_of(mechanism, *kept).attempt(T, p, Y, 10.0 ** rng.uniform(-10, -4, n), tolerance)
    done = np.isfinite(found.error)
    assert 0.9 < done.mean() < 1.0  # some become hotter than 6000 K
    assert np.array_equal(found.T[~done], T[~done]) and np.array_equal(found.Y[~done], Y[~done])
    thermo, W = Thermo(mechanism), mechanism.molecular_weights
    before, after = (
        thermo.enthalpy(T[done], Y[done])
        - (kept == (True, False)) * GAS_CONSTANT * T[done] * (Y[done] / W).sum(1)
        for T, Y in ((T, Y), (found.T, found.Y))
    )
    # Seen: 8e-14 of |h| + 1000 T, 5e-13 of the elements, where most of a state was corrected.
    assert np.all(np.abs(after - before) <= 1e-12 * (np.abs(before) + 1e3 * T[done]))
    assert np.abs((found.Y - Y) @ mechanism.elements.T).max() <= 1e-11
