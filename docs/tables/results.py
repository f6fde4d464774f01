"""The files of measured results, the shipped models that they tell of, and their stale parts."""

import json
from collections.abc import Callable, Iterable
from pathlib import Path

import combred
from benchmarks import kept
from combred.experiments.accuracy import ALONE, NAMES

RESULTS = Path(__file__).parents[2] / "benchmarks" / "results"
MISSING = "(Not measured with this version.)\n"
STALE = "Measured with earlier code"
ATM = 101325.0


_read: set[tuple[str, str]] = set()  # file and part of what the present table has read


def read(name: str, part: str = "") -> dict:
    """A file of measured results, or one part of it, without stamps; a table that takes it is
    marked where they are stale (`marked`)."""
    _read.add((name, part))
    results = _bare(_load(name))
    return results[part] if part else results


def marked(make: Callable[[], str]) -> Callable[[], str]:
    """A table with a last line that names the numbers in it that other code has measured than is
    there: no table shows them without it. `MISSING` where a file of results is missing."""

    def whole() -> str:
        _read.clear()
        try:
            text = make()
        except FileNotFoundError:
            return MISSING
        stale = dict.fromkeys(told_stale(*one) for one in sorted(_read))
        told = "; ".join(filter(None, stale))
        return f"{text.rstrip()}\n\n**{STALE}:** {told}.\n" if told else text

    return whole


def told_stale(name: str, part: str = "") -> str:
    """The stale numbers of a file of results, or of one part of it, in words; "" if there are none.
    Models that do not ship have no row, and so are left out."""
    results = _load(name)
    if part and kept.KEY not in results:
        results = {part: results[part]}
    found = list(kept.parts(results))
    stale = [(place, one) for place, one in found if not kept.is_current(one) and not _gone(one)]
    if not stale:
        return ""
    names = dict.fromkeys(place.rpartition("/")[2] for place, _ in stale)
    which = [] if len(stale) == len(found) else [", ".join(names)]
    return f"`{name}` ({'; '.join([*which, *sorted({_made(one) for _, one in stale})])})"


def _made(part: dict) -> str:
    code = part.get(kept.KEY)
    return f"version {code['version']}, {code['date']}" if code else "version not recorded"


def _gone(part: dict) -> bool:
    """Whether a part is of a model that does not ship any more."""
    of = part.get(kept.KEY, {}).get("of", [])
    return any(name not in combred.models() for name in of if kept.is_network(name))


def _load(name: str) -> dict:
    return json.loads((RESULTS / name).read_text())


def _bare(content):
    """The same content without stamps."""
    if isinstance(content, dict):
        return {key: _bare(item) for key, item in content.items() if key != kept.KEY}
    return [_bare(item) for item in content] if isinstance(content, list) else content


def machine(name: str) -> str:
    """The machine of a file of results."""
    return _load(name).get("machine", "")


def source(name: str, command: str, told: str = "") -> str:
    """The last line below a table: the file of its numbers, the command that measures them, and the
    machine, by default that of the file."""
    told = told or machine(name)
    link = f"[{name}](../benchmarks/results/{name})"
    return f"Source: {link}, `python -m benchmarks.{command}`{told and f'; {told}'}.\n"


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
