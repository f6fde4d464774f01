"""Tables of the solver in each mechanism (solver.md)."""

from combred.native.solver.generator import TOLERANCE

from .markdown import digits, percent, seconds, short, table
from .results import MISSING, mechanisms, read, source


def mechanisms_table() -> str:
    """What the solver costs and how right it is in each mechanism, of solver.json."""
    body = []
    for name, found in mechanisms().items():
        check = found["check"]
        default = [row for row in check["delays"] if row["tolerance"] == TOLERANCE]
        first, second = check["times"]
        body.append([
            f"{name}: {found['species']} species, {found['reactions']} reactions",
            f"{found['compile_s']:.0f} / {check['seconds']:.0f} s",
            f"{1e6 * first['seconds']:.2g} / {1e6 * second['seconds']:.2g} us",
            percent(max(row["worst"] for row in default), digits=3),
            f"{float(format(first['cvode_seconds'] / first['seconds'], '.2g')):.0f}",
        ])  # fmt: skip
    head = ["mechanism", "compiled in / check", "time a state", "delay error, worst",
            "faster than CVODE"]  # fmt: skip
    return table(head, body) + told_solver() if body else MISSING


def told_solver() -> str:
    """The source of the tables of solver.json."""
    return source("solver.json", "solver")


def solver_table() -> str:
    """Rate types, time of a step and result of the check of each mechanism, of solver.json."""
    body = []
    for name, found in mechanisms().items():
        step, check = found["step_us"], found["check"]
        rates = ", ".join(f"{count} {kind}" for kind, count in check["rates"].items())
        made = [row["right"] for row in check["verdict"] if not row["skipped"]]
        left = len(check["verdict"]) - len(made)
        verdict = f"{sum(made)} of {len(made)}" + (f", {left} not compared" if left else "")
        body.append([
            f"{name}: {rates}",
            f"{step['float']:.2f} / {step['double']:.1f} us",
            verdict,
        ])  # fmt: skip
    head = ["mechanism, rates", "a step, floats / doubles", "within limits"]
    return table(head, body) + told_solver() if body else MISSING


def large_text() -> str:
    """What a mechanism of 1268 species costs, of large.json."""
    found = read("large.json")
    if not found:
        return MISSING
    steps = {key: row for key, row in found.items() if key.endswith(" s")}
    own, cvode = (
        " and ".join(f"{digits(row[key] / 1e3, 2)} ms" for row in steps.values())
        for key in ("us", "us_CVODE")
    )
    return (
        f"`{found['mechanism']}`, which comes with Cantera, has {found['species']} species and "
        f"{found['reactions']} reactions. Its solver compiles in {found['compile_s'] / 60:.0f} "
        f"minutes and {found['compile_GB']:.1f} GB of memory, on one core. A state of an ignition "
        f"takes {own} in steps of {' and '.join(seconds(key[:-2]) for key in steps)}; CVODE at "
        f"1e-6 takes {cvode}. The delay of an ignition ({found['ignition']['case']}) has an error "
        f"of {short(abs(found['ignition']['delay_error']))}.\n\n{source('large.json', 'large')}"
    )


def solver_precision_table() -> str:
    """Time and error of the solver and of others in each mechanism, of solver.json."""
    text = ""
    for name, one in mechanisms().items():
        rows: dict[tuple[str, float], dict[float, dict]] = {}
        for row in one["work_precision"]:
            rows.setdefault((row["solver"], row["tolerance"]), {})[row["dt"]] = row
        dts = sorted({row["dt"] for row in one["work_precision"]})
        body = [
            [solver, f"{tolerance:g}", *(_time_and_error(of_dt[dt]) for dt in dts)]
            for (solver, tolerance), of_dt in rows.items()
        ]
        text += table([name, "tolerance", *(f"dt = {seconds(dt)}" for dt in dts)], body)
    return text + told_solver() if text else MISSING


def _time_and_error(row: dict) -> str:
    failed = f", {row['failed']} failed" if row["failed"] else ""
    us = f"{row['us']:,.0f}" if row["us"] >= 100.0 else f"{row['us']:.3g}"
    return f"{us} us, {row['rms']:.0e}{failed}"


def solver_delays_table() -> str:
    """Errors of ignition delays in each mechanism at the default tolerance, of solver.json."""
    body, dts = [], list[float]()
    for name, found in mechanisms().items():
        rows = [row for row in found["check"]["delays"] if row["tolerance"] == TOLERANCE]
        dts = [row["dt"] for row in rows]
        body.append([name, *(percent(row["mean"], row["worst"], digits=4) for row in rows)])
    head = ["error of the delay, mean / worst", *(f"dt = {seconds(dt)}" for dt in dts)]
    return table(head, body) + told_solver() if body else MISSING


TABLES = {
    "mechanisms": mechanisms_table,
    "solver": solver_table,
    "large": large_text,
    "solver-precision": solver_precision_table,
    "solver-delays": solver_delays_table,
}
