"""The quasi-steady-state step in Triton against `QuasiSteadyState` in float64."""

import numpy as np
import pytest
import torch
from rate_kinds import random_states

from combred.chemistry.mechanism import load_mechanism
from combred.kernels.inference.packing import model_of
from combred.kernels.inference.reactions import rates_of
from combred.surrogate.network import Network
from combred.surrogate.quasi_steady import QuasiSteadyState
from combred.surrogate.surrogate import Surrogate
from combred.surrogate.transform import BOXCOX, FLOOR, POWER, StateTransform

# Of a branch that `tl.where` discards.
pytestmark = pytest.mark.filterwarnings("ignore:overflow encountered:RuntimeWarning")


@pytest.fixture(scope="module")
def changes(triton, device):
    """A function: `QuasiSteadyState.forward` of a mechanism as the kernel computes it."""
    kernel = triton("step_kernel").step_kernel

    def evaluate(mechanism, T, p, Y, dt, evaluations=2):
        qss = QuasiSteadyState(mechanism, BOXCOX, FLOOR)
        transform = StateTransform(mechanism.n_species, BOXCOX, FLOOR, POWER)
        model = model_of(Surrogate(mechanism, transform, Network([transform.n_inputs] * 2)))
        m, n = len(qss.columns), len(T)
        found = [torch.empty((rows, n), device=device) for rows in (m, m, m - 1)]
        given = [x.contiguous().to(device) for x in (T, p, Y.T, dt)]
        kernel[(1,)](
            *given, *found, n, EVALUATIONS=evaluations, MODEL=model,
            RATES=rates_of(qss.kinetics, qss.thermo), N=mechanism.n_species,
            B=1 << (n - 1).bit_length(),
        )  # fmt: skip
        return [rows.cpu().T for rows in found]

    return evaluate


def some(mechanism) -> tuple[torch.Tensor, ...]:
    """T, p, Y and dt of random states, also outside the range of the NASA polynomials; dt from 1 ns
    to 100 us."""
    T, p, Y = random_states(mechanism)
    generator = np.random.default_rng(1)
    T[::2] = generator.uniform(50.0, 5500.0, len(T[::2]))
    dt = 10.0 ** generator.uniform(-9.0, -4.0, len(T))
    return tuple(torch.tensor(x) for x in (T, p, np.maximum(Y, FLOOR), dt))


@pytest.mark.parametrize("name", ["h2o2.yaml", "drm19.yaml", "kinds.yaml"])
def test_as_in_float64(changes, kinds, name):
    mechanism = kinds if name == "kinds.yaml" else load_mechanism(name)
    given = some(mechanism)
    found = changes(mechanism, *given)
    exact, eager = (
        QuasiSteadyState(mechanism, BOXCOX, FLOOR, dtype)(*given)
        for dtype in (torch.float64, torch.float32)
    )
    # What is left of a species that decays within the step is rounding, in eager float32 too: so
    # this errs as that does, but for the forward rates (see test_fused_kinetics.py).
    for ours, theirs, true in zip(found[:2], eager[:2], exact[:2], strict=True):
        size = true.abs() + 1e-2 * true.abs().median(dim=0).values + 1e-12
        for share in (0.5, 0.9, 0.99):
            errors = [((x - true).abs() / size).quantile(share) for x in (ours, theirs)]
            assert errors[0] < 4.0 * errors[1] + 1e-6, share
    assert all(torch.isfinite(x).all() for x in found)
    assert (found[2] - exact[2]).abs().max() < 1e-4  # log10


def test_one_evaluation_is_the_predictor(changes, h2o2):
    given = some(h2o2)
    once, none, _ = changes(h2o2, *given, evaluations=1)
    assert torch.equal(once, changes(h2o2, *given)[1])
    assert (none == 0.0).all()


def test_an_absent_species_does_not_decay(changes, drm19):
    """Exactly, whatever a device's division leaves of the floor over itself."""
    Y = drm19.mixture("CH4:1", "O2:1, N2:3.76", 1.0)
    T, p, dt = (torch.tensor([value], dtype=torch.float64) for value in (300.0, 101325.0, 1e-6))
    here = torch.tensor(np.maximum(Y, FLOOR))[None]
    absent = torch.tensor(Y == 0.0)[QuasiSteadyState(drm19, BOXCOX, FLOOR).reactive]
    for change in changes(drm19, T, p, here, dt)[:2]:
        assert (change[0, 1:][absent] >= 0.0).all() and (change[0, 1:][absent] == 0.0).any()
