"""Tables of the shipped models: sizes, delays, flames, times (data.md, accuracy.md)."""

import itertools
import math

import numpy as np

import combred

from .markdown import code, factor, percent, plain, seconds, table
from .results import ATM, MISSING, in_order, read, rows_of, source, speeds

WAYS = "", ", C++", ", C++, network alone"  # of timing a model: times.json's names


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
    return table(head, body) + source("accuracy.json", "accuracy")


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
    results, found = read("flames.json", "models"), speeds()
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
    body, checks = [], read("flames.json", "checks")
    for part, unit in (("grid", "cells"), ("step", "s, dt, on 80 cells")):
        for key, row in read("flames.json", part).items():
            body.append([f"{key} {unit}", f"{row['speed']:.4f}", f"{1e6 * row['thickness']:.0f}"])
    if not body or not checks:
        return MISSING
    free = checks["FreeFlame"]["speed"]
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
    return text + source("times.json", "times --states FILE")


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


TABLES = {
    "models": models_table,
    "delays": delay_table,
    "burnt": burnt_table,
    "flames": flames_table,
    "each-flame": each_flame_table,
    "convergence": convergence_table,
    "times": times_table,
}
