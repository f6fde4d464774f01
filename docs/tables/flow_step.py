"""Chemistries of methane/air beside each other (README.md, index.md, accuracy.md)."""

from .markdown import digits, percent, short, table, us
from .results import machine, mechanisms, read, source

# Of README.md, each with what it is.
SHOWN = {
    "drm19-full": "`drm19-full`, of the size of Chen & Xu",
    "drm19-38k": "`drm19-38k`, a reduced network",
    "GRI-3.0, reduced: 1 %": "a mechanism reduced by `combred reduce`, by the solver",
    "DRM19, 0.001": "the generated solver",
    "CVODE, exact Jacobian, 1e-06": "CVODE, compiled, exact Jacobian",
}
CANTERA = "CVODE, 1e-06"  # of Cantera, called for each state


def short_table() -> str:
    """The rows of flow_step.json that README.md shows, and the ratios of their times."""
    rows = read("flow_step.json", "rows")

    def size(row: dict) -> str | None:
        if row["weights"]:
            return f"{row['weights']:,} weights"
        return f"{row['species']} species" if row is rows["GRI-3.0, reduced: 1 %"] else None

    columns = {
        "chemistry": lambda title, row: title,
        "size": lambda title, row: size(row),
        "delay, worst error": lambda title, row: percent(
            row["worst"], digits=2 if row["worst"] > 1e-4 else 3
        ),
        "a state": lambda title, row: us(1e6 * row["seconds"]),
        "a flow step": lambda title, row: us(1e6 * row["flow_step"]),
    }
    shown = [(title, rows[name]) for name, title in SHOWN.items() if name in rows]
    return table(columns, shown) + _ratios(rows)


def _ratios(rows: dict[str, dict]) -> str:
    """The fastest compiled competitor and Cantera beside the solver; the reduced mechanism beside
    the detailed one."""
    own = rows["DRM19, 0.001"]["seconds"]
    peers = {name: row["seconds"] / own for name, row in rows.items() if row["kind"] == "peer"}
    name = min(peers, key=peers.__getitem__)
    reduced = rows["GRI-3.0"]["flow_step"] / rows["GRI-3.0, reduced: 1 %"]["flow_step"]
    return (
        f"**The fastest compiled competitor, {name.rpartition(', ')[0]}, takes "
        f"{digits(peers[name], 2)} times as long as the solver**; Cantera's\nCVODE, called for "
        f"each state, {digits(peers[CANTERA], 2)} times. The reduced mechanism makes a flow step "
        f"{digits(reduced, 2)} times as fast.\n"
    )


def whole_table() -> str:
    """All rows of flow_step.json."""
    columns = {
        "chemistry, its reference": lambda name, row: f"{name}, {row['of'].removesuffix('.yaml')}",
        "tolerance": lambda name, row: short(row["tolerance"]),
        "delay, mean / worst": lambda name, row: percent(row["mean"], row["worst"], digits=3),
        "a state": lambda name, row: us(1e6 * row["seconds"]),
        "a flow step": lambda name, row: us(1e6 * row["flow_step"]),
    }
    rows = read("flow_step.json", "rows").items()
    return table(columns, rows) + source("flow_step.json", "flow_step")


def workloads_table() -> str:
    """The solver's time of a state of DRM19, in each file that has it, by the states."""
    flow, found = "a state of a flow", read("flow_step.json", "rows")["DRM19, 0.001"]
    checked = mechanisms()["drm19"]["work_precision"]
    lines = read("work_precision.json", "lines")["1e-06"]["combred.solver"]
    drawn = read("weights.json")
    flame = read("turbulent_ignition.json", "ways")["solver"]
    rows = [
        (flow, "of `combred check`, 3840 in a batch", 1e6 * found["seconds"], "flow_step.json"),
        (flow, "of `combred check`, 960 in a batch", _at(checked, "us"), "solver.json"),
        (flow, "drawn by another program", 1e6 * _at(lines, "seconds"), "work_precision.json"),
        *(
            (workload, of, 1e6 * drawn[form]["others"]["solver, 0.001"]["seconds"], "weights.json")
            for form, workload, of in (
                ("quasi_steady", flow, "of training, 0.3 to 60 atm"),
                ("state", "a state along ignitions", "of training, with flames, near 1 atm"),
            )
        ),
        (
            "a cell of a named flow",
            "turbulent ignition, OpenFOAM",
            flame["us"],
            "turbulent_ignition.json",
        ),
    ]
    columns = {
        "workload": lambda workload, *_: workload,
        "states": lambda workload, states, *_: states,
        "DRM19, solver at 0.001": lambda workload, states, time, *_: us(time),
        "machine": lambda *row: machine(row[-1]),
        "measured in": lambda *row: f"[{row[-1]}](../benchmarks/results/{row[-1]})",
    }
    return table(columns, rows, left=2)


def _at(rows: list[dict], key: str) -> float:
    """The time of the solver at a tolerance of 0.001 over 1e-6 s."""
    return next(
        row[key]
        for row in rows
        if row["tolerance"] == 1e-3
        and row.get("dt", 1e-6) == 1e-6
        and row.get("solver", "combred.solver") == "combred.solver"
    )


TABLES = {
    "flow-step-short": short_table,
    "flow-step": whole_table,
    "workloads": workloads_table,
}
