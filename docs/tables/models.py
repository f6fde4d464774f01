"""Tables of the shipped models: sizes and flames (accuracy.md, numerics.md)."""

import numpy as np

import combred
from combred.experiments.accuracy import LEFT, NAMES, NOT_MEASURED, accuracy_of

from .markdown import both, code, percent, seconds, table
from .results import ATM, chemistry, in_order, read, source, speeds


def models_table() -> str:
    """The models with their size, what they see, and the pressures and time steps of training."""
    cards, rows = combred.models(), []
    for name in in_order(cards):
        network, of = cards[name]["network"], cards[name]["training"]["sampling"]
        sees = "state, reaction rates, dt" if network.get("kinetics") else "state alone"
        p = "{:.2g} to {:.2g} atm".format(*(p / ATM for p in of["p"]))
        dt = " to ".join(dict.fromkeys(map(seconds, of["dt"])))
        rows.append((code(name), f"{network['weights']:,}", sees, p, dt))
    heads = ["model", "weights", "network sees", "pressure in training", "dt in training"]
    return table(heads, rows)


def errors_table() -> str:
    """The errors of the models alone and with the solver behind them, of their cards."""
    cards, rows = combred.models(), []
    for name in in_order(cards):
        accuracy = accuracy_of(cards[name])
        left = accuracy.get("left_to_solver")
        share = NOT_MEASURED if left is None else percent(left, digits=1)
        rows.append((code(name), *(_delays(accuracy[key]) for key in NAMES), share))
    return table(["delay, median / worst", *NAMES.values(), LEFT], rows)


def _delays(errors: dict | str) -> str | None:
    """Median and worst error of the delays; a text, "not measured", stays."""
    if isinstance(errors, str):
        return errors
    return both(errors["delay_error"], "median", "worst", digits=3)


def flames_table() -> str:
    """Worst errors of the laminar flame speed at each pressure, of flames.json."""
    found = speeds()
    pressures: dict[str, list[str]] = {}  # the last words of a case
    for case in next(iter(found.values())):
        pressures.setdefault(case.rpartition(", ")[2], []).append(case)
    rows = []
    for name, of in found.items():
        worst = (percent(max(of[case] for case in cases)) for cases in pressures.values())
        rows.append((chemistry(name), percent(float(np.mean(list(of.values())))), *worst))
    heads = ["model", "mean", *(f"worst at {p} ({len(of)})" for p, of in pressures.items())]
    return table(heads, rows) + source("flames.json", "flames models")


def convergence_table() -> str:
    """How the solver's flame converges in space and time, of flames.json."""
    rows = [
        (f"{key}{unit}", f"{row['speed']:.4f}")
        for part, unit in (("grid", " cells"), ("step", " s, 80 cells"))
        for key, row in read("flames.json", part).items()
    ]
    beside = {"CVODE": "CVODE, 1e-6 s, 80 cells", "FreeFlame": "Cantera's FreeFlame, extrapolated"}
    checks = read("flames.json", "checks")
    rows += [(beside[key], f"{checks[key]['speed']:.4f}") for key in beside if key in checks]
    return table(["solver, phi 1, 300 K, 1 atm", "speed [m/s]"], rows)


TABLES = {
    "models": models_table,
    "model-errors": errors_table,
    "flames": flames_table,
    "convergence": convergence_table,
}
