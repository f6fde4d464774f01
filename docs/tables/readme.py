"""The first page, and the tables of README.md."""

import math

import numpy as np

import combred
from combred.native.solver.generator import TOLERANCE

from .markdown import digits, percent, seconds, short, table
from .results import ATM, MISSING, TYPICAL, general, mechanisms, not_at_half, read, speeds


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
    lines = read("work_precision.json", "lines").get("1e-06", {})
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


# Tolerances of the solvers in the table of some lines; a surrogate has its default.
SHOWN_SOLVERS = {
    "combred.solver": (0.01, 1e-3, 1e-5), "CVODE": (1e-4, 1e-6),
    "CVODE, exact Jacobian": (1e-4, 1e-6), "Rosenbrock34": (0.01,), "seulex": (0.01,),
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
    """The time of seulex over that of the solver in OpenFOAM's counterflow, by mechanism."""
    flames = read("foam_tutorials.json", "flames")
    rows = {"drm19": flames.get("counterflow"), "gri30": flames.get("counterflow, GRI-3.0")}
    return {name: row["seulex_us"] / row["solver_us"] for name, row in rows.items() if row}


def solvers_table(model: str = TYPICAL) -> str:
    """Time and error of solvers and of one model at dt = 1e-6 s, of work_precision.json."""
    lines, body = read("work_precision.json", "lines").get("1e-06", {}), []
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
    """The models that correct QSS steps, with the solver behind them, and the solver alone: mean
    and worst errors of delays, of all dt, and of flame speeds; undetected errors; the time of a
    state and step along ignitions at 1e-6 s."""
    ignitions, flows, flames = read("ignition_work.json", "dt"), _flows(), speeds()
    body = []
    tolerances = dict.fromkeys(flows, combred.Surrogate.TOLERANCE) | {"combred.solver": TOLERANCE}
    for name, tolerance in tolerances.items():
        rows = {
            dt: row for dt, of in ignitions.items() for row in of.get(name, [])
            if row["tolerance"] == tolerance
        }  # fmt: skip
        if not rows:
            continue
        mean = float(np.mean([row["mean"] for row in rows.values()]))
        worst = max(row["worst"] for row in rows.values())
        speed = [math.inf if e is None else e for e in flames.get(name, {}).values()]
        bad = flows.get(name, [])
        title = f"**the solver alone**, {tolerance:g}"
        if name in flows:
            title = f"`{name}`, {combred.models()[name]['network']['weights']:,} weights"
        body.append([
            title,
            percent(mean, worst, digits=2 if name in flows else 3),
            percent(float(np.mean(speed)), max(speed)) if speed else "-",
            percent(max(bad), digits=1) if bad else "-",
            f"{1e6 * rows['1e-06']['seconds']:.1f} us",
        ])  # fmt: skip
    head = ["mean / worst", "ignition delay", "flame speed", "undetected, worst", "time a state"]
    return table(head, body) if body else MISSING


def _flows() -> dict[str, list[float]]:
    """The shares of undetected errors in each kind of states, in flows and around the training, and
    each dt, by model."""
    models, around = general("flow_states.json")[1], read("flow_states.json", "around")
    return {
        name: [
            row["bad"]
            for where in (models, around)
            for steps in where.get(name, {}).values()
            for row in steps.values()
        ]
        for name in models
    }


TABLES = {
    "solvers": solvers_table,
    "headline": headline,
    "glance": readme_glance,
    "readme-models": readme_models,
}
