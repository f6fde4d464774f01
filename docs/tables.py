"""Tables of the site and of the README that are made from the code and from measured results.

    python -m docs.tables

Takes `combred.config`, the cards of the shipped models and benchmarks/results/*.json; gives one
file a table under docs/generated/, which the pages include, and the tables of README.md, below
their names in comments. No number is typed in. Where a file of results is missing, a sentence takes
the place of its table (`MISSING`); a model that does not ship has no row.
"""

import dataclasses
import itertools
import json
import math
import re
from collections.abc import Callable, Iterable
from pathlib import Path

import numpy as np

import combred
from combred import config
from combred.native.solver.generator import TOLERANCE

RESULTS = Path(__file__).parents[1] / "benchmarks" / "results"
FIGURE = Path(__file__).with_name("work-precision.png")  # of benchmarks/work_precision.py
MISSING = "(Not measured with this version.)\n"
ATM = 101325.0
TYPICAL = "drm19-38k"  # the model of the first page
WAYS = "", ", C++", ", C++, network alone"  # of timing a model: times.json's names
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


def factor(ratio: float) -> str:
    """How many times faster, two digits or more."""
    return f"{ratio:.0f}" if ratio >= 10.0 else f"{ratio:.1f}"


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
    path = RESULTS / name
    return json.loads(path.read_text()) if path.is_file() else {}


def source(name: str, command: str, machine: str = "") -> str:
    """The last line below a table: the file of its numbers, the command that measures them, and the
    machine."""
    link = f"[{name}](../benchmarks/results/{name})"
    return f"Source: {link}, `python -m benchmarks.{command}`{machine and f'; {machine}'}.\n"


def digits(value: float, count: int) -> float:
    """A value rounded to a number of digits, for a cell."""
    found = float(f"{value:.{count}g}")
    return int(found) if abs(found) >= 1.0 and found == int(found) else found


def seconds(dt: str | float) -> str:
    """A time step [s] for a cell: 1e-06 is "1e-6 s"."""
    mantissa, _, exponent = f"{float(dt):.1e}".partition("e")
    return f"{float(mantissa):g}e{int(exponent)} s"


def short(value: float) -> str:
    """A tolerance or an error for a cell: 0.0001 is "1e-4"."""
    return f"{value:g}" if value >= 1e-3 else f"{value:.0e}".replace("e-0", "e-")


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
    """Names of the shipped models, largest first: those that correct QSS steps, the others."""
    groups: dict[str, list[str]] = {"with": [], "without": []}
    for name, card in combred.models().items():
        groups["with" if card["network"].get("kinetics") else "without"].append(name)
    return groups


def in_order(names: Iterable[str]) -> list[str]:
    """Names of shipped models that results have, those that correct QSS steps first."""
    names = set(names)
    return [name for group in models_with_rates().values() for name in group if name in names]


def models_table() -> str:
    """The models with their size, what they see, and the pressures and time steps of training."""
    rows, cards = [], combred.models()
    for name in in_order(cards):
        card = cards[name]
        n, sampling = card["network"], card["training"]["sampling"]
        low, high = (p / ATM for p in sampling["p"])
        steps = dict.fromkeys(seconds(dt) for dt in sampling["dt"])
        rows.append(
            [
                code(name),
                f"{n['weights']:,}",
                "state, reaction rates, dt" if n.get("kinetics") else "state alone",
                f"{low:.2g} to {high:.2g} atm",
                " to ".join(steps),
            ]
        )
    head = ["model", "weights", "network sees", "pressure in training", "dt in training"]
    return table(head, rows)


def rows_of(results: dict) -> dict[str, dict]:
    """The rows of a file of results, by model, in the order of the tables."""
    rows = {row["model"]: row for row in results.get("rows", [])}
    return {name: rows[name] for name in in_order(rows)}


def delay_table() -> str:
    """Errors of the ignition delay, of accuracy.json."""
    results = read("accuracy.json")
    rows = rows_of(results)
    if not rows:
        return MISSING
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
            failed = found["not_ignited"]
            cells.append(
                f"{failed} of {found['cases']} do not ignite"
                if failed
                else percent(found["mean"], found["worst"])
            )
        body.append([code(name), *cells])
    return table(head, body) + source("accuracy.json", "accuracy", results["machine"])


def burnt_table() -> str:
    """Errors after ignition, of accuracy.json."""
    body: list[list[str]] = []
    for name, row in rows_of(read("accuracy.json")).items():
        end, after = row["long"]["end"]["T"], row["long"]["after"]["T"]
        mass = row["long"]["after"]["Y"]
        body.append(
            [
                code(name),
                percent(end["median"], end["worst"]),
                percent(after["median"], after["worst"]),
                f"{mass['median']:.1e} / {mass['worst']:.1e}" if mass["worst"] else "-",
            ]
        )
    head = ["model", "T at the end", "T on the way", "Y on the way"]
    return table(head, body) if body else MISSING


def speeds() -> dict[str, dict[str, float | None]]:
    """Relative error of the flame speed of each model in each case, of flames.json."""
    found: dict[str, dict[str, float | None]] = {}
    for case, entries in read("flames.json").get("models", {}).items():
        for name in in_order(entries):
            found.setdefault(name, {})[case] = entries[name].get("speed_error")
    return {name: found[name] for name in in_order(found)}


def flames_table() -> str:
    """Errors of the laminar flame speed, mean and worst, of flames.json."""
    body = []
    for name, errors in speeds().items():
        values = [math.inf if e is None else e for e in errors.values()]
        body.append([code(name), str(len(values)), percent(float(np.mean(values)), max(values))])
    if not body:
        return MISSING
    told = source("flames.json", "flames models")
    return table(["model", "flames", "speed, mean / worst"], body) + told


def each_flame_table() -> str:
    """The error of the speed in every flame, of flames.json."""
    results, found = read("flames.json").get("models", {}), speeds()
    chosen = list(found)
    if not chosen:
        return MISSING
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
    if not results:
        return MISSING
    for part, unit in (("grid", "cells"), ("step", "s, dt, on 80 cells")):
        for key, row in results[part].items():
            body.append([f"{key} {unit}", f"{row['speed']:.4f}", f"{1e6 * row['thickness']:.0f}"])
    free = results["checks"]["FreeFlame"]["speed"]
    body.append(["Cantera's FreeFlame, extrapolated in its grid", f"{free:.4f}", "-"])
    return table(["CVODE, phi 1, 300 K, 1 atm", "speed [m/s]", "thickness [um]"], body)


def times_table() -> str:
    """Time per state on one core, of times.json."""
    results = read("times.json")
    if not results:
        return MISSING
    text = (
        f"Batches of {results['batch']:,} states, one core. Evenly along ignitions, most states "
        "are slow; busy ones are uniform in the steps of CVODE.\n\n"
    )
    for kind, times in results["times"].items():
        text += times_of(kind, times, results["solved"])
    return text + source("times.json", "times --states FILE", results["machine"])


def times_of(kind: str, times: dict, solved: dict[str, dict[str, float]]) -> str:
    """Time per state of one kind of states; `solved`: the share of states that each model leaves to
    the solver, by kind."""
    solvers = [name for name in times if name.startswith("CVODE")]
    body = [[plain(name), f"{1e6 * times[name]['median']:.0f} us", "", "", ""] for name in solvers]
    strict, loose = sorted(solvers, key=lambda name: -times[name]["median"])[:2]
    for name in [name for name in times if name.startswith("combred.solver")]:
        own = times[name]["median"]
        factors = [factor(times[one]["median"] / own) for one in (loose, strict)]
        told = f"`combred.solver`, {name.split()[1]}"
        body.append([told, f"{1e6 * own:.2f} us", "", *factors])
    for model, way in itertools.product(in_order(times), WAYS):
        if model + way not in times:
            continue
        own = times[model + way]["median"]
        left = solved.get(model, {}).get(kind) if way == ", C++" else None
        body.append(
            [
                code(model) + way,
                f"{1e6 * own:.2f} us",
                percent(left, digits=1),
                factor(times[loose]["median"] / own),
                factor(times[strict]["median"] / own),
            ]
        )
    of = {"grid": "along ignitions", "busy": "busy states"}[kind]
    head = [f"solver, {of}", "time per state", "by the solver"]
    return table([*head, f"{plain(loose)} / it", f"{plain(strict)} / it"], body)


# -- surrogates of any time step -------------------------------------------------------------------


def general(name: str) -> tuple[dict, dict]:
    """A file of results of surrogates of any dt, and its entries by model, in the order of the
    tables."""
    results = read(name)
    models = results.get("models", {})
    return results, {model: models[model] for model in in_order(models)}


def flow_states_table() -> str:
    """Shares of the states of each kind that the solver advances, and of undetected errors, of
    flow_states.json: a table for each model, a column for each dt."""
    results, models = general("flow_states.json")
    text = ""
    for model, kinds in models.items():
        body = [
            [plain(kind), *(percent(r["solved"], r["bad"], digits=1) for r in rows.values())]
            for kind, rows in kinds.items()
        ]
        steps = next(iter(kinds.values()))
        text += table([f"{code(model)}: solved / undetected", *map(seconds, steps)], body)
    if not text:
        return MISSING
    return text + source("flow_states.json", "flow_states judge --states FILE", results["machine"])


def around_table() -> str:
    """Shares of the states around the range of `drm19-full` that the solver advances, and of
    undetected errors, of flow_states.json: each of the worst dt."""
    results = read("flow_states.json")
    models = {name: results["around"][name] for name in in_order(results.get("around", {}))}
    if not models:
        return MISSING
    body = []
    for kind in next(iter(models.values())):
        worst = [
            [max(row[key] for row in kinds[kind].values()) for key in ("solved", "bad")]
            for kinds in models.values()
        ]
        body.append([plain(kind), *(percent(*shares, digits=1) for shares in worst)])
    return table(["solved / undetected, worst dt", *map(code, models)], body)


def flow_accepted_table() -> str:
    """Accepted components and states by the measure of DFODE-kit at the dt nearest to 1e-6 s, of
    flow_states.json."""
    models = general("flow_states.json")[1]
    if not models:
        return MISSING
    first = next(iter(models.values()))
    body = []
    for kind, rows in first.items():
        dt = min(rows, key=lambda key: abs(math.log(float(key) / 1e-6)))
        found = [models[model][kind][dt] for model in models]
        cells = [percent(r["accepted_components"], r["accepted_states"], digits=1) for r in found]
        body.append([plain(kind), *cells])
    return table(["components / states accepted", *map(code, models)], body)


def flow_errors_table() -> str:
    """The largest error of T of all kinds at each dt, of flow_states.json."""
    models, body = general("flow_states.json")[1], []
    for model, kinds in models.items():
        steps = next(iter(kinds.values()))
        largest = [max(kind[dt]["largest_T_error"] for kind in kinds.values()) for dt in steps]
        body.append([code(model), *(f"{number(error, 1)} K" for error in largest)])
    if not body:
        return MISSING
    steps = next(iter(next(iter(models.values())).values()))
    return table(["largest error of T", *map(seconds, steps)], body)


def ignitions_table() -> str:
    """Errors of ignitions at any pressure and dt, of ignitions.json."""
    results, models = general("ignitions.json")
    body = []
    for model, steps in models.items():
        for dt, found in steps.items():
            failed, cases = not_at_half(found), found["delay_errors"]
            delay = percent(found["mean"], found["worst"])
            body.append(
                [
                    code(model),
                    f"{seconds(dt)} ({len(cases)})",
                    f"{failed} of {len(cases)} do not ignite" if failed else delay,
                    f"{number(found['last_T_error'], 1)} K",
                    percent(found["solved"], digits=1),
                ]
            )
    if not body:
        return MISSING
    head = ["model", "dt (cases)", "delay, mean / worst", "burnt T, worst", "steps by the solver"]
    return table(head, body, left=2) + source("ignitions.json", "ignitions", results["machine"])


def not_at_half(found: dict) -> int:
    """In how many cases of ignitions.json the surrogate's T does not reach half of its rise."""
    return sum(error is None or math.isnan(error) for error in found["delay_errors"])


SHOWN = 0.1, 0.01, 1e-3  # tolerances of surrogates in the table
SOLVERS = (
    "combred.solver", "CVODE", "CVODE, generated rates", "CVODE, tuned", "Rosenbrock34", "seulex",
)  # fmt: skip


def precision_table() -> str:
    """Error and time of each solver at some tolerances, of work_precision.json: a table for each
    dt."""
    results, text = read("work_precision.json"), ""
    for dt, lines in results.get("lines", {}).items():
        body = []
        for name in (*SOLVERS, *in_order(lines)):
            for row in lines.get(name, []):
                if name not in SOLVERS and row["tolerance"] not in SHOWN:
                    continue
                body.append(
                    [
                        name if name in SOLVERS else code(name),
                        short(row["tolerance"]),
                        f"{1e6 * row['seconds']:.1f} us",
                        percent(row["rms"], row["q99"], digits=3),
                        percent(row.get("solved"), digits=1),
                    ]
                )
        head = [f"dt = {seconds(dt)}", "tolerance", "time per state"]
        text += table([*head, "error of T, rms / 99 %", "by the solver"], body)
    if not text:
        return MISSING
    return text + source("work_precision.json", "work_precision --states FILE", results["machine"])


# The tolerance of each solver in the table of the cost of ignitions; of surrogates the default.
CHOSEN_TOLERANCES = {
    "combred.solver": 0.01, "Rosenbrock34": 0.1, "seulex": 0.01, "CVODE, tuned": 1e-4, "CVODE": 1e-4
}  # fmt: skip


def ignition_work_table() -> str:
    """Time of a state and step and mean error of the delay, of ignition_work.json: a row for each
    solver at one tolerance, a column for each dt."""
    results = read("ignition_work.json")
    if not results:
        return MISSING
    by_dt, body = results["dt"], []
    lines = next(iter(by_dt.values()))
    for name in (*CHOSEN_TOLERANCES, *in_order(lines)):
        tolerance = CHOSEN_TOLERANCES.get(name, combred.Surrogate.TOLERANCE)
        rows = [
            row
            for of in by_dt.values()
            for row in of.get(name, [])
            if row["tolerance"] == tolerance
        ]
        cells = [f"{1e6 * row['seconds']:.1f} us, {percent(row['mean'], digits=3)}" for row in rows]
        if cells:
            shown = name if name in CHOSEN_TOLERANCES else code(name)
            body.append([shown, short(tolerance), *cells])
    head = ["time of a state and step, error of the delay", "tolerance"]
    head += [f"dt = {seconds(dt)}" for dt in by_dt]
    told = source("ignition_work.json", "ignition_work", results["machine"])
    return table(head, body) + told


def mechanisms() -> dict[str, dict]:
    """The results of solver.json by the name of the mechanism, with its phase where a file has
    several in them."""
    results = read("solver.json").get("mechanisms", {})
    files, found = [key.split(":")[0] for key in results], {}
    for file, one in zip(files, results.values(), strict=True):
        phase = f", {one['phase']}" if files.count(file) > 1 else ""
        found[Path(file).stem + phase] = one
    return found


def mechanisms_table() -> str:
    """What the solver costs and how right it is in each mechanism, of solver.json."""
    body = []
    for name, found in mechanisms().items():
        check = found["check"]
        default = [row for row in check["delays"] if row["tolerance"] == TOLERANCE]
        first = check["times"][0]
        body.append([
            f"{name}: {found['species']} species, {found['reactions']} reactions",
            f"{found['compile_s']:.0f} s",
            f"{1e6 * first['seconds']:.2g} us",
            percent(max(row["worst"] for row in default), digits=3),
            f"{float(format(first['cvode_seconds'] / first['seconds'], '.2g')):.0f}",
        ])  # fmt: skip
    head = ["mechanism", "compiled in", "time a state", "delay error, worst", "faster than CVODE"]
    return table(head, body) + told_solver() if body else MISSING


def told_solver() -> str:
    """The source of the tables of solver.json."""
    return source("solver.json", "solver", read("solver.json")["machine"])


def solver_table() -> str:
    """Rate types, time of a step and result of the check of each mechanism, of solver.json."""
    body = []
    for name, found in mechanisms().items():
        step, check = found["step_us"], found["check"]
        rates = ", ".join(f"{count} {kind}" for kind, count in check["rates"].items())
        made = [row["right"] for row in check["verdict"] if not row["skipped"]]
        left = len(check["verdict"]) - len(made)
        verdict = f"{sum(made)} of {len(made)}" + (f", {left} not compared" if left else "")
        body.append([
            f"{name}: {rates}",
            f"{step['float']:.2f} / {step['double']:.1f} us",
            verdict,
            f"{check['seconds']:.0f} s",
        ])  # fmt: skip
    head = ["mechanism, rates", "a step, floats / doubles", "within limits", "check, one core"]
    return table(head, body) + told_solver() if body else MISSING


def solver_precision_table() -> str:
    """Time and error of the solver and of others in each mechanism, of solver.json."""
    rows = {name: one["work_precision"] for name, one in mechanisms().items()}
    return _precision(rows) + told_solver() if rows else MISSING


def competitors_table() -> str:
    """Time and error of the solver and of others in large mechanisms, of competitors.json."""
    results = read("competitors.json")
    if not results:
        return MISSING
    rows = {
        f"{name}, {one['species']} species": one["work_precision"]
        for name, one in results["mechanisms"].items()
    }
    return _precision(rows) + source("competitors.json", "competitors", results["machine"])


def _precision(by_name: dict[str, list[dict]]) -> str:
    """A table for each mechanism, of its rows by solver, tolerance and dt."""
    text = ""
    for name, found in by_name.items():
        rows: dict[tuple[str, float], dict[float, dict]] = {}
        for row in found:
            rows.setdefault((row["solver"], row["tolerance"]), {})[row["dt"]] = row
        dts = sorted({row["dt"] for row in found})
        body = [
            [solver, f"{tolerance:g}", *(_time_and_error(of_dt[dt]) for dt in dts)]
            for (solver, tolerance), of_dt in rows.items()
        ]
        head = [name, "tolerance", *(f"dt = {seconds(dt)}" for dt in dts)]
        text += table(head, body)
    return text


def _time_and_error(row: dict) -> str:
    failed = f", {row['failed']} failed" if row["failed"] else ""
    us = f"{row['us']:,.0f}" if row["us"] >= 100.0 else f"{row['us']:.3g}"
    return f"{us} us, {row['rms']:.0e}{failed}"


def solver_delays_table() -> str:
    """Errors of ignition delays in each mechanism at the default tolerance, of solver.json."""
    body, dts = [], list[float]()
    for name, found in mechanisms().items():
        rows = [row for row in found["check"]["delays"] if row["tolerance"] == TOLERANCE]
        dts = [row["dt"] for row in rows]
        body.append([name, *(percent(row["mean"], row["worst"], digits=4) for row in rows)])
    head = ["error of the delay, mean / worst", *(f"dt = {seconds(dt)}" for dt in dts)]
    return table(head, body) + told_solver() if body else MISSING


def counterflow_table() -> str:
    """Errors of counterflow flames and of their extinction, of counterflow.json."""
    results, models = general("counterflow.json")
    body = []
    for model, found in models.items():
        for row in found["flames"]:
            peaks = ", ".join(f"{k} {100 * e:.1f} %" for k, e in row["peak_errors"].items())
            body.append(
                [
                    code(model),
                    f"{row['air_T']:.0f} K, {row['strain']:.0f} 1/s",
                    f"{number(row['peak_T_error'], 2)} K",
                    f"{number(row['profile_T_error'], 1)} K",
                    peaks,
                ]
            )
        extinct = f"{found['extinction']:.0f} 1/s ({100 * found['extinction_error']:+.1f} %)"
        body.append([code(model), "extinction", extinct, "-", "-"])
    if not body:
        return MISSING
    head = ["model", "air, strain rate", "peak T", "profile of T", "peaks of species"]
    return table(head, body, left=2) + source("counterflow.json", "counterflow", results["machine"])


def orders_table() -> str:
    """Measured orders of convergence, of work_precision.json."""
    orders = read("work_precision.json").get("orders", {})
    body = [
        [code(name), *(number(orders[name][key], 2) for key in ("trained", "random", "zero"))]
        for name in in_order(orders)
    ]
    head = ["order of convergence", "as trained", "random last layer", "last layer of zeros"]
    return table(head, body) if body else MISSING


def precision_figure() -> str:
    """The figure of error against time, if it has been drawn."""
    if not FIGURE.is_file():
        return ""
    told = (
        "Error of T against time per state: the solver in lanes, other solvers, and the surrogates"
    )
    return f"![{told}]({FIGURE.name})\n"


def weights_table() -> str:
    """Delay errors over weights of each method, of weights.json; a table for each form."""
    results, text = read("weights.json"), ""
    for form, title in (("quasi_steady", "corrects QSS steps"), ("state", "sees the state alone")):
        body = []
        for method, rows in results.get(form, {}).get("methods", {}).items():
            for row in rows if not body else rows[1:]:
                behind = row.get("behind", {})
                body.append([
                    "not reduced" if not body else method.replace("_", " "),
                    f"{row['weights']:,}",
                    percent(row["alone"]["mean"], row["alone"]["worst"]),
                    percent(behind["mean"], behind["worst"]) if behind else "-",
                    f"{1e6 * row['seconds']:.2g} us",
                ])  # fmt: skip
        for name, one in results.get(form, {}).get("others", {}).items():
            delay = percent(one["mean"], one["worst"], digits=3)
            body.append([f"**{name}**", "-", delay, "-", f"{1e6 * one['seconds']:.2g} us"])
        if body:
            head = [title, "weights", "delay, network alone", "with the solver", "time a state"]
            text += table(head, body)
    return text + source("weights.json", "weights", results["machine"]) if text else MISSING


def turbulent_ignition_table() -> str:
    """Differences from the reference at the end of the turbulent ignition, and the time of the
    chemistry, of turbulent_ignition.json."""
    results = read("turbulent_ignition.json")
    if not results:
        return MISSING
    body = [_way(way, row, ("CO", "OH", "H", "CH2O")) for way, row in results["ways"].items()]
    body.append(_seulex(results))
    told = source("turbulent_ignition.json", "turbulent_ignition", results["machine"])
    return table(FLOW_HEAD, body) + told


FLOW_HEAD = [
    "chemistry", "time a cell and step", "T, rms / largest", "front, mean / rms",
    "species, largest",
]  # fmt: skip


def _way(way: str, row: dict, species: Iterable[str]) -> list[str]:
    """A row of a flow's table: time, differences of T, front and species at the last time."""
    time = f"{digits(row['us'], 2)} us, {row['steps']:.2f} steps"
    if "times" not in row:
        return [f"{way} (reference)", time, "-", "-", "-"]
    end = list(row["times"].values())[-1]
    share = f", {100 * (1 - row['solver']):.4g} % by the network" if row["solver"] < 1 else ""
    worst = max(species, key=lambda name: end[name]["field"])
    return [
        _named(way),
        time + share,
        f"{digits(end['T_rms'], 1)} / {digits(end['T_max'], 2)} K",
        f"{digits(1e6 * end['front_mean'], 2):+} / {digits(1e6 * end['front_rms'], 2)} um",
        f"{digits(100 * end[worst]['field'], 2)} % ({worst})",
    ]


def _named(way: str) -> str:
    """A way in a table: "solver" is at its default tolerance, one at 1e-7 tells the noise."""
    names = {"solver": "solver, 0.001", "solver 1e-7": "solver 1e-7 (noise)"}
    return names.get(way, code(way))


def _seulex(flow: dict) -> list[str]:
    """The last row: OpenFOAM's own chemistry, and the flow without chemistry."""
    time = f"{flow['seulex_us']:.0f} us (flow: {flow['flow_us']:.1f} us)"
    return ["seulex, 1e-4", time, "-", "-", "-"]


def taylor_green_table() -> str:
    """The Taylor-Green vortices: times, and the largest differences of T, heat release, and of the
    sums and peaks of OH and HO2 at .25 and .5 ms, of taylor_green.json."""
    results, body = read("taylor_green.json"), []
    for name, flow in results.get("flows", {}).items():
        n = flow["cells"]
        size = f"{n} x {n} x {n}" if name.endswith("3d") else f"{n} x {n}"
        for way, row in flow["ways"].items():
            first = f"{name}, {size}: " if way == "solver 1e-6" else ""
            if "times" not in row:
                body.append([f"{first}{way}", f"{digits(row['us'], 2)} us", "-", "-", "-"])
                continue
            at = list(row["times"].values())
            bulk = max(abs(one[key]) for one in at for key in ("hottest", "heat"))
            radicals = max(
                abs(one[k][of]) for one in at for k in ("OH", "HO2") for of in ("peak", "sum")
            )
            body.append([
                _named(way),
                f"{digits(row['us'], 2)} us",
                f"{digits(max(one['T_rms'] for one in at), 1)} K, "
                f"{digits(1e6 * max(one['front_rms'] for one in at), 1)} um",
                f"{digits(100 * bulk, 1)} %",
                f"{digits(100 * radicals, 1)} %",
            ])  # fmt: skip
        body.append([*_seulex(flow)[:2], "-", "-", "-"])
    head = ["chemistry", "time a cell and step", "T, front, rms", "T max, heat release",
            "OH, HO2: peaks, sums"]  # fmt: skip
    told = source("taylor_green.json", "taylor_green", results.get("machine", ""))
    return table(head, body) + told if body else MISSING


def foam_tutorials_table() -> str:
    """OpenFOAM's tutorials: times, and differences of the solver, of foam_tutorials.json."""
    results, body = read("foam_tutorials.json"), []
    for name, row in results.get("flames", {}).items():
        off, noise = row["solver"], row.get("noise")
        beside = [f"{digits(noise['T_rms'], 1)} K", _worst(noise)] if noise else ["", ""]
        both = [f"{digits(off['T_rms'], 1)} K", _worst(off)]
        told = [f"{a}; noise {b}" if b else a for a, b in zip(both, beside, strict=True)]
        body.append([
            f"{name}: {row['steps']} steps, {row['hottest']:.0f} K",
            f"{digits(row['solver_us'], 2)} us (1e-6: {digits(row['reference_us'], 2)})",
            f"{row['seulex_us']:.0f} us" if "seulex_us" in row else "-",
            *told,
        ])  # fmt: skip
    for name, row in results.get("cells", {}).items():
        delay = f"delay of {1e3 * row['delay']:.3g} ms: {digits(100 * row['delay_error'], 1)} %"
        body.append([f"{name}: {row['steps']} steps", "-", "-", "-", delay])
    head = ["tutorial", "solver (0.001)", "seulex (1e-4)", "T, rms", "species, largest"]
    told = source("foam_tutorials.json", "foam_tutorials", results.get("machine", ""))
    return table(head, body) + told if body else MISSING


def _worst(off: dict) -> str:
    """The species that differs most: "0.01 % (OH)"."""
    species = {name: value for name, value in off.items() if not name.startswith("T_")}
    worst = max(species, key=lambda name: species[name])
    return f"{digits(100 * species[worst], 1)} % ({worst})"


def long_steps_table() -> str:
    """Errors of H, O and OH in hot gas over long time steps, of foam_tutorials.json."""
    body = [
        [f"{tolerance}, {seconds(dt)}", *(f"{digits(100 * row[k], 2)} %" for k in ("H", "O", "OH"))]
        for tolerance, of in read("foam_tutorials.json").get("long", {}).items()
        for dt, row in of.items()
    ]
    return table(["tolerance, dt", "H", "O", "OH"], body) if body else MISSING


def flow_times_table() -> str:
    """The time of the chemistry a cell and step in every flow."""
    ignition, vortex = read("turbulent_ignition.json"), read("taylor_green.json")
    flows = {"turbulent ignition": ignition} if ignition else {}
    flows |= {f"Taylor-Green, {name}": flow for name, flow in vortex.get("flows", {}).items()}
    body = []
    for name, flow in flows.items():
        network = flow["ways"].get("drm19-38k")
        body.append([
            name,
            f"{digits(flow['ways']['solver']['us'], 2)} us",
            f"{digits(network['us'], 2)} us" if network else "-",
            f"{flow['seulex_us']:.0f} us",
            f"{digits(flow['flow_us'], 2)} us",
        ])  # fmt: skip
    for name, row in read("foam_tutorials.json").get("flames", {}).items():
        if "seulex_us" in row:
            times = (row[key] for key in ("solver_us", "seulex_us", "flow_us"))
            own, ode, rest = (f"{digits(one, 2)} us" for one in times)
            body.append([name, own, "-", ode, rest])
    head = ["flow", "solver (0.001)", "`drm19-38k`", "seulex (1e-4)", "flow alone"]
    return table(head, body) if body else MISSING


def flame_steps_table() -> str:
    """The speed of OpenFOAM's premixed flame against the time step, of openfoam-steps.json."""
    results = read("openfoam-steps.json")
    if not results:
        return MISSING
    one, three = results["speeds"]["1"], results["speeds"]["3"]
    limit = list(one.values())[-1]

    def cells(speed: float | None) -> list[str]:
        return [f"{speed:.3f} m/s, {digits(100 * (speed / limit - 1), 2):+} %"] if speed else ["-"]

    body = [[seconds(dt), *cells(v), *cells(three.get(dt))] for dt, v in one.items()]
    told = source("openfoam-steps.json", "openfoam_steps", results["machine"])
    return table(["time step", "one outer corrector", "three"], body) + told


# -- the first page --------------------------------------------------------------------------------


def headline(model: str = TYPICAL) -> str:
    """One model with the solver behind it in some sentences: those whose results there are."""
    text = []
    ignitions = general("ignitions.json")[1].get(model, {})
    failed = sum(not_at_half(found) for found in ignitions.values())
    if ignitions and not failed:
        errors = [abs(error) for of in ignitions.values() for error in of["delay_errors"]]
        p = [one / ATM for found in ignitions.values() for one in found["p"]]
        steps = sorted(ignitions, key=float)
        text.append(
            f"Ignition delays of methane/air with `{model}` and the solver behind it are within "
            f"{percent(max(errors))} of CVODE's ({percent(float(np.mean(errors)))} on average), in "
            f"{len(errors)} cases from {min(p):.1f} to {max(p):.0f} atm, with time steps of "
            f"{seconds(steps[0])} to {seconds(steps[-1])}."
        )
    kinds = general("flow_states.json")[1].get(model, {})
    if kinds:
        rows = [row for steps in kinds.values() for row in steps.values()]
        solved, bad = (float(np.mean([row[key] for row in rows])) for key in ("solved", "bad"))
        text.append(
            f"Of states of {len(kinds)} kinds of flow, from counterflow flames to ignitions at 40 "
            f"atm, the solver advances {percent(solved, digits=1)}, and {percent(bad, digits=1)} "
            "have an undetected error above 10 % of their change."
        )
    lines = read("work_precision.json").get("lines", {}).get("1e-06", {})
    found = [_at_default(lines.get(name, [])) for name in (model, "combred.solver")]
    if all(found):
        own, alone = (
            f"{1e6 * row['seconds']:.1f} us, with an error of {_rounded(row['rms'])}"
            for row in found
        )
        text.append(
            f"At a tolerance of {combred.Surrogate.TOLERANCE:g} and a time step of 1e-6 s, a state "
            f"takes {own} in T; the solver alone takes {alone}."
        )
    return " ".join(text) + "\n"


def _rounded(error: float) -> str:
    """One digit of an error: 0.0042 is "4e-3"."""
    return f"{error:.0e}".replace("e-0", "e-")


def _at_default(rows: list[dict]) -> dict:
    """The row of a surrogate's default tolerance; empty if there is none."""
    return next((row for row in rows if row["tolerance"] == combred.Surrogate.TOLERANCE), {})


# -- the README -----------------------------------------------------------------------------------

# Tolerances of the solvers in the table of some lines; a surrogate has its default.
SHOWN_SOLVERS = {
    "combred.solver": (0.01, 1e-3, 1e-5), "CVODE": (1e-4, 1e-6), "CVODE, tuned": (1e-4, 1e-6),
    "Rosenbrock34": (0.01,), "seulex": (0.01,),
}  # fmt: skip


def readme_glance() -> str:
    """The mechanisms of solver.json: error of delays, time of a state, and how many times faster
    the solver is than CVODE there and, where a flow was run with it, than seulex in OpenFOAM."""
    beside, body = _over_seulex(), []
    for name, found in mechanisms().items():
        first = found["check"]["times"][0]
        delays = [row for row in found["check"]["delays"] if row["tolerance"] == TOLERANCE]
        over = f"{digits(first['cvode_seconds'] / first['seconds'], 2)}"
        over += f"; {digits(beside[name], 2)}" if name in beside else ""
        body.append([
            f"{name}, {found['species']} species",
            percent(max(row["worst"] for row in delays), digits=3),
            f"{1e6 * first['seconds']:.2g} us",
            over,
        ])  # fmt: skip
    head = ["mechanism", "delay, worst error", "time a state", "faster than CVODE; seulex"]
    return table(head, body) if body else MISSING


def _over_seulex() -> dict[str, float]:
    """The time of seulex over that of the solver in a flow of OpenFOAM, by mechanism."""
    flow = read("turbulent_ignition.json")
    found = {"drm19": flow["seulex_us"] / flow["ways"]["solver"]["us"]} if flow else {}
    row = read("foam_tutorials.json").get("flames", {}).get("counterflow, GRI-3.0", {})
    return found | ({"gri30": row["seulex_us"] / row["solver_us"]} if row else {})


def solvers_table(model: str = TYPICAL) -> str:
    """Time and error of solvers and of one model at dt = 1e-6 s, of work_precision.json."""
    lines, body = read("work_precision.json").get("lines", {}).get("1e-06", {}), []
    for name in (*SHOWN_SOLVERS, model):
        chosen = SHOWN_SOLVERS.get(name, (combred.Surrogate.TOLERANCE,))
        rows = [row for row in lines.get(name, []) if row["tolerance"] in chosen]
        if rows:
            told = "; ".join(short(row["tolerance"]) for row in rows)
            us = "; ".join(f"{1e6 * row['seconds']:.{row['seconds'] < 1e-5:d}f}" for row in rows)
            error = "; ".join(_rounded(row["rms"]) for row in rows)
            title = f"`{name}`" if name in ("combred.solver", model) else name
            title = f"**{title}**" if name == "combred.solver" else title
            if "solved" in rows[0]:
                title += f", {percent(rows[0]['solved'], digits=0)} of the states by the solver"
            body.append([title, told, f"{us} us", error])
    return table(["solver", "relative tolerance", "time a state", "error of T"], body)


def readme_models() -> str:
    """Errors and times of the models that correct QSS steps, each the mean and the worst: delays of
    all dt, flame speeds, undetected errors, and the time of 1 us of an ignition."""
    ignitions, flows = general("ignitions.json")[1], general("flow_states.json")[1]
    flames, times = speeds(), read("times.json").get("times", {}).get("grid", {})
    body = []
    for name, steps in ignitions.items():
        delays = [abs(error) for of in steps.values() for error in of["delay_errors"]]
        speed = [math.inf if e is None else e for e in flames.get(name, {}).values()]
        bad = [row["bad"] for kind in flows.get(name, {}).values() for row in kind.values()]
        own = times.get(f"{name}, C++", {}).get("median")
        weights = combred.models()[name]["network"]["weights"]
        body.append(
            [
                f"`{name}`, {weights:,} weights",
                percent(float(np.mean(delays)), max(delays)),
                percent(float(np.mean(speed)), max(speed)) if speed else "-",
                percent(float(np.mean(bad)), max(bad), digits=1) if bad else "-",
                f"{1e6 * own:.1f} us" if own else "-",
            ]
        )
    body += _readme_solver(times)
    head = ["mean / worst", "ignition delay", "flame speed", "undetected", "time a state"]
    return table(head, body)


def _readme_solver(times: dict) -> list[list[str]]:
    """The row of the solver alone, at its default tolerance, in the table of models."""
    of_dt = read("ignition_work.json").get("dt", {}).values()
    rows = [row for of in of_dt for row in of.get("combred.solver", [])]
    rows = [row for row in rows if row["tolerance"] == TOLERANCE]
    own = times.get(f"combred.solver {TOLERANCE:g}", {}).get("median")
    if not rows or not own:
        return []
    mean, worst = np.mean([row["mean"] for row in rows]), max(row["worst"] for row in rows)
    delay = percent(float(mean), worst, digits=3)
    return [["**the solver alone**, 0.001", delay, "-", "-", f"{1e6 * own:.1f} us"]]


README_TABLES = {
    "glance": readme_glance,
    "models": readme_models,
}
COUPLING_TABLES = {"flow-times": flow_times_table}  # of coupling/README.md


def fill(text: str) -> str:
    """A page of Markdown with its tables as the results have them."""
    for name, make in (README_TABLES | COUPLING_TABLES).items():
        marked = re.compile(rf"(<!-- table: {name} -->\n\n)(?:\|[^\n]*\n)*\n")
        made = make()
        text = marked.sub(lambda found, made=made: found[1] + made, text)
    return text


# -- reduction methods -----------------------------------------------------------------------------


CHOSEN = {
    "allocation": "brain surgeon, widths chosen",
    "random": "random units",
    "scratch": "40 % of each layer, trained from scratch",
}
MIXING = {"own": "", "least_squares": ", least squares", "none": ", pruned"}


def reduction_table(ratio: float = 0.4) -> str:
    """Every method at one share of the units kept, of reduction-default.json."""
    rows = [r for r in read("reduction-default.json").get("rows", []) if r["ratio"] == ratio]
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
    cases, failed = found["cases"], found["not_ignited"]
    if failed:
        return f"{failed} of {cases} do not ignite"
    return percent(found["delay_median"], found["delay_worst"], digits=1)


TABLES: dict[str, Callable[[], str]] = {
    "solvers": solvers_table,
    "mechanisms": mechanisms_table,
    "solver": solver_table,
    "solver-precision": solver_precision_table,
    "competitors": competitors_table,
    "solver-delays": solver_delays_table,
    "turbulent-ignition": turbulent_ignition_table,
    "taylor-green": taylor_green_table,
    "foam-tutorials": foam_tutorials_table,
    "long-steps": long_steps_table,
    "flow-times": flow_times_table,
    "flame-steps": flame_steps_table,
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
    "ignitions": ignitions_table,
    "flow-states": flow_states_table,
    "flow-accepted": flow_accepted_table,
    "flow-around": around_table,
    "flow-errors": flow_errors_table,
    "precision": precision_table,
    "ignition-work": ignition_work_table,
    "precision-figure": precision_figure,
    "orders": orders_table,
    "counterflow": counterflow_table,
    "reduction": reduction_table,
    "weights": weights_table,
}


if __name__ == "__main__":
    write_all(Path(__file__).with_name("generated"))
    for folder in (Path(__file__).parents[1], Path(__file__).parents[1] / "coupling"):
        page = folder / "README.md"
        page.write_text(fill(page.read_text()))
