"""Tables of error against time and weights (accuracy.md)."""

from pathlib import Path

import combred

from .markdown import code, digits, number, percent, seconds, short, table
from .results import MISSING, in_order, read, source

FIGURE = Path(__file__).parents[1] / "work-precision.png"  # of benchmarks/work_precision.py
SHOWN = 0.1, 0.01, 1e-3  # tolerances of surrogates in the table
SOLVERS = (
    "combred.solver", "CVODE", "CVODE, generated rates", "CVODE, exact Jacobian",
    "Rosenbrock34", "seulex",
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
    return text + source("work_precision.json", "work_precision --states FILE")


# The tolerance of each solver in the table of the cost of ignitions; of surrogates the default.
CHOSEN_TOLERANCES = {
    "combred.solver": 0.01, "Rosenbrock34": 0.1, "seulex": 0.01, "CVODE, exact Jacobian": 1e-4,
    "CVODE": 1e-4,
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
    told = source("ignition_work.json", "ignition_work")
    return table(head, body) + told


def orders_table() -> str:
    """Measured orders of convergence, of work_precision.json."""
    orders = read("work_precision.json", "orders")
    body = [
        [code(name), *(number(orders[name][key], 2) for key in ("trained", "random", "zero"))]
        for name in in_order(orders)
    ]
    head = ["order of convergence", "as trained", "random last layer", "last layer of zeros"]
    return table(head, body) if body else MISSING


def precision_figure() -> str:
    """The figure of error against time, if it has been drawn, of work_precision.json."""
    read("work_precision.json")  # and so it is marked where that is stale
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
                behind, flames = row.get("behind"), row.get("flames")
                body.append([
                    "not reduced" if not body else method.replace("_", " "),
                    f"{row['weights']:,}",
                    percent(row["alone"]["mean"], row["alone"]["worst"]),
                    percent(behind["mean"], behind["worst"]) if behind else "-",
                    percent(flames["mean"], flames["worst"]) if flames else "-",
                    f"{digits(1e6 * row['seconds'], 2)} us",
                ])  # fmt: skip
        for name, one in results.get(form, {}).get("others", {}).items():
            delay = percent(one["mean"], one["worst"], digits=3)
            time = f"{digits(1e6 * one['seconds'], 2)} us"
            flames = one.get("flames")
            speed = percent(flames["mean"], flames["worst"], digits=3) if flames else "-"
            body.append([f"**{name.replace('e-0', 'e-')}**", "-", delay, "-", speed, time])
        if body:
            head = [title, "weights", "delay, network alone", "with the solver",
                    "flame speed, alone", "time a state"]  # fmt: skip
            machine = results[form]["machine"]
            text += table(head, body) + source("weights.json", f"weights {form}", machine) + "\n"
    return text.removesuffix("\n") or MISSING


TABLES = {
    "precision": precision_table,
    "ignition-work": ignition_work_table,
    "precision-figure": precision_figure,
    "orders": orders_table,
    "weights": weights_table,
}
