"""The solvers in C++ against Cantera: rates, orders, errors, and what is missing."""

import importlib.util

import cantera as ct
import numpy as np
import pytest

from benchmarks.solvers import build as building
from benchmarks.solvers.library import CVODE, METHODS, Implicit
from combred.chemistry import reactor

pytestmark = pytest.mark.slow
needs_rates = pytest.mark.skipif(
    not importlib.util.find_spec("pyrometheus"), reason=f"no rates: {building.PYROMETHEUS}"
)


def has_sundials() -> bool:
    try:
        building._require_sundials(building.find_compiler())
    except RuntimeError:
        return False
    return True


needs_sundials = pytest.mark.skipif(not has_sundials(), reason=f"no CVODE: {building.SUNDIALS}")


@pytest.fixture(scope="module")
def states(h2o2) -> np.ndarray:
    """(12, 2 + n_species) states [T, p, Y] along an ignition of hydrogen at 1 atm."""
    one = reactor.Reactor(h2o2, 1e-10, 1e-18)
    one.start(1200.0, ct.one_atm, h2o2.mixture("H2:1", "O2:1, N2:3.76", 1.0))
    found = []
    for t in np.linspace(1e-5, 6e-5, 12):
        T, Y = one.advance(t)
        found.append([T, ct.one_atm, *np.maximum(Y, 0.0)])
    assert found[-1][0] > found[0][0] + 500.0  # it ignites
    return np.array(found)


def error_of(solver, mechanism, states: np.ndarray, dt: float) -> float:
    """The largest error of T [K] against Cantera's CVODE at 1e-12."""
    T, p, Y = states[:, 0], states[:, 1], states[:, 2:]
    exact, _ = reactor.CVODE(mechanism, 1e-12, 1e-20).advance(T, p, Y, dt)
    return float(np.abs(solver.advance(T, p, Y, dt)[0] - exact).max())


@needs_rates
@pytest.mark.parametrize("method", METHODS)
def test_implicit_methods_converge_to_cvode_and_a_state_that_is_none_fails_alone(
    method, h2o2, states
):
    errors = []
    for rtol in (1e-2, 1e-4, 1e-6):
        solver = Implicit(h2o2, method, rtol, 1e-8 * rtol)
        errors.append(error_of(solver, h2o2, states, 1e-5))
        assert solver.counts.failed == 0 < solver.counts.jacobians
    assert errors[0] < 20.0 and errors[1] < 0.2 * errors[0] and errors[2] < 0.2 * errors[1]
    assert errors[2] < 0.02
    damaged = states.copy()
    damaged[3, 0] = np.nan
    T, Y = solver.advance(damaged[:, 0], damaged[:, 1], damaged[:, 2:], 1e-6)
    assert np.isnan(T).nonzero()[0].tolist() == [3] and np.isnan(Y[3]).all()
    assert solver.counts.failed == 1


@needs_rates
@needs_sundials
@pytest.mark.parametrize("tuned", [False, True])
def test_cvode_with_generated_rates_is_cvode(tuned, h2o2, states):
    loose, tight = (CVODE(h2o2, rtol, 1e-8 * rtol, tuned) for rtol in (1e-3, 1e-9))
    assert error_of(tight, h2o2, states, 1e-5) < 1e-3
    assert 1e-3 < error_of(loose, h2o2, states, 1e-5) < 20.0
    assert loose.counts.steps < tight.counts.steps and tight.counts.failed == 0
