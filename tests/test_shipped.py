"""The models that come with combred: they load by name, are whole, and are what their cards say."""

import hashlib
from pathlib import Path

import numpy as np
import pytest
import torch

import combred
from combred.config import ChemistrySettings, ValidationSettings
from combred.export import load_surrogate, save_surrogate
from combred.ignition import compare, follow, reference
from combred.shipped import FOLDER

NAMES = list(combred.models())


def test_there_are_models_the_largest_first():
    weights = [card["network"]["weights"] for card in combred.models().values()]
    assert weights == sorted(weights, reverse=True) and len(weights) >= 3


@pytest.mark.parametrize("name", NAMES)
def test_a_model_is_what_its_card_says(name):
    surrogate, card = combred.load(name), combred.models()[name]
    assert surrogate.network.widths == card["network"]["widths"]
    assert surrogate.network.n_weights == card["network"]["weights"]
    assert surrogate.dt == card["dt"]
    assert card["accuracy"]["all_ignite"] and card["accuracy"]["delay_error"]["worst"] < 0.1


def test_every_shipped_file_has_its_checksum():
    data = FOLDER.parent
    lines = (data / "SHA256SUMS").read_text().split("\n")
    known = dict(reversed(line.split("  ")) for line in lines if line)
    shipped = {f"models/{path.name}" for path in FOLDER.iterdir()} | {"drm19.yaml"}
    assert set(known) == shipped
    for name, digest in known.items():
        assert hashlib.sha256((data / name).read_bytes()).hexdigest() == digest, name


@pytest.mark.parametrize("name", NAMES)
def test_a_model_ignites_as_cvode_does(name, drm19):
    cases = ValidationSettings(T0=[1800.0], phi=[1.0], burnt_time=1e-4)
    chemistry = ChemistrySettings()
    truth = reference(drm19, cases, chemistry, 1e-6, "CH4:1", "O2:1, N2:3.76", 1)
    found = compare(drm19, follow(combred.load(name).advance, 1e-6, truth), truth)
    assert found["all_ignite"]
    # A fast case, far from the worst of any card; some tenths of a percent were measured.
    assert found["delay_error"]["worst"] < 0.05


def test_a_path_is_loaded_like_a_name(tmp_path, drm19):
    surrogate = combred.load(NAMES[-1])
    save_surrogate(tmp_path / "own.safetensors", surrogate, drm19)
    again = combred.load(tmp_path / "own.safetensors")
    state = np.column_stack([[1500.0], [101325.0], np.full((1, 21), 1 / 21)])
    assert torch.equal(again(torch.tensor(state)), surrogate(torch.tensor(state)))
    assert isinstance(load_surrogate(Path(tmp_path / "own.safetensors"), drm19), type(surrogate))


def test_an_unknown_name_is_told_the_nearest():
    with pytest.raises(FileNotFoundError, match=f"did you mean {NAMES[0]}"):
        combred.load(NAMES[0] + "x")
