"""A call of one state, whose reactions and matrix rows are in lanes: answers differ from those of
states in lanes by rounding.

Mechanisms with every type of rate and of polynomial, without third bodies, and of a single reaction
of three molecules; the 20 states of each call burn or hardly change.
"""

import numpy as np
import pytest
from cantera_truth import ignition_rows, random_rows
from test_one_state import integrated

from combred.chemistry.agreement import relative_difference

GLOBAL = """
phases:
- name: gas
  thermo: ideal-gas
  species: [{h2o2.yaml/species: [H2, O2, H2O, N2]}]
  kinetics: gas
reactions:
- equation: 2 H2 + O2 => 2 H2O
  rate-constant: {A: 1.0e+16, b: 0, Ea: 20000}
"""


@pytest.fixture(scope="module")
def one_reaction(mechanism_of):
    return mechanism_of(GLOBAL)


def alone(library, states, tolerance, volume):
    """As `integrated`, a call for each state."""
    calls = [integrated(library, states[i : i + 1], tolerance, volume) for i in range(len(states))]
    return tuple(np.concatenate(found) for found in zip(*calls, strict=True))


@pytest.mark.parametrize(
    ("name", "volume"),
    [
        *((name, False) for name in ("every_kind", "every_thermo", "equimolar", "one_reaction")),
        ("drm19", False), ("drm19", True),
    ],
)  # fmt: skip
def test_one_state_has_the_answer_of_its_lane(request, solver_of, name, volume):
    mechanism = request.getfixturevalue(name)
    T, p, Y = random_rows(mechanism, 60, seed=2)
    states, library = np.column_stack([T, 0.1 * p, Y]), solver_of(mechanism).library
    known = integrated(library, states, 1e-3, volume)
    assert known[2].mean() > 1.5 and np.abs(known[0] - states)[:, 0].max() > 10.0  # K
    found = alone(library, states, 1e-3, volume)
    assert not np.array_equal(found[0], known[0])  # it has code of its own
    # Of every type of rate some states leave the range of T, or nearly do, after 100 steps.
    ended = np.isfinite(known[1]) & np.isfinite(found[1])
    assert ended.mean() > 0.85 and (np.isfinite(known[1]) == np.isfinite(found[1])).mean() > 0.98
    before, exact, other = (
        (x[ended, 0], x[ended, 2:]) for x in (states, known[0], found[0])
    )  # fmt: skip
    # Rounding; where it decides whether a step is accepted, at most the tolerance.
    off = relative_difference(before, exact, other)
    assert np.median(off) < 2e-5 and off.max() < 1e-3
    assert found[2][ended].sum() == pytest.approx(known[2][ended].sum(), rel=0.05)


def test_one_state_is_right(drm19, solver_of):
    """Beside the solver in doubles at 1e-8: as states in lanes, within 2e-3 of the changes."""
    solver = solver_of(drm19)
    T, p, Y = random_rows(drm19, 60, seed=3)
    before, dt = (T, Y), 1e-6
    exact = solver.attempt(T, 0.1 * p, Y, dt, 1e-8)
    calls = [solver.attempt(T[[i]], 0.1 * p[[i]], Y[[i]], dt, 1e-3) for i in range(60)]
    found = tuple(np.concatenate([getattr(one, x) for one in calls]) for x in ("T", "Y"))
    assert relative_difference(before, (exact.T, exact.Y), found).max() < 2e-3


def test_one_state_that_is_none_or_has_no_end(drm19, solver_of):
    """It is refused, stays as it was, or goes on in doubles; the next call knows nothing of it."""
    solver = solver_of(drm19)
    T, p, Y = (x[:1] for x in ignition_rows(drm19, 60, "CH4:1", 1500.0, 1e5))
    known = solver.attempt(T, p, Y, 1e-6, 1e-3)
    bad = solver.attempt(np.array([np.nan]), p, Y, 1e-6, 1e-3)
    assert np.isinf(bad.error[0]) and bad.steps[0] == 0
    few = solver.attempt(T, p, Y, 1e-3, 1e-3, max_steps=1)
    assert np.isinf(few.error[0]) and few.T == T and few.steps[0] == 2  # one in doubles, too
    again = solver.attempt(T, p, Y, 1e-6, 1e-3)
    assert again.T == known.T and np.array_equal(again.Y, known.Y)


def test_the_time_to_a_temperature_of_one_state(drm19, solver_of):
    """Within 2e-4 of that of a call of two."""
    solver = solver_of(drm19)
    Y = drm19.mixture("CH4:1", "O2:1, N2:3.76", 1.0)[None]
    fresh = [(np.full(n, 1500.0), 101325.0, np.repeat(Y, n, axis=0)) for n in (1, 2)]
    found = [solver.time_to(*one, until=1900.0, longest=1e-2) for one in fresh]
    assert found[0][0] == pytest.approx(found[1][0], rel=2e-4) and found[0][0] != found[1][0]
