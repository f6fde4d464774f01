"""Tables of error against time and weights (accuracy.md, numerics.md)."""

from pathlib import Path

import combred

from .markdown import both, code, number, percent, seconds, short, table, us
from .results import by_model, in_order, read, source

FIGURE = Path(__file__).parents[1] / "work-precision.png"  # of benchmarks/work_precision.py
SHOWN = 0.1, 0.01, 1e-3  # tolerances of surrogates in the table
SOLVERS = (
    "combred.solver", "CVODE", "CVODE, generated rates", "CVODE, exact Jacobian",
    "Rosenbrock34", "seulex",
)  # fmt: skip


def precision_table() -> str:
    """Error and time of each solver at some tolerances, of work_precision.json: a table for each
    dt."""
    text = ""
    for dt, lines in read("work_precision.json", "lines").items():
        columns = {
            f"dt = {seconds(dt)}": lambda name, row: name if name in SOLVERS else code(name),
            "tolerance": lambda name, row: short(row["tolerance"]),
            "time per state": lambda name, row: f"{1e6 * row['seconds']:.1f} us",
            "error of T, rms / 99 %": lambda name, row: both(row, "rms", "q99", digits=3),
            "by the solver": lambda name, row: percent(row.get("solved"), digits=1),
        }
        rows = [
            (name, row)
            for name in (*SOLVERS, *in_order(lines))
            for row in lines.get(name, [])
            if name in SOLVERS or row["tolerance"] in SHOWN
        ]
        text += table(columns, rows)
    return text + source("work_precision.json", "work_precision --states FILE")


# The tolerance of each solver in the table of the cost of ignitions; of surrogates the default.
CHOSEN_TOLERANCES = {
    "combred.solver": 0.01, "Rosenbrock34": 0.1, "seulex": 0.01, "CVODE, exact Jacobian": 1e-4,
    "CVODE": 1e-4,
}  # fmt: skip


def ignition_work_table() -> str:
    """Time of a state and step and mean error of the delay, of ignition_work.json: a row for each
    solver at one tolerance, a column for each dt."""
    by_dt = read("ignition_work.json", "dt")
    tolerances = dict(CHOSEN_TOLERANCES)
    for name in in_order(next(iter(by_dt.values()))):
        tolerances[name] = combred.Surrogate.TOLERANCE

    def cell(of: dict, name: str, tolerance: float) -> str:
        (row,) = (row for row in of[name] if row["tolerance"] == tolerance)
        return f"{1e6 * row['seconds']:.1f} us, {percent(row['mean'], digits=3)}"

    columns = {
        "time of a state and step, error of the delay": lambda name, _: (
            name if name in CHOSEN_TOLERANCES else code(name)
        ),
        "tolerance": lambda _, tolerance: short(tolerance),
    } | {f"dt = {seconds(dt)}": lambda *row, of=of: cell(of, *row) for dt, of in by_dt.items()}
    return table(columns, tolerances.items()) + source("ignition_work.json", "ignition_work")


def orders_table() -> str:
    """Measured orders of convergence, of work_precision.json."""
    heads = {"as trained": "trained", "random last layer": "random", "last layer of zeros": "zero"}
    columns = {"order of convergence": lambda name, orders: code(name)} | {
        head: lambda name, orders, key=key: number(orders[key], 2) for head, key in heads.items()
    }
    return table(columns, by_model("work_precision.json", "orders").items())


def precision_figure() -> str:
    """The figure of error against time, of work_precision.json."""
    read("work_precision.json")  # and so it is marked where that is stale
    told = (
        "Error of T against time per state: the solver in lanes, other solvers, and the surrogates"
    )
    return f"![{told}]({FIGURE.name})\n"


FORMS = {"quasi_steady": "corrects QSS steps", "state": "sees the state alone"}


def weights_table() -> str:
    """Delay errors over weights of each method, of weights.json; a table for each form."""
    results, text = read("weights.json"), ""
    for form, title in FORMS.items():
        rows: list[tuple] = []
        for method, sizes in results[form]["methods"].items():
            for row in sizes[1:] if rows else sizes:  # each begins with the network not reduced
                name = method.replace("_", " ") if rows else "not reduced"
                errors = (both(row.get(key)) for key in ("alone", "behind", "flames"))
                rows.append((name, f"{row['weights']:,}", *errors, us(1e6 * row["seconds"])))
        for name, one in results[form]["others"].items():
            delay, speed = both(one, digits=3), both(one.get("flames"), digits=3)
            time = us(1e6 * one["seconds"])
            rows.append((f"**{name.replace('e-0', 'e-')}**", None, delay, None, speed, time))
        heads = [title, "weights", "delay, network alone", "with the solver"]
        text += table([*heads, "flame speed, alone", "time a state"], rows)
        text += source("weights.json", f"weights {form}", results[form]["machine"]) + "\n"
    return text.removesuffix("\n")


TABLES = {
    "precision": precision_table,
    "ignition-work": ignition_work_table,
    "precision-figure": precision_figure,
    "orders": orders_table,
    "weights": weights_table,
}
