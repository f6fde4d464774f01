"""The files of the step `export` in C++, and without a compiler."""

import copy

import numpy as np
import pytest
from compiled_program import compile_quickly

from combred.native import NativeSurrogate
from combred.pipeline.steps.export import export_native, require_agreement
from combred.surrogates.files.card import make_card
from combred.surrogates.files.storage import content_digest
from combred.surrogates.library import generator
from combred.surrogates.model.forms import make_surrogate
from combred.surrogates.model.surrogate import Surrogate

NONE = np.empty((0, 12))  # states
TITLE = "stage 2 of the run k"
pytestmark = pytest.mark.parametrize("mechanism", ["h2o2.yaml"], indirect=True, scope="session")


@pytest.fixture
def correcting(mechanism, qss_transform, make_network) -> Surrogate:
    """An untrained surrogate that corrects QSS steps."""
    network = make_network([qss_transform.n_inputs, 8, qss_transform.n_outputs], output=0.002)
    return make_surrogate(mechanism, qss_transform, network).requires_grad_(False)


def test_a_network_that_corrects_qss_steps_becomes_a_library(
    tmp_path, correcting, mechanism, path, monkeypatch
):
    compile_quickly(monkeypatch)
    card = make_card(correcting, mechanism, {}, {})
    states = path.state.numpy()
    said = export_native(tmp_path, correcting, card, TITLE, states)
    assert said.count(str(tmp_path)) == 2 and "MB, which needs the C library alone" in said
    native = NativeSurrogate(tmp_path / "libsurrogate.so")
    assert native.library.digest == content_digest(correcting, mechanism)
    assert native.library.card["species"] == list(mechanism.species_names)
    assert TITLE in (tmp_path / "surrogate.cpp").read_text()[:200]
    assert (tmp_path / "combred.h").is_file()
    other = copy.deepcopy(correcting)
    other.network.layers[-1].bias[2:] += 1.0  # the network that the library has not
    with pytest.raises(RuntimeError, match="differs from the surrogate in torch in"):
        require_agreement(native, other, states)


def test_without_a_compiler_the_console_tells_what_to_do(
    tmp_path, correcting, mechanism, monkeypatch
):
    monkeypatch.setenv("CXX", "no-such-compiler")
    said = export_native(
        tmp_path, correcting, make_card(correcting, mechanism, {}, {}), TITLE, NONE
    )
    assert "no C++ compiler: compile it where there is one" in said
    assert (tmp_path / "surrogate.cpp").is_file() and not (tmp_path / "libsurrogate.so").exists()


def test_a_network_that_is_too_large_has_no_file_in_cpp(tmp_path, correcting, monkeypatch):
    (tmp_path / "libsurrogate.so").write_text("of a network before")
    monkeypatch.setattr(generator, "MOST_WEIGHTS", 100)
    said = export_native(tmp_path, correcting, {}, TITLE, NONE)
    assert "no surrogate.cpp, since it is for networks of at most 1,000,000 weights" in said
    assert not list(tmp_path.iterdir())
