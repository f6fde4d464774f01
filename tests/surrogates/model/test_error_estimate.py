"""Error estimate of a step, and training range: which steps of a surrogate are trusted."""

import copy

import numpy as np
import pytest
import torch
from one_step import steps

from combred.surrogates.model.forms import make_surrogate


@pytest.fixture
def with_range(unchanging, path):
    """A surrogate of the state alone with a training range. Its network predicts no change, so that
    the closure corrects nothing, and the range alone decides."""
    surrogate = copy.deepcopy(unchanging)
    surrogate.fit_trust(path.state.split(7))
    return surrogate


@pytest.fixture(scope="module")
def correcting(mechanism, qss_transform, make_network, path):
    """A surrogate whose network leaves the QSS step as it is, and estimates its error as 1e-6 M."""
    network = make_network([qss_transform.n_inputs, 8, qss_transform.n_outputs], output=0.0)
    with torch.no_grad():
        network.layers[-1].bias[-1] = -6.0
    surrogate = make_surrogate(mechanism, qss_transform, network)
    surrogate.fit_trust([path.state])
    return surrogate.requires_grad_(False)


def test_training_states_are_trusted(path, with_range):
    assert with_range.trust(path.state, path.steps).all()
    assert all(with_range.trust(one[None], steps(one[None])).item() for one in path.state)


@torch.no_grad()
@pytest.mark.parametrize("column, value", [(0, 300.0), (0, 3500.0), (1, 5e5), (1, 1e4)])
def test_states_outside_the_range_have_an_infinite_error(path, with_range, column, value):
    state = path.state.clone()
    state[:, column] = value
    later, error = with_range.next_state_and_error(state, path.steps)
    assert not with_range.in_training_range(state).any() and torch.isinf(error).all()
    assert torch.equal(later, with_range(state, path.steps))


@pytest.mark.parametrize("column", [0, 2])
@pytest.mark.parametrize("beyond, trusted", [(0.0, True), (5e-4, True), (2e-3, False)])
def test_the_range_has_a_margin_of_a_thousandth(path, unchanging, column, beyond, trusted):
    # Without fit_trust there is no limit of the distance: the range of T and F(H2) decides.
    transform = unchanging.transform
    v = transform.variables(path.state)
    state = path.state[v[:, column].argmax()][None].clone()
    v = transform.variables(state)
    v[0, column] += beyond * (transform.high - transform.low)[column]
    state[:, 0] = v[:, 0]
    state[:, 2:] = torch.where(state[:, 2:] > 0, transform.boxcox.inverse(v[:, 2:]), 0.0)
    assert unchanging.trust(state, steps(state)).item() is trusted


def test_an_unlikely_combination_of_values_inside_every_range_is_not_trusted(path, with_range):
    unburnt_but_hot = path.state[:1].clone()
    unburnt_but_hot[0, 0] = path.T.max()
    v = with_range.transform.variables(unburnt_but_hot)
    assert ((v >= with_range.transform.low) & (v <= with_range.transform.high)).all()
    assert not with_range.trust(unburnt_but_hot, steps(unburnt_but_hot)).item()


def test_a_qss_step_is_trusted_beyond_the_training_range(path, correcting):
    state = path.state.clone()
    state[:, 1] *= 3.0
    assert not correcting.in_training_range(state).any()
    assert torch.isfinite(correcting.next_state_and_error(state, path.steps)[1]).all()
    assert correcting.trust(state, path.steps).any()


def test_a_step_out_of_the_range_of_training_has_an_infinite_error(path, correcting):
    """A margin of 1 % is for the rounding of a flow solver's dt."""
    for dt, taken in ((1.02, False), (1.005, True), (0.995, True), (0.98, False)):
        error = correcting.next_state_and_error(path.state, dt * path.steps)[1]
        assert (torch.isfinite(error) == taken).all()


@torch.no_grad()
def test_the_error_of_a_step_is_its_formula(path, surrogate):
    Y = surrogate.normalized(path.state[:, 2:])  # exactly as in the step: rates are float32
    state = torch.cat([path.state[:, :2], Y], dim=1)
    variables = surrogate.transform.variables(state)
    change, estimate = surrogate.predicted_change(state, variables, path.steps)
    later, error = surrogate.step(path.state, path.steps)
    raw = surrogate.transform.boxcox.inverse(variables[:, 2:] + change[:, 2:])
    moved_Y = (later[:, 2:] - raw).abs().amax(1)
    moved_T = (later[:, 0] - state[:, 0] - change[:, 0]).abs()
    dY, dT = (later - state).abs()[:, 2:].amax(1), (later - state).abs()[:, 0]
    if surrogate.kinetics:
        rms = (change / surrogate.transform.scale).square().mean(1).sqrt()
        moved = torch.maximum(moved_Y / (4 * dY + 2e-3), moved_T / (4 * dT + 20.0))
        expected = torch.maximum(estimate / (rms + 0.4), moved)
    else:
        ratio = torch.maximum(moved_Y / (0.07 * dY + 7e-5), moved_T / (0.07 * dT + 0.7))
        expected = surrogate.TOLERANCE * ratio
    conserves = torch.isfinite(error)
    assert torch.allclose(error[conserves], expected[conserves], rtol=1e-6)
    assert conserves.double().mean() > 0.5 and (error > 0.0).all()
    if surrogate.kinetics:
        ratio = surrogate.next_state_and_error(path.state, path.steps)[1]
        assert torch.equal(ratio, error / surrogate.TOLERANCE)


@torch.no_grad()
def test_a_prediction_that_cannot_be_projected_has_an_infinite_error(path, unchanging):
    # Every species grows by a factor of 1e10: the projection fails, the composition stays.
    wild = copy.deepcopy(unchanging)
    wild.network.layers[-1].bias[2:] = 1e6
    later, error = wild.next_state_and_error(path.state, path.steps)
    stayed = (later[:, 2:] == wild.normalized(path.state[:, 2:])).all(dim=1)
    assert stayed.any() and torch.isinf(error[stayed]).all()
    assert not wild.trust(path.state, path.steps).any()


@torch.no_grad()
@pytest.mark.parametrize("value", [np.nan, np.inf, -np.inf, -1.0])
def test_states_that_are_not_valid_have_an_infinite_error(path, with_range, correcting, value):
    """And their neighbours the same as without them."""
    width = path.state.shape[1]
    state = path.state[:1].repeat(width + 2, 1)
    state.diagonal()[:] = value
    for surrogate in (with_range, correcting):
        later, error = surrogate.next_state_and_error(state, steps(state))
        assert torch.isinf(error[:width]).all() and torch.isfinite(error[width:]).all()
        alone = surrogate(state[width:], steps(state[width:]))
        # float32 products in batches of other sizes
        assert torch.allclose(later[width:], alone, rtol=1e-6, atol=1e-9)
