"""The first page, and the tables of README.md."""

import combred

from .markdown import code, percent, short, table
from .results import TYPICAL, read

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


TABLES = {"solvers": solvers_table}
