"""The compiled source under the sanitizers of addresses and of undefined behaviour."""

import shutil

import numpy as np
import pytest
from compiled_program import sanitized, spoil
from one_step import ANY
from rate_kinds import random_states

from combred.native import generate
from combred.native.single_file import single_file

pytestmark = [pytest.mark.slow, pytest.mark.skipif(shutil.which("g++") is None, reason="needs g++")]


@pytest.fixture(scope="module")
def program(of_kinds, tmp_path_factory):
    source = tmp_path_factory.mktemp("sanitized") / "surrogate.cpp"
    source.write_text(single_file(generate(of_kinds), "of a test", "surrogate"))
    return sanitized(source)


def integrated(program, states, tolerance):
    return program.attempt(states[:, 0], states[:, 1], states[:, 2:], 1e-6, tolerance)


@pytest.mark.parametrize("n", [0, 1, 15, 16, 17, 100])
@pytest.mark.parametrize("tolerance", [0.0, ANY])
def test_batches_of_all_sizes(program, kinds, n, tolerance):
    states = np.column_stack(random_states(kinds, 100, seed=1))[:n]
    found = integrated(program, states, tolerance)
    assert found.Y.shape == states[:, 2:].shape and np.isfinite(found.error).all()
    assert n < 100 or 0 < (found.steps == 0).sum() < n


def test_states_that_are_none(program, kinds):
    states = np.column_stack(random_states(kinds, 100, seed=2))
    spoil(states[:90])
    found, alone = integrated(program, states, ANY), integrated(program, states[90:], ANY)
    assert np.isinf(found.error[:90]).sum() > 45
    assert np.array_equal(found.Y[90:], alone.Y) and np.array_equal(found.error[90:], alone.error)
