"""Optimisers: the loss falls, a saved state resumes bit for bit, steps have the expected norm."""

import pytest
import torch

from combred.surrogates.model.network import Network, initialize
from combred.surrogates.training.optimizers import MUON_NORM, OPTIMIZERS, TINY, _tensors

WIDTHS = [6, 24, 20, 3]
OF = {"adam": WIDTHS, "soap": WIDTHS, "muon": [6, 24, 1100, 3]}  # wide enough for Muon


def network(seed: int = 0, widths=WIDTHS) -> Network:
    made = Network(widths)
    initialize(made, [1.0] * (len(widths) - 1), torch.Generator().manual_seed(seed))
    return made


def task() -> tuple[torch.Tensor, torch.Tensor]:
    """Inputs near a line, as the features of a flame are, and smooth targets."""
    generator = torch.Generator().manual_seed(1)
    along = torch.randn(256, 1, generator=generator)
    x = along + 0.05 * torch.randn(256, WIDTHS[0], generator=generator)
    across = x - x.mean(1, keepdim=True)
    return x, torch.cat([along, 10.0 * across[:, :1], across[:, 1:2].sign()], 1)


def minimise(model: Network, optimizers, steps: int, rate: float = 3e-3, of=None) -> float:
    """Train a network for some steps; returns the last loss."""
    x, z = of or task()
    for _ in range(steps):
        optimizers.set_rate(rate)
        optimizers.zero_grad()
        loss = (model(x) - z).abs().mean()
        loss.backward()
        optimizers.step()
    return float(loss.detach())


@pytest.mark.parametrize("name", OPTIMIZERS)
def test_loss_falls_and_every_parameter_moves(name):
    model, before = network(widths=OF[name]), network(widths=OF[name])
    start = network(widths=OF[name])
    first = minimise(start, OPTIMIZERS["adam"](start), 1)
    last = minimise(model, OPTIMIZERS[name](model), 60)
    assert last < 0.8 * first
    for (key, now), then in zip(model.named_parameters(), before.parameters(), strict=True):
        assert not torch.equal(now, then), key


@pytest.mark.parametrize("name", OPTIMIZERS)
def test_a_unit_without_gradient_leaves_no_subnormal_numbers(name):
    """Its mean gradient falls by a factor of .9 or .95 a step: here, of many steps at once."""
    model = network(widths=OF[name])
    optimizers = OPTIMIZERS[name](model)
    minimise(model, optimizers, 20)
    with torch.no_grad():
        model.layers[1].bias[0] = -1e6  # the unit answers to nothing from here on
    minimise(model, optimizers, 40)
    found = [
        values
        for optimizer, _ in optimizers.parts
        for state in optimizer.state.values()
        for values in _tensors(list(state.values()))
    ]
    assert sum(values.numel() for values in found) > 600
    for values in found:
        values.mul_(torch.where(values.abs() < 1e-4, 1e-36, 1.0))
    assert any(((values != 0.0) & (values.abs() < TINY)).any() for values in found)
    optimizers.forget_tiny()
    assert not any(((values != 0.0) & (values.abs() < TINY)).any() for values in found)
    assert minimise(model, optimizers, 20) < 1.0


@pytest.mark.parametrize("name", OPTIMIZERS)
def test_a_saved_state_resumes_bit_for_bit(name, tmp_path):
    whole, half = network(widths=OF[name]), network(widths=OF[name])
    minimise(whole, OPTIMIZERS[name](whole), 33)
    optimizers = OPTIMIZERS[name](half)
    minimise(half, optimizers, 14)  # after one update of the bases, and before the next
    torch.save(optimizers.state_dict(), tmp_path / "state")
    again = OPTIMIZERS[name](half)
    again.load_state_dict(torch.load(tmp_path / "state", weights_only=True))
    minimise(half, again, 19)
    assert all(
        torch.equal(a, b) for a, b in zip(whole.parameters(), half.parameters(), strict=True)
    )


@pytest.mark.parametrize("widths", [[6, 1100, 300, 3], [6, 40, 1100, 3]])
def test_a_step_of_muon_has_the_same_norm_at_any_width(widths):
    model = network(widths=widths)
    hidden = model.layers[1].weight
    before = hidden.detach().clone()
    minimise(model, OPTIMIZERS["muon"](model), 1)
    m_out, m_in = hidden.shape
    norm = torch.linalg.matrix_norm(hidden - before, 2)
    expected = MUON_NORM * 3e-3 * max(1.0, m_out / m_in) ** 0.5
    # Five Newton-Schulz iterations leave singular values between about 0.7 and 1.2.
    assert 0.65 * expected < norm < 1.3 * expected


def test_the_learning_rate_is_set_in_every_group():
    for widths, expected in (([20, 1100, 20], [0.5, 0.5 * MUON_NORM]), ([20, 900, 20], [0.5])):
        optimizers = OPTIMIZERS["muon"](network(widths=[6, *widths, 3]))
        optimizers.set_rate(0.5)
        assert [g["lr"] for o, _ in optimizers.parts for g in o.param_groups] == expected
