"""Judges with limits: the cases drawn, and the errors of an `Advance` in them."""

import math
from contextlib import contextmanager
from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pytest
from hydrogen import INERT

from combred.chemistry.fuel import Mixture
from combred.chemistry.reactor import Tolerances
from combred.config.reduction import ReductionSettings
from combred.config.validation import ValidationSettings
from combred.experiments.ignition.experiment import Ignitions
from combred.experiments.judges import (
    AcceptanceCriteria,
    References,
    draw_flames,
    draw_ignitions,
    judge,
)
from combred.experiments.premixed.experiment import PremixedFlames

VALIDATION = ValidationSettings(
    T0=[1700.0, 1800.0, 1900.0], phi=[0.7, 1.3], p=[1e5, 4e5], burnt_time=5e-5
)
TOLERANCES = Tolerances(1e-6, 1e-12)
MIXTURE = Mixture("CH4:1", "O2:1, N2:3.76")
DT = 1e-6  # s


@contextmanager
def silent(_title):
    yield lambda *_: None


def test_drawn_ignitions_lie_inside_the_range_of_the_validation_and_differ_from_its_cases():
    drawn, own = draw_ignitions(VALIDATION, 12, 1), Ignitions.of(None, MIXTURE, VALIDATION).cases
    assert len(set(drawn)) == 12 and not set(drawn) & set(own)
    for name, low, high in (("T0", 1700, 1900), ("phi", 0.7, 1.3), ("p", 1e5, 4e5)):
        values = np.array([getattr(case, name) for case in drawn])
        assert (values >= low).all() and (values <= high).all()
        # One in each of twelve parts of the logarithmic range: all of it is covered.
        slices = np.floor(12 * np.log(values / low) / np.log(high / low))
        assert sorted(slices) == list(range(12))


def test_a_range_of_a_single_point_is_refused():
    point = replace(VALIDATION, T0=[1800.0], phi=[1.0], p=[101325.0])
    with pytest.raises(ValueError, match="Give T0 two values"):
        draw_ignitions(point, 3, 0)
    with pytest.raises(ValueError, match="Give flame_phi two values"):
        draw_flames(point, 3, 0)


def test_flames_are_drawn_from_the_range_of_flames_or_else_of_ignitions():
    none = [case.phi for case in draw_flames(replace(VALIDATION, flame_phi=[]), 6, 0)]
    assert min(none) >= 0.7 and max(none) <= 1.3 and max(none) > 1.1
    narrow = replace(VALIDATION, flame_phi=[0.9, 1.0], flame_T=[300.0, 350.0])
    drawn = draw_flames(narrow, 6, 0)
    assert all(0.9 <= case.phi <= 1.0 and 300 <= case.T <= 350 for case in drawn)


def test_only_cases_that_a_limit_needs_are_drawn():
    counts = {
        text: (len(made.ignitions), len(made.flames))
        for text in ("ignition:1%", "ignition_mean:1%", "flame:1%", "flame:1%,ignition:1%")
        for made in [AcceptanceCriteria.of(ReductionSettings(criteria=text), VALIDATION)]
    }
    assert list(counts.values()) == [(12, 0), (12, 0), (0, 3), (12, 3)]


@pytest.fixture(scope="module")
def answered(drm19, in_process):
    """Two hot ignitions, drawn, their settings, and the solutions by CVODE."""
    hot = replace(VALIDATION, T0=[1850.0, 1900.0], phi=[1.0], p=[101325.0])
    settings = ReductionSettings(criteria="ignition:1%,ignition_mean:0.5%")
    made = AcceptanceCriteria.of(settings, hot)
    made = replace(made, ignitions=made.ignitions[:2])
    (ignitions,) = made.experiments(drm19, MIXTURE, hot)
    ignitions = replace(ignitions, tolerances=TOLERANCES)
    with in_process():
        return made, hot, References(ignitions, ignitions.reference())


class Late:
    """An `Advance` that follows the references, delayed by a share of the time each."""

    def __init__(self, references, shares):
        self.references, self.shares, self.step = references, shares, 0

    def advance(self, T, p, Y, dt):
        self.step += 1
        rows = []
        for one, share in zip(self.references, self.shares, strict=True):
            t = np.interp(self.step * DT / (1 + share), one.t, np.arange(len(one.t)))
            low = int(t)
            high, part = min(low + 1, len(one.t) - 1), t - low
            rows.append([(1 - part) * x[low] + part * x[high] for x in (one.T, one.Y)])
        live = rows[: len(T)] if len(T) == len(rows) else rows[-len(T) :]
        return np.array([T for T, _ in live]), np.array([Y for _, Y in live])


@pytest.mark.parametrize(
    ("shares", "worst", "mean"), [((0.0, 0.0), 0, 0), ((0.1, 0.02), 0.1, 0.06)]
)
def test_errors_are_the_worst_and_the_mean_of_the_ignition_delays(answered, shares, worst, mean):
    made, _, references = answered
    same = as_long_as_the_shortest(references)
    errors = judge(Late(same.runs, shares), made.limits, [same], silent)
    assert errors["ignition"] == pytest.approx(worst, abs=0.01)
    assert errors["ignition_mean"] == pytest.approx(mean, abs=0.01)


def as_long_as_the_shortest(references):
    n = min(len(one.t) for one in references.runs)
    runs = [replace(one, t=one.t[:n], T=one.T[:n], Y=one.Y[:n]) for one in references.runs]
    return replace(references, runs=runs)


def test_a_case_that_does_not_ignite_has_an_infinite_error(answered):
    made, _, references = answered
    errors = judge(INERT, made.limits, [references], silent)
    assert errors == {"ignition": math.inf, "ignition_mean": math.inf}


@pytest.mark.parametrize(("limit", "asked"), [("1%", False), ("50%", True)])
def test_flames_are_computed_only_if_the_ignitions_pass(answered, drm19, limit, asked):
    _, hot, references = answered
    settings = ReductionSettings(criteria=f"ignition:{limit},flame:1%")
    made = AcceptanceCriteria.of(settings, replace(hot, flame_phi=[0.9, 1.1]))
    kinds = [type(one) for one in made.experiments(drm19, MIXTURE, hot)]
    assert kinds == [Ignitions, PremixedFlames]
    same, followed = as_long_as_the_shortest(references), []
    flames = SimpleNamespace(
        name="flames",
        limits=PremixedFlames.limits,
        follow=lambda *args: followed.append(args),
        compare=lambda *_: {"speed_error": {"median": 0.1, "mean": 0.2, "worst": 0.3}},
    )
    judged = [same, References(flames, ["CVODE's"])]
    errors = judge(Late(same.runs, (0.2, 0.2)), made.limits, judged, silent)
    assert bool(followed) == asked and errors.get("flame") == (0.3 if asked else None)
