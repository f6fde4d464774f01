"""Tables of the site that are made from the code and from measured results, as Markdown.

Takes `combred.config` and benchmarks/results/*.json; gives one file a table under docs/generated/,
which the pages include. No number is typed in.
"""

import dataclasses
import itertools
import json
import math
from collections.abc import Callable, Iterable
from pathlib import Path

import numpy as np

import combred
from combred import config

RESULTS = Path(__file__).parents[1] / "benchmarks" / "results"
PAPER = (23, 3200, 1600, 800, 400, 23)  # widths of the network of Chen & Xu 2024
GENERAL = "run"  # the heading of settings that belong to no section


def write_all(folder: Path) -> None:
    """Write every table to `folder`, a file only where its text has changed."""
    folder.mkdir(exist_ok=True)
    for name, make in TABLES.items():
        path, text = folder / f"{name}.md", make()
        if not path.exists() or path.read_text() != text:
            path.write_text(text)


# -- Markdown --------------------------------------------------------------------------------------


def table(head: Iterable[str], rows: Iterable[Iterable[str]], left: int = 1) -> str:
    """A Markdown table; the first `left` columns are left-aligned, the others right-aligned."""
    head = list(head)
    rule = ["---"] * left + ["---:"] * (len(head) - left)
    return "".join(f"| {' | '.join(row)} |\n" for row in (head, rule, *rows)) + "\n"


def plain(text: object) -> str:
    """Text for a cell: what Markdown would interpret is escaped."""
    text = str(text)
    for character in "\\|<>*_`$[]":
        text = text.replace(character, "\\" + character)
    return text


def code(value: object) -> str:
    """A value for a cell, as code."""
    text = str(value).replace("|", "\\|")
    return f"`{text}`" if text else "(empty)"


def percent(*shares: float | None, digits: int = 2) -> str:
    """Shares as percent, separated by slashes; None and NaN are "-", infinity is "fails"."""
    if all(share is None for share in shares):
        return "-"
    return " / ".join(number(None if s is None else 100 * s, digits) for s in shares) + " %"


def number(value: float | None, digits: int) -> str:
    """A number with its digits."""
    if value is None or math.isnan(value):
        return "-"
    return "fails" if math.isinf(value) else f"{value:.{digits}f}"


def read(name: str) -> dict:
    """A file of measured results."""
    return json.loads((RESULTS / name).read_text())


# -- settings --------------------------------------------------------------------------------------


def value_of(settings: config.Settings, key: str) -> object:
    """The value of a dotted key."""
    for part in key.split("."):
        settings = getattr(settings, part)
    return settings


def shown(value: object) -> str:
    """A setting's value as it is typed on the command line."""
    if isinstance(value, list):
        return f"[{','.join(map(shown, value))}]"
    return f"{value:g}" if isinstance(value, float) else str(value)


def sections() -> dict[str, dict[str, dataclasses.Field]]:
    """The keys and their fields, by section."""
    found: dict[str, dict[str, dataclasses.Field]] = {}
    for key, item in config.keys().items():
        section = key.rpartition(".")[0] or GENERAL
        found.setdefault(section, {})[key] = item
    return found


def settings_table() -> str:
    """Every key with its default, unit and help, a table for each section."""
    defaults, text = config.resolve([]), ""
    for section, items in sections().items():
        rows = [
            [
                code(key),
                code(shown(value_of(defaults, key))),
                plain(item.metadata["unit"]) or "",
                plain(item.metadata["help"]),
            ]
            for key, item in items.items()
        ]
        text += f"## {section.capitalize()}\n\n"
        text += table(["key", "default", "unit", "meaning"], rows, left=4)
    return text


def profiles_table() -> str:
    """For each profile the keys whose values differ from the defaults."""
    defaults, text = config.resolve([]), ""
    for profile in config.PROFILES:
        settings = config.resolve([f"profile={profile}"])
        rows = [
            [code(key), code(shown(value)), code(shown(value_of(defaults, key)))]
            for key in config.keys()
            if (value := value_of(settings, key)) != value_of(defaults, key) and key != "profile"
        ]
        text += f"### profile={profile}\n\n"
        if rows:
            text += table(["key", "value", "default"], rows, left=3)
        else:
            text += "All defaults.\n\n"
    return text


# -- the shipped models ----------------------------------------------------------------------------


def models_with_rates() -> dict[str, list[str]]:
    """Names of the shipped models, largest first: those that correct reaction rates, the others."""
    groups: dict[str, list[str]] = {"with": [], "without": []}
    for name, card in combred.models().items():
        groups["with" if card["network"].get("kinetics") else "without"].append(name)
    return groups


def in_order(names: Iterable[str]) -> list[str]:
    """Names of models that results have, those with reaction rates first."""
    names = set(names)
    return [name for group in models_with_rates().values() for name in group if name in names]


def models_table() -> str:
    """The models with their size, what they see, and where they were trained."""
    rows, cards = [], combred.models()
    paper = sum(m * n for m, n in itertools.pairwise(PAPER))
    for name in in_order(cards):
        card = cards[name]
        n, sampling = card["network"], card["training"]["sampling"]
        low, high = (p / 101325.0 for p in sampling["p"])
        rows.append(
            [
                code(name),
                f"{n['weights']:,}",
                f"{100 * n['weights'] / paper:.3g} %",
                "state and reaction rates" if n.get("kinetics") else "state alone",
                f"{low:.2g} to {high:.2g} atm",
            ]
        )
    head = ["model", "weights", "of the paper's", "sees", "trained at"]
    return table(head, rows)


def rows_of(results: dict) -> dict[str, dict]:
    """The rows of a file of results, by model, in the order of the tables."""
    rows = {row["model"]: row for row in results["rows"]}
    return {name: rows[name] for name in in_order(rows)}


def delay_table() -> str:
    """Errors of the ignition delay, of accuracy.json."""
    results = read("accuracy.json")
    rows = rows_of(results)
    columns = {
        "1400-1800 K, 1 atm": "1400 to 1800 K, 1 atm",
        "1400-1800 K": "the same, 0.5 to 2 atm",
        "1300 K": "1300 K, 0.5 to 2 atm",
        "drawn": "random, 0.5 to 2 atm",
    }
    first = next(iter(rows.values()))["delay"]
    head = ["model", *(f"{text} ({first[key]['cases']})" for key, text in columns.items())]
    body = []
    for name, row in rows.items():
        cells = []
        for key in columns:
            found = row["delay"][key]
            failed = _not_ignited(found)
            cells.append(
                f"{failed} of {found['cases']} do not ignite"
                if failed
                else percent(found["mean"], found["worst"])
            )
        body.append([code(name), *cells])
    return table(head, body)


def burnt_table() -> str:
    """Errors after ignition, of accuracy.json."""
    body = []
    for name, row in rows_of(read("accuracy.json")).items():
        end, after = row["long"]["end"]["T"], row["long"]["after"]["T"]
        mass = row["long"]["after"]["Y"]
        peaks = {k: v for k, v in row["delay"]["grid"]["peaks_worst"].items() if v is not None}
        body.append(
            [
                code(name),
                percent(end["median"], end["worst"]),
                percent(after["median"], after["worst"]),
                f"{mass['median']:.1e} / {mass['worst']:.1e}" if mass["worst"] else "-",
                ", ".join(f"{k} {100 * v:.1f} %" for k, v in peaks.items()),
            ]
        )
    head = ["model", "T at the end", "T on the way", "Y on the way", "peaks, worst of 90"]
    return table(head, body)


def speeds() -> dict[str, dict[str, float | None]]:
    """Relative error of the flame speed of each model in each case, of flames.json."""
    found: dict[str, dict[str, float | None]] = {}
    for case, entries in read("flames.json")["models"].items():
        for name in in_order(entries):
            found.setdefault(name, {})[case] = entries[name].get("speed_error")
    return {name: found[name] for name in in_order(found)}


def flames_table() -> str:
    """Errors of the laminar flame speed, mean and worst, of flames.json."""
    body = []
    for name, errors in speeds().items():
        values = [math.inf if e is None else e for e in errors.values()]
        body.append([code(name), str(len(values)), percent(float(np.mean(values)), max(values))])
    return table(["model", "flames", "speed, mean / worst"], body)


def each_flame_table() -> str:
    """The error of the speed in every flame, of flames.json: models with reaction rates."""
    results, found = read("flames.json")["models"], speeds()
    chosen = [name for name in models_with_rates()["with"] if name in found]
    body = [
        [
            plain(case),
            f"{entries['CVODE']['speed']:.4f}",
            *(percent(found[name].get(case)) for name in chosen),
        ]
        for case, entries in results.items()
    ]
    head = ["flame", "CVODE [m/s]", *(code(name.removeprefix("drm19-")) for name in chosen)]
    return table(head, body)


def convergence_table() -> str:
    """How CVODE's flame converges in space and time, of flames.json."""
    results, body = read("flames.json"), []
    for part, unit in (("grid", "cells"), ("step", "s, dt, on 80 cells")):
        for key, row in results[part].items():
            body.append([f"{key} {unit}", f"{row['speed']:.4f}", f"{1e6 * row['thickness']:.0f}"])
    free = results["checks"]["FreeFlame"]["speed"]
    body.append(["Cantera's FreeFlame, extrapolated in its grid", f"{free:.4f}", "-"])
    return table(["CVODE, phi 1, 300 K, 1 atm", "speed [m/s]", "thickness [um]"], body)


def times_table() -> str:
    """Time per state on one core, of times.json."""
    results = read("times.json")
    times = results["times"]
    solvers = [name for name in times if name.startswith("CVODE")]
    body = [[plain(name), f"{1e6 * times[name]['median']:.0f} us", "", ""] for name in solvers]
    strict, loose = sorted(solvers, key=lambda name: -times[name]["median"])[:2]
    for name in in_order(times):
        own = times[name]["median"]
        body.append(
            [
                code(name),
                f"{1e6 * own:.1f} us",
                f"{times[loose]['median'] / own:.2g}",
                f"{times[strict]['median'] / own:.2g}",
            ]
        )
    head = ["solver", "time per state", f"{plain(loose)} / it", f"{plain(strict)} / it"]
    told = f"One core of: {results['machine']}; batches of {results['batch']:,} states.\n\n"
    return told + table(head, body)


def trust_table() -> str:
    """What `trust` catches and refuses, of trust.json."""
    results, body = read("trust.json"), []
    for name, row in rows_of(results).items():
        everywhere, trained = row["all"]["trust"]["usual"], row["as trained"]["trust"]["usual"]
        body.append(
            [
                code(name),
                percent(everywhere["caught"], digits=1),
                percent(everywhere["good_refused"], digits=1),
                percent(everywhere["bad_among_trusted"], digits=1),
                percent(trained["trusted"], trained["bad_among_trusted"], digits=1),
            ]
        )
    head = [
        "model",
        "bad ones refused",
        "good ones refused",
        "bad among the trusted",
        "as trained: trusted / bad among them",
    ]
    return table(head, body)


def trust_kinds_table(model: str = "drm19-kinetics-38k") -> str:
    """What `trust` does with states of each kind, of trust.json, for one model."""
    row = rows_of(read("trust.json"))[model]
    body = []
    for kind, rules in row["kinds"].items():
        found = rules["trust"]["usual"]
        body.append(
            [
                plain(kind),
                percent(found["bad"], digits=1),
                percent(found["trusted"], digits=1),
                percent(found["bad_among_trusted"], digits=1),
            ]
        )
    head = ["states", "predicted badly", "trusted", "bad among the trusted"]
    return f"Of `{model}`:\n\n" + table(head, body)


def headline(model: str = "drm19-kinetics-38k") -> str:
    """One model in two sentences."""
    row = rows_of(read("accuracy.json"))[model]
    found, flames = row["delay"]["grid"], speeds()[model].values()
    times = read("times.json")["times"]
    own, cvode = times[model]["median"], times["CVODE rtol 1e-06"]["median"]
    return (
        f"With {row['weights']:,} weights (`{model}`), ignition delays of methane/air are within "
        f"{percent(found['worst'])} of CVODE's in {found['cases']} cases between 0.5 and 2 atm, "
        f"and the speeds of {len(flames)} laminar flames at 1 atm within {percent(max(flames))}. A "
        f"state costs {1e6 * own:.1f} us on one core, where CVODE takes {1e6 * cvode:.0f} us at a "
        "relative tolerance of 1e-6.\n"
    )


# -- reduction methods -----------------------------------------------------------------------------


CHOSEN = {
    "allocation": "brain surgeon, widths chosen",
    "random": "random units",
    "scratch": "40 % of each layer, trained from scratch",
}
MIXING = {"own": "", "least_squares": ", least squares", "none": ", pruned"}


def reduction_table(ratio: float = 0.4) -> str:
    """Every method at one share of the units kept, of reduction-default.json."""
    rows = [row for row in read("reduction-default.json")["rows"] if row["ratio"] == ratio]
    rows.sort(key=lambda row: row["error"], reverse=True)
    body = []
    for row in rows:
        scratch = row["method"] == "scratch"
        mixing = "" if scratch else MIXING[row["compensation"]]
        if row["method"] == "condensation" and not mixing:
            mixing = ", norm ratios"
        name = CHOSEN.get(row["method"], row["method"].replace("_", " ") + mixing)
        if row["method"] == "random":
            name += mixing
        body.append(
            [
                name,
                row["data"],
                "-" if scratch else f"{row['error']:.2f}",
                "-" if scratch else _delays(row["before"]),
                _delays(row["after"]),
            ]
        )
    head = ["method", "calibration on", "output error", "delay error", "delay error, retrained"]
    return table(head, body, left=2)


def _delays(found: dict) -> str:
    """Median and worst delay error of a cut network, or how many cases do not ignite."""
    cases, failed = found["cases"], _not_ignited(found)
    if failed:
        return f"{failed} of {cases} do not ignite"
    return percent(found["delay_median"], found["delay_worst"], digits=1)


def _not_ignited(found: dict) -> int:
    """How many cases do not ignite; "unlit" is what older files call it."""
    return found.get("not_ignited", found.get("unlit", 0))


TABLES: dict[str, Callable[[], str]] = {
    "settings": settings_table,
    "profiles": profiles_table,
    "headline": headline,
    "models": models_table,
    "delays": delay_table,
    "burnt": burnt_table,
    "flames": flames_table,
    "each-flame": each_flame_table,
    "convergence": convergence_table,
    "times": times_table,
    "trust": trust_table,
    "trust-kinds": trust_kinds_table,
    "reduction": reduction_table,
}
