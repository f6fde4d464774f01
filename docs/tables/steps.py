"""Tables of surrogates of any time step (accuracy.md)."""

from combred.experiments.accuracy import LEFT

from .markdown import both, code, number, percent, plain, seconds, table
from .results import by_model, chemistry, not_ignited, read, source


def flow_states_table() -> str:
    """Shares of the states of each kind that the solver advances at the two longest time steps, of
    flow_states.json."""
    models = by_model("flow_states.json")

    def solved(rows: dict[str, dict]) -> str:
        return percent(rows["1e-06"]["solved"], rows["1e-05"]["solved"], digits=1)

    kinds = next(iter(models.values()))
    rows = [(plain(kind), *(solved(of[kind]) for of in models.values())) for kind in kinds]
    return table([f"{LEFT} at 1e-6 / 1e-5 s", *map(code, models)], rows)


def flow_errors_table() -> str:
    """The worst of all kinds of states of each model, of flow_states.json: undetected errors,
    largest error of T, states accepted by the measure of DFODE-kit; and, of the kinds around the
    range of `drm19-full`, undetected errors."""
    rows, around = [], by_model("flow_states.json", "around")

    def each(kinds: dict, key: str, worst=max) -> list[float]:
        return [worst(kind[dt][key] for kind in kinds.values()) for dt in ("1e-06", "1e-05")]

    for model, kinds in by_model("flow_states.json").items():
        bad, unusual = (percent(*each(of, "bad"), digits=1) for of in (kinds, around[model]))
        T = " / ".join(number(one, 1) for one in each(kinds, "largest_T_error"))
        accepted = percent(*each(kinds, "accepted_states", min), digits=1)
        rows.append((chemistry(model), bad, f"{T} K", accepted, unusual))
    heads = ["at 1e-6 / 1e-5 s", "undetected", "error of T", "accepted", "undetected, unusual"]
    return table(heads, rows) + source("flow_states.json", "flow_states judge --states FILE")


def ignitions_table() -> str:
    """Errors of ignitions at any pressure and dt, of ignitions.json."""
    models = by_model("ignitions.json")
    models["solver"] = read("ignitions.json", "models")["solver"]

    def delay(found: dict) -> str | None:
        failed = f"{not_ignited(found)} of {len(found['delay_errors'])} do not ignite"
        return failed if not_ignited(found) else both(found, digits=3)

    rows = []
    for model, by_dt in models.items():
        name = "**solver**" if model == "solver" else chemistry(model)
        burnt = number(max(of["last_T_error"] for of in by_dt.values()), 1)
        rows.append((name, *(delay(by_dt[dt]) for dt in models["solver"]), f"{burnt} K"))
    heads = ["model", *(f"delay, {seconds(dt)}" for dt in models["solver"]), "burnt T"]
    return table(heads, rows) + source("ignitions.json", "ignitions")


def counterflow_table() -> str:
    """Largest errors in the counterflow flames, and error of their extinction, of
    counterflow.json."""
    rows = []
    for model, found in by_model("counterflow.json").items():
        of = found["flames"]
        T, profile = (max(row[key] for row in of) for key in ("peak_T_error", "profile_T_error"))
        peak = max(max(row["peak_errors"].values()) for row in of)
        rows.append((
            chemistry(model),
            f"{number(T, 2)} K",
            f"{number(profile, 1)} K",
            percent(peak, digits=1),
            f"{found['extinction']:.0f} 1/s ({100 * found['extinction_error']:+.1f} %)",
        ))  # fmt: skip
    heads = ["model", "peak T", "profile of T", "peak of a species", "extinction"]
    return table(heads, rows) + source("counterflow.json", "counterflow")


TABLES = {
    "ignitions": ignitions_table,
    "flow-states": flow_states_table,
    "flow-errors": flow_errors_table,
    "counterflow": counterflow_table,
}
