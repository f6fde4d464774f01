"""Small premixed flames: their states conserve elements, hold radicals in heated fresh gas, and are
those of a flame."""

import cantera as ct
import numpy as np
import pytest

from combred.chemistry.transport import has_transport
from combred.dataset import small_flames
from combred.dataset.small_flames import SmallFlames

FUELS = {"drm19.yaml": "CH4:1", "h2o2.yaml": "H2:1"}
RADICAL = "H"


def ends(mechanism, T: float = 300.0, p: float = ct.one_atm):
    """The states [T, p, Y] of a stoichiometric gas and of its products."""
    gas = mechanism.solution()
    gas.set_equivalence_ratio(1.0, FUELS[mechanism.name], "O2:1, N2:3.76")
    gas.TP = T, p
    fresh = np.array([gas.T, gas.P, *gas.Y])
    gas.equilibrate("HP")
    return fresh, np.array([gas.T, gas.P, *gas.Y])


@pytest.fixture(scope="module")
def flame(mechanism) -> list[np.ndarray]:
    rng = np.random.default_rng(0)
    return list(SmallFlames(mechanism).states(rng, *ends(mechanism)))


def test_the_states_lie_between_fresh_and_burnt_gas(flame, mechanism):
    fresh, burnt = ends(mechanism)
    assert len(flame) == small_flames.STEPS - small_flames.FIRST
    states = np.concatenate(flame)
    T = states[:, 0]
    # Differential diffusion: hydrogen makes gas hotter than at equilibrium.
    assert T.min() > fresh[0] + small_flames.HEATED and T.max() < burnt[0] + 300.0
    assert T.min() < 800.0 and T.max() > 1500.0
    assert np.allclose(states[:, 1], ct.one_atm)
    assert states[:, 2:].min() >= 0.0 and np.allclose(states[:, 2:].sum(1), 1.0, atol=1e-12)


def test_the_cells_hold_the_elements_of_the_fresh_gas_in_sum(mechanism, monkeypatch):
    """The ends are closed. The cells have equal masses; all count, heated or not."""
    monkeypatch.setattr(small_flames, "HEATED", -1e3)
    fresh, burnt = ends(mechanism)
    for states in SmallFlames(mechanism).states(np.random.default_rng(1), fresh, burnt):
        assert len(states) == small_flames.CELLS
        mean = mechanism.elements @ states[:, 2:].mean(axis=0)
        # CVODE's clipped undershoots, of 1e-13, normalised.
        assert np.allclose(mean, mechanism.elements @ fresh[2:], atol=1e-9)


def test_radicals_diffuse_into_gas_that_is_too_cold_to_make_them(flame, mechanism):
    states = np.concatenate(flame)
    cold = states[states[:, 0] < 900.0]
    assert len(cold) > 5
    gas, made = mechanism.solution(), []
    for T, p, *Y in cold:
        gas.TPY = T, p, Y
        gas.equilibrate("TP")
        made.append(gas[RADICAL].Y[0])
    assert np.median(cold[:, 2 + mechanism.index(RADICAL)]) > 1e3 * np.median(made)


def test_another_seed_gives_other_states(flame, mechanism):
    other = next(SmallFlames(mechanism).states(np.random.default_rng(2), *ends(mechanism)))
    assert other.shape != flame[0].shape or not np.allclose(other, flame[0])


def test_mechanisms_without_transport_data_have_no_flames(mechanism, kinds):
    assert has_transport(mechanism) and not has_transport(kinds)
    with pytest.raises(ValueError, match="no transport data"):
        SmallFlames(kinds)
