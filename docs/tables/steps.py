"""Tables of surrogates of any time step (accuracy.md)."""

import math

from .markdown import code, number, percent, plain, seconds, table
from .results import MISSING, general, in_order, not_at_half, read, source


def flow_states_table() -> str:
    """Shares of the states of each kind that the solver advances, and of undetected errors, of
    flow_states.json: a table for each model, a column for each dt."""
    models = general("flow_states.json")[1]
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
    return text + source("flow_states.json", "flow_states judge --states FILE")


def around_table() -> str:
    """Shares of the states around the range of `drm19-full` that the solver advances, and of
    undetected errors, of flow_states.json: each of the worst dt."""
    around = read("flow_states.json", "around")
    models = {name: around[name] for name in in_order(around)}
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
    measured, models = general("ignitions.json")
    if "solver" in measured:
        models["solver"] = measured["solver"]
    body = []
    for model, steps in models.items():
        for dt, found in steps.items():
            failed, cases = not_at_half(found), found["delay_errors"]
            delay = percent(found["mean"], found["worst"], digits=3)
            body.append(
                [
                    "**solver**" if model == "solver" else code(model),
                    f"{seconds(dt)} ({len(cases)})",
                    f"{failed} of {len(cases)} do not ignite" if failed else delay,
                    f"{number(found['last_T_error'], 1)} K",
                    percent(found["solved"], digits=1),
                ]
            )
    if not body:
        return MISSING
    head = ["model", "dt (cases)", "delay, mean / worst", "burnt T, worst", "steps by the solver"]
    return table(head, body, left=2) + source("ignitions.json", "ignitions")


def counterflow_table() -> str:
    """Errors of counterflow flames and of their extinction, of counterflow.json."""
    models = general("counterflow.json")[1]
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
    return table(head, body, left=2) + source("counterflow.json", "counterflow")


TABLES = {
    "ignitions": ignitions_table,
    "flow-states": flow_states_table,
    "flow-accepted": flow_accepted_table,
    "flow-around": around_table,
    "flow-errors": flow_errors_table,
    "counterflow": counterflow_table,
}
