"""Put the networks of a run beside combred, as the models that it ships.

    python -m benchmarks.ship runs/NAME STAGE:MODEL [STAGE:MODEL ...]

Takes a validated run folder; writes combred/data/models/MODEL.safetensors and its card, MODEL.json,
with the accuracy that validation.json measured for that very file, and how far its trust goes where
benchmarks/trust.py has measured that. Prints a line for each.
"""

import shutil
import sys
from pathlib import Path

from benchmarks.accuracy import CACHE
from combred.chemistry.mechanism import load_mechanism
from combred.records import digest, read_json, write_json
from combred.surrogate.export import make_card
from combred.surrogate.shipped import FOLDER
from combred.surrogate.storage import load_surrogate, mechanism_of

TRUST = (Path(__file__).parent / "results" / "trust.json", CACHE / "trust.json")
ACCURACY = ("all_ignite", "delay_error", "worst_case", "burnt_T_error", "peak_errors")


def ship(run: Path, stage: int, name: str) -> None:
    """Copy the network of a stage and write its card. ValueError where it was not validated."""
    weights, validation = run / f"stage{stage}.safetensors", read_json(run / "validation.json")
    measured = validation.get("stages", {}).get(f"stage{stage}")
    if measured is None or validation["networks"][f"stage{stage}"] != digest(weights):
        raise ValueError(f"{weights} has not been validated as it is: run the pipeline's validate")
    mechanism = load_mechanism(mechanism_of(weights))
    surrogate = load_surrogate(weights, mechanism)
    settings, sample = read_json(run / "settings.json"), read_json(run / "sample.json")
    start = read_json(run / "train.json").get("shipped", "scratch")
    made = {"states": sample["rows"], "settings": settings, "stage": stage, "start": start}
    accuracy = {key: measured[key] for key in ACCURACY} | {"measured_on": validation["inputs"]}
    FOLDER.mkdir(parents=True, exist_ok=True)
    shutil.copyfile(weights, FOLDER / f"{name}.safetensors")
    card = make_card(surrogate, mechanism, accuracy, made)
    write_json(FOLDER / f"{name}.json", card | trust_of(digest(weights)))
    error = measured["delay_error"]
    print(f"{name}: {measured['weights']:,} weights, delay error "
          f"{100 * error['median']:.2f} / {100 * error['worst']:.2f} %")  # fmt: skip


def trust_of(file: str, stores: tuple[Path, ...] = TRUST) -> dict:
    """What benchmarks/trust.py measured of the network with this digest, for its card; {}: nothing.

    Of the rows of all stores the first that is of this file.
    """
    for store in stores:
        found = read_json(store)
        for row in found.get("rows", []):
            if row["file"] == file:
                groups = {name: row[name]["trust"] for name in ("as trained", "beyond")}
                limits = {limit: shares["usual"] for limit, shares in row["roc"].items()}
                told = {"states": row["states"], "bad_if_error_exceeds": found["bad"], **groups}
                return {"trust": told | {"limit_of_closure_error": limits}}
    return {}


def main(arguments: list[str]) -> None:
    if len(arguments) < 2:
        sys.exit(__doc__)
    for pair in arguments[1:]:
        stage, _, name = pair.partition(":")
        ship(Path(arguments[0]), int(stage), name)


if __name__ == "__main__":
    main(sys.argv[1:])
