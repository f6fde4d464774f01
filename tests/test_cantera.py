"""The doors to Cantera: a `SolutionArray` in and out, and a reactor beside a `ReactorNet`."""

import cantera as ct
import numpy as np
import pytest

import combred

FUEL, AIR = "H2:1", "O2:1, N2:3.76"
TIMES = np.array([2e-5, 5e-5, 6e-5, 1e-4, 1e-3, 1e-2])  # s; it ignites after 4e-5 s


@pytest.fixture(scope="module", params=[False, True], ids=["pressure", "volume"])
def solver(request):
    return combred.solver("h2o2.yaml", volume=request.param)


def start(T: float = 1200.0) -> ct.Solution:
    gas = ct.Solution("h2o2.yaml")
    gas.set_equivalence_ratio(1.0, FUEL, AIR)
    gas.TP = T, 2 * ct.one_atm
    return gas


def test_a_reactor_follows_cantera_s(solver):
    """At the default tolerance of 0.001 of the change in each of the steps, and near the ignition
    a little later or earlier."""
    of = ct.IdealGasReactor if solver.volume else ct.IdealGasConstPressureReactor
    exact = start()
    net = ct.ReactorNet([of(exact, clone=False)])
    net.rtol, net.atol = 1e-10, 1e-18
    mine = combred.cantera.Reactor(start(), solver)
    for time in TIMES:
        net.advance(time)
        assert mine.advance(time) == mine.time == time
        assert mine.phase.T == pytest.approx(exact.T, rel=2e-3)
        assert mine.phase.P == pytest.approx(exact.P, rel=2e-3)
        assert np.allclose(mine.phase.Y, exact.Y, rtol=0, atol=2e-4)
    kept = (mine.phase.density, start().density) if solver.volume else (mine.phase.P, start().P)
    assert kept[0] == pytest.approx(kept[1], rel=1e-12)
    energy = "int_energy_mass" if solver.volume else "enthalpy_mass"
    assert getattr(mine.phase, energy) == pytest.approx(getattr(start(), energy), abs=1.0)  # J/kg


def test_a_time_that_has_passed_is_refused_and_now_does_nothing():
    mine = combred.cantera.Reactor(start(), combred.solver("h2o2.yaml"))
    mine.advance(1e-4)
    T = mine.phase.T
    assert mine.advance(1e-4) == 1e-4 and mine.phase.T == T
    with pytest.raises(ValueError, match=r"5e-05 s has passed: the reactor is at 0.0001 s"):
        mine.advance(5e-5)


@pytest.mark.parametrize("shape", [(5,), (2, 3)])
def test_a_solution_array_of_any_shape(solver, shape):
    gas = start()
    states = ct.SolutionArray(gas, shape)
    T = np.linspace(1000.0, 1500.0, int(np.prod(shape))).reshape(shape)
    states.TPX = T, 1e5, gas.X
    later = combred.cantera.advance(solver, states, 1e-4)
    assert later.shape == shape and np.array_equal(states.T, T)
    many = T.size
    found = solver.advance(T.reshape(many), 1e5, states.Y.reshape(many, -1), 1e-4)
    assert np.allclose(later.T.reshape(many), found[0], rtol=1e-12)
    assert np.allclose(later.Y.reshape(many, -1), found[1], rtol=1e-12, atol=1e-15)
    kept = "density" if solver.volume else "P"
    assert np.allclose(getattr(later, kept), getattr(states, kept), rtol=1e-12)
    each = np.full(shape, 1e-4)
    assert np.array_equal(combred.cantera.advance(solver, states, each).T, later.T)


def test_time_steps_of_another_shape_and_times_without_end_are_refused():
    """(3, 2) has as many values as (2, 3), in another order."""
    solver, states = combred.solver("h2o2.yaml"), ct.SolutionArray(start(), (2, 3))
    for shape in ((3, 2), (6,), (3,), (1, 1)):
        with pytest.raises(ValueError, match=r"dt has shape .* an array of the shape \(2, 3\)"):
            combred.cantera.advance(solver, states, np.full(shape, 1e-6))
    mine = combred.cantera.Reactor(start(), solver)
    with pytest.raises(ValueError, match="time = inf s: an end has to be finite"):
        mine.advance(np.inf)
    assert mine.time == 0.0


def test_other_species_are_refused():
    solver, states = combred.solver("h2o2.yaml"), ct.SolutionArray(ct.Solution("gri30.yaml"), 2)
    with pytest.raises(ValueError, match=r"the phase has the species .* solver.mechanism.solution"):
        combred.cantera.advance(solver, states, 1e-6)
    with pytest.raises(ValueError, match="the phase has the species"):
        combred.cantera.Reactor(ct.Solution("gri30.yaml"), combred.CVODE(solver.mechanism))


def test_cvode_and_a_loaded_library_have_the_same_door():
    solver, states = combred.solver("h2o2.yaml"), ct.SolutionArray(start(), 3)
    known = combred.cantera.advance(solver, states, 1e-4)
    exact = combred.cantera.advance(combred.CVODE(solver.mechanism), states, 1e-4)
    assert np.allclose(known.T, exact.T, rtol=1e-3)
    again = combred.cantera.advance(combred.native.load(solver.library.path), states, 1e-4)
    assert np.array_equal(again.T, known.T)
