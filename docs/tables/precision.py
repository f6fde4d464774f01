"""Tables of error against time and weights (accuracy.md, numerics.md)."""

import combred

from .markdown import both, code, digits, number, seconds, short, table, us
from .results import by_model, chemistry, in_order, read, source

OURS = combred.Surrogate.TOLERANCE


# Tolerances of the solvers in the table; a surrogate has its default.
SHOWN = {
    "combred.solver": (0.1, 0.01, 1e-3, 1e-5), "CVODE": (1e-6,),
    "CVODE, exact Jacobian": (1e-6,), "Rosenbrock34": (0.01,), "seulex": (1e-4,),
}  # fmt: skip


def solvers_table() -> str:
    """Times and errors of solvers and models, of work_precision.json."""
    lines = read("work_precision.json", "lines")

    def at(name: str, tolerance: float, dt: str) -> dict:
        return next(row for row in lines[dt][name] if row["tolerance"] == tolerance)

    shown, rows = SHOWN | {model: (OURS,) for model in in_order(lines["1e-06"])}, []
    for name, given in shown.items():
        for tolerance in given:
            found = [at(name, tolerance, dt) for dt in lines]
            times = " / ".join(str(digits(1e6 * one["seconds"], 2)) for one in found)
            errors = " / ".join(f"{one['rms']:.0e}".replace("e-0", "e-") for one in found)
            solver = name if name in SHOWN else chemistry(name)
            rows.append((f"{solver}, {short(tolerance)}", f"{times} us", errors))
    steps = " / ".join(seconds(dt).removesuffix(" s") for dt in lines)
    told = source("work_precision.json", "work_precision --states FILE")
    return table(["solver, tolerance", f"time, dt = {steps} s", "error"], rows) + told


def orders_table() -> str:
    """Measured orders of convergence, of work_precision.json."""
    rows = [
        (code(name), *(number(orders[key], 2) for key in ("trained", "random", "zero")))
        for name, orders in by_model("work_precision.json", "orders").items()
    ]
    heads = ["order of convergence", "as trained", "random last layer", "last layer of zeros"]
    return table(heads, rows)


OTHERS = "solver, 0.001", "CVODE, 1e-06", "quasi-steady step"


def weights_table() -> str:
    """Errors of delays and flame speeds over weights of two methods, of weights.json."""
    results, rows = read("weights.json"), []
    for method, sizes in results["methods"].items():
        for row in sizes[1:] if rows else sizes:  # each begins with the network not reduced
            name = method.replace("_", " ") if rows else "not reduced"
            errors = (both(row.get(key)) for key in ("alone", "flames"))
            rows.append((name, f"{row['weights']:,}", *errors, us(1e6 * row["seconds"])))
    for name in OTHERS:
        one = results["others"][name]
        errors = (both(of, digits=3) for of in (one, one.get("flames")))
        time = us(1e6 * one["seconds"])
        rows.append((f"**{name.replace('e-0', 'e-')}**", None, *errors, time))
    heads = ["network alone", "weights", "delay", "flame speed", "time a state"]
    return table(heads, rows) + source("weights.json", "weights")


TABLES = {
    "solvers": solvers_table,
    "orders": orders_table,
    "weights": weights_table,
}
