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
TIMES = "a state", "a flow step"


def short_table() -> str:
    """The rows of flow_step.json that README.md shows."""
    found, rows = read("flow_step.json", "rows"), []
    for name, title in SHOWN.items():
        if name not in found:
            continue
        row = found[name]
        size = f"{row['weights']:,} weights" if row["weights"] else f"{row['species']} species"
        cases, worst = row["cases"], percent(row["worst"], digits=2 if row["worst"] > 1e-4 else 3)
        burnt = f", {cases - row['failed']} of {cases} cases" if row["failed"] else ""
        rows.append((title, size, worst + burnt, *_times(row)))
    return table(["chemistry", "size", "ignition delay, worst error", *TIMES], rows)


def whole_table() -> str:
    """All rows of flow_step.json."""
    rows = []
    for name, row in read("flow_step.json", "rows").items():
        what, delay = short(row["tolerance"]), percent(row["mean"], row["worst"], digits=3)
        rows.append((f"{name}, {row['of'].removesuffix('.yaml')}", what, delay, *_times(row)))
    heads = ["chemistry, its reference", "tolerance", "delay, mean / worst", *TIMES]
    return table(heads, rows) + source("flow_step.json", "flow_step")


def _times(row: dict) -> tuple[str, str]:
    return us(1e6 * row["seconds"]), us(1e6 * row["flow_step"])


TABLES = {"flow-step-short": short_table, "flow-step": whole_table}
