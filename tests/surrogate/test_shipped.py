"""The models that come with combred: they load by name, are whole, and are what their cards say."""

import hashlib
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import torch

import combred
from combred.config import (
    ChemistrySettings,
    NetworkSettings,
    SamplingSettings,
    Settings,
    ValidationSettings,
    resolve,
)
from combred.pipeline.start import starting_point
from combred.simulation.ignition import follow, reference
from combred.simulation.ignition_errors import compare
from combred.surrogate.shipped import FOLDER
from combred.surrogate.storage import load_surrogate, save_surrogate

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
    found = compare(drm19, follow(combred.load(name), 1e-6, truth), truth)
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


# -- which of them is stage 0 of which settings ----------------------------------------------------

STARTS = {name: card for name, card in combred.models().items() if not card["training"]["stage"]}


def settings_of(card: dict) -> Settings:
    """The mixture, range and network that a model was trained with."""
    made = card["training"]["settings"]
    sampling, network = SamplingSettings(**made["sampling"]), NetworkSettings(**made["network"])
    return Settings(dt=card["dt"], sampling=sampling, network=network)


@pytest.fixture(params=STARTS)
def start(request) -> tuple[str, Settings]:
    """A model that was not reduced, and the settings that it was trained with."""
    return request.param, settings_of(STARTS[request.param])


def test_a_model_is_the_start_of_what_it_was_trained_for(start, drm19):
    name, settings = start
    assert starting_point(settings, drm19) == (name, "")


def test_a_part_of_the_range_and_another_reduction_are_no_difference(start, drm19):
    name, settings = start
    part = {"p": [101325.0, 101325.0], "phi": [0.9, 1.1], "T0": [1500.0, 1600.0]}
    asked = {"fuel": "auto", "states": 5000, "ignitions": 9, "flames": 0, "flame_T": [2000.0]}
    settings = replace(settings, sampling=replace(settings.sampling, **part, **asked))
    assert starting_point(replace(settings, stage=0), drm19) == (name, "")
    again = resolve(["retraining.steps=7", "training.evaluate_every=50"])
    settings = replace(settings, retraining=again.retraining, training=again.training)
    assert starting_point(settings, drm19) == (name, "")


@pytest.mark.parametrize(
    ("part", "change", "told"),
    [
        ("", {"dt": 2e-6}, "dt = 1e-06 s"),
        ("", {"seed": 1}, "seed=1 is asked for"),
        ("training", {"steps": 5000}, "training.steps=5000 is asked for"),
        ("training", {"rollout_steps": 8}, "training.rollout_steps=8 is asked for"),
        ("network", {"hidden": [20, 20], "scales": ["0.5"]}, "network.hidden = ["),
        ("network", {"power": 1.0}, "network.power = 0.33"),
        ("sampling", {"fuel": "H2:1"}, "fuel CH4:1"),
        ("sampling", {"oxidizer": "O2:1"}, "oxidizer O2:1, N2:3.76"),
        ("sampling", {"p": [1e5, 9e6]}, "p from "),
        ("sampling", {"p": [1e3, 1e5]}, "p from "),
        ("sampling", {"phi": [0.01, 1.0]}, "phi from "),
        ("sampling", {"T0": [1500.0, 2900.0]}, "T0 from "),
        ("sampling", {"flames": 4, "flame_T": [300.0, 2900.0]}, "flame_T from "),
    ],
)
def test_what_differs_is_named(start, drm19, part, change, told):
    name, settings = start
    if part:
        change = {part: replace(getattr(settings, part), **change)}
    found, why_not = starting_point(replace(settings, **change), drm19)
    assert not found and told in why_not
    assert name in why_not or "is asked for" in why_not


def test_another_mechanism_is_named(start, h2o2):
    name, settings = start
    hydrogen = replace(settings, sampling=replace(settings.sampling, fuel="auto"))
    found, why_not = starting_point(hydrogen, h2o2)
    assert not found and f"{name}: another mechanism, drm19.yaml" in why_not


@pytest.mark.parametrize("profile", ["condensed", "paper", "smoke"])
def test_profiles_with_networks_of_their_own_train(profile, drm19):
    found, why_not = starting_point(resolve([f"profile={profile}"]), drm19)
    assert not found and "network.hidden" in why_not
