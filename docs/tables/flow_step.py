"""Chemistries of methane/air beside each other (README.md, index.md, accuracy.md)."""

from .markdown import percent, short, table, us
from .results import read, source

# Of README.md, each with what it is.
SHOWN = {
    "drm19-full": "`drm19-full`, a network of the size of Chen & Xu 2024",
    "drm19-38k": "`drm19-38k`, a reduced network",
    "DRM19, 0.001": "DRM19 by the generated solver",
    "Rosenbrock34, 0.01": "DRM19 by Rosenbrock34, compiled, exact Jacobian",
    "CVODE, exact Jacobian, 1e-06": "DRM19 by CVODE, compiled, exact Jacobian",
    "GRI-3.0": "GRI-3.0 by the generated solver",
    "GRI-3.0, reduced: 1 %": "GRI-3.0 reduced by `combred reduce`",
}


def short_table() -> str:
    """The rows of flow_step.json that README.md shows."""
    rows = read("flow_step.json", "rows")

    def size(row: dict) -> str:
        return f"{row['weights']:,} weights" if row["weights"] else f"{row['species']} species"

    def worst(row: dict) -> str:
        cases = row["cases"]
        burnt = f", {cases - row['failed']} of {cases} cases" if row["failed"] else ""
        return percent(row["worst"], digits=2 if row["worst"] > 1e-4 else 3) + burnt

    columns = {
        "chemistry": lambda title, row: title,
        "size": lambda title, row: size(row),
        "ignition delay, worst error": lambda title, row: worst(row),
        "a state": lambda title, row: us(1e6 * row["seconds"]),
        "a flow step": lambda title, row: us(1e6 * row["flow_step"]),
    }
    return table(columns, [(title, rows[name]) for name, title in SHOWN.items() if name in rows])


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


TABLES = {"flow-step-short": short_table, "flow-step": whole_table}
