"""Chemistries of methane/air beside each other (README.md, index.md, accuracy.md)."""

from .markdown import digits, percent, table, us
from .results import chemistry, read, source

# Of README.md, each with what it is.
SHOWN = {
    "drm19-full": "`drm19-full`, 23-3200-1600-800-400-23, network alone",
    "drm19-38k": "`drm19-38k`, with the solver behind it",
    "DRM19, 0.001": "DRM19, by the solver",
    "CVODE, exact Jacobian, 1e-06": "DRM19, by CVODE, compiled, exact Jacobian",
    "GRI-3.0, reduced: 1 %": "GRI-3.0 reduced by `combred reduce`",
}
CANTERA = "CVODE, 1e-06"  # of Cantera, called for each state
TIMES = "a state", "a flow step"


def short_table() -> str:
    """The rows of flow_step.json that README.md shows, and the ratios of their times."""
    found, rows = read("flow_step.json", "rows"), []
    for name, title in SHOWN.items():
        if name not in found:
            continue
        row = found[name]
        size = f"{row['weights']:,} weights" if row["weights"] else f"{row['species']} species"
        worst = percent(row["worst"], digits=2 if row["worst"] > 1e-4 else 3)
        rows.append((title, size, worst, *_times(row)))
    return table(["chemistry", "size", "delay, worst error", *TIMES], rows) + _ratios(found)


def _ratios(rows: dict[str, dict]) -> str:
    """The fastest compiled competitor and Cantera beside the solver; the reduced mechanism beside
    the detailed one."""
    own = rows["DRM19, 0.001"]["seconds"]
    peers = {name: row["seconds"] / own for name, row in rows.items() if row["kind"] == "peer"}
    name = min(peers, key=peers.__getitem__)
    detailed = rows["GRI-3.0"]["flow_step"]
    reduced, whole = detailed / rows["GRI-3.0, reduced: 1 %"]["flow_step"], us(1e6 * detailed)
    return (
        f"**The fastest compiled competitor, {name.rpartition(', ')[0]}, takes "
        f"{digits(peers[name], 2)} times as long as the solver**; Cantera's\nCVODE, called for "
        f"each state, {digits(peers[CANTERA], 2)} times. GRI-3.0 in full takes {whole} a flow "
        f"step, {digits(reduced, 2)} times as long.\n"
    )


def whole_table() -> str:
    """All rows of flow_step.json."""
    rows = []
    for name, row in read("flow_step.json", "rows").items():
        delay = percent(row["mean"], row["worst"], digits=3)
        title = chemistry(name) if row["kind"] == "network" else name
        rows.append((f"{title}, {row['of'].removesuffix('.yaml')}", delay, *_times(row)))
    heads = ["chemistry, its reference", "delay, mean / worst", *TIMES]
    return table(heads, rows) + source("flow_step.json", "flow_step")


def _times(row: dict) -> tuple[str, str]:
    return us(1e6 * row["seconds"]), us(1e6 * row["flow_step"])


TABLES = {"flow-step-short": short_table, "flow-step": whole_table}
