"""Tables of surrogates of any time step (accuracy.md)."""

from .markdown import both, code, number, percent, plain, seconds, table
from .results import by_model, not_ignited, read, source


def _kinds(title: str, models: dict[str, dict], cell) -> str:
    """A table with a row for each kind of states, and a column for each model: `cell` of its
    results by dt."""
    columns = {title: plain} | {
        code(model): lambda kind, kinds=kinds: cell(kinds[kind]) for model, kinds in models.items()
    }
    return table(columns, [(kind,) for kind in next(iter(models.values()))])


def flow_states_table() -> str:
    """Shares of the states of each kind that the solver advances at the two longest time steps, of
    flow_states.json."""

    def solved(rows: dict[str, dict]) -> str:
        return percent(rows["1e-06"]["solved"], rows["1e-05"]["solved"], digits=1)

    title = "solved at 1e-6 / 1e-5 s"
    return _kinds(title, by_model("flow_states.json"), solved)


def flow_errors_table() -> str:
    """The worst of all kinds of states of each model, of flow_states.json: undetected errors,
    largest error of T, and states accepted by the measure of DFODE-kit."""

    def worst(kinds: dict, key: str, dt: str, of=max) -> float:
        return of(kind[dt][key] for kind in kinds.values())

    columns = {
        "model, dt": lambda model, kinds, dt: f"{code(model)}, {seconds(dt)}",
        "undetected": lambda model, kinds, dt: percent(worst(kinds, "bad", dt), digits=1),
        "error of T": lambda model, kinds, dt: (
            f"{number(worst(kinds, 'largest_T_error', dt), 1)} K"
        ),
        "accepted states": lambda model, kinds, dt: percent(
            worst(kinds, "accepted_states", dt, min), digits=1
        ),
    }
    models = by_model("flow_states.json").items()
    rows = [(model, kinds, dt) for model, kinds in models for dt in ("1e-06", "1e-05")]
    return table(columns, rows) + source("flow_states.json", "flow_states judge --states FILE")


def around_table() -> str:
    """Shares of the states around the range of `drm19-full` that the solver advances, and of
    undetected errors, of flow_states.json: of the worst kind of each group and the worst dt."""
    groups: dict[str, dict] = {}
    for model, kinds in by_model("flow_states.json", "around").items():
        for kind, rows in kinds.items():
            found = groups.setdefault(model, {}).setdefault(kind.partition(":")[0], [])
            found += rows.values()

    def worst(rows: list[dict]) -> str:
        return percent(*(max(row[key] for row in rows) for key in ("solved", "bad")), digits=1)

    return _kinds("solved / undetected, worst", groups, worst)


def ignitions_table() -> str:
    """Errors of ignitions at any pressure and dt, of ignitions.json."""
    models = by_model("ignitions.json")
    models["solver"] = read("ignitions.json", "models")["solver"]

    def delay(found: dict) -> str | None:
        failed = f"{not_ignited(found)} of {len(found['delay_errors'])} do not ignite"
        return failed if not_ignited(found) else both(found, digits=3)

    columns = {
        "model": lambda model, by_dt: "**solver**" if model == "solver" else code(model),
    } | {
        f"delay, {seconds(dt)}": lambda model, by_dt, dt=dt: delay(by_dt[dt])
        for dt in models["solver"]
    }
    columns["burnt T"] = lambda model, by_dt: (
        f"{number(max(of['last_T_error'] for of in by_dt.values()), 1)} K"
    )
    return table(columns, models.items()) + source("ignitions.json", "ignitions")


def counterflow_table() -> str:
    """Largest errors in the counterflow flames, and error of their extinction, of
    counterflow.json."""

    def worst(found: dict, key: str) -> float:
        return max(row[key] for row in found["flames"])

    def peak(found: dict) -> float:
        return max(max(row["peak_errors"].values()) for row in found["flames"])

    columns = {
        "model": lambda model, found: code(model),
        "peak T": lambda model, found: f"{number(worst(found, 'peak_T_error'), 2)} K",
        "profile of T": lambda model, found: f"{number(worst(found, 'profile_T_error'), 1)} K",
        "peak of a species": lambda model, found: percent(peak(found), digits=1),
        "extinction": lambda model, found: (
            f"{found['extinction']:.0f} 1/s ({100 * found['extinction_error']:+.1f} %)"
        ),
    }
    rows = by_model("counterflow.json").items()
    return table(columns, rows) + source("counterflow.json", "counterflow")


TABLES = {
    "ignitions": ignitions_table,
    "flow-states": flow_states_table,
    "flow-around": around_table,
    "flow-errors": flow_errors_table,
    "counterflow": counterflow_table,
}
