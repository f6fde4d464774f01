"""100,000 states, valid ones and garbage, by a surrogate that comes with combred: the compiled
library against the torch definition."""

import numpy as np
import pytest
import torch
from one_step import ANY, one_step

from combred import load
from combred.native import compile

VALID, GARBAGE = 60_000, 40_000
ODD = (np.nan, np.inf, -np.inf, 0.0, -1.0, -1e-3, -1e-7, 1e-300, 5.0, 1e5, 1e12, 1e300, -1e300)
PIECE = 4096


@pytest.fixture(scope="module")
def states(path) -> np.ndarray:
    """Those of an ignition, perturbed: T by 5 %, p tenfold, Y by exponents of .7 to 1.3; and such
    in which one to three numbers are odd."""
    rng, n = np.random.default_rng(5), VALID + GARBAGE
    found = path.state.numpy()[rng.integers(0, len(path.state), n)]
    found[:, 0] *= 1.0 + 0.05 * rng.uniform(-1.0, 1.0, n)
    found[:, 1] *= 10.0 ** rng.uniform(-1.0, 1.0, n)
    found[:, 2:] **= 1.0 + 0.3 * rng.uniform(-1.0, 1.0, (n, found.shape[1] - 2))
    found[:, 2:] /= found[:, 2:].sum(axis=1, keepdims=True)
    for _ in range(3):
        rows, columns = np.arange(VALID, n), rng.integers(0, found.shape[1], GARBAGE)
        found[rows, columns] = np.where(
            rng.random(GARBAGE) < 0.6, rng.choice(ODD, GARBAGE), found[rows, columns]
        )
    return found


@pytest.mark.parametrize("mechanism", ["drm19.yaml"], indirect=True, scope="session")
def test_a_hundred_thousand_states(states):
    surrogate = load("drm19-11k").requires_grad_(False)
    dt = 10 ** np.random.default_rng(6).uniform(-8.0, -5.0, len(states))
    with np.errstate(invalid="ignore"):
        valid = np.isfinite(states).all(axis=1) & surrogate.is_valid_state(as_torch(states)).numpy()
    valid &= (states[:, 0] >= 100.0) & (states[:, 0] <= 6000.0) & (states[:, 1] < 1e30)
    assert valid[:VALID].all() and 0.05 < valid[VALID:].mean() < 0.5
    compiled = compile(surrogate)
    found, estimate = one_step(compiled, states, dt)
    by_solver = compiled.attempt(states[:, 0], states[:, 1], states[:, 2:], dt, ANY)
    assert np.isinf(by_solver.error[~valid]).all()

    rows, steps = as_torch(states[valid]), as_torch(dt[valid])
    pieces = zip(rows.split(PIECE), steps.split(PIECE), strict=True)
    parts = zip(*(surrogate.step(x, h) for x, h in pieces), strict=True)
    later, known = (torch.cat(part).numpy() for part in parts)
    # The closure of the library ends with a linear step: it succeeds for a few states more.
    more = np.isinf(known) & np.isfinite(estimate[valid])
    assert np.isfinite(estimate[valid])[np.isfinite(known)].mean() > 0.9999 and more.mean() < 0.01
    # Steps that are accepted: others amplify rounding.
    accepted = known <= surrogate.TOLERANCE
    assert accepted.sum() > 20_000
    off = np.abs(found[valid] - later)[accepted]
    assert off[:, 0].max() < 0.02 and off[:, 2:].max() < 2e-6
    assert np.median(off[:, 0]) < 1e-5
    ratio = estimate[valid][accepted] / known[accepted]
    assert np.quantile(np.abs(ratio - 1.0), 0.999) < 0.02


def as_torch(x: np.ndarray) -> torch.Tensor:
    return torch.as_tensor(x)
