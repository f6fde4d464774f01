"""Tables of error against time and weights (accuracy.md, numerics.md)."""

import combred

from .markdown import both, code, number, percent, seconds, short, table, us
from .results import TYPICAL, by_model, in_order, read, source

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


OURS = combred.Surrogate.TOLERANCE


def _rounded(error: float) -> str:
    """One digit of an error: 0.0042 is "4e-3"."""
    return f"{error:.0e}".replace("e-0", "e-")


def _at(rows: list[dict], *tolerances: float) -> list[dict]:
    return [row for row in rows if row["tolerance"] in tolerances]


# Tolerances of the solvers in the table of some lines; a surrogate has its default.
SHOWN_SOLVERS = {
    "combred.solver": (0.01, 1e-3, 1e-5), "CVODE": (1e-4, 1e-6),
    "CVODE, exact Jacobian": (1e-4, 1e-6), "Rosenbrock34": (0.01,), "seulex": (0.01,),
}  # fmt: skip


def solvers_table(model: str = TYPICAL) -> str:
    """Time and error of solvers and of one model at dt = 1e-6 s, of work_precision.json."""
    lines = read("work_precision.json", "lines")["1e-06"]

    def title(name: str, rows: list[dict]) -> str:
        if name == "combred.solver":
            return f"**{code(name)}**"
        if name != model:
            return name
        return f"{code(name)}, {percent(rows[0]['solved'], digits=0)} of the states by the solver"

    columns = {
        "solver": title,
        "relative tolerance": lambda name, rows: "; ".join(short(r["tolerance"]) for r in rows),
        "time a state": lambda name, rows: (
            "; ".join(f"{1e6 * r['seconds']:.{r['seconds'] < 1e-5:d}f}" for r in rows) + " us"
        ),
        "error of T": lambda name, rows: "; ".join(_rounded(r["rms"]) for r in rows),
    }
    shown = SHOWN_SOLVERS | {model: (OURS,)}
    return table(columns, [(name, _at(lines[name], *given)) for name, given in shown.items()])


def orders_table() -> str:
    """Measured orders of convergence, of work_precision.json."""
    heads = {"as trained": "trained", "random last layer": "random", "last layer of zeros": "zero"}
    columns = {"order of convergence": lambda name, orders: code(name)} | {
        head: lambda name, orders, key=key: number(orders[key], 2) for head, key in heads.items()
    }
    return table(columns, by_model("work_precision.json", "orders").items())


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
    "solvers": solvers_table,
    "orders": orders_table,
    "weights": weights_table,
}
