"""Ship networks of a run with combred: copy them, with their cards, into combred.data.

    python -m benchmarks.ship runs/NAME STAGE:MODEL [STAGE:MODEL ...]
    python -m benchmarks.ship benchmarks/results/flow_step.json
    python -m benchmarks.ship accuracy

Takes a validated run folder; writes models/MODEL.safetensors and its card, MODEL.json, with the
accuracy that validation.json has for this very file, and renews SHA256SUMS. Prints a line for each
model. The second form writes the time of a state, as measured there, into the cards. The third
measures the networks that are there, alone and with the solver behind them, in the cases of their
cards, and writes the errors into these.
"""

import hashlib
import shutil
import sys
from dataclasses import replace
from pathlib import Path

from benchmarks.command_line import words
from benchmarks.provenance import is_current
from combred.chemistry.fuel import Mixture
from combred.chemistry.reactor import Tolerances
from combred.config.export import ExportSettings
from combred.config.validation import ValidationSettings
from combred.experiments.accuracy import (
    ALONE,
    BEHIND,
    NAMES,
    accuracy_of,
    delays,
    describe_accuracy,
)
from combred.experiments.ignition.experiment import Ignitions
from combred.files.records import digest, read_json, strict, write_bytes, write_json
from combred.processes.threads import one_thread
from combred.processes.workers import Processes
from combred.surrogates.files.card import describe_training, make_card, read_card
from combred.surrogates.files.shipped import FOLDER, load
from combred.surrogates.files.storage import load_surrogate, mechanism_of
from combred.surrogates.library.behind import with_solver
from combred.surrogates.library.choice import fastest
from combred.surrogates.timing import share_in_ignitions


def ship(run: Path, stage: int, name: str, folder: Path) -> str:
    """Copy the network of a stage of a run into `folder` as the model `name`, and write its card.
    Returns a line that describes the model.

    Raises ValueError if the network has not been validated as it is.
    """
    weights, validation = run / f"stage{stage}.safetensors", read_json(run / "validation.json")
    measured = validation.get("stages", {}).get(f"stage{stage}")
    if measured is None or validation["networks"][f"stage{stage}"] != digest(weights):
        raise ValueError(
            f"{weights} has not been validated as it is: run `python -m combred.pipeline "
            f"run={run.name} stage={stage} only=validate` with the settings of the run"
        )
    mechanism = mechanism_of(weights)
    surrogate = load_surrogate(weights, mechanism)
    settings, rows = read_json(run / "settings.json"), read_json(run / "sample.json")["rows"]
    start = read_json(run / "train.json").get("shipped", "scratch")
    card = make_card(
        surrogate,
        mechanism,
        describe_accuracy(
            measured, measured["left_to_solver"], settings_limits(settings), validation["inputs"]
        ),
        describe_training(settings, mechanism, stage, rows, start),
    )
    folder.mkdir(parents=True, exist_ok=True)
    shutil.copyfile(weights, folder / f"{name}.safetensors")
    write_json(folder / f"{name}.json", card)
    return described(name, card)


def settings_limits(settings: dict) -> dict[str, float]:
    """The limits of the errors (export.accept) in the settings of a run."""
    return ExportSettings(settings["export"]["accept"]).limits


def described(name: str, card: dict) -> str:
    """A line with the errors of a model."""
    accuracy = accuracy_of(card)
    errors = (f"{words}: {delays(accuracy, key)}" for key, words in NAMES.items())
    return f"{name}: {card['network']['weights']:,} weights; {'; '.join(errors)}"


def measure(path: Path) -> str:
    """Measure a model in the cases of its card, and write the errors into the card; path: of the
    card. Returns a line."""
    card, surrogate = read_card(path), load(path.stem)
    inputs = card["accuracy"]["measured_on"]
    cases = {key: inputs["validation"][key] for key in ("T0", "phi", "p", "burnt_time")}
    settings = ValidationSettings(**cases, dt=inputs["dt"])
    mixture = Mixture(inputs["fuel"], inputs["oxidizer"])
    of = Ignitions.of(surrogate.mechanism, mixture, settings)
    of = replace(of, tolerances=Tolerances(**inputs["chemistry"]))
    references, both = of.reference(Processes(2)), with_solver(surrogate)
    measured = {}
    for key, one in ((ALONE, fastest(surrogate, alone=True)), (BEHIND, both)):
        with one_thread():
            measured[key] = of.compare(of.follow(one, references), references)
    left = share_in_ignitions(both, references, measured[BEHIND])
    accuracy = describe_accuracy(measured, left, ExportSettings().limits, inputs)
    write_json(path, card | {"accuracy": strict(accuracy)})
    return described(path.stem, read_card(path))


def tell_times(results: Path, folder: Path) -> list[str]:
    """Write `time` into the cards of the compiled models in `folder`: the `seconds` of a state of a
    flow and a step of 1e-6 s, at the default tolerance, the solver behind the network, one core of
    the `machine`. results: the JSON of benchmarks/flow_step.py. Returns a line for each
    model; raises ValueError where the code has changed since."""
    found, told = read_json(results), []
    if not is_current(found):
        raise ValueError(f"{results} was measured by other code than is there: measure it again")
    for path in sorted(folder.glob("*.json")):
        card = read_card(path)
        if card["network"]["kinetics"] and (row := found["rows"].get(path.stem)):
            time = {"seconds": row["seconds"], "machine": found["machine"]}
            write_json(path, card | {"time": time})
            told.append(f"{path.stem}: {1e6 * row['seconds']:.2f} us a state")
    return told


def write_checksums(data: Path) -> None:
    """Write SHA256SUMS of all mechanisms and models in the data folder, as `sha256sum` reads it."""
    files = [
        path for part in ("mechanisms", "models") for path in sorted((data / part).glob("*.*"))
    ]
    lines = [
        f"{hashlib.sha256(path.read_bytes()).hexdigest()}  {path.relative_to(data)}\n"
        for path in files
    ]
    write_bytes(data / "SHA256SUMS", "".join(lines).encode())


def main(arguments: list[str]) -> None:
    """The command; see the module."""
    if arguments == ["accuracy"]:
        for path in sorted(FOLDER.glob("*.json")):
            print(measure(path), flush=True)
    elif len(arguments) == 1 and arguments[0].endswith(".json"):
        print("\n".join(tell_times(Path(arguments[0]), FOLDER)))
    elif len(arguments) < 2:
        sys.exit(__doc__)
    for pair in arguments[1:]:
        stage, _, name = pair.partition(":")
        print(ship(Path(arguments[0]), int(stage), name, FOLDER))
    write_checksums(FOLDER.parent)


if __name__ == "__main__":
    main(words(__doc__))
