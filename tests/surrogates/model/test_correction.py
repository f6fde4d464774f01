"""The transform of networks that correct a QSS step: inputs, targets in units of M, and bounds."""

import numpy as np
import pytest
import torch


def prepared(transform, path, dt=None):
    steps = path.steps if dt is None else torch.full_like(path.steps, dt)
    return transform.prepared(path.state, transform.variables(path.state), steps)


def test_inputs_are_standardised(path, qss_transform):
    x = qss_transform.inputs(path.state, path.steps)
    assert x.dtype == torch.float32 and x.shape == (len(path.T), qss_transform.n_inputs)
    features = qss_transform.features(qss_transform.variables(path.state))
    n = features.shape[1]
    assert torch.equal(x[:, :n], features.float())
    seen = x[:, n:].double()
    assert seen.mean(0).abs().max() < 1e-5  # float32
    std = seen.std(0, correction=0)
    assert torch.allclose(std[std > 0], torch.ones_like(std[std > 0]), atol=1e-4)


def test_the_inputs_are_their_formula(path, qss_transform):
    t, dt = qss_transform, path.steps
    Y = path.state[:, 2:]
    corrector, predictor, stiffness = t.qss(path.state[:, 0], path.state[:, 1], Y, dt)
    scale = t.scale[t.qss.columns].float()
    d, e = (corrector / scale).numpy(), ((corrector - predictor) / scale).numpy()
    M = np.maximum(np.abs(e).max(1), 1e-12)[:, None]
    expected = np.hstack([np.cbrt(d), stiffness.numpy(), np.cbrt(e / M), np.log10(M)])
    found = prepared(t, path)[0][:, path.state.shape[1] :] * t.qss_std + t.qss_mean
    # float32, standardised; the cube root of the absent is steep.
    assert np.allclose(found[:, :-1], expected, rtol=1e-4, atol=1e-4)
    assert np.allclose(found[:, -1], -6.0, atol=1e-6)  # log10 dt
    assert np.allclose(prepared(t, path)[2], M[:, 0], rtol=1e-5)


def test_the_target_has_an_inverse_and_its_loss_is_that_of_the_estimate(path, qss_transform):
    t = qss_transform
    _, base, size = prepared(t, path)
    left = t.variables(path.later) - t.variables(path.state) - base
    target = t.target(left, size)
    assert target.shape[1] == t.n_outputs  # the last column is the weight of the row
    back, _ = t.correction(torch.cat([target[:, :-1], torch.zeros_like(target[:, -1:])], 1), size)
    bounded = (left / (t.scale * size[:, None])).abs() <= t.BOUND
    assert bounded.double().mean() > 0.9
    assert torch.allclose(back[bounded], left[bounded], rtol=1e-9, atol=1e-15)
    answer = target.clone()
    answer[:, -1] = -6.0  # log10 of 1e-6, to which a perfect answer's error is limited
    assert t.loss(answer, target).item() < 1e-12
    answer[:, -1] = -5.0
    assert t.loss(answer, target).item() == pytest.approx(t.ESTIMATE_WEIGHT, rel=1e-6)


def test_any_answer_gives_a_bounded_correction(path, qss_transform):
    t = qss_transform
    _, _, size = prepared(t, path)
    answer = 1e6 * torch.randn(len(path.T), t.n_outputs, generator=torch.Generator().manual_seed(0))
    correction, _ = t.correction(answer.double(), size)
    assert (correction.abs() <= 1.001 * t.BOUND * t.scale * size[:, None]).all()


def test_the_size_of_the_correction_vanishes_faster_than_dt(path, qss_transform):
    """M falls as dt^2, in the steepest state of an ignition."""
    i = int(np.argmax(path.T_next - path.T))
    dts = np.array([1e-9, 5e-10, 2.5e-10])
    M = np.array([prepared(qss_transform, path, dt)[2][i].item() for dt in dts])
    assert np.polyfit(np.log(dts), np.log(M), 1)[0] == pytest.approx(2.0, abs=0.3)  # float32 rates


def test_the_error_estimate_is_the_last_output(path, qss_transform):
    t = qss_transform
    _, _, size = prepared(t, path)
    answer = torch.zeros(len(path.T), t.n_outputs, dtype=torch.float64)
    answer[:, -1] = -1.5
    assert torch.allclose(t.correction(answer, size)[1], 10**-1.5 * size, rtol=1e-12)


def test_no_gradient_passes_through_the_rates(path, qss_transform):
    state = path.state.clone().requires_grad_()
    v = qss_transform.variables(path.state)
    x, base, size = qss_transform.prepared(state, v, path.steps)
    assert not x.requires_grad and not base.requires_grad and not size.requires_grad
