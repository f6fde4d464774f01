"""The library without vectors, one state at a time, as on a GPU: answers differ by rounding. (Other
levels and compilers: tests/native/test_portable.py, test_compilers.py.)

The mechanism is small and has three kinds of polynomials, third bodies, falloff and a linear-Burke
rate.
"""

import numpy as np
from cantera_truth import random_rows
from compiled_program import ONE_STATE, compile_quickly, require_same_answers

from combred.native.library import Library
from combred.native.solver import generate

DT = 1e-7


def integrated(library: Library, states, tolerance, volume):
    """Later states, errors and steps."""
    later = states.copy()
    return later, *library.integrate_in_place(later, DT, tolerance, 0, bool(volume))


def test_one_state_at_a_time(every_thermo, solver_of, tmp_path, monkeypatch):
    """203 states, no multiple of a block, of 30 Pa to 3e5 Pa, most of which burn."""
    T, p, Y = random_rows(every_thermo, 203, seed=1)
    states, lanes = np.column_stack([T, 0.03 * p, Y]), solver_of(every_thermo).library
    build = compile_quickly(monkeypatch, "-O0", ONE_STATE)
    library = Library(build(generate(every_thermo), tmp_path))
    rates = lanes.rates(states)
    for found, true in zip(library.rates(states), rates, strict=True):
        # Rounding of exponents of up to some hundred, over the fastest rate of a state.
        fastest = np.abs(rates).max(axis=(0, 2))
        assert np.all(np.abs(found - true).max(axis=1) <= 1e-12 * fastest)
    J, true = library.jacobian(states[5]), lanes.jacobian(states[5])
    assert np.abs(J - true).max() <= 1e-12 * np.abs(true).max()
    for tolerance, volume in ((1e-3, 0), (9e-5, 0), (1e-3, 1), (9e-5, 1)):
        known = integrated(lanes, states, tolerance, volume)
        assert known[2].max() > 10 and np.abs(known[0] - states)[:, 0].mean() > 10.0  # K
        require_same_answers(
            integrated(library, states, tolerance, volume), known, states, tolerance
        )
