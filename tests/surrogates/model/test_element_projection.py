"""The element projection: exact, positive, and without effect on a state that conserves."""

import numpy as np
import pytest
import torch

from combred.surrogates.model.element_projection import ElementProjection


def perturbed(Y: np.ndarray, size: float, seed: int = 0) -> torch.Tensor:
    """Every mass fraction times exp(size u), u uniform in [-1, 1]."""
    u = np.random.default_rng(seed).uniform(-1.0, 1.0, Y.shape)
    return torch.tensor(Y * np.exp(size * u))


def element_error(mechanism, Y, target) -> np.ndarray:
    """Largest error of an element's mass fraction, for each row."""
    return np.abs((np.asarray(Y) - np.asarray(target)) @ mechanism.elements.T).max(axis=1)


def active(path) -> np.ndarray:
    """States of the path in which ignition has begun: 5 K and more above the first."""
    return path.Y[path.T > path.T[0] + 5.0]


@pytest.mark.parametrize(
    ("size", "tolerance"), [(1e-4, 1e-13), (1e-2, 1e-13), (0.1, 1e-13), (1.0, 1e-9)]
)
def test_elements_are_exact_once_ignition_has_begun(mechanism, path, size, tolerance):
    Y = active(path)
    moved = ElementProjection(mechanism)(perturbed(Y, size), torch.tensor(Y))
    # Six Newton steps from an error of 0.1 reach float64 rounding, and 1e-9 from one of 1.
    assert element_error(mechanism, moved, Y).max() < tolerance
    assert (moved.sum(dim=1) - 1.0).abs().max() < 10 * tolerance


def test_a_state_with_the_right_elements_is_not_changed(mechanism, path):
    Y = torch.tensor(path.Y)
    assert torch.equal(ElementProjection(mechanism)(Y, Y), Y)


def test_species_stay_positive_absent_ones_and_inert_ones_as_they_are(mechanism, path):
    Y = torch.tensor(path.Y)
    Y[:, 1] = 0.0  # H, say, is absent
    moved = ElementProjection(mechanism)(perturbed(Y.numpy(), 0.3), Y)
    assert torch.isfinite(moved).all() and (moved >= 0.0).all()
    assert torch.equal(moved == 0.0, Y == 0.0)
    assert torch.equal(moved[:, mechanism.inert], Y[:, mechanism.inert])


def test_abundant_species_that_were_changed_carry_the_correction(mechanism, path):
    Y = active(path)
    trace, same = mechanism.index("HO2"), mechanism.index("H2O")
    Y[:, trace] = 1e-12
    raw = perturbed(Y, 1e-3)
    raw[:, same] = torch.tensor(Y[:, same])
    moved = ElementProjection(mechanism)(raw, torch.tensor(Y))
    relative = (moved / raw - 1.0).abs()
    # Species of 0.1 move by about 1e-3 of themselves; the weight of the others is 1e-4 of theirs,
    # and a trace and an unchanged species may hold an element that hardly any other holds.
    assert relative.nan_to_num().max() > 1e-4
    assert relative[:, [trace, same]].max() < 3e-5


@pytest.mark.parametrize("mixture", ["N2:1", "O2:1, N2:3.76", "H2:1", "H2O:1, AR:1", "H2:1, O2:1"])
def test_elements_are_exact_where_others_are_absent(mechanism, mixture):
    gas = mechanism.solution()
    gas.TPX = 1000.0, 1e5, mixture
    Y = gas.Y[None]
    moved = ElementProjection(mechanism)(perturbed(Y, 0.1), torch.tensor(Y))
    assert torch.isfinite(moved).all()
    assert element_error(mechanism, moved, Y).max() < 1e-13  # float64 rounding
