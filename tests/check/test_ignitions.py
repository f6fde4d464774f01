"""Ignition delays of a check: their cases, and errors that are found."""

from types import SimpleNamespace

import numpy as np
import pytest

from combred.check.ignitions import LONGEST, SHORTEST, delays, draw
from combred.chemistry.reactor import Reactor
from combred.chemistry.stepper import Solution
from combred.experiments.ignition.delay import IgnitionDelays, time_to

DT = 1e-6  # s


@pytest.fixture(scope="module")
def rows(h2o2, solver, conditions):
    return delays(h2o2, solver, conditions, DT, 4)


def test_delays_suit_the_time_step_and_are_cvode_s(h2o2, conditions, rows):
    assert len(rows) == 4
    for row in rows:
        # The solver tells which cases are drawn.
        assert 0.99 * SHORTEST * DT < row["delay"] < 1.01 * LONGEST * DT
        assert conditions.T0[0] <= row["T0"] <= conditions.T0[1]
        Y = h2o2.mixture(conditions.fuel, conditions.oxidizer, row["phi"])
        gas = h2o2.solution()
        gas.TPY = row["T0"], row["p"], Y
        gas.equilibrate("HP")
        half = 0.5 * (row["T0"] + gas.T)
        strict = time_to(Reactor(h2o2, 1e-11, 1e-20), row["T0"], row["p"], Y, half, 1.0)
        assert row["delay"] == pytest.approx(strict, rel=2e-5)
        assert 0.0 < abs(row["errors"]["0.001"]) < 5e-4  # seen 2e-4


def test_the_cases_depend_on_the_time_step_alone(h2o2, solver, conditions, rows):
    again = draw(h2o2, solver, conditions, DT, 2).cases
    assert [vars(case) for case in again] == [
        {key: row[key] for key in ("T0", "p", "phi")} for row in rows[:2]
    ]


def test_a_wrong_solver_is_found(h2o2, solver, conditions, rows):
    """States after twice the time step, which halve the delay; gas that does not react."""

    def twice(T, p, Y, dt):
        return solver.attempt(T, p, Y, 2.0 * dt if dt == DT else dt)

    found = delays(h2o2, SimpleNamespace(attempt=twice), conditions, DT, 4)
    for row in found:
        assert row["errors"]["0.001"] == pytest.approx(-0.5, abs=0.02)

    def inert(T, p, Y, dt):
        if dt == DT:
            return Solution(T, p, Y, np.zeros(len(T)), np.zeros(len(T), int))
        return solver.attempt(T, p, Y, dt)

    found = delays(h2o2, SimpleNamespace(attempt=inert), conditions, DT, 2)
    assert [row["errors"]["0.01"] for row in found] == [np.inf, np.inf]


def test_ignitions_that_cvode_cannot_integrate_are_rows_without_a_delay(
    h2o2, solver, conditions, monkeypatch
):
    monkeypatch.setattr(IgnitionDelays, "reference", lambda self: [np.nan] * len(self.cases))
    assert [np.isnan(row["delay"]) for row in delays(h2o2, solver, conditions, DT, 2)] == [True] * 2
