"""The files of the step `export` in C++, and without a compiler."""

import copy

import numpy as np
import pytest
import torch
from compiled_program import compile_quickly

from combred.config import resolve
from combred.native import NativeSurrogate
from combred.pipeline.run import Run
from combred.pipeline.steps.export import export_native, require_agreement
from combred.surrogate.card import make_card
from combred.surrogate.forms import make_surrogate
from combred.surrogate.library import generator
from combred.surrogate.storage import content_digest
from combred.surrogate.surrogate import Surrogate

NONE = np.empty((0, 12))  # states
pytestmark = pytest.mark.parametrize("mechanism", ["h2o2.yaml"], indirect=True, scope="session")


@pytest.fixture
def run(mechanism, tmp_path) -> Run:
    return Run(resolve(["run=k", "stage=2"]), mechanism, tmp_path / "k", torch.device("cpu"))


@pytest.fixture
def correcting(mechanism, qss_transform, make_network) -> Surrogate:
    """An untrained surrogate that corrects QSS steps."""
    network = make_network([qss_transform.n_inputs, 8, qss_transform.n_outputs], output=0.002)
    return make_surrogate(mechanism, qss_transform, network).requires_grad_(False)


def test_a_network_that_corrects_qss_steps_becomes_a_library(
    run, correcting, mechanism, path, monkeypatch
):
    compile_quickly(monkeypatch)
    card = make_card(correcting, mechanism, {}, {})
    states = path.state.numpy()
    said = export_native(run, correcting, card, states)
    assert said.count(str(run.folder)) == 2 and "MB, which needs the C library alone" in said
    native = NativeSurrogate(run.path("libsurrogate.so"))
    assert native.library.digest == content_digest(correcting, mechanism)
    assert native.library.card["species"] == list(mechanism.species_names)
    assert "stage 2 of the run k" in run.path("surrogate.cpp").read_text()[:200]
    assert run.path("combred.h").is_file()
    other = copy.deepcopy(correcting)
    other.network.layers[-1].bias[2:] += 1.0  # the network that the library has not
    with pytest.raises(RuntimeError, match="differs from the surrogate in torch in"):
        require_agreement(native, other, states)


def test_without_a_compiler_the_console_tells_what_to_do(run, correcting, mechanism, monkeypatch):
    monkeypatch.setenv("CXX", "no-such-compiler")
    said = export_native(run, correcting, make_card(correcting, mechanism, {}, {}), NONE)
    assert "no C++ compiler: compile it where there is one" in said
    assert run.path("surrogate.cpp").is_file() and not run.path("libsurrogate.so").exists()


def test_a_network_that_is_too_large_has_no_file_in_cpp(run, correcting, monkeypatch):
    run.folder.mkdir()
    run.path("libsurrogate.so").write_text("of a network before")
    monkeypatch.setattr(generator, "MOST_WEIGHTS", 100)
    said = export_native(run, correcting, {}, NONE)
    assert "no surrogate.cpp, since it is for networks of at most 1,000,000 weights" in said
    assert not list(run.folder.iterdir())
