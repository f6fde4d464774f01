"""Step size control: convergence, tolerance, time steps of any length, and states that are
hopeless.

The reference is Cantera at tolerances far below those asked for.
"""

import copy

import cantera as ct
import numpy as np
import pytest
import torch

from combred.chemistry.reactor import CVODE
from combred.surrogate.surrogate import Surrogate

RANDOM, ZERO = 1.0, 0.0  # scale of the last layer's weights


# Loops of many steps: the smaller mechanism alone.
pytestmark = pytest.mark.parametrize("mechanism", ["h2o2.yaml"], indirect=True, scope="session")


@pytest.fixture
def correcting(mechanism, qss_transform, make_network):
    """A factory: a surrogate whose untrained network corrects rates; its last layer has weights of
    a given scale, and it estimates its error as M."""

    def make(output: float) -> Surrogate:
        widths = [qss_transform.n_inputs, 24, 16, qss_transform.n_outputs]
        network = make_network(widths, output=output)
        with torch.no_grad():
            network.layers[-1].weight[-1] = 0.0
        return Surrogate(mechanism, qss_transform, network).requires_grad_(False)

    return make


def steepest(path, width: int = 1) -> tuple[torch.Tensor, int]:
    """The states [T, p, Y] at the steepest rise of T."""
    i = int(np.argmax(path.T_next - path.T))
    return path.state[i : i + width], i


@pytest.mark.parametrize("output", [ZERO, RANDOM])
def test_any_network_converges_with_the_order_of_the_corrector(mechanism, path, correcting, output):
    """One integration over 1 us in 2^k equal steps, all below the range of dt in training: the
    error in H2O falls as dt, whatever the weights; slope by regression."""
    surrogate = correcting(output)
    surrogate.transform = copy.deepcopy(surrogate.transform)
    surrogate.transform.qss.kinetics.to(torch.float64)
    state, i = steepest(path)
    gas, k = mechanism.solution(), mechanism.index("H2O")
    gas.TPY = path.T[i], path.p[i], path.Y[i]
    reactor = ct.IdealGasConstPressureReactor(gas, clone=False)
    net = ct.ReactorNet([reactor])
    net.rtol, net.atol = 1e-13, 1e-25
    net.advance(1e-6)
    counts = 2 ** np.arange(5, 9)
    x, dt = state.repeat(len(counts), 1), torch.tensor(1e-6 / counts)
    for taken in range(counts.max()):  # every count at the same time, each until its end
        on = torch.tensor(counts > taken)
        x[on] = surrogate.step(x[on], dt[on], dt[on])[0]
    errors = np.abs(x[:, 2 + k].numpy() - gas.Y[k])
    slope = -np.polyfit(np.log(counts), np.log(errors), 1)[0]
    assert 0.9 < slope < 4.5, errors  # a random correction fades as dt^4, and may help or harm


def test_a_smaller_tolerance_gives_a_smaller_error(mechanism, path, correcting):
    surrogate = correcting(ZERO)
    keep = slice(10, 50, 4)
    T, Y = CVODE(mechanism, 1e-11, 1e-20).advance(path.T[keep], path.p[keep], path.Y[keep], 1e-6)
    errors, evaluations = [], []
    for tolerance in (1.0, 0.1, 0.01):
        later, error, n = surrogate.integrate(path.state[keep], path.steps[keep], tolerance)
        assert (error <= 1.0).double().mean() > 0.8
        errors.append((later[:, 0] - torch.tensor(T)).abs().max().item())
        evaluations.append(n.double().mean().item())
    assert errors[0] > errors[1] > errors[2] and errors[2] < 0.2 * errors[0] + 1e-3
    assert evaluations[0] < evaluations[1] < evaluations[2]


def test_a_step_longer_than_those_of_training_is_cut(path, correcting):
    surrogate = correcting(ZERO)
    dt = 20.0 * path.steps
    _, _, evaluations = surrogate.integrate(path.state, dt, 1e9)
    assert ((evaluations >= 19) & (evaluations <= 20)).all()  # 1 % longer ones are taken


def test_each_state_has_its_own_steps(path, correcting):
    """A state's answer depends on no other state of the batch, whatever their steps."""
    surrogate = correcting(ZERO)
    together, error, evaluations = surrogate.integrate(path.state, path.steps, 0.1)
    assert len(set(evaluations.tolist())) > 2
    for i in (0, 30, 59):
        alone = surrogate.integrate(path.state[i : i + 1], path.steps[i : i + 1], 0.1)
        # float32 rates in batches of other sizes
        assert torch.allclose(alone[0], together[i : i + 1], rtol=1e-6, atol=1e-9)
    mixed = path.steps * torch.logspace(-2, 1, len(path.T), dtype=torch.float64)
    later, _, _ = surrogate.integrate(path.state, mixed, 0.1)
    for i in (5, 45):
        alone = surrogate.integrate(path.state[i : i + 1], mixed[i : i + 1], 0.1)
        assert torch.allclose(alone[0], later[i : i + 1], rtol=1e-6, atol=1e-9)


def test_what_the_smallest_step_does_not_reach_is_told(path, correcting, monkeypatch):
    assert Surrogate.SMALLEST == 1 / 65536
    monkeypatch.setattr(Surrogate, "SMALLEST", 1 / 128)  # 65,536 steps take minutes
    surrogate = correcting(RANDOM)
    _, error, evaluations = surrogate.integrate(path.state[28:30], path.steps[28:30], 1e-9)
    assert (error > 1.0).any() and (evaluations <= 1.3 * 128).all()
    assert evaluations.max() >= 128


@pytest.mark.parametrize(
    "order, first, evaluations, ratio",
    [
        (0.0, 0.5, 6, 0.5),  # cut twice, in vain: then four equal steps
        (0.4, 0.5, 6, 0.5 * 0.25**0.4),
        (1.0, 0.9, 11, 0.9 / 8),  # halved until it is below the target
        (0.0, 0.08, 1, 0.08),  # below the target
    ],
)
def test_a_step_is_cut_while_cutting_helps(
    path, correcting, monkeypatch, order, first, evaluations, ratio
):
    """An error that falls with the step to some order, which halves."""
    monkeypatch.setattr(Surrogate, "SHRINK", 0.5)
    monkeypatch.setattr(Surrogate, "SAFETY", 1e-9)

    def step(state, h, whole):
        return state, 0.1 * first * (h / 1e-6) ** order

    surrogate = copy.deepcopy(correcting(ZERO))
    surrogate.transform.dt_range.copy_(torch.tensor([1e-8, 1e-6]))
    surrogate.step = step
    state, dt = path.state[:1], torch.full((1,), 1e-6, dtype=torch.float64)
    _, error, found = surrogate.integrate(state, dt, 0.1)
    assert found.item() == evaluations and error.item() == pytest.approx(ratio)


@pytest.mark.parametrize("ratio, evaluations", [(0.45, 1), (0.55, 27)])
def test_below_the_steps_of_training_half_the_tolerance_is_enough(
    path, correcting, monkeypatch, ratio, evaluations
):
    monkeypatch.setattr(
        Surrogate, "SAFETY", 1e-9
    )  # a fifth, and a fifth of it, in vain: then 25 steps
    surrogate = correcting(ZERO)
    surrogate.step = lambda state, h, whole: (state, torch.full_like(h, 0.1 * ratio))
    dt = 0.5 * surrogate.transform.dt_range[0]
    _, error, found = surrogate.integrate(path.state[:2], torch.full((2,), dt).double(), 0.1)
    assert error.tolist() == pytest.approx([ratio, ratio]) and (found == evaluations).all()


def test_an_error_above_the_tolerance_is_cut_even_in_vain(path, correcting, monkeypatch):
    monkeypatch.setattr(Surrogate, "SMALLEST", 1 / 16)
    surrogate = correcting(ZERO)
    surrogate.step = lambda state, h, whole: (state, torch.full_like(h, 0.2))
    _, error, evaluations = surrogate.integrate(path.state[:2], path.steps[:2], 0.1)
    assert (error == 2.0).all() and (evaluations >= 16).all()


@pytest.mark.parametrize("value", [np.nan, np.inf, -np.inf, -1.0])
def test_states_that_are_not_valid_cost_one_evaluation(path, correcting, value):
    surrogate = correcting(ZERO)
    state = path.state[:6].clone()
    for row, column in ((1, 0), (2, 1), (3, 2)):
        state[row, column] = value
    _, error, evaluations = surrogate.integrate(state, path.steps[:6], 0.1)
    assert torch.isinf(error[1:4]).all() and (evaluations[1:4] == 1).all()
    assert torch.isfinite(error[[0, 4, 5]]).all()


def test_no_states_are_no_work(path, correcting):
    later, error, evaluations = correcting(ZERO).integrate(path.state[:0], path.steps[:0], 0.1)
    assert later.shape == path.state[:0].shape and len(error) == len(evaluations) == 0


def test_burnt_gas_stays_as_it_is(mechanism, path, correcting):
    """At equilibrium predictor and corrector agree, so that nothing is corrected: 100 steps of a
    random network leave the temperature within 1 K, of which the equilibrium solver's own error is
    a part."""
    gas = mechanism.solution()
    gas.TPY = path.T[-1], path.p[-1], path.Y[-1]
    gas.equilibrate("HP", rtol=1e-12)
    state = torch.tensor([[gas.T, gas.P, *gas.Y]])
    surrogate = correcting(RANDOM)
    for _ in range(100):
        state = surrogate(state, path.steps[:1])
    assert state[0, 0].item() == pytest.approx(gas.T, abs=1.0)
