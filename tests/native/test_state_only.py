"""A compiled network of the state alone: its step and its range against the torch definition, and
the solver behind."""

import numpy as np
import pytest
import torch
from one_step import ANY, by_torch, one_step

from combred.native import NativeSurrogate, build, generate
from combred.surrogates.model.correction import make_transform
from combred.surrogates.model.forms import make_surrogate
from combred.surrogates.model.surrogate import Surrogate

pytestmark = pytest.mark.parametrize("mechanism", ["h2o2.yaml"], indirect=True, scope="session")


@pytest.fixture(scope="module")
def near(path) -> np.ndarray:
    """2040 states [T, p, Y] around those of an ignition, the later ones farther from them."""
    rng = np.random.default_rng(1)
    states = np.tile(path.state.numpy(), (34, 1))
    size = np.geomspace(1e-4, 0.3, len(states))[:, None]
    states[:, :2] *= 1.0 + size * rng.uniform(-1.0, 1.0, (len(states), 2))
    states[:, 2:] *= np.exp(size * rng.standard_normal(states[:, 2:].shape))
    states[:, 2:] /= states[:, 2:].sum(axis=1, keepdims=True)
    return states


@pytest.fixture(scope="module")
def alone(mechanism, near, path, make_network) -> Surrogate:
    """An untrained network of the state alone, that knows the first half of `near`. Its changes are
    a tenth of the chemistry's, so that some conserve elements well, and some do not."""
    transform = make_transform(mechanism, 0.1, 1e-13, 1 / 3, kinetics=False)
    states = torch.as_tensor(near[: len(near) // 2])
    times = len(states) // len(path.state)
    transform.fit([(states, path.later.repeat(times, 1), path.steps.repeat(times))])
    network = make_network([transform.n_inputs, 29, 17, transform.n_outputs], output=0.1)
    made = make_surrogate(mechanism, transform, network).requires_grad_(False).eval()
    made.fit_trust([states])
    return made


@pytest.fixture(scope="module")
def native(alone, made_once) -> NativeSurrogate:
    with made_once("native_alone") as folder:
        return NativeSurrogate(build(generate(alone), folder))


def test_one_step_differs_by_rounding_alone(native, alone, near):
    known, estimate = by_torch(alone, near, alone.dt_range[0])
    found, error = one_step(native, near, alone.dt_range[0])
    good = np.isfinite(estimate) & np.isfinite(error)
    assert good.mean() > 0.3 and np.isfinite(error[np.isfinite(estimate)]).mean() > 0.99
    change = np.abs(known - near)[good]
    off = np.abs(found - known)[good]
    # Of floats, whose third power is the change.
    assert np.quantile(off[:, 0] / (change[:, 0] + 1.0), 0.99) < 1e-3
    assert np.quantile(off[:, 2:].max(1) / (change[:, 2:].max(1) + 1e-4), 0.99) < 1e-3
    inside = good & alone.in_training_range(torch.as_tensor(near)).numpy()
    assert inside.mean() > 0.1
    # States at the border of the range may be out of it in floats.
    out = inside & (error > 1e15)
    assert out.sum() < 0.005 * inside.sum()
    inside &= ~out
    assert np.allclose(error[inside], estimate[inside], rtol=2e-3, atol=1e-6)


def test_the_network_proposes_and_the_solver_disposes(native, alone, mechanism, near, solver_of):
    """Each state has the network's step, where torch trusts it, or the solver's answer, bit for
    bit: where the closure moves it much, and out of the training's range."""
    dt = alone.dt_range[0]
    T, p, Y = near[:, 0], near[:, 1], near[:, 2:]
    found = native.integrate(T, p, Y, dt)
    steps = torch.full((len(near),), dt, dtype=torch.float64)
    later, ratio = (x.numpy() for x in alone.next_state_and_error(torch.as_tensor(near), steps))
    inside, taken = np.isfinite(ratio), found.steps == 0
    assert 0.1 < taken.mean() < inside.mean() < 0.9
    border = np.abs(ratio - 1.0) < 0.01
    # Of the range, too, but for states at its border within rounding.
    assert (taken != (ratio <= 1.0))[~border].mean() < 0.005
    both = taken & (ratio <= 1.0)
    assert np.abs(found.T - later[:, 0])[both].max() < 0.05
    solved = solver_of(mechanism).integrate(T, p, Y, dt, native.tolerance)
    assert np.array_equal(found.T[~taken], solved.T[~taken])
    assert np.array_equal(found.Y[~taken], solved.Y[~taken])


def test_other_time_steps_are_the_solver_s(native, alone, near):
    own = alone.dt_range[0]
    for dt in (own / 1.001, 1.001 * own, 10.0 * own):
        assert native.attempt(near[:, 0], near[:, 1], near[:, 2:], dt, ANY).steps.min() > 0
    for dt in (own, own * (1.0 + 1e-9)):
        found = native.attempt(near[:, 0], near[:, 1], near[:, 2:], dt, ANY)
        assert (found.steps == 0).mean() > 0.8  # all that can be closed
