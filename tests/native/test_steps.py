"""A compiled surrogate: the network's step against the torch definition, and the solver behind."""

import numpy as np
import pytest
from one_step import ANY, compare_one_step, one_step
from rate_kinds import random_states

SIZES = (0, 1, 15, 16, 17, 2040)
HYDROGEN = pytest.mark.parametrize("mechanism", ["h2o2.yaml"], indirect=True, scope="session")


def integrated(native, states, dt, tolerance=None, **more):
    """`integrate` of states [T, p, Y]."""
    return native.attempt(states[:, 0], states[:, 1], states[:, 2:], dt, tolerance, **more)


def same(a, b, rows=slice(None)) -> bool:
    """Whether two solutions are the same to the last bit in these rows."""
    parts = ("T", "p", "Y", "error", "steps")
    return all(np.array_equal(getattr(a, x)[rows], getattr(b, x)[rows]) for x in parts)


@pytest.mark.parametrize("kind", ["burning", "random"])
@pytest.mark.parametrize("dt", [1e-8, 1e-7, 1e-6, 1e-5])
def test_one_step_differs_by_rounding_alone(request, compiled, correcting, mechanism, kind, dt):
    if kind == "burning":
        states = request.getfixturevalue("burning")
    else:
        states = np.column_stack(random_states(mechanism, 1000, seed=3))
    compare_one_step(compiled, correcting, states, dt)


@pytest.mark.parametrize("dt", [1e-8, 1e-7, 1e-5])
def test_one_step_of_other_exponents_and_all_types_of_rates(compiled_kinds, of_kinds, kinds, dt):
    states = np.column_stack(random_states(kinds, 1000, seed=3))
    compare_one_step(compiled_kinds, of_kinds, states, dt)


@pytest.mark.parametrize("tolerance", [1e-4, 1e-3, 1e-2])
def test_the_network_proposes_and_the_solver_disposes(
    compiled, mechanism, solver_of, burning, tolerance
):
    """Each state has the network's step, if its estimate is within the tolerance, or the solver's
    answer, bit for bit. 1e-4 is a tolerance of double lanes."""
    dt = 10.0 ** np.random.default_rng(4).uniform(-8.0, -5.3, len(burning))
    found = integrated(compiled, burning, dt, tolerance)
    step, estimate = one_step(compiled, burning, dt)
    by_network = found.steps == 0
    assert np.array_equal(by_network, estimate <= tolerance)
    assert 0.02 < by_network.mean() < 0.98
    assert np.array_equal(found.T[by_network], step[by_network, 0])
    assert np.array_equal(found.Y[by_network], step[by_network, 2:])
    assert np.allclose(found.error[by_network], estimate[by_network] / tolerance, rtol=1e-6)
    assert same(found, integrated(solver_of(mechanism), burning, dt, tolerance), ~by_network)
    assert (found.error <= 1.0).all()


@HYDROGEN
def test_time_steps_out_of_the_training_are_the_solver_s(compiled, mechanism, solver_of, burning):
    shortest, longest = compiled.dt_range[0] / 1.01, 1.01 * compiled.dt_range[1]
    for dt in (1.001 * shortest, 0.999 * longest):
        assert (integrated(compiled, burning, dt, ANY).steps == 0).mean() > 0.9
    for dt in (0.999 * shortest, 1.001 * longest, 1e-3):
        assert integrated(compiled, burning, dt, ANY).steps.min() > 0
    found = integrated(compiled, burning, 1e-3)
    solved = integrated(solver_of(mechanism), burning, 1e-3, compiled.tolerance)
    assert same(found, solved) and np.abs(found.T - burning[:, 0]).max() > 100.0


@HYDROGEN
def test_constant_volume_is_the_solver_s(compiled, mechanism, solver_of, burning):
    rows, known = burning.copy(), burning.copy()
    tolerance = compiled.tolerance
    found = compiled.library.integrate_in_place(rows, 1e-6, tolerance, reactor=1)
    solved = solver_of(mechanism).library.integrate_in_place(known, 1e-6, tolerance, reactor=1)
    assert np.array_equal(rows, known) and np.abs(rows[:, 1] - burning[:, 1]).max() > 1.0
    assert all(np.array_equal(a, b) for a, b in zip(found, solved, strict=True))


@pytest.mark.parametrize("size", SIZES)
def test_a_state_has_the_same_answer_in_any_batch(compiled, burning, size):
    """Hard states among easy ones, each with its own time step: bit for bit."""
    rng = np.random.default_rng(size)
    pick = rng.integers(0, len(burning), size)
    states, dt = burning[pick], 10.0 ** rng.uniform(-9.0, -4.0, size)
    found = integrated(compiled, states, dt)
    assert found.Y.shape == (size, states.shape[1] - 2) and found.steps.shape == (size,)
    assert size < 100 or 0.1 < (found.steps > 0).mean() < 0.9
    for i in rng.permutation(size)[:40]:
        alone = integrated(compiled, states[i : i + 1], dt[i])
        assert alone.T[0] == found.T[i] and np.array_equal(alone.Y[0], found.Y[i])
        assert alone.error[0] == found.error[i] and alone.steps[0] == found.steps[i]


def test_elements_and_enthalpy_are_conserved(compiled, mechanism, burning):
    """To 1e-12 of the elements, which the last, linear step of the closure leaves."""
    found, error = one_step(compiled, burning, 1e-5)
    good = np.isfinite(error)
    assert good.mean() > 0.95
    before, after = burning[good], found[good]
    assert np.abs((after - before)[:, 2:] @ mechanism.elements.T).max() < 1e-11
    assert np.abs(after[:, 2:].sum(axis=1) - 1.0).max() < 1e-11
    assert after[:, 2:].min() >= 0.0
    gas = mechanism.solution()
    h = []
    for T, p, *Y in [*before[::50], *after[::50]]:
        gas.set_unnormalized_mass_fractions(Y)
        gas.TP = T, p
        h.append(gas.enthalpy_mass)
    half = len(h) // 2
    change = np.array(h[half:]) - np.array(h[:half])
    assert np.abs(change).max() < 1e-9 * np.abs(h).max() + 1e-3  # J/kg, of some 1e6


def test_too_few_steps_leave_the_state(compiled, mechanism, solver_of, burning):
    whole = integrated(compiled, burning, 1e-5, 1e-3)
    found = integrated(compiled, burning, 1e-5, 1e-3, max_steps=3)
    some = np.isinf(found.error)
    assert 0.02 < some.mean() < 0.98 and (found.error[~some] <= 1.0).all()
    assert same(found, whole, whole.steps == 0) and (whole.steps == 0).any()
    solved = integrated(solver_of(mechanism), burning, 1e-5, 1e-3, max_steps=3)
    assert same(found, solved, whole.steps > 0)
    assert np.array_equal(found.T[some], burning[some, 0])
    assert np.array_equal(found.Y[some], burning[some, 2:])


def test_what_the_network_cannot_close_is_the_solver_s_at_any_tolerance(
    compiled, mechanism, solver_of
):
    """At a huge tolerance, too: its steps and errors then mean something."""
    states = np.column_stack(random_states(mechanism, 1000, seed=3))
    found = integrated(compiled, states, 1e-5, ANY)
    by_solver = found.steps > 0
    assert 0.1 < by_solver.mean() < 0.99
    assert same(found, integrated(solver_of(mechanism), states, 1e-5, 0.3), by_solver)
    good = np.isfinite(found.error)
    assert good.mean() > 0.99 and found.T[good].min() > 100.0 and found.T[good].max() < 6000.0
