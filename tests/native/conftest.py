"""Fixtures for tests of compiled surrogates: one of each mechanism, compiled once."""

import copy
from pathlib import Path

import numpy as np
import pytest
import torch
from compiled_program import ONE_STATE, compile_quickly, require_same_answers
from one_step import compare_one_step
from rate_kinds import random_states

from combred.libraries import LIBRARY, export
from combred.native import NativeSurrogate, build, generate
from combred.native.compilers import find_compiler
from combred.native.library import Library
from combred.surrogates.files.card import make_card
from combred.surrogates.model.correction import make_transform
from combred.surrogates.model.forms import make_surrogate
from combred.surrogates.model.surrogate import Surrogate


@pytest.fixture(scope="session", autouse=True)
def compiler():
    """These tests need a C++ compiler."""
    try:
        find_compiler()
    except RuntimeError as error:
        pytest.skip(str(error))


def untrained(mechanism, transform, make_network, hidden: list[int]) -> Surrogate:
    """An untrained surrogate that corrects rates, for steps of 1e-8 to 1e-5 s. It says of its
    corrections that they are small and right, so that many of its steps are taken."""
    transform = copy.deepcopy(transform)
    transform.dt_range.copy_(torch.tensor([1e-8, 1e-5]))
    network = make_network([transform.n_inputs, *hidden, transform.n_outputs], output=0.002)
    with torch.no_grad():
        network.layers[-1].bias.copy_(0.002 * torch.linspace(-1.0, 1.0, transform.n_outputs))
        network.layers[-1].bias[-1] = -6.0
    return make_surrogate(mechanism, transform, network).requires_grad_(False).eval()


@pytest.fixture(scope="session")
def correcting(mechanism, qss_transform, make_network) -> Surrogate:
    """A surrogate of each mechanism. Its widths are no multiples of a tile of outputs."""
    return untrained(mechanism, qss_transform, make_network, [29, 17])


@pytest.fixture(scope="session")
def of_kinds(kinds, make_network) -> Surrogate:
    """A surrogate of the mechanism with all types of rates. Its exponents are not those whose
    inverse is a whole number, and its last hidden layer is narrower than a tile."""
    states = torch.tensor(np.column_stack(random_states(kinds)))
    later, dt = states.roll(1, 0), torch.logspace(-8, -5, len(states), dtype=torch.float64)
    transform = make_transform(kinds, 0.15, 1e-12, 0.4, True)
    transform.fit([(states, later, dt)]).fit_qss([(states, dt)])
    return untrained(kinds, transform, make_network, [17, 8])


@pytest.fixture(scope="session")
def compiled(correcting, made_once) -> NativeSurrogate:
    """The same surrogate, compiled."""
    with made_once("native") as folder:
        return NativeSurrogate(build(generate(correcting), folder))


@pytest.fixture(scope="session")
def compiled_kinds(of_kinds, made_once) -> NativeSurrogate:
    """The surrogate of the mechanism with all types of rates, compiled."""
    with made_once("native_kinds") as folder, pytest.MonkeyPatch.context() as patch:
        return NativeSurrogate(compile_quickly(patch)(generate(of_kinds), folder))


@pytest.fixture(scope="session")
def card(correcting, mechanism) -> dict:
    """The card of the surrogate, with an accuracy that was not measured."""
    accuracy = {"with_solver": {"delay_error": {"median": 0.01, "worst": 0.03}}}
    accuracy |= {"network_alone": {"delay_error": {"median": 0.3, "worst": 0.87}}}
    accuracy |= {"left_to_solver": 0.25}
    training = {"command": "python -m combred.pipeline", "sampling": {"phi": [0.25, 4.0]}}
    return make_card(correcting, mechanism, accuracy, training)


@pytest.fixture(scope="session")
def exported(correcting, card, made_once) -> Path:
    """The folder of an exported surrogate, whose library takes one state at a time, not optimised
    (-O3: `compiled`), for this CPU (every one: test_portable.py)."""
    with made_once("exported") as folder:
        if not (folder / LIBRARY).is_file():
            with pytest.MonkeyPatch.context() as patch:
                compile_quickly(patch, "-O0", ONE_STATE)
                export(correcting, folder, card, "of a test")
        return folder


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


@pytest.fixture(scope="session")
def require_agreement(burning, correcting):
    """A function: asserts that a compiled surrogate gives the answers of `correcting`."""

    def require(native: NativeSurrogate) -> None:
        for dt in (1e-7, 1e-6):
            compare_one_step(native, correcting, burning[::8], dt)

    return require


@pytest.fixture(scope="session")
def require_same_solver(burning, compiled):
    """A function: asserts that the solver in a library gives the answers of that in `compiled`, in
    time steps out of the training: few steps of its own, so that rounding does not grow."""

    def require(library: Library) -> None:
        own, states, dt = compiled.library, burning[::8], 0.9 * compiled.dt_range[0]
        for tolerance in (1e-3, 1e-6):
            answers = []
            for one in (library, own):
                later = states.copy()
                answers.append((later, *one.integrate_in_place(later, dt, tolerance)))
            assert answers[0][2].min() > 0
            require_same_answers(*answers, states, tolerance)
        for found, known in (
            *zip(library.rates(states), own.rates(states), strict=True),
            (library.jacobian(states[50]), own.jacobian(states[50])),
        ):  # rounding of exponents, over the fastest rate
            assert np.abs(found - known).max() <= 1e-12 * np.abs(known).max()

    return require
