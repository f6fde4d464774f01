"""Which shipped model is stage 0 of which settings."""

from dataclasses import fields, replace

import pytest

import combred
from combred.config.command import resolve
from combred.config.data import SamplingSettings
from combred.config.learning import NetworkSettings
from combred.config.settings import Settings
from combred.pipeline import start as module
from combred.pipeline.resolved import resolved
from combred.pipeline.start import starting_point
from combred.surrogates.files.card import SAMPLING

ALONE, GENERAL = "drm19-full", "drm19-38k"  # sees the state alone; corrects QSS steps


@pytest.fixture(scope="module", autouse=True)
def cards():
    """Two models come with combred, `GENERAL` as if it had not been reduced."""
    cards = {name: combred.models()[name] for name in (ALONE, GENERAL)}
    cards[GENERAL]["training"]["stage"] = 0
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(module, "models", lambda: cards)
        yield cards


def settings_of(card: dict) -> Settings:
    """The mixture, range and network that a model was trained with."""
    made, settings = card["training"], {field.name for field in fields(NetworkSettings)}
    network = {key: value for key, value in made["network"].items() if key in settings}
    network["kinetics"] = bool(network["kinetics"])
    sampling = SamplingSettings(**{key: made["sampling"][key] for key in SAMPLING})
    return Settings(sampling=sampling, network=NetworkSettings(**network))


@pytest.fixture(params=[ALONE, GENERAL])
def start(request, cards) -> tuple[str, Settings]:
    """A model of stage 0, and the settings that it was trained with."""
    return request.param, settings_of(cards[request.param])


def test_a_model_fits_the_settings_that_it_was_trained_with(start, drm19):
    name, settings = start
    assert starting_point(settings, drm19) == (name, "")


def test_a_model_fits_a_part_of_its_range_and_another_reduction(start, drm19):
    name, settings = start
    part = {"p": [101325.0, 101325.0], "phi": [0.9, 1.1], "T0": [1500.0, 1600.0]}
    other = {"fuel": "auto", "states": 5000, "ignitions": 9}
    settings = replace(settings, sampling=replace(settings.sampling, **part, **other))
    assert starting_point(replace(settings, stage=0), drm19) == (name, "")
    again = resolve(["retraining.steps=7"])
    settings = replace(settings, retraining=again.retraining)
    assert starting_point(settings, drm19) == (name, "")


@pytest.mark.parametrize(
    ("part", "change", "reason"),
    [
        ("", {"seed": 1}, "seed=1 is asked for"),
        ("training", {"steps": 5000}, "training.steps=5000 is asked for"),
        ("training", {"lr": 1e-3}, "training.lr=0.001 is asked for"),
        ("network", {"hidden": [20, 20], "scales": ["0.5"]}, "network.hidden = ["),
        ("sampling", {"fuel": "H2:1"}, "fuel CH4:1"),
        ("sampling", {"oxidizer": "O2:1"}, "oxidizer O2:1, N2:3.76"),
        ("sampling", {"p": [1e5, 9e6]}, "p from "),
        ("sampling", {"p": [1e3, 1e5]}, "p from "),
        ("sampling", {"phi": [0.01, 1.0]}, "phi from "),
        ("sampling", {"T0": [1500.0, 2900.0]}, "T0 from "),
    ],
)
def test_the_first_difference_is_named(start, drm19, part, change, reason):
    name, settings = start
    if part:
        change = {part: replace(getattr(settings, part), **change)}
    found, why_not = starting_point(replace(settings, **change), drm19)
    assert not found and reason in why_not
    assert name in why_not or "is asked for" in why_not


def test_another_mechanism_is_named(start, h2o2):
    name, settings = start
    hydrogen = replace(settings, sampling=replace(settings.sampling, fuel="auto"))
    found, why_not = starting_point(hydrogen, h2o2)
    assert not found and f"{name}: another mechanism, drm19.yaml" in why_not


@pytest.mark.parametrize("profile", ["condensed", "smoke"])
def test_no_model_fits_profiles_with_networks_of_their_own(profile, drm19):
    found, why_not = starting_point(resolve([f"profile={profile}"]), drm19)
    assert not found and "network.hidden" in why_not


def test_the_profiles_of_the_paper_and_of_the_default_start_from_their_networks(cards, drm19):
    for arguments, name in ((["profile=paper"], ALONE), ([], GENERAL)):
        settings = resolved(resolve(arguments), drm19)
        assert starting_point(settings, drm19) == (name, "")  # with the profile's widths
