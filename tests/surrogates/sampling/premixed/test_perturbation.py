"""Perturbed states: what they keep, their width, and their range."""

import numpy as np
import pytest

from combred.surrogates.model.element_projection import ElementProjection
from combred.surrogates.sampling.premixed.perturbation import perturb


@pytest.fixture(scope="module")
def projection(drm19):
    return ElementProjection(drm19)


def test_perturbation_conserves_elements_and_inert_species(projection, burning, drm19):
    T, p, Y = (column[:1] for column in burning)
    _, _, out = perturb(projection, np.random.default_rng(0), (T, p, Y), 200, (1e-3, 0.1))
    assert (out >= 0.0).all()
    assert np.array_equal(out[:, drm19.inert], np.repeat(Y[:, drm19.inert], 200, axis=0))
    assert np.abs(out.sum(axis=1) - 1.0).max() < 1e-8
    assert np.abs((out - Y) @ drm19.elements.T).max() < 1e-9


def test_perturbed_states_are_distinct_and_around_all_given_states(projection, burning):
    T, p, Y = burning
    out_T, out_p, out_Y = perturb(projection, np.random.default_rng(0), burning, 500, (1e-3, 1e-2))
    assert len(np.unique(out_T)) == len(np.unique(out_p)) == 500
    assert len(np.unique(out_Y[:, 0])) == 500
    nearest = {int(np.argmin(np.abs(T - t))) for t in out_T}
    assert len(nearest) > 0.5 * len(np.unique(T))


@pytest.mark.parametrize("width", [1e-3, 1e-2, 0.1])
def test_perturbation_has_the_given_width(projection, burning, width):
    T, p, Y = (column[-1:] for column in burning)
    out_T, out_p, out_Y = perturb(
        projection, np.random.default_rng(0), (T, p, Y), 2000, (width, width)
    )
    assert np.std(out_T - T) == pytest.approx(400.0 * width, rel=0.08)  # 5 sigma of 2000 draws
    assert np.abs(out_p / p - 1.0).max() <= 0.5 * width
    assert np.std(out_p / p) == pytest.approx(0.5 * width / 3**0.5, rel=0.05)  # uniform
    trace = (Y[0] > 0) & (Y[0] < 1e-8)  # the projection leaves traces alone
    ratio = np.log(out_Y[:, trace]) / np.log(Y[0, trace])
    assert trace.any()
    assert np.abs(ratio - 1.0).max() <= width * (1 + 1e-3)
    assert np.std(ratio - 1.0) == pytest.approx(width / 3**0.5, rel=0.05)


def test_perturbed_temperatures_are_clipped_to_the_valid_range(projection, burning):
    T, p, Y = burning
    for start, bound in ((260.0, 250.0), (3290.0, 3300.0)):
        out_T, _, _ = perturb(
            projection, np.random.default_rng(0), (np.full_like(T, start), p, Y), 100, (0.1, 0.1)
        )
        assert out_T.min() >= 250.0 and out_T.max() <= 3300.0
        assert (out_T == bound).any()


def test_a_width_that_breaks_element_conservation_is_refused(projection, burning):
    with pytest.raises(ValueError, match="do not keep the element masses.*range of phi"):
        perturb(projection, np.random.default_rng(0), burning, 100, (3.0, 3.0))
