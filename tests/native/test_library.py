"""What the library of a surrogate says of itself, and `NativeSurrogate` as an `Advance`. The C
interface is that of a solver: tests/native/solver/test_robustness.py."""

import signal
import warnings

import numpy as np
import pytest

from combred.chemistry.reactor import CVODE
from combred.libraries import load
from combred.native import library as arrays
from combred.native.solver.generator import TOLERANCE
from combred.native.solver.library import Integrator, Solver
from combred.surrogates.library.choice import ANY_ERROR, NetworkAlone
from combred.surrogates.library.compiled import NativeSurrogate
from combred.surrogates.model.surrogate import Surrogate

pytestmark = pytest.mark.parametrize("mechanism", ["h2o2.yaml"], indirect=True, scope="session")
DT = 1e-6


def test_a_library_describes_itself(compiled, mechanism, correcting):
    library = compiled.library
    assert library.species == list(mechanism.species_names)
    assert library.mechanism_sha256 == mechanism.sha256
    assert compiled.dt_range == correcting.dt_range
    assert compiled.tolerance == Surrogate.TOLERANCE
    assert library.n == 2 + mechanism.n_species
    assert library.calls.combred_species_name(mechanism.n_species) is None


def test_a_library_is_loaded_as_what_it_is(compiled, mechanism, solver_of, path):
    given = path.T, path.p, path.Y, DT
    again = load(compiled.library.path)
    assert type(again) is NativeSurrogate and again.dt_range == compiled.dt_range
    assert np.array_equal(again.advance(*given)[0], compiled.advance(*given)[0])
    solver = load(solver_of(mechanism).library.path)
    assert type(solver) is Integrator and solver.tolerance == TOLERANCE
    assert np.array_equal(solver.advance(*given)[0], Solver(mechanism).advance(*given)[0])
    still = load(str(solver.library.path), volume=True)
    assert np.array_equal(
        still.advance(*given)[0], Solver(mechanism, volume=True).advance(*given)[0]
    )
    with pytest.raises(FileNotFoundError, match="there is no library.*combred.native.compile"):
        load("none.so")
    with pytest.raises(FileNotFoundError, match="there is no library"):
        load(300 * "n")  # a name that is too long for a file


def test_a_pressure_far_from_the_training_is_warned_of(compiled, path):
    low, high = compiled.ranges["p"]
    with pytest.warns(UserWarning, match="p of some states is far from"):
        compiled.advance(path.T, low / 11.0, path.Y, DT)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        compiled.advance(path.T, high * 9.0, path.Y, DT)


def split(states):
    return states[:, 0], states[:, 1], states[:, 2:]


def test_advance_of_one_time_step_and_of_one_each(compiled, mechanism, path):
    """The untrained network takes steps that it believes to be right: T within 1 % of the
    change, which CVODE gives."""
    T, Y = compiled.advance(path.T, path.p, path.Y, DT)
    known_T, known_Y = CVODE(mechanism).advance(path.T, path.p, path.Y, DT)
    assert np.median(np.abs(T - known_T) / (np.abs(known_T - path.T) + 1.0)) < 0.01
    assert np.median(np.abs(Y - known_Y).max(axis=1)) < 1e-4
    again, _ = compiled.advance(path.T, path.p, path.Y, np.full(len(path.T), DT))
    assert np.array_equal(T, again)
    with pytest.raises(ValueError, match=r"p has the shape \(1,\): it has to be .* one number"):
        compiled.advance(path.T, path.p[:1], path.Y, DT)
    with pytest.raises(ValueError, match="T is not from 100 to 6000 K"):
        compiled.advance(path.T - 1e4, path.p, path.Y, DT)


def test_the_network_alone_takes_all_steps_and_is_nan_where_it_has_failed(compiled, path):
    """Under a judgement of the network alone a state that is lost is a failure, not an error."""
    found = compiled.integrate(path.T, path.p, path.Y, DT, ANY_ERROR)
    alone = NetworkAlone(compiled)
    T, Y = alone.advance(path.T, path.p, path.Y, DT)
    assert np.array_equal(T, found.T) and np.array_equal(Y, found.Y) and (found.steps == 0).all()
    cold = path.T.copy()
    cold[3:5] = 27.0, np.nan
    T, Y = alone.advance(cold, path.p, path.Y, DT)
    lost = np.isin(np.arange(len(T)), (3, 4))
    assert np.isnan(T[lost]).all() and np.isnan(Y[lost]).all()
    assert np.array_equal(T[~lost], found.T[~lost])
    longer = 100.0 * compiled.dt_range[1]  # which the network does not take, but the solver would
    assert (compiled.attempt(path.T, path.p, path.Y, longer).steps > 0).all()
    T, Y = alone.advance(path.T, path.p, path.Y, longer)
    assert np.array_equal(T, path.T) and np.array_equal(Y, path.Y)


def test_rates_and_jacobian_are_the_solver_s(compiled, mechanism, solver_of, path):
    solver = solver_of(mechanism)
    for mine, own in zip(
        compiled.rates(path.T, path.p, path.Y), solver.rates(path.T, path.p, path.Y), strict=True
    ):
        assert np.array_equal(mine, own) and np.abs(own).max() > 0.0
    one = path.T[30], path.p[30], path.Y[30]
    assert np.array_equal(compiled.jacobian(*one), solver.jacobian(*one))


def test_an_interrupt_is_answered_during_a_long_call(mechanism, solver_of, burning, monkeypatch):
    """Rows that are advanced by then are the first ones, as in a call of their own; the others are
    as they were, and the exception tells their number."""
    monkeypatch.setattr(arrays, "SECONDS", 1e-3)
    before = signal.signal(signal.SIGALRM, signal.default_int_handler)
    states = np.tile(burning, (20, 1))
    known, library = states.copy(), solver_of(mechanism).library
    signal.setitimer(signal.ITIMER_REAL, 0.05)
    try:
        with pytest.raises(KeyboardInterrupt) as interrupt:
            library.integrate_in_place(states, DT, 1e-6)
    finally:
        signal.signal(signal.SIGALRM, before)
    (note,) = interrupt.value.__notes__
    done = int(note.split()[3])
    assert 0 < done < len(states) and f"{done} of {len(states)} states" in note
    assert np.array_equal(states[done:], known[done:])
    monkeypatch.setattr(arrays, "FIRST_ROWS", len(states))
    library.integrate_in_place(known[:done], DT, 1e-6)
    assert np.array_equal(states[:done], known[:done])
