"""The fused quasi-steady prediction of a step against `StateTransform.qss_features` in float64."""

import copy

import numpy as np
import pytest
import torch
from rate_kinds import random_states

from combred.chemistry.mechanism import load_mechanism
from combred.kernels.inference.packing import model_of
from combred.surrogate.network import Network
from combred.surrogate.surrogate import Surrogate
from combred.surrogate.transform import make_transform


@pytest.fixture(scope="module")
def features(triton, device):
    """`StateTransform.qss_features` as the kernel computes it: of a surrogate and its states
    (n, 2 + n_species), the network's inputs and the quasi-steady change."""
    kernel = triton("step_kernel").step_kernel

    def evaluate(surrogate, state):
        m, n = len(surrogate.transform.qss.columns), len(state)
        change, inputs = (torch.empty((rows, n), device=device) for rows in (m, 2 * m - 1))
        scale = surrogate.transform.scale.float().to(device)
        columns = state.T.contiguous().to(device)
        B = 1 << (n - 1).bit_length()
        model = model_of(surrogate)
        kernel[(1,)](columns, scale, change, inputs, n, MODEL=model, N=surrogate.n, B=B)
        return inputs.cpu().T, change.cpu().T

    return evaluate


def made(name: str, evaluations: int) -> tuple[Surrogate, torch.Tensor]:
    """A surrogate, and random states, also outside the range of the NASA polynomials."""
    mechanism = load_mechanism(name)
    T, p, Y = random_states(mechanism)
    T[::2] = np.random.default_rng(1).uniform(50.0, 5500.0, len(T[::2]))
    state = torch.tensor(np.column_stack([T, p, Y]))
    transform = make_transform(mechanism, 1e-6, 0.1, 1e-13, 1 / 3, evaluations)
    transform.scale.copy_(torch.logspace(-3, 1, len(transform.scale), dtype=torch.float64))
    n = 2 + mechanism.n_species
    return Surrogate(mechanism, 1e-6, transform, Network([transform.n_inputs, 4, n])), state


@pytest.mark.parametrize(
    ("name", "evaluations"),
    [("h2o2.yaml", 1), ("drm19.yaml", 2), ("kinds.yaml", 2), ("gri30.yaml", 1)],
)
def test_as_in_float64(features, kinds, name, evaluations):
    surrogate, state = made(kinds.file if name == "kinds.yaml" else name, evaluations)
    exact = copy.deepcopy(surrogate.transform)
    exact.qss.double()
    clean = torch.cat([state[:, :2], surrogate.normalized(state[:, 2:])], dim=1)
    inputs, change = features(surrogate, state)
    expected_inputs, expected = exact.qss_features(clean)
    scale = surrogate.transform.scale[exact.qss.columns]
    m, true = len(scale), expected / scale
    # What is left of a species that decays within the step is rounding, in eager float32 too: so
    # this errs as that does, but for the forward rates (see test_fused_kinetics.py).
    errors = [
        (found / scale - true).abs() / (true.abs() + 1e-2 * true.abs().median(dim=0).values)
        for found in (change, surrogate.transform.qss_features(clean)[1])
    ]
    for share in (0.5, 0.9, 0.99):
        ours, eager = (off.quantile(share) for off in errors)
        assert ours < 4.0 * eager + 1e-6, share
    assert torch.isfinite(inputs).all()
    shown = torch.sign(change) * (change / scale).abs() ** (1 / 3)
    assert torch.allclose(inputs[:, :m], shown.float(), rtol=1e-5)
    assert (inputs[:, m:] - expected_inputs[:, m:]).abs().max() < 1e-4  # log10


def test_an_absent_species_does_not_decay(features):
    """Exactly, whatever a device's division leaves of the floor over itself."""
    surrogate, _ = made("drm19.yaml", 2)
    Y = load_mechanism("drm19.yaml").mixture("CH4:1", "O2:1, N2:3.76", 1.0)
    state = torch.tensor(np.array([[300.0, 101325.0, *Y]]))
    _, change = features(surrogate, state)
    absent = torch.tensor(Y == 0.0)[surrogate.transform.qss.columns[1:] - 2]
    assert (change[0, 1:][absent] >= 0.0).all() and (change[0, 1:][absent] == 0.0).any()
