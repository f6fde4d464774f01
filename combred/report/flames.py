"""The page of a table of flame speeds: flames.html, made from flames.json.

Takes a folder of `combred flames`.
"""

import itertools
from functools import partial
from pathlib import Path

import numpy as np
from matplotlib.figure import Figure

from combred.flames.survey import RECORD
from combred.report.blocks import Note, Picture, Section, Table, Text
from combred.report.formats import atmospheres
from combred.report.pages import Page, made_with, read_finished, write_page
from combred.report.style import COLOURS, MARKERS, WIDTH, literal

AXES = {"phi": "equivalence ratio", "p": "pressure [atm]", "T0": "unburnt temperature [K]"}


def write_survey(folder: Path) -> Path:
    """Write flames.html and figures/ from flames.json; the path of the page. Raises ValueError
    where there are no numbers, or not all of them."""
    record = read_finished(folder / RECORD, "flames", "command")
    page = Page(
        title=f"Flame speeds of {record['mechanism']}",
        name=record["mechanism"],
        alarms=[Note(text, alarm=True) for text in record["failures"].values()],
        verdict=sentence(record),
        further=f"{record['fuel']} in {record['oxidizer']} (moles), {record['transport']}.",
        head=[
            Picture(
                "speeds", partial(draw_speeds, record), "Flame speeds over the equivalence ratio.",
                "Laminar flame speeds; a line for each of the other conditions.", RECORD,
            ),
        ],
        sections=[Section("Speeds", [speeds_table(record), LIMITS]), _provenance(record)],
    )  # fmt: skip
    return write_page(folder / "flames.html", page)


LIMITS = Text(
    "A speed of 0 is that of a gas that does not burn; of – no steady flame was found. Grids meet "
    "the criteria below; with a slope and a curve of a quarter of these, speeds change by some "
    "percent, which is their error."
)


def sentence(record: dict) -> str:
    """The result in a sentence."""
    speeds = np.array([np.nan if s is None else s for s in _column(record, "speed")], float)
    steady = int((speeds > 0.0).sum())
    summary = f"{steady} of {len(speeds)} flames are steady"
    if not steady:
        return f"**{summary}.**"
    row = record["flames"][int(np.nanargmax(speeds))]
    return (
        f"**{summary}.** The fastest has {row['speed']:.4g} m/s, at phi {row['phi']:g}, "
        f"{atmospheres(row['p'])} atm and {row['T0']:g} K."
    )


def speeds_table(record: dict) -> Table:
    """A row for each flame."""
    rows = [
        [f"{row['T0']:g}", str(atmospheres(row["p"])), f"{row['phi']:.4g}", _speed(row["speed"])]
        for row in record["flames"]
    ]
    return Table(["T0 [K]", "p [atm]", "phi", "speed [m/s]"], rows, RECORD, left=0)


def _speed(value: float | None) -> str:
    return "–" if value is None or np.isnan(value) else f"{value:.4g}"


def _column(record: dict, name: str) -> list:
    return [row[name] for row in record["flames"]]


def draw_speeds(record: dict) -> Figure:
    """Speeds over the range that has most values."""
    figure = Figure(figsize=(WIDTH, 0.5 * WIDTH))
    axes = figure.subplots()
    x = max(AXES, key=lambda name: len(set(_column(record, name))))
    lines = [name for name in AXES if name != x]
    groups: dict[tuple, list[dict]] = {}
    for row in record["flames"]:
        groups.setdefault(tuple(row[name] for name in lines), []).append(row)
    looks = itertools.cycle(zip(itertools.cycle(MARKERS), COLOURS, strict=False))
    for (key, rows), (marker, colour) in zip(groups.items(), looks, strict=False):
        places = [row[x] / 101325.0 if x == "p" else row[x] for row in rows]
        speeds = [np.nan if row["speed"] is None else row["speed"] for row in rows]
        label = ", ".join(_named(name, value) for name, value in zip(lines, key, strict=True))
        axes.plot(places, speeds, marker=marker, ms=4, color=colour, label=literal(label))
    axes.set(xlabel=AXES[x], ylabel="flame speed [m/s]", ylim=(0, None))
    axes.legend()
    return figure


def _named(name: str, value: float) -> str:
    if name == "p":
        return f"{atmospheres(value)} atm"
    return f"{value:g} K" if name == "T0" else f"phi {value:g}"


def _provenance(record: dict) -> Section:
    criteria = ", ".join(f"{name} {value:g}" for name, value in record["criteria"].items())
    rows = [
        ["mechanism", f"{record['mechanism']}, {record['species']} species"],
        ["sha256 of the mechanism", f"`{record['sha256'][:16]}`"],
        ["criteria of the grids", criteria],
        ["machine", record["machine"]],
    ]
    return made_with(rows, RECORD)
