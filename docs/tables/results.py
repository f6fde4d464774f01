"""The files of measured results, with the commits of their measurement."""

import json
from collections.abc import Callable, Iterable
from pathlib import Path

import combred
from benchmarks import provenance
from combred.experiments.accuracy import ALONE, NAMES

RESULTS = Path(__file__).parents[2] / "benchmarks" / "results"
MISSING = "(Not measured with this version.)\n"
ATM = 101325.0


def read(name: str, part: str = "") -> dict:
    """A file of measured results, or one part of it, without stamps."""
    results = _bare(_load(name))
    return results[part] if part else results


def filled(make: Callable[[], str]) -> Callable[[], str]:
    """A table, or `MISSING` where a file of results is missing."""

    def table() -> str:
        try:
            return make()
        except FileNotFoundError:
            return MISSING

    return table


def outdated(name: str) -> str:
    """The parts of a file of results that are older than the code, as a line; "" if there are
    none."""
    stamps = list(provenance.stamps(_load(name)))
    old = [code for code in stamps if not provenance.is_current({provenance.KEY: code})]
    commits = sorted({f"{code['commit']} of {code['date']}" for code in old})
    return f"{name}: {len(old)} of {len(stamps)} parts, {', '.join(commits)}" if old else ""


def measured(name: str) -> str:
    """The commits, with dates, by which a file of results was measured."""
    commits = {(code["date"], code["commit"]) for code in provenance.stamps(_load(name))}
    return ", ".join(f"commit {commit} of {date}" for date, commit in sorted(commits))


def _load(name: str) -> dict:
    return json.loads((RESULTS / name).read_text())


def _bare(content):
    """The same content without stamps."""
    if isinstance(content, dict):
        return {key: _bare(item) for key, item in content.items() if key != provenance.KEY}
    return [_bare(item) for item in content] if isinstance(content, list) else content


def machine(name: str) -> str:
    """The machine of a file of results."""
    return _load(name).get("machine", "")


def source(name: str, command: str, told: str = "") -> str:
    """The last line below a table: the file of its numbers, the command that measures them, the
    machine, by default that of the file, and the commits with which it was measured."""
    told = "; ".join(filter(None, (told or machine(name), measured(name))))
    link = f"[{name}](../benchmarks/results/{name})"
    return f"Source: {link}, `python -m benchmarks.{command}`; {told}.\n"


def in_order(names: Iterable[str]) -> list[str]:
    """Names of shipped models that results have, those that correct QSS steps first."""
    cards = combred.models()
    ordered = sorted(cards, key=lambda name: not cards[name]["network"].get("kinetics"))
    return [name for name in ordered if name in names]


def chemistry(name: str) -> str:
    """A shipped model with whose errors its rows have: benchmarks compile those that correct QSS
    steps, with the solver behind them; the others are in torch, alone."""
    compiled = combred.models()[name]["network"].get("kinetics")
    return f"`{name}`, {'solver behind it' if compiled else NAMES[ALONE]}"


def by_model(name: str, part: str = "models") -> dict[str, dict]:
    """The entries of shipped models in a file of results, in the order of the tables."""
    models = read(name, part)
    return {model: models[model] for model in in_order(models)}


def speeds() -> dict[str, dict[str, float]]:
    """Relative error of the flame speed of each model in each case, of flames.json; inf: none."""
    found: dict[str, dict[str, float]] = {}
    for case, entries in read("flames.json", "models").items():
        for name in in_order(entries):
            error = entries[name].get("speed_error")
            found.setdefault(name, {})[case] = float("inf") if error is None else error
    return {name: found[name] for name in in_order(found)}


def not_ignited(found: dict) -> int:
    """In how many cases of ignitions.json the surrogate's T does not reach half of its rise."""
    return sum(error is None or error != error for error in found["delay_errors"])


def mechanisms() -> dict[str, dict]:
    """The results of solver.json by the name of the mechanism, with its phase where a file has
    several in them."""
    results = read("solver.json", "mechanisms")
    files, found = [key.split(":")[0] for key in results], {}
    for file, one in zip(files, results.values(), strict=True):
        phase = f", {one['phase']}" if files.count(file) > 1 else ""
        found[Path(file).stem + phase] = one
    return found
