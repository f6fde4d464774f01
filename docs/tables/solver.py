"""Tables of the solver in each mechanism (solver.md)."""

from combred.native.solver.generator import TOLERANCE

from .markdown import both, digits, percent, seconds, short, table
from .results import mechanisms, read, source

SOURCE = "solver.json", "solver"


def mechanisms_table() -> str:
    """What the solver costs and how right it is in each mechanism, of solver.json."""
    columns = {
        "mechanism": lambda name, of, check: (
            f"{name}: {of['species']} species, {of['reactions']} reactions"
        ),
        "compiled in / check": lambda name, of, check: (
            f"{of['compile_s']:.0f} / {check['seconds']:.0f} s"
        ),
        "time a state": lambda name, of, check: (
            " / ".join(f"{1e6 * row['seconds']:.2g}" for row in check["times"]) + " us"
        ),
        "delay error, worst": lambda name, of, check: percent(worst_delay(check), digits=3),
        "faster than CVODE": lambda name, of, check: f"{over_cvode(check):.0f}",
    }
    rows = [(name, of, of["check"]) for name, of in mechanisms().items()]
    return table(columns, rows) + source(*SOURCE)


def delays(check: dict) -> list[dict]:
    """The delays of a check at the default tolerance, by dt."""
    return [row for row in check["delays"] if row["tolerance"] == TOLERANCE]


def worst_delay(check: dict) -> float:
    """The worst relative error of a delay at the default tolerance."""
    return max(row["worst"] for row in delays(check))


def over_cvode(check: dict) -> float:
    """How many times faster than CVODE the solver is at the first dt of a check."""
    first = check["times"][0]
    return digits(first["cvode_seconds"] / first["seconds"], 2)


def solver_table() -> str:
    """Rate types, time of a step and result of the check of each mechanism, of solver.json."""

    def verdict(rows: list[dict]) -> str:
        made = [row["right"] for row in rows if not row["skipped"]]
        left = len(rows) - len(made)
        return f"{sum(made)} of {len(made)}" + (f", {left} not compared" if left else "")

    columns = {
        "mechanism, rates": lambda name, step, check: (
            f"{name}: {', '.join(f'{count} {kind}' for kind, count in check['rates'].items())}"
        ),
        "a step, floats / doubles": lambda name, step, check: (
            f"{step['float']:.2f} / {step['double']:.1f} us"
        ),
        "within limits": lambda name, step, check: verdict(check["verdict"]),
    }
    rows = [(name, of["step_us"], of["check"]) for name, of in mechanisms().items()]
    return table(columns, rows) + source(*SOURCE)


def large_text() -> str:
    """What a mechanism of 1268 species costs, of large.json."""
    found = read("large.json")
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
        columns = {name: lambda way, of: way[0], "tolerance": lambda way, of: f"{way[1]:g}"} | {
            f"dt = {seconds(dt)}": lambda way, of, dt=dt: _time_and_error(of[dt])
            for dt in sorted({row["dt"] for row in one["work_precision"]})
        }
        text += table(columns, rows.items())
    return text + source(*SOURCE)


def _time_and_error(row: dict) -> str:
    failed = f", {row['failed']} failed" if row["failed"] else ""
    us = f"{row['us']:,.0f}" if row["us"] >= 100.0 else f"{row['us']:.3g}"
    return f"{us} us, {row['rms']:.0e}{failed}"


def solver_delays_table() -> str:
    """Errors of ignition delays in each mechanism at the default tolerance, of solver.json."""
    rows = {name: delays(found["check"]) for name, found in mechanisms().items()}
    columns = {"error of the delay, mean / worst": lambda name, of: name} | {
        f"dt = {seconds(row['dt'])}": lambda name, of, i=i: both(of[i], digits=4)
        for i, row in enumerate(list(rows.values())[-1])
    }
    return table(columns, rows.items()) + source(*SOURCE)


TABLES = {
    "mechanisms": mechanisms_table,
    "solver": solver_table,
    "large": large_text,
    "solver-precision": solver_precision_table,
    "solver-delays": solver_delays_table,
}
