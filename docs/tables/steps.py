"""Tables of surrogates of any time step (accuracy.md)."""

import math

from .markdown import both, code, number, percent, plain, seconds, table
from .results import by_model, not_ignited, read, source


def flow_states_table() -> str:
    """Shares of the states of each kind that the solver advances, and of undetected errors, of
    flow_states.json: a table for each model, a column for each dt."""
    text = ""
    for model, kinds in by_model("flow_states.json").items():
        columns = {f"{code(model)}: solved / undetected": lambda kind, rows: plain(kind)} | {
            seconds(dt): lambda kind, rows, dt=dt: both(rows[dt], "solved", "bad", digits=1)
            for dt in next(iter(kinds.values()))
        }
        text += table(columns, kinds.items())
    return text + source("flow_states.json", "flow_states judge --states FILE")


def _kinds(title: str, models: dict[str, dict], cell) -> str:
    """A table with a row for each kind of states, and a column for each model: `cell` of its
    results by dt."""
    columns = {title: plain} | {
        code(model): lambda kind, kinds=kinds: cell(kinds[kind]) for model, kinds in models.items()
    }
    return table(columns, [(kind,) for kind in next(iter(models.values()))])


def around_table() -> str:
    """Shares of the states around the range of `drm19-full` that the solver advances, and of
    undetected errors, of flow_states.json: each of the worst dt."""

    def worst(rows: dict[str, dict]) -> str:
        shares = (max(row[key] for row in rows.values()) for key in ("solved", "bad"))
        return percent(*shares, digits=1)

    models = by_model("flow_states.json", "around")
    return _kinds("solved / undetected, worst dt", models, worst)


def flow_accepted_table() -> str:
    """Accepted components and states by the measure of DFODE-kit at the dt nearest to 1e-6 s, of
    flow_states.json."""

    def accepted(rows: dict[str, dict]) -> str | None:
        dt = min(rows, key=lambda key: abs(math.log(float(key) / 1e-6)))
        return both(rows[dt], "accepted_components", "accepted_states", digits=1)

    return _kinds("components / states accepted", by_model("flow_states.json"), accepted)


def flow_errors_table() -> str:
    """The largest error of T of all kinds at each dt, of flow_states.json."""

    def largest(kinds: dict[str, dict], dt: str) -> str:
        return f"{number(max(kind[dt]['largest_T_error'] for kind in kinds.values()), 1)} K"

    models = by_model("flow_states.json")
    columns = {"largest error of T": lambda model, kinds: code(model)} | {
        seconds(dt): lambda model, kinds, dt=dt: largest(kinds, dt)
        for dt in next(iter(next(iter(models.values())).values()))
    }
    return table(columns, models.items())


def ignitions_table() -> str:
    """Errors of ignitions at any pressure and dt, of ignitions.json."""
    models = by_model("ignitions.json")
    models["solver"] = read("ignitions.json", "models")["solver"]

    def delay(found: dict) -> str | None:
        failed = f"{not_ignited(found)} of {len(found['delay_errors'])} do not ignite"
        return failed if not_ignited(found) else both(found, digits=3)

    columns = {
        "model": lambda model, dt, of: "**solver**" if model == "solver" else code(model),
        "dt (cases)": lambda model, dt, of: f"{seconds(dt)} ({len(of['delay_errors'])})",
        "delay, mean / worst": lambda model, dt, of: delay(of),
        "burnt T, worst": lambda model, dt, of: f"{number(of['last_T_error'], 1)} K",
        "steps by the solver": lambda model, dt, of: percent(of["solved"], digits=1),
    }
    rows = [(model, dt, of) for model, by_dt in models.items() for dt, of in by_dt.items()]
    return table(columns, rows, left=2) + source("ignitions.json", "ignitions")


def counterflow_table() -> str:
    """Errors of counterflow flames and of their extinction, of counterflow.json."""
    rows: list[tuple] = []
    for model, found in by_model("counterflow.json").items():
        for row in found["flames"]:
            case = f"{row['air_T']:.0f} K, {row['strain']:.0f} 1/s"
            T = f"{number(row['peak_T_error'], 2)} K", f"{number(row['profile_T_error'], 1)} K"
            peaks = ", ".join(f"{k} {100 * e:.1f} %" for k, e in row["peak_errors"].items())
            rows.append((code(model), case, *T, peaks))
        extinct = f"{found['extinction']:.0f} 1/s ({100 * found['extinction_error']:+.1f} %)"
        rows.append((code(model), "extinction", extinct, None, None))
    heads = ["model", "air, strain rate", "peak T", "profile of T", "peaks of species"]
    return table(heads, rows, left=2) + source("counterflow.json", "counterflow")


TABLES = {
    "ignitions": ignitions_table,
    "flow-states": flow_states_table,
    "flow-accepted": flow_accepted_table,
    "flow-around": around_table,
    "flow-errors": flow_errors_table,
    "counterflow": counterflow_table,
}
