"""Ignition delay and summaries of errors, where the result is known."""

import numpy as np
import pytest

from combred.simulation.metrics import IGNITED, ignition_delay, relative_error, summarize

CENTRE, WIDTH = 1.2345678e-4, 2e-6  # s


def sigmoid(t, rise=1500.0):
    """T of an ignition at CENTRE: the rise is steepest there."""
    return 1500.0 + rise / (1.0 + np.exp(-(t - CENTRE) / WIDTH))


def delay_error(step: float, offset: float = 0.0) -> float:
    t = np.arange(0.0, 2.5e-4, step) + offset * step
    return ignition_delay(t, sigmoid(t)) - CENTRE


@pytest.mark.parametrize("offset", [0.0, 0.13, 0.5, 0.77])
def test_the_delay_of_a_sigmoid_is_its_centre(offset):
    # Four steps over the width of the rise: the next term of the parabola is below 1 % of a step.
    assert abs(delay_error(WIDTH / 4, offset)) < 0.01 * WIDTH / 4


def test_the_delay_is_of_third_order_in_the_step():
    steps = WIDTH / np.array([2.0, 3.0, 4.0, 6.0, 8.0, 12.0])
    worst = [max(abs(delay_error(s, o)) for o in np.linspace(0, 0.95, 20)) for s in steps]
    order = np.polyfit(np.log(steps), np.log(worst), 1)[0]
    assert order > 2.5  # the error of a parabola through three midpoints


def test_the_delay_without_ignition_is_nan():
    t = np.linspace(0.0, 2.5e-4, 100)
    assert np.isnan(ignition_delay(t, sigmoid(t, rise=0.9 * IGNITED)))
    assert np.isnan(ignition_delay(t, np.full(100, 1500.0)))
    assert np.isfinite(ignition_delay(t, sigmoid(t, rise=1.2 * IGNITED)))


def test_nan_after_ignition_does_not_change_the_delay():
    t = np.arange(0.0, 2.5e-4, WIDTH / 4)
    T = sigmoid(t)
    whole = ignition_delay(t, T)
    T[t > CENTRE + 10 * WIDTH] = np.nan
    assert ignition_delay(t, T) == whole
    T[t > CENTRE - 10 * WIDTH] = np.nan
    assert np.isnan(ignition_delay(t, T))


@pytest.mark.parametrize("at", [0, -1])
def test_the_steepest_rise_may_be_the_first_or_the_last_interval(at):
    t = np.linspace(0.0, 1.0, 11)
    T = np.full(11, 1000.0)
    T[1:] += 0 if at else 500.0
    T[-1] += 500.0 if at else 0
    assert ignition_delay(t, T) == pytest.approx(0.05 if at == 0 else 0.95, rel=1e-12)  # midpoint


def test_relative_error_refers_to_the_reference():
    assert relative_error(1.1, 1.0) == pytest.approx(0.1, rel=1e-12)  # float64
    assert relative_error(-3.0, -2.0) == 0.5
    assert np.isnan(relative_error(np.nan, 1.0))


def test_a_failure_makes_mean_and_worst_infinite():
    assert summarize([0.1, 0.3, 0.2]) == pytest.approx(
        {"median": 0.2, "mean": 0.2, "worst": 0.3}, rel=1e-12
    )
    assert summarize([0.1, np.nan, 0.2]) == {"median": 0.2, "mean": np.inf, "worst": np.inf}
