"""All reduction methods compared on the network of the run, if reduction.json is in the folder.

Takes the rows that benchmarks/reduction.py wrote into the run folder; gives a section with tables
and a figure.
"""

from matplotlib.figure import Figure

from combred.report.blocks import Block, Note, Picture, Section, Table, Text, percent, significant
from combred.report.folder import Folder
from combred.report.style import DASHES, FIRST, LAST, MARKERS, WIDTH

HUES = (FIRST, "#56B4E9", "#009E73", "#E69F00", "#CC79A7", "#777777", LAST, "#000000", "#7B3294")


def methods_section(folder: Folder, drawn: set[str]) -> Section | None:
    """Tables and figure of the comparison; None if there was none."""
    if not folder.methods:
        return None
    measured, rows = folder.methods["measured_on"], folder.methods["rows"]
    names = {key: _name(*key) for key in dict.fromkeys(_key(row) for row in rows)}
    ratios = sorted({row["ratio"] for row in rows}, reverse=True)
    found = {(_key(row), row["ratio"]): row for row in rows}
    blocks: list[Block] = [
        Text(
            f"The network {'-'.join(map(str, measured['widths']))} reduced by every method. Each "
            "hidden layer keeps the share of its units that heads a column. Allocation: the same "
            "number of parameters, with widths chosen for each layer. Scratch: a new network of "
            "the same widths, trained as long as the others are retrained."
        )
    ]
    if "methods" in drawn:
        caption = (
            "Error of the output relative to the unreduced network, on held-out states, right "
            "after the cut. Solid: with compensation by least squares on training states (neuron "
            "merging then keeps the same units as magnitude); dashed: without data."
        )
        alt = "Output error of every method against the share of units kept"
        blocks.append(Picture("methods", alt, caption, "reduction.json"))
    heads = ["method", "compensation", "data", *(f"{100 * r:g} %" for r in ratios), "time"]
    cut = [
        [*name, *(_error(found.get((key, r))) for r in ratios), _seconds(found, key, ratios)]
        for key, name in names.items()
        if key[0] != "scratch"
    ]
    caption = (
        "Output error right after the cut, and the time that the largest cut took on one core."
    )
    blocks.append(Table(heads, cut, "reduction.json", caption, left=3))
    if all("after" in row for row in rows):
        for when, words in (("before", "right after the cut"), ("after", "after retraining")):
            table = [
                [*name, *(_delay(found.get((key, r)), when) for r in ratios)]
                for key, name in names.items()
                if not (key[0] == "scratch" and when == "before")
            ]
            steps = measured["retraining"]["steps"]
            caption = f"Error of the ignition delay {words}, median / worst"
            caption += f" ({steps:,} steps)." if when == "after" else "."
            blocks.append(Table(heads[:-1], table, "reduction.json", caption, left=3))
    else:
        blocks.append(Note("Retraining and ignition delays were not measured."))
    return Section("Methods", blocks)


def draw_methods(methods: dict) -> Figure:
    """Output error right after the cut against the share of units that are kept."""
    figure = Figure(figsize=(WIDTH, 4.6))
    axes = figure.subplots()
    rows = [row for row in methods["rows"] if row["method"] != "scratch"]
    hues = dict(zip(dict.fromkeys(r["method"] for r in rows), HUES * len(rows), strict=False))
    for key in dict.fromkeys(_key(row) for row in rows):
        method, compensation, data = key
        if data == "Gaussian" or (compensation != "least_squares" and data != "none"):
            continue
        own = sorted((r["ratio"], r["error"]) for r in rows if _key(r) == key)
        fitted = compensation == "least_squares"
        axes.plot(
            [100 * ratio for ratio, _ in own],
            [error for _, error in own],
            color=hues[method],
            ls=DASHES[0] if fitted else DASHES[1],
            marker=MARKERS[0] if fitted else MARKERS[1],
            ms=4,
            label=method.replace("_", " ") + ("" if fitted else ", no data"),
        )
    axes.set_yscale("log")
    axes.invert_xaxis()
    axes.set(xlabel="units kept in every hidden layer [%]", ylabel="relative output error [-]")
    axes.legend(loc="center left", bbox_to_anchor=(1.0, 0.5))
    return figure


def _key(row: dict) -> tuple[str, str, str]:
    return row["method"], row["compensation"], row["data"]


def _name(method: str, compensation: str, data: str) -> list[str]:
    if method == "scratch":
        return ["scratch", "–", "–"]
    return [method.replace("_", " "), compensation.replace("_", " "), data]


def _error(row: dict | None) -> str:
    return "–" if row is None else significant(row["error"], 2)


def _seconds(found: dict, key: tuple, ratios: list[float]) -> str:
    row = found.get((key, ratios[-1]))
    return "–" if row is None else f"{significant(row['seconds'], 2)} s"


def _delay(row: dict | None, when: str) -> str:
    if row is None:
        return "–"
    judged = row[when]
    if judged["not_ignited"]:
        return f"{judged['not_ignited']} of {judged['cases']} not ignited"
    return f"{percent(judged['delay_median'])} / {percent(judged['delay_worst'])}"
