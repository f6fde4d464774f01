"""Error estimate of a step, and training range: which steps of a surrogate are trusted."""

import copy

import cantera as ct
import numpy as np
import pytest
import torch
from time_steps import steps

from combred.surrogate.surrogate import Surrogate


@pytest.fixture
def with_range(mechanism, transform, make_network, path):
    """A surrogate of the state alone with a training range. Its network predicts no change, so that
    the closure corrects nothing, and the range alone decides."""
    n = 2 + mechanism.n_species
    surrogate = Surrogate(mechanism, transform, make_network([n, 8, n], output=0.0))
    surrogate.fit_trust(path.state.split(7))
    return surrogate


@pytest.fixture(scope="module")
def with_rates(mechanism, qss_transform, make_network, path):
    """A surrogate with reaction rates whose network predicts no correction of the corrector."""
    widths = [qss_transform.n_inputs, 8, qss_transform.n_outputs]
    network = make_network(widths, output=0.0)
    with torch.no_grad():
        network.layers[-1].bias[-1] = -1.5  # it says that the corrector is off by 3 % of M
    surrogate = Surrogate(mechanism, qss_transform, network)
    surrogate.fit_trust([path.state])
    return surrogate


def predicting(surrogate, column: int, change: float):
    """Make the network predict a constant change of one of the variables [T, p, F(Y)]."""
    wanted = torch.zeros(1, surrogate.n, dtype=torch.float64)
    wanted[0, column] = change
    target = surrogate.transform.target(wanted, torch.ones(1, dtype=torch.float64))
    with torch.no_grad():
        surrogate.network.layers[-1].weight.zero_()
        surrogate.network.layers[-1].bias.copy_(target[0])
    return surrogate


def test_training_states_are_trusted(path, with_range):
    assert with_range.trust(path.state, path.steps).all()
    assert all(with_range.trust(one[None], steps(one[None])).item() for one in path.state)


@pytest.mark.parametrize("column, value", [(0, 300.0), (0, 3500.0), (1, 5e5), (1, 1e4)])
def test_states_outside_the_range_are_not_trusted(path, with_range, column, value):
    state = path.state.clone()
    state[:, column] = value
    assert not with_range.trust(state, steps(state)).any()


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


def test_other_mixtures_are_not_trusted(mechanism, path, with_range):
    gas = mechanism.solution()
    gas.TPX = 1500.0, ct.one_atm, "O2:1, N2:3.76"
    air = torch.tensor([[gas.T, gas.P, *gas.Y]])
    assert not with_range.trust(air, steps(air)).item()


def test_an_unlikely_combination_of_values_inside_every_range_is_not_trusted(path, with_range):
    unburnt_but_hot = path.state[:1].clone()
    unburnt_but_hot[0, 0] = path.T.max()
    v = with_range.transform.variables(unburnt_but_hot)
    assert ((v >= with_range.transform.low) & (v <= with_range.transform.high)).all()
    assert not with_range.trust(unburnt_but_hot, steps(unburnt_but_hot)).item()


@torch.no_grad()
def test_a_prediction_that_conserves_has_no_error(path, unchanging):
    later, error = unchanging.next_state_and_error(path.state, path.steps)
    assert torch.equal(later, unchanging(path.state, path.steps))
    # Without a change the floor of 1e-13 alone is corrected, and its heat in T.
    assert (error < 1e-5).all() and unchanging.trust(path.state, path.steps).all()


@torch.no_grad()
@pytest.mark.parametrize("kelvin, trusted", [(0.65, True), (0.75, False), (-0.75, False)])
def test_a_temperature_change_that_violates_enthalpy_is_a_error_estimate(
    path, unchanging, kelvin, trusted
):
    # The composition is constant, so T is: the closure undoes the change; its tolerance is 0.7 K.
    changed = predicting(copy.deepcopy(unchanging), 0, kelvin)
    error = changed.next_state_and_error(path.state, path.steps)[1]
    assert torch.allclose(error, torch.full_like(error, abs(kelvin) / 0.7), rtol=1e-4)
    assert (changed.trust(path.state, path.steps) == trusted).all()


def parts_of(surrogate, state, dt):
    """One step, and the closure's correction of it: later, change, moved_Y, moved_T, estimate."""
    Y = surrogate.normalized(state[:, 2:])  # exactly as in the step: rates are float32
    state = torch.cat([state[:, :2], Y], dim=1)
    variables = surrogate.transform.variables(state)
    change, estimate = surrogate.predicted_change(state, variables, dt)
    later = surrogate.step(state, dt, dt)[0]
    raw = surrogate.transform.boxcox.inverse(variables[:, 2:] + change[:, 2:])
    moved_T = (later[:, 0] - state[:, 0] - change[:, 0]).abs()
    return later, change, (later[:, 2:] - raw).abs().amax(1), moved_T, estimate


@torch.no_grad()
@pytest.mark.parametrize("parts", [1, 4])
def test_the_error_of_a_step_is_its_formula(path, surrogate, parts):
    """A step that is one of four parts has half of the floors."""
    floors = parts**-0.5
    later, change, moved_Y, moved_T, estimate = parts_of(surrogate, path.state, path.steps)
    dY, dT = (
        (later[:, 2:] - path.state[:, 2:]).abs().amax(1),
        (later[:, 0] - path.state[:, 0]).abs(),
    )
    if surrogate.corrects_rates:
        rms = (change / surrogate.transform.scale).square().mean(1).sqrt()
        both = torch.maximum(moved_Y / (dY + 5e-4 * floors), moved_T / (dT + 5.0 * floors))
        expected = torch.maximum(estimate / (rms + 0.4 * floors), 0.25 * both)
    else:
        ratio = torch.maximum(moved_Y / (0.07 * dY + 7e-5), moved_T / (0.07 * dT + 0.7))
        expected = surrogate.TOLERANCE * ratio
    error = surrogate.step(path.state, path.steps, parts * path.steps)[1]
    conserves = torch.isfinite(error)
    assert torch.allclose(error[conserves], expected[conserves], rtol=1e-6)
    assert conserves.double().mean() > 0.5 and (error > 0.0).all()


@torch.no_grad()
def test_outside_the_training_range_the_error_estimate_is_infinite(path, with_range):
    state = path.state.clone()
    state[:, 0] = 3500.0
    assert (
        torch.isinf(with_range.next_state_and_error(state, steps(state))[1]).all()
        and not with_range.in_training_range(state).any()
    )
    later, error = with_range.next_state_and_error(state, steps(state))
    assert torch.equal(later, with_range(state, steps(state))) and torch.isinf(error).all()


@torch.no_grad()
def test_with_rates_states_beyond_the_training_range_are_trusted_too(path, with_rates):
    state = path.state.clone()
    state[:, 1] *= 3.0
    assert not with_rates.in_training_range(state).any()
    later, error, evaluations = with_rates.integrate(state, steps(state), 0.1)
    assert torch.isfinite(error).all() and (evaluations >= 1).all()
    assert (error <= 1.0).double().mean() > 0.5  # the corrector alone, at three times the pressure
    assert with_rates.trust(state, steps(state)).double().mean() > 0.5  # in one step


@torch.no_grad()
def test_a_prediction_that_cannot_be_projected_has_an_infinite_error_estimate(path, unchanging):
    # Every species grows by a factor of 1e10: the projection fails, the composition stays.
    wild = copy.deepcopy(unchanging)
    with torch.no_grad():
        wild.network.layers[-1].bias[2:] = 1e6
    later, error = wild.next_state_and_error(path.state, path.steps)
    stayed = (later[:, 2:] == wild.normalized(path.state[:, 2:])).all(dim=1)
    assert stayed.any() and torch.isinf(error[stayed]).all()
    assert not wild.trust(path.state, path.steps).any()


@pytest.mark.parametrize("value", [np.nan, np.inf, -np.inf])
def test_states_that_are_not_finite_are_not_trusted(path, with_range, with_rates, value):
    for column in range(path.state.shape[1]):
        state = path.state[30:31].clone()
        state[0, column] = value
        assert not with_range.trust(state, steps(state)).item()
        assert not with_rates.trust(state, steps(state)).item()


@pytest.mark.parametrize("sum_error, trusted", [(1e-4, True), (1e-2, False)])
def test_mass_fractions_must_nearly_sum_to_one(
    mechanism, path, with_range, with_rates, sum_error, trusted
):
    for surrogate, row in ((with_range, 30), (with_rates, 0)):
        state = path.state[row : row + 1].clone()
        state[0, 2 + mechanism.index("O2")] += sum_error
        assert surrogate.trust(state, steps(state)).item() is trusted


def test_negative_mass_fractions_are_not_trusted(path, with_range, with_rates):
    for surrogate, row in ((with_range, 30), (with_rates, 0)):
        state = path.state[row : row + 1].clone()
        trace = int(state[0, 2:].argmin()) + 2
        state[0, trace] = -1e-5
        assert not surrogate.trust(state, steps(state)).item()


def test_small_negative_mass_fractions_count_as_zero(path, with_rates):
    # A transport step may leave them; to clip them changes the sum by as much.
    state = path.state[:1].clone()
    trace = int(state[0, 2:].argmin()) + 2
    state[0, trace] = 0.0
    clean = with_rates(state, steps(state))
    state[0, trace] = -1e-7
    assert with_rates.trust(state, steps(state)).item()
    assert torch.allclose(with_rates(state, steps(state)), clean, rtol=1e-6, atol=1e-7)
