"""Gaussian inputs of a network: their covariance, and their seed."""

import numpy as np
import torch

from combred.surrogate.calibration import gaussian_inputs
from combred.surrogate.transform import StateTransform


def test_gaussian_inputs_have_the_covariance_of_the_training_inputs():
    rng = np.random.default_rng(0)
    Y = rng.dirichlet(np.ones(4), size=400)
    state = np.column_stack([rng.uniform(800, 2000, 400), rng.uniform(1e5, 2e5, 400), Y])
    state[:, 3] = 0.5 * state[:, 2]  # two species in a fixed ratio: a singular covariance
    later = torch.from_numpy(state + 0.01 * rng.normal(size=state.shape))
    transform = StateTransform(4, lam=0.1, floor=1e-13, power=1.0)
    dt = torch.full((400,), 1e-6, dtype=torch.float64)
    transform.fit([(torch.from_numpy(state), later, dt)])
    n = 20_000
    x = gaussian_inputs(transform, n, seed=1).double().numpy()
    assert x.shape == (n, 6) and gaussian_inputs(transform, n).dtype == torch.float32
    # Standard error of a covariance of n draws of unit variance: sqrt(2 / n) at most; five of them.
    assert np.abs(x.mean(0)).max() < 5 / n**0.5
    found = np.cov(x.T, bias=True)
    assert np.abs(found - transform.covariance.numpy()).max() < 5 * (2 / n) ** 0.5
    features = transform.features(transform.variables(torch.from_numpy(state))).numpy()
    assert np.abs(found - np.cov(features.T, bias=True)).max() < 5 * (2 / n) ** 0.5


def test_gaussian_inputs_are_seeded():
    transform = StateTransform(3, lam=0.1, floor=1e-13, power=1.0)
    one, same = gaussian_inputs(transform, 50, seed=4), gaussian_inputs(transform, 50, seed=4)
    assert torch.equal(one, same)
    assert not torch.equal(one, gaussian_inputs(transform, 50, seed=5))
    assert len(torch.unique(one, dim=0)) == 50
