"""Tables of the solver in each mechanism (solver.md)."""

from combred.native.solver.generator import TOLERANCE

from .markdown import digits, percent, seconds, short, table, us
from .results import mechanisms, read, source

SOURCE = "solver.json", "solver"


def mechanisms_table() -> str:
    """What the solver costs and how right it is in each mechanism, of solver.json."""
    columns = {
        "mechanism": lambda name, of, check: (
            f"{name}: {of['species']} species, {of['reactions']} reactions"
        ),
        "compiled in": lambda name, of, check: f"{of['compile_s']:.0f} s",
        "whole check": lambda name, of, check: f"{check['seconds']:.0f} s",
        "a step, floats / doubles": lambda name, of, check: (
            f"{of['step_us']['float']:.2f} / {of['step_us']['double']:.1f} us"
        ),
        "delay, worst error": lambda name, of, check: percent(worst_delay(check), digits=3),
    }
    rows = [(name, of, of["check"]) for name, of in mechanisms().items()]
    return table(columns, rows) + source(*SOURCE)


def worst_delay(check: dict) -> float:
    """The worst relative error of a delay at the default tolerance."""
    return max(row["worst"] for row in check["delays"] if row["tolerance"] == TOLERANCE)


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


# Solver, tolerance and time step of each column.
SHOWN = (
    ("combred.solver", 1e-3, 1e-6), ("combred.solver", 1e-3, 1e-5), ("CVODE", 1e-6, 1e-6),
    ("CVODE, exact Jacobian", 1e-6, 1e-6), ("seulex", 1e-4, 1e-6),
)  # fmt: skip


def solver_precision_table() -> str:
    """Time of a state and error of the solver and of others in each mechanism, of solver.json."""

    def cell(rows: list[dict], shown: tuple) -> str | None:
        for row in rows:
            if (row["solver"], row["tolerance"], row["dt"]) == shown:
                return f"{us(row['us'], 3)}, {row['rms']:.0e}".replace("e-0", "e-")
        return None

    columns = {"mechanism": lambda name, rows: name} | {
        f"{one[0]}, {short(one[1])}, {seconds(one[2])}": lambda name, rows, one=one: cell(rows, one)
        for one in SHOWN
    }
    rows = [(name, of["work_precision"]) for name, of in mechanisms().items()]
    return table(columns, rows) + source(*SOURCE)


TABLES = {
    "mechanisms": mechanisms_table,
    "large": large_text,
    "solver-precision": solver_precision_table,
}
