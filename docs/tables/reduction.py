"""The table of the methods of reduction (reduction.md)."""

from .markdown import percent, table
from .results import read

CHOSEN = {
    "allocation": "brain surgeon, widths chosen",
    "random": "random units",
    "scratch": "40 % of each layer, trained from scratch",
}
MIXING = {"own": "", "least_squares": ", least squares", "none": ", pruned"}


def reduction_table(ratio: float = 0.4) -> str:
    """Every method at one share of the units kept, of reduction-default.json."""
    rows = [r for r in read("reduction-default.json", "rows") if r["ratio"] == ratio]
    rows.sort(key=lambda row: row["error"], reverse=True)
    body = []
    for row in rows:
        scratch = row["method"] == "scratch"
        mixing = "" if scratch else MIXING[row["compensation"]]
        if row["method"] == "condensation" and not mixing:
            mixing = ", norm ratios"
        name = CHOSEN.get(row["method"], row["method"].replace("_", " ") + mixing)
        if row["method"] == "random":
            name += mixing
        body.append(
            [
                name,
                row["data"],
                "-" if scratch else f"{row['error']:.2f}",
                "-" if scratch else _delays(row["before"]),
                _delays(row["after"]),
            ]
        )
    head = ["method", "calibration on", "output error", "delay error", "delay error, retrained"]
    return table(head, body, left=2)


def _delays(found: dict) -> str:
    """Median and worst delay error of a cut network, or how many cases do not ignite."""
    cases, failed = found["cases"], found["not_ignited"]
    if failed:
        return f"{failed} of {cases} do not ignite"
    return percent(found["delay_median"], found["delay_worst"], digits=1)


TABLES = {
    "reduction": reduction_table,
}
