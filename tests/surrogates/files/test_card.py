"""Cards: what they say of a surrogate, the command in them, and which formats are read."""

import json
import shlex
from dataclasses import asdict, replace

import pytest

import combred
from combred.config.command import resolve
from combred.config.settings import Settings
from combred.surrogates.files.card import (
    command_of,
    describe_training,
    make_card,
    read_card,
)

ACCURACY = {"with_solver": {"delay_error": {"median": 0.01, "worst": 0.03}}}


def resolved(command: str) -> Settings:
    """The settings of a command."""
    words = shlex.split(command)
    assert words[:3] == ["python", "-m", "combred.pipeline"]
    return resolve(words[3:])


def test_a_card_describes_the_surrogate(surrogate, mechanism, path):
    card = make_card(surrogate, mechanism, ACCURACY, {"states": 60})
    assert card == json.loads(json.dumps(card)) and card["format"] == 4
    assert card["mechanism_sha256"] == mechanism.sha256
    assert card["input"][:3] == ["T", "p", f"Y_{mechanism.species_names[0]}"]
    assert len(card["input"]) == 2 + mechanism.n_species
    assert card["units"]["T"] == "K" and card["dt"] == [1e-6, 1e-6] and card["accuracy"] == ACCURACY
    assert card["training"] == {"states": 60}
    # The range is that of the states, back through the Box-Cox transform (float64: 1e-9).
    k = mechanism.index("H2O")
    assert card["range"]["T"] == [path.T.min(), path.T.max()]
    assert card["range"]["Y"]["H2O"][1] == pytest.approx(path.Y[:, k].max(), rel=1e-9)
    assert card["range"]["Y"]["AR"] == [0.0, 0.0]  # absent, although the transform has a floor
    assert card["range"]["p"] == pytest.approx([101325.0, 101325.0], rel=1e-12)
    n_inputs, n_outputs = surrogate.transform.n_inputs, surrogate.transform.n_outputs
    assert card["network"]["weights"] == n_inputs * 24 + 24 * 16 + 16 * n_outputs
    assert card["network"]["kinetics"] is surrogate.kinetics
    assert card["tolerance"] == surrogate.TOLERANCE


@pytest.mark.parametrize(
    ("stage", "arguments"),
    [
        (0, []),
        (2, ["run=mine", "seed=3"]),
        (1, ["profile=condensed", "reduction.layers=[1,2]", "reduction.thresholds=[0.85,0.9]"]),
        (1, ["profile=condensed", "network.scales=[condense,1,0.5,2]", "training.steps=77"]),
        (2, ["reduction.parameters=[0.5,0.25]", "retraining.lr=1e-4", "sampling.ignitions=300"]),
        (1, ["reduction.criteria=ignition:1%,flame:0.5%", "start=scratch"]),
        (
            1,
            [
                "sampling.fuel=CH4:1, H2:0.5",
                "sampling.oxidizer=O2:1, AR:3.76",
                "validation.dt=2e-07",
            ],
        ),
    ],
)
def test_the_command_gives_the_settings_back(drm19, stage, arguments):
    settings = resolve([*arguments, f"stage={stage}"])
    command = command_of(asdict(settings), drm19, stage)
    again = resolved(command)
    if not stage:
        settings = replace(settings, reduction=again.reduction, retraining=again.retraining)
    assert again == settings
    for argument in arguments:  # not more than what differs, in the form it was given
        assert argument.split("=")[0] in command
    assert len(command.split("=")) - 1 <= 2 + len(arguments) + 2  # profile, stage, method, table


def test_the_command_omits_settings_that_do_not_change_the_model(drm19):
    settings = resolve(["workers=7", "only=report", "retraining.steps=9", "stage=2"])
    usual = "python -m combred.pipeline profile=default stage=0"
    assert command_of(asdict(settings), drm19, 0) == usual
    filled = replace(settings, sampling=replace(settings.sampling, fuel="CH4:1"))  # what auto means
    assert command_of(asdict(filled), drm19, 2).endswith("stage=2 retraining.steps=9")


def test_training_is_described_by_command_and_range(drm19):
    settings = resolve(["sampling.T0=[1200,1500]", "network.hidden=[30,20]"])
    made = describe_training(asdict(settings), drm19, 1, 480, "scratch")
    assert (made["states"], made["stage"], made["start"]) == (480, 1, "scratch")
    assert made["sampling"]["T0"] == [1200.0, 1500.0] and made["network"]["hidden"] == [30, 20]
    assert made["sampling"]["fuel"] == "CH4:1"  # resolved from "auto"
    assert made["command"] == command_of(asdict(settings), drm19, 1)


@pytest.mark.parametrize("name", list(combred.models()))
def test_a_shipped_card_has_the_command_of_its_version(name):
    card = combred.models()[name]
    made = card["training"]
    words = shlex.split(made["command"])
    assert words[:3] == ["python", "-m", "combred.pipeline"] and f"stage={made['stage']}" in words
    if made["version"] != combred.__version__:
        return  # the settings had other names
    settings = resolved(made["command"])
    assert settings.stage == made["stage"] and settings.sampling.dt == made["sampling"]["dt"]
    for part in ("sampling", "network"):
        # What the command leaves to the mechanism.
        given = asdict(getattr(settings, part)) | {"fuel": "CH4:1", "T0": [900.0, 2300.0]}
        assert made[part] == {key: given[key] for key in made[part]}


@pytest.fixture
def card_file(tmp_path):
    """A factory: the path of a card with this content."""

    def write(card: dict):
        (tmp_path / "model.json").write_text(json.dumps(card))
        return tmp_path / "model.json"

    return write


def test_other_formats_and_missing_cards_are_refused(card_file, tmp_path):
    for other in (2, 5, None):
        with pytest.raises(ValueError, match=f"format {other}, .* reads formats 3 and 4: take"):
            read_card(card_file({"format": other}))
    with pytest.raises(FileNotFoundError, match="no card at"):
        read_card(tmp_path / "none.json")
