"""The table of the methods of reduction (reduction.md)."""

from .markdown import both, table
from .results import read

RATIO = 0.4  # share of the units that are kept
CHOSEN = {
    "allocation": "brain surgeon, widths chosen",
    "random": "random units",
    "scratch": "40 % of each layer, trained from scratch",
}
MIXING = {"own": "", "least_squares": ", least squares", "none": ", pruned"}


def reduction_table() -> str:
    """Every method at one share of the units kept, of reduction-default.json."""
    rows = [r for r in read("reduction-default.json", "rows") if r["ratio"] == RATIO]
    rows.sort(key=lambda row: row["error"], reverse=True)
    cells = [
        (
            _name(row),
            None if _scratch(row) else f"{row['error']:.2f}",
            _delays(row["after"]),
        )
        for row in rows
    ]
    heads = ["method", "output error", "delay error, retrained"]
    return table(heads, cells)


def _scratch(row: dict) -> bool:
    return row["method"] == "scratch"


def _name(row: dict) -> str:
    """The method of a row, and how it mixes the weights of units that it merges."""
    method, mixing = row["method"], "" if _scratch(row) else MIXING[row["compensation"]]
    if method in CHOSEN:
        return CHOSEN[method] + mixing * (method == "random")
    if method == "condensation" and not mixing:
        mixing = ", norm ratios"
    gaussian = ", Gaussian inputs" * (row["data"] == "Gaussian")
    return method.replace("_", " ") + mixing + gaussian


def _delays(found: dict) -> str | None:
    """Median and worst delay error of a retrained network, or how many cases do not ignite."""
    if found["not_ignited"]:
        return f"{found['not_ignited']} fail"
    return both(found, "delay_median", "delay_worst", digits=1)


TABLES = {
    "reduction": reduction_table,
}
