"""One step of the network: of a compiled surrogate, and of the torch definition."""

import copy

import numpy as np
import torch

from combred.surrogates.model.surrogate import Surrogate

ANY = 1e30  # a tolerance that takes every step


def steps(state: torch.Tensor, dt: float = 1e-6) -> torch.Tensor:
    """dt [s], that of every surrogate in the tests, for each of the states (n, 2 + n_species)."""
    return torch.full((len(state),), dt, dtype=torch.float64)


def one_step(native, states, dt) -> tuple[np.ndarray, np.ndarray]:
    """The states [T, p, Y] after the network's step of any error, and its relative error estimate:
    infinite where the closure fails or the state is not valid."""
    found = native.attempt(states[:, 0], states[:, 1], states[:, 2:], dt, tolerance=ANY)
    later = np.column_stack([found.T, found.p, found.Y])
    return later, np.where(found.steps == 0, found.error * ANY, np.inf)


def by_torch(surrogate: Surrogate, states: np.ndarray, dt) -> tuple[np.ndarray, np.ndarray]:
    """`Surrogate.step` of arrays; dt [s]: a float or (n,)."""
    steps = torch.as_tensor(np.broadcast_to(np.asarray(dt, float), len(states)).copy())
    later, error = surrogate.step(torch.as_tensor(states), steps)
    return later.numpy(), error.numpy()


def compare_one_step(native, surrogate: Surrogate, states: np.ndarray, dt) -> None:
    """Asserts that a compiled surrogate makes the step of torch but for rounding. The definition
    rounds logarithms to float32 before the exponential; the library adds them, and makes the
    quasi-steady steps, in float32. How much rounding matters is seen by the definition itself, with
    its rates in float64: the library may differ by twenty times as much."""
    precise = copy.deepcopy(surrogate)
    precise.transform.qss.kinetics.to(torch.float64)
    known, estimate = by_torch(surrogate, states, dt)
    exact, of_exact = by_torch(precise, states, dt)
    found, error = one_step(native, states, dt)
    good = np.isfinite(estimate) & np.isfinite(of_exact) & np.isfinite(error)
    # The closure of the library ends with a linear step: it succeeds for a few states more, and
    # fails for hardly any that torch closes.
    assert good.mean() > 0.2 and np.isfinite(error[np.isfinite(estimate)]).mean() > 0.99
    assert np.isfinite(error).mean() < np.isfinite(estimate).mean() + 0.05

    def spread(a, b):
        T, Y = np.abs(a - b)[:, 0], np.abs(a - b)[:, 2:].max(axis=1)
        return [np.quantile(x[good], share) for x in (T, Y) for share in (0.5, 0.99)]

    least = [1e-4, 1e-2, 1e-7, 1e-6]  # K and of Y: where rates in float64 change less
    for off, rounding, floor in zip(spread(found, known), spread(exact, known), least, strict=True):
        assert off <= 20.0 * rounding + floor
    clear = good & (estimate > 1e-3)
    assert np.quantile(np.abs(error[clear] / estimate[clear] - 1.0), 0.99) < 0.03
