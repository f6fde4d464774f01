"""The rollout loss: its value, against steps of the surrogate; its gradient, against finite
differences."""

import copy

import numpy as np
import pytest
import torch
from time_steps import DT, steps

from combred.dataset.segments import Segments, offsets
from combred.surrogate.surrogate import Surrogate
from combred.training.rollout_loss import RolloutLoss, Rollouts

STEPS, FLOOR = 4, 1e-3


@pytest.fixture
def own(surrogate) -> Surrogate:
    """A copy that a test may change, with gradients: an exported surrogate has none."""
    return copy.deepcopy(surrogate).requires_grad_()


@pytest.fixture
def segments(path) -> torch.Tensor:
    """In place of CVODE's states at 0, 1, 2 and 4 steps: states of the path, each extrapolated by
    its change over one step. Enthalpy is not constant."""
    step = path.later - path.state
    states = [path.state + k * step for k in offsets(STEPS)]
    states = torch.stack(states, dim=1)
    states[:, :, 2:] = states[:, :, 2:].clamp(min=0.0)
    states[:, :, 2:] /= states[:, :, 2:].sum(dim=2, keepdim=True)
    return states


def in_double(surrogate: Surrogate) -> None:
    """Make a surrogate's network compute in float64: float32 is too coarse for differences."""
    surrogate.network.double()
    transform = surrogate.transform

    def predicted_change(state, variables, dt):
        x, base, size = transform.prepared(state, variables, dt)
        if not transform.corrects_rates:
            x = transform.features(variables)
        correction, estimate = transform.correction(surrogate.network(x.double()), size)
        return base + correction, estimate

    surrogate.predicted_change = predicted_change


def with_large_corrections(surrogate: Surrogate) -> None:
    """Make the corrections of rates as large as those of training, about M; in the fixture they are
    some 1e-8 M, and so is their gradient."""
    if surrogate.transform.corrects_rates:
        with torch.no_grad():
            surrogate.network.layers[-1].weight *= 500.0


def direction_of(network, seed: int) -> list[torch.Tensor]:
    generator = torch.Generator().manual_seed(seed)
    return [
        torch.randn(w.shape, generator=generator, dtype=w.dtype) * w.abs().mean()
        for w in network.parameters()
    ]


def move(network, direction: list[torch.Tensor], by: float) -> None:
    with torch.no_grad():
        for weights, d in zip(network.parameters(), direction, strict=True):
            weights += by * d


def slope(network, direction: list[torch.Tensor]) -> float:
    """The derivative along a direction, from the gradients of the weights."""
    pairs = zip(network.parameters(), direction, strict=True)
    return float(sum((weights.grad * d).sum() for weights, d in pairs))


# -- one step --------------------------------------------------------------------------------------


def enthalpy_of(surrogate: Surrogate, state: torch.Tensor) -> torch.Tensor:
    return surrogate.closure.thermo.enthalpy(state[:, 0], state[:, 2:])


def test_a_differentiable_step_is_one_step(own, path):
    state = path.state
    later = own.differentiable(state, enthalpy_of(own, state), steps(state))
    expected, _ = own.step(state, steps(state))
    # `step` scales Y to sum 1, a rounding for Y of the path; the QSS change is float32.
    coarse = 1e3 if own.transform.corrects_rates else 1.0
    assert torch.allclose(later[:, 0], expected[:, 0], rtol=0.0, atol=coarse * 1e-8)
    assert torch.allclose(later[:, 2:], expected[:, 2:], rtol=coarse * 1e-9, atol=coarse * 1e-15)
    assert torch.equal(later[:, 1], state[:, 1])
    assert later.requires_grad


def test_where_the_projection_fails_the_composition_and_its_gradient_stay(own, path):
    def far_off(state, variables, dt):  # beyond what the projection can correct
        change = 3e4 * own.transform.scale.expand_as(variables)
        return change, torch.zeros_like(dt)

    own.predicted_change = far_off
    state = path.state[20:23].clone().requires_grad_()
    later = own.differentiable(state, enthalpy_of(own, state.detach()), steps(state))
    assert torch.allclose(later[:, 2:], state[:, 2:], atol=1e-12)
    later[:, 2:].sum().backward()
    assert torch.equal(state.grad[:, 2:], torch.ones_like(state[:, 2:]))


def predicting(surrogate: Surrogate, change_of_Y: torch.Tensor) -> torch.Tensor:
    """Make the network predict the composition times 1 + change_of_Y (n, n_species). Returns a list
    that holds this composition, with its gradient, after a call of the surrogate."""
    answer = []
    boxcox = surrogate.transform.boxcox

    def inverse(F):
        answer.append(torch.nn.Parameter((1.0 + change_of_Y) * answer.pop()))
        return answer[-1]

    def predicted_change(state, variables, dt):
        answer[:] = [boxcox.__class__.inverse(boxcox, variables[:, 2:])]
        return torch.zeros_like(variables), torch.zeros_like(dt)

    boxcox.inverse, surrogate.predicted_change = inverse, predicted_change
    return answer


def test_the_gradient_of_T_is_that_of_constant_enthalpy(own, path, mechanism):
    """dT = -sum_k h_k dY_k / cp, with Cantera's h_k and cp; the dY are those of the projection."""
    state = path.state[20:50:6]
    answer = predicting(own, torch.zeros(len(state), state.shape[1] - 2, dtype=torch.float64))
    later = own.differentiable(state, enthalpy_of(own, state), steps(state))
    later[:, 0].sum().backward()
    gas = mechanism.solution()
    for row in range(len(state)):
        T, p, *Y = later[row].tolist()
        gas.TPY = T, p, Y
        h_cp = gas.partial_molar_enthalpies / gas.molecular_weights / gas.cp_mass
        raw = answer[0].detach()[row : row + 1]
        moves = torch.eye(len(Y), dtype=torch.float64) * raw
        fixed = [own.closure.projection(raw + 1e-4 * dY, raw)[0].numpy() for dY in moves]
        back = [own.closure.projection(raw - 1e-4 * dY, raw)[0].numpy() for dY in moves]
        dY = (np.array(fixed) - np.array(back)) / 2e-4  # of each species' relative change
        dY[mechanism.inert] = 0.0
        expected = -dY @ h_cp
        found = (answer[0].grad[row] * raw[0]).numpy()
        # Kelvin for a relative change of 1, some 1e3; differences of second order.
        assert np.allclose(found, expected, rtol=1e-5, atol=1e-3), row


def test_inert_species_keep_their_own_gradient(own, path):
    state = path.state[30:34].clone().requires_grad_()
    answer = predicting(own, torch.zeros(4, state.shape[1] - 2, dtype=torch.float64))
    later = own.differentiable(state, enthalpy_of(own, state.detach()), steps(state))
    weights = torch.linspace(1.0, 2.0, state.shape[1] - 2, dtype=torch.float64)
    (later[:, 2:] * weights).sum().backward()
    assert torch.equal(
        answer[0].grad[:, own.closure.inert], torch.zeros_like(state[:, 2:][:, own.closure.inert])
    )
    kept = weights[own.closure.inert].expand(4, -1)
    assert torch.equal(state.grad[:, 2:][:, own.closure.inert], kept)


# -- the loss --------------------------------------------------------------------------------------


def test_the_loss_is_the_relative_error_of_the_change(surrogate, segments, mechanism):
    loss = RolloutLoss(surrogate, STEPS, FLOOR)(segments, steps(segments)).item()
    transform, first = surrogate.transform, segments[:, 0].numpy()
    scale = transform.scale.numpy()

    def variables(state):  # Box & Cox 1964
        F = (np.maximum(state[:, 2:], 1e-13) ** 0.1 - 1.0) / 0.1
        return np.column_stack([state[:, :2], F])

    state, errors = segments[:, 0], []
    for k in range(1, STEPS + 1):
        with torch.no_grad():
            state, _ = surrogate.step(state, steps(state))
        if k in (1, 2, 4):
            truth = variables(segments[:, [1, 2, 4].index(k) + 1].numpy())
            error = np.abs(variables(state.numpy()) - truth)
            change = np.abs(truth - variables(first)) + FLOOR * k * scale
            columns = [0, *(2 + np.flatnonzero(~mechanism.inert))]
            relative = np.minimum(error / change, 10.0)[:, columns]
            errors.append(relative.mean())
    assert 0.1 < loss < 10.0
    # Below the floor of the change, roundings of 1e-16 / 1e-13 in the least mass fractions.
    assert loss == pytest.approx(np.mean(errors), rel=1e-6)


def test_a_surrogate_without_error_has_no_loss(surrogate, path):
    state, states = path.state, [path.state]
    for k in range(1, STEPS + 1):
        with torch.no_grad():
            state, _ = surrogate.step(state, steps(state))
        if k in offsets(STEPS):
            states.append(state)
    loss = RolloutLoss(surrogate, STEPS, FLOOR)(torch.stack(states, dim=1), steps(path.state))
    assert loss.item() < 1e-5  # roundings of changes as small as the floor


def test_pressure_and_inert_species_do_not_enter_the_loss(surrogate, segments, mechanism):
    loss = RolloutLoss(surrogate, STEPS, FLOOR)
    before = loss(segments, steps(segments)).item()
    inert = 2 + int(np.flatnonzero(mechanism.inert)[0])
    for column, counts in (
        (1, False),
        (inert, False),
        (0, True),
        (2 + mechanism.index("OH"), True),
    ):
        other = segments.clone()
        other[:, 1:, column] *= 1.01
        assert (loss(other, steps(other)).item() != before) == counts


def test_segments_may_be_longer_than_the_rollout(surrogate, segments):
    short = RolloutLoss(surrogate, 2, FLOOR)
    dt = steps(segments)
    assert torch.equal(short(segments, dt), short(segments[:, :3], dt))


@pytest.mark.parametrize("count", [1, 2, 4])
def test_the_gradient_is_that_of_finite_differences(own, segments, count):
    """The gradient passes through all steps, closure and transforms, but not through the QSS change
    of steps after the first."""
    if count > 1 and own.transform.corrects_rates:
        pytest.skip("no gradient passes through the QSS change of steps after the first")
    with_large_corrections(own)
    in_double(own)
    loss = RolloutLoss(own, count, FLOOR)
    in_double(loss.surrogate)
    network = own.network
    segments = segments[20:]  # earlier, the projection rests on traces of radicals
    dt = steps(segments)
    loss(segments, dt).backward()
    gradient = [weights.grad.clone() for weights in network.parameters()]
    norm = float(sum((g**2).sum() for g in gradient)) ** 0.5
    for direction in (gradient, direction_of(network, 0), direction_of(network, 1)):
        length = float(sum((d**2).sum() for d in direction)) ** 0.5
        direction = [d / length for d in direction]
        losses, h = [], 1e-6 / norm
        for by in (h, -2 * h, h):
            move(network, direction, by)
            losses.append(loss(segments, dt).item())
        # The loss has kinks (|error|, ReLU, the bound of 10); few are so close to the weights.
        found = (losses[0] - losses[1]) / (2 * h)
        assert found == pytest.approx(slope(network, direction), abs=1e-3 * norm)


def test_a_diverging_rollout_has_a_bounded_loss_and_a_finite_gradient(own, segments):
    with_large_corrections(own)
    with torch.no_grad():
        for weights in own.network.parameters():
            weights *= 3.0
    loss = RolloutLoss(own, STEPS, FLOOR)(segments, steps(segments))
    assert 0.5 < loss.item() <= 10.0
    loss.backward()
    assert all(torch.isfinite(weights.grad).all() for weights in own.network.parameters())


def test_the_network_is_shared_and_the_rest_is_a_copy(own, segments):
    loss = RolloutLoss(own, STEPS, FLOOR)
    pairs = zip(loss.parameters(), own.network.parameters(), strict=True)
    assert all(one is other for one, other in pairs)
    assert loss.surrogate.transform.scale is not own.transform.scale


# -- batches -----------------------------------------------------------------------------------


@pytest.fixture
def make_rollouts(surrogate, segments):
    """A factory of `Rollouts` over the segments."""
    n = len(segments)
    given = Segments(STEPS, segments.numpy(), np.full(n, DT), np.zeros(n), {"seed": 0})
    return lambda seed=0: Rollouts(surrogate, given, seed, torch.device("cpu"), batch=16)


def test_the_loss_of_a_step_depends_on_seed_and_step_alone(make_rollouts):
    one, other = make_rollouts(), make_rollouts()
    losses = [one(step).item() for step in range(5)]
    assert [other(step).item() for step in (4, 2)] == [losses[4], losses[2]]
    assert len(set(losses)) == 5
    assert make_rollouts(1)(0).item() != losses[0]


def test_processes_share_the_segments_of_a_step(make_rollouts):
    rollouts = make_rollouts()
    halves = [rollouts(3, rank, 2).item() for rank in (0, 1)]
    assert halves[0] != halves[1]
    # Sums in another order and products of other shapes differ by roundings. With an untrained
    # network Newton's method, which does not always converge, amplifies them to 1e-9; the
    # six evaluations of the rates are in float32.
    rel = 1e-5 if rollouts.loss.surrogate.transform.corrects_rates else 1e-8
    assert np.mean(halves) == pytest.approx(rollouts(3).item(), rel=rel)


def test_segments_march_with_their_own_dt(surrogate, segments):
    loss = RolloutLoss(surrogate, STEPS, FLOOR)
    if not surrogate.transform.corrects_rates:
        pytest.skip("a network of the state alone has one dt")
    dt = DT * torch.linspace(0.2, 1.0, len(segments), dtype=torch.float64)
    each = [loss(segments[i : i + 1], dt[i : i + 1]).item() for i in range(0, len(dt), 7)]
    # All segments have the same number of variables: the loss is the mean over them. float32 rates.
    assert loss(segments[::7], dt[::7]).item() == pytest.approx(np.mean(each), rel=1e-4)
    assert loss(segments, dt).item() != loss(segments, steps(segments)).item()


def test_a_batch_of_segments_has_their_time_steps(surrogate, segments, monkeypatch):
    dt = np.geomspace(1e-8, 1e-5, len(segments))
    given = Segments(STEPS, segments.numpy(), dt, np.zeros(len(segments)), {})
    rollouts, seen = Rollouts(surrogate, given, 0, torch.device("cpu"), batch=16), []
    monkeypatch.setattr(rollouts, "loss", lambda states, steps: seen.append((states, steps)))
    rollouts(0)
    (states, taken) = seen[0]
    for state, step in zip(states, taken, strict=True):
        row = int((segments == state).all(2).all(1).nonzero()[0])
        assert step == dt[row]
