"""The files of measured results, and the shipped models that they tell of."""

import json
import math
from collections.abc import Iterable
from pathlib import Path

import combred

RESULTS = Path(__file__).parents[2] / "benchmarks" / "results"
MISSING = "(Not measured with this version.)\n"
ATM = 101325.0
TYPICAL = "drm19-38k"  # the model of the first page


def read(name: str) -> dict:
    """A file of measured results."""
    path = RESULTS / name
    return json.loads(path.read_text()) if path.is_file() else {}


def source(name: str, command: str, machine: str = "") -> str:
    """The last line below a table: the file of its numbers, the command that measures them, and the
    machine."""
    link = f"[{name}](../benchmarks/results/{name})"
    return f"Source: {link}, `python -m benchmarks.{command}`{machine and f'; {machine}'}.\n"


def models_with_rates() -> dict[str, list[str]]:
    """Names of the shipped models, largest first: those that correct QSS steps, the others."""
    groups: dict[str, list[str]] = {"with": [], "without": []}
    for name, card in combred.models().items():
        groups["with" if card["network"].get("kinetics") else "without"].append(name)
    return groups


def in_order(names: Iterable[str]) -> list[str]:
    """Names of shipped models that results have, those that correct QSS steps first."""
    names = set(names)
    return [name for group in models_with_rates().values() for name in group if name in names]


def rows_of(results: dict) -> dict[str, dict]:
    """The rows of a file of results, by model, in the order of the tables."""
    rows = {row["model"]: row for row in results.get("rows", [])}
    return {name: rows[name] for name in in_order(rows)}


def general(name: str) -> tuple[dict, dict]:
    """A file of results of surrogates of any dt, and its entries by model, in the order of the
    tables."""
    results = read(name)
    models = results.get("models", {})
    return results, {model: models[model] for model in in_order(models)}


def speeds() -> dict[str, dict[str, float | None]]:
    """Relative error of the flame speed of each model in each case, of flames.json."""
    found: dict[str, dict[str, float | None]] = {}
    for case, entries in read("flames.json").get("models", {}).items():
        for name in in_order(entries):
            found.setdefault(name, {})[case] = entries[name].get("speed_error")
    return {name: found[name] for name in in_order(found)}


def not_at_half(found: dict) -> int:
    """In how many cases of ignitions.json the surrogate's T does not reach half of its rise."""
    return sum(error is None or math.isnan(error) for error in found["delay_errors"])


def mechanisms() -> dict[str, dict]:
    """The results of solver.json by the name of the mechanism, with its phase where a file has
    several in them."""
    results = read("solver.json").get("mechanisms", {})
    files, found = [key.split(":")[0] for key in results], {}
    for file, one in zip(files, results.values(), strict=True):
        phase = f", {one['phase']}" if files.count(file) > 1 else ""
        found[Path(file).stem + phase] = one
    return found
