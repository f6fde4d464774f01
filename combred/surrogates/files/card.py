"""The card of a model: what a user of its file has to know, as plain JSON, format 4.

Takes a `Surrogate`, its measured accuracy and the settings it was made with; gives a dictionary
that lies beside the model's file, and inside an exported one. Its keys:

    format, what, versions         of this schema; what the model computes; of combred and torch
    mechanism, mechanism_sha256, species, molecular_weights, input, units, dtype
    dt                             [smallest, largest] time step of training
    tolerance                      the default: above it a step is not trusted
    methods                        of the exported file, with shapes
    range                          of T, p and every Y in training
    network                        widths, weights, whether it corrects QSS steps
    training                       how it was made: see `describe_training`
    accuracy                       errors of the network alone and with the solver behind it: see
                                   `combred.experiments.accuracy`
    time                           of a state by the library, if measured: `seconds`, `machine`
"""

import platform
import shlex
from contextlib import suppress
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any

from combred.chemistry.fuel import resolve_fuel
from combred.chemistry.mechanism import Mechanism
from combred.config.command import resolve
from combred.config.fields import require, shown
from combred.config.values import written
from combred.experiments.accuracy import accuracy_of
from combred.files.records import read_json

if TYPE_CHECKING:
    from combred.surrogates.model.surrogate import Surrogate

FORMAT = 4
OLDER = 3  # which is read, too
# Keys that tell what a model computes, and of which mechanism.
REQUIRED = "mechanism", "mechanism_sha256", "species", "dt", "tolerance", "methods"
SAMPLING = "sampler", "fuel", "oxidizer", "T0", "p", "phi", "dt"
NETWORK = ("hidden", "scales", "kinetics")
UNITS = {"T": "K", "p": "Pa", "Y": "1", "dt": "s", "source": "1/s", "molecular_weights": "kg/kmol"}


def make_card(surrogate: "Surrogate", mechanism: Mechanism, accuracy: dict, training: dict) -> dict:
    """The card of a surrogate. accuracy: as `combred.experiments.accuracy` has it, training: as
    `describe_training` returns it."""
    import torch

    import combred

    names = list(mechanism.species_names)
    return {
        "format": FORMAT,
        "what": "state dt later of an adiabatic constant-pressure reactor",
        "mechanism": mechanism.name,
        "mechanism_sha256": mechanism.sha256,
        "species": names,
        "molecular_weights": mechanism.molecular_weights.tolist(),
        "input": ["T", "p", *(f"Y_{name}" for name in names)],
        "units": dict(UNITS),
        "dtype": "float64",
        "dt": list(surrogate.dt_range),
        "tolerance": surrogate.TOLERANCE,
        "methods": _methods(surrogate),
        "range": training_range(surrogate),
        "network": {
            "widths": surrogate.network.widths,
            "weights": surrogate.network.n_weights,
            "kinetics": surrogate.kinetics,
        },
        "training": training,
        "accuracy": accuracy,
        "versions": {
            "combred": combred.__version__,
            "torch": torch.__version__,
            "python": platform.python_version(),
        },
    }


def own_card(surrogate: "Surrogate", accuracy: dict | None = None) -> dict:
    """The card of a network that was trained elsewhere; accuracy: as `make_card` has it, {} where
    it was not measured."""
    made = {"start": "a network of one's own"}
    return make_card(surrogate, surrogate.mechanism, accuracy or {}, made)


def _methods(surrogate: "Surrogate") -> dict[str, str]:
    """The methods of the exported file, all of states (n, 2 + n_species), float64, and time steps
    dt (n,) [s], float64."""
    infinite = (
        f"a state that is not valid (T from {surrogate.LOWEST_T:g} to {surrogate.HIGHEST_T:g} K, "
        f"p > 0, Y >= 0, sum Y = 1), or {surrogate.refused}"
    )
    return {
        "forward(state, dt)": "(n, 2 + n_species) [T, p, Y] -> the same, dt later",
        "next_state_and_error(state, dt)": "the same, and an error estimate over the tolerance (n,)"
        f": above 1 the step is for a stiff solver; infinite for {infinite}",
        "trust(state, dt)": "(n,) bool: the error estimate is at most 1",
        "source(state, dt)": "(n, n_species) mean dY/dt over dt",
        "in_training_range(state)": "(n,) bool: the state is like those of the training",
    }


def training_range(surrogate: "Surrogate") -> dict:
    """[lowest, highest] of the states of the training: T [K], p [Pa], and Y of each species by
    name."""
    transform, inverse = surrogate.transform, surrogate.transform.boxcox.inverse
    ends = []
    for v in (transform.low, transform.high):
        Y = inverse(v[2:])
        # A mass fraction at the floor means an absent species.
        Y = Y.where(Y > 1.001 * transform.boxcox.floor, 0.0)
        ends.append([float(v[0]), float(transform.pressure(v[1])), *Y.tolist()])
    T, p, *fractions = (list(pair) for pair in zip(*ends, strict=True))
    return {"T": T, "p": p, "Y": dict(zip(surrogate.species, fractions, strict=True))}


def require_card_of(surrogate: "Surrogate", card: dict) -> None:
    """ValueError if a card is no table of keys, or tells of another mechanism, range or network
    than the surrogate's."""
    require_tables(card)
    network = {"widths": surrogate.network.widths, "kinetics": surrogate.kinetics}
    own: dict[str, object] = {"species": surrogate.species, "network": network}
    own |= {"range": training_range(surrogate), "mechanism_sha256": surrogate.mechanism.sha256}
    own |= {"dt": list(surrogate.dt_range), "tolerance": surrogate.TOLERANCE}
    for key, value in own.items():
        told = card.get(key, value)
        if isinstance(value, dict) and isinstance(told, dict):
            told = {name: told.get(name, known) for name, known in value.items()}
        if told != value:
            raise ValueError(
                f"this card is of another surrogate: its {key} is {shown(told)}, and the "
                f"surrogate's is {shown(value)}. combred.models()[NAME] is that of "
                "combred.load(NAME)."
            )


def require_tables(card: object) -> None:
    """ValueError if a card, or the accuracy in it, is no table of keys."""
    if not isinstance(card, dict) or not isinstance(card.get("accuracy", {}), dict):
        raise ValueError(
            f"a card is a table of keys (combred.models() has some), not {shown(card)}"
        )


# -- how a model was made --------------------------------------------------------------------------


def describe_training(
    settings: dict, mechanism: Mechanism, stage: int, states: int, start: str
) -> dict:
    """How a model was made: the `command` that makes it with this `version` of combred, the
    `states` (rows) it was trained on, its `stage`, the `start` of stage 0 ("scratch", or the name
    of a shipped model), and the settings of `sampling` and `network` that say what the model is
    for.

    settings: all settings of the run, as in its settings.json.
    """
    import combred

    sampling = {key: settings["sampling"][key] for key in SAMPLING}
    return {
        "command": command_of(settings, mechanism, stage),
        "version": combred.__version__,
        "states": states,
        "stage": stage,
        "start": start,
        "sampling": sampling | {"fuel": resolve_fuel(mechanism, sampling["fuel"])},
        "network": {key: settings["network"][key] for key in NETWORK},
    }


def command_of(settings: dict, mechanism: Mechanism, stage: int) -> str:
    """The command that makes the model of a stage: all settings that differ from the profile's,
    except those that do not change the model."""
    wanted = _flat(settings)
    profile = wanted.get("profile", "default")
    usual = _flat(asdict(resolve([f"profile={profile}"])))
    for values in (wanted, usual):
        with suppress(ValueError):  # "auto", where it leaves a choice
            values["sampling.fuel"] = resolve_fuel(mechanism, values["sampling.fuel"])
    ignored = ["only", "workers", "profile", "run", "stage"]
    if stage == 0:
        ignored += [key for key in wanted if key.startswith(("reduction.", "retraining."))]
    elif any(wanted.get(f"reduction.{way}") for way in ("parameters", "criteria", "automatic")):
        ignored += ["reduction.layers", "reduction.thresholds"]  # the stage table is not used
    given = {"profile": profile, "run": wanted.get("run"), "stage": stage}
    words = [f"{key}={value}" for key, value in given.items() if value not in ("", None)]
    for key, value in wanted.items():
        if key not in ignored and value != usual.get(key):
            words.append(shlex.quote(f"{key}={written(value)}"))
    return " ".join(["python -m combred.pipeline", *words])


def _flat(settings: dict, prefix: str = "") -> dict:
    """Nested settings by dotted key."""
    found: dict = {}
    for key, value in settings.items():
        nested = isinstance(value, dict)
        found |= _flat(value, f"{prefix}{key}.") if nested else {prefix + key: value}
    return found


# -- reading ---------------------------------------------------------------------------------------


def read_card(path: Path) -> dict:
    """A card on disk, in the form of today.

    Raises FileNotFoundError if there is none, ValueError if it is damaged or of another format.
    """
    path = Path(path)
    card = read_json(path)
    if not card:
        raise FileNotFoundError(f"there is no card at {path}")
    if card.get("format") not in (FORMAT, OLDER):
        raise ValueError(
            f"{path} is a card of format {card.get('format')!r}, and this version of combred reads "
            f"formats {OLDER} and {FORMAT}: take the version that wrote it, or export the model "
            "again"
        )
    return up_to_date(card)


def up_to_date(card: dict) -> dict:
    """A card of format 3 or 4 in the form of format 4. Raises ValueError for one whose accuracy is
    no table."""
    require_tables(card)
    return card | {"format": FORMAT, "accuracy": accuracy_of(card)}


def require_card(card: Any) -> dict:
    """The card in an exported file, in the form of today. Raises ValueError where it is no card of
    a format that is read, or lacks a key."""
    require(isinstance(card, dict), "its card is no table of keys")
    form = card.get("format")
    require(form in (FORMAT, OLDER), f"its card is of format {shown(form)}")
    absent = [key for key in REQUIRED if key not in card]
    require(not absent, f"its card lacks {', '.join(absent)}")
    require(isinstance(card["methods"], dict), "its card has no table of methods")
    return up_to_date(card)
