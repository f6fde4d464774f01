"""Fixtures for tests of compiled surrogates: one of each mechanism, compiled once."""

import copy

import numpy as np
import pytest
import torch
from rate_kinds import random_states

from combred.native import NativeSurrogate, build, generate
from combred.native.builder import find_compiler
from combred.surrogate.correction import make_transform
from combred.surrogate.surrogate import Surrogate


@pytest.fixture(scope="session", autouse=True)
def compiler():
    """These tests need a C++ compiler."""
    try:
        find_compiler()
    except RuntimeError as error:
        pytest.skip(str(error))


def untrained(mechanism, transform, make_network, hidden: list[int]) -> Surrogate:
    """An untrained surrogate that corrects rates, for steps of 1e-8 to 1e-5 s. It says of its
    corrections that they are small and right, so that it takes few steps."""
    transform = copy.deepcopy(transform)
    transform.dt_range.copy_(torch.tensor([1e-8, 1e-5]))
    network = make_network([transform.n_inputs, *hidden, transform.n_outputs], output=0.002)
    with torch.no_grad():
        network.layers[-1].bias[-1] = -6.0
    return Surrogate(mechanism, transform, network).requires_grad_(False).eval()


@pytest.fixture(scope="session")
def correcting(mechanism, qss_transform, make_network) -> Surrogate:
    """A surrogate of each mechanism. Its widths are no multiples of a tile of outputs."""
    return untrained(mechanism, qss_transform, make_network, [29, 17])


@pytest.fixture(scope="session")
def of_kinds(kinds, make_network) -> Surrogate:
    """A surrogate of the mechanism with all types of rates. Its exponents are not those whose
    inverse is a whole number, and its one hidden layer is narrower than a tile."""
    states = torch.tensor(np.column_stack(random_states(kinds)))
    later, dt = states.roll(1, 0), torch.logspace(-8, -5, len(states), dtype=torch.float64)
    transform = make_transform(kinds, 0.15, 1e-12, 0.4, True)
    transform.fit([(states, later, dt)]).fit_qss([(states, dt)])
    return untrained(kinds, transform, make_network, [8])


@pytest.fixture(scope="session")
def compiled(correcting, mechanism, made_once) -> NativeSurrogate:
    """The same surrogate, compiled."""
    with made_once("native") as folder:
        return NativeSurrogate(build(generate(correcting, mechanism), folder))


@pytest.fixture(scope="session")
def compiled_kinds(of_kinds, kinds, made_once) -> NativeSurrogate:
    """The surrogate of the mechanism with all types of rates, compiled."""
    with made_once("native_kinds") as folder:
        return NativeSurrogate(build(generate(of_kinds, kinds), folder))


@pytest.fixture(scope="session")
def burning(path) -> np.ndarray:
    """2040 states [T, p, Y] near those of an ignition: T within 2 %, p by a factor of 30, each Y
    by a factor of 10 % or so."""
    rng = np.random.default_rng(1)
    states = np.tile(path.state.numpy(), (34, 1))
    states[:, 0] *= 1.0 + 0.02 * rng.uniform(-1.0, 1.0, len(states))
    states[:, 1] *= 30.0 ** rng.uniform(-0.5, 1.0, len(states))
    states[:, 2:] *= np.exp(0.1 * rng.standard_normal(states[:, 2:].shape))
    states[:, 2:] /= states[:, 2:].sum(axis=1, keepdims=True)
    return states


def by_torch(
    surrogate: Surrogate, states: np.ndarray, dt, tolerance=Surrogate.TOLERANCE
) -> list[np.ndarray]:
    """`Surrogate.integrate` of arrays; dt [s]: a float or (n,)."""
    steps = torch.as_tensor(np.broadcast_to(np.asarray(dt, float), len(states)).copy())
    found = surrogate.integrate(torch.as_tensor(states), steps, tolerance)
    return [part.numpy() for part in found]


@pytest.fixture(scope="session")
def reference():
    """The function `by_torch`."""
    return by_torch


@pytest.fixture(scope="session")
def require_agreement(burning, correcting, reference):
    """A function: asserts that a compiled surrogate gives the answers of `correcting`. The limits
    are those of test_steps.py: rounding of logarithms to float32, which also decides whether a
    step is cut once more; seen: 0.06 K."""
    states = burning[::8]
    known = {dt: reference(correcting, states, dt) for dt in (1e-7, 1e-6)}

    def require(native: NativeSurrogate) -> None:
        for dt, (later, error, steps) in known.items():
            found, found_error, found_steps = native.integrate(states, dt)
            same = found_steps == steps
            assert same.mean() > 0.9 and np.abs(found_steps - steps).max() <= 3
            assert np.quantile(np.abs(found - later)[same, 0], 0.999) < 0.2
            assert np.quantile(np.abs(found - later)[same, 2:], 0.999) < 1e-5
            clear = np.abs(error - 1.0) > 0.01
            assert np.array_equal(found_error[clear] <= 1.0, error[clear] <= 1.0)

    return require
