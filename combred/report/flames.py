"""The flames of a validation: their section, with a table and a figure.

Takes flames.h5 and the results "flame" of validation.json; without these there is no section. In
the figure, x is the distance from the front of each flame.
"""

from collections.abc import Sequence
from typing import Any

import numpy as np
from matplotlib.figure import Figure
from matplotlib.ticker import MaxNLocator

from combred.report.blocks import Block, Note, Picture, Section, Table, Text, kelvin, percent
from combred.report.blocks import significant as digits
from combred.report.folder import Folder
from combred.report.style import CVODE, WIDTH, colour
from combred.report.verdict import of_reference
from combred.simulation.premixed.flame import Flame

COLUMNS = 3  # flames in the figure: those with the largest speed error
AROUND = 2.5  # flame thicknesses of the reference on each side of the front


def flame_result(folder: Folder, stage: int) -> dict:
    """The results of the flames of a stage in validation.json, {} if there were none."""
    return folder.measured(stage).get("flame", {})


def flame_section(folder: Folder, drawn: set[str]) -> Section | None:
    """Speeds, thicknesses and profiles; None if no flame was computed."""
    if not flame_result(folder, folder.last):
        return None
    blocks: list[Block] = [
        Text(
            "Freely propagating premixed flames at constant pressure. In each time step dt the "
            "chemistry is advanced in every cell, also in the unburnt gas; species and heat "
            "diffuse between the cells (mixture-averaged transport, as in Cantera's FreeFlame). "
            "The flame with the network starts from the steady reference flame and is advanced "
            "until its speed is steady again. The speed follows from the fuel consumed in the "
            "computational domain; the thickness is (T_b - T_u) / max dT/dx. "
            + of_reference(folder, "flames")
        )
    ]
    if "flames" in drawn:
        shown = (
            "" if len(_rows(folder)) <= COLUMNS else f", the {COLUMNS} with the largest speed error"
        )
        blocks.append(
            Picture(
                "flames",
                "Temperature and species through flames",
                f"Temperature and mass fractions through the flames{shown}. At x = 0, T is halfway "
                "between the unburnt and the adiabatic temperature. Black: the reference; "
                + (
                    f"orange: stage {folder.last}; dashed blue: stage {folder.stages[0]}."
                    if folder.last
                    else "blue: stage 0."
                ),
                "flames.h5, validation.json",
            )
        )
    else:
        blocks.append(Note("The profiles are not shown: flames.h5 is missing or lacks a stage."))
    return Section("Flames", [*blocks, flame_table(folder)])


def _rows(folder: Folder) -> list[dict]:
    return flame_result(folder, folder.last)["cases"]


def flame_table(folder: Folder) -> Table:
    """Every flame of the last stage, with the speed error of stage 0 for comparison."""
    first, rows = folder.stages[0], _rows(folder)
    old_rows = flame_result(folder, first).get("cases", []) if folder.last else []
    species = list(rows[0]["peak_errors"])
    heads = ["flame", "speed, reference [m/s]", "network [m/s]", "error"]
    heads += ["error, stage 0"] if old_rows else []
    heads += ["thickness, reference [mm]", "error", "largest T error", "burnt T error"]
    heads += [f"peak {name}" for name in species]
    written = []
    for i, row in enumerate(rows):
        cells = [row["case"], digits(row["reference_speed"]), _speed(row), _error(row)]
        cells += [_error(old_rows[i])] if old_rows else []
        cells += [digits(1e3 * row["reference_thickness"]), _failure(row, "thickness_error")]
        cells += [kelvin(row["profile_T_error"]), kelvin(row["burnt_T_error"])]
        written.append(cells + [percent(row["peak_errors"][name]) for name in species])
    caption = (
        f"All flames with the network of stage {folder.last}; +: faster than the reference, −: "
        "slower. The largest T error is that of the profile over x, with both fronts at the same "
        "place; the burnt T is that of the last cell."
    )
    return Table(heads, written, "validation.json", caption)


def _speed(row: dict) -> str:
    if not row["burns"]:
        return f"**{row['outcome']}**"
    return digits(row["speed"]) + ("" if row["steady"] else f" ({row['outcome']})")


def _error(row: dict) -> str:
    if not row["burns"]:
        return f"**{row['outcome']}**"
    return percent(row["speed_error"], "+" if row["speed"] >= row["reference_speed"] else "−")


def _failure(row: dict, name: str) -> str:
    return percent(row[name]) if row["burns"] else "–"


# -- the figure ------------------------------------------------------------------------------------


def draw_flames(folder: Folder, species: Sequence[tuple[str, int]]) -> Figure | None:
    """T and species (rows: name and index) through the flames (columns); None if flames.h5 does not
    hold the flames of validation.json."""
    stages = list(dict.fromkeys((folder.stages[0], folder.last)))
    names = ["reference", *(f"stage{stage}" for stage in stages)]
    if not flame_result(folder, folder.last) or not folder.flames.keys() >= set(names):
        return None
    rows = _rows(folder)
    order = sorted(range(len(rows)), key=lambda i: -np.nan_to_num(rows[i]["speed_error"], nan=9.0))
    chosen = sorted(order[:COLUMNS])
    panels_of = [("T [K]", None), *((f"Y({name}) [-]", k) for name, k in species)]
    figure = Figure(figsize=(WIDTH, 1.6 * len(panels_of) + 0.9))
    panels = figure.subplots(len(panels_of), len(chosen), sharex="col", sharey="row", squeeze=False)
    looks: dict[str, dict[str, Any]] = {"reference": {"color": CVODE, "lw": 2.6, "alpha": 0.85}}
    for stage in stages:
        dashes = "-" if stage == folder.last else (0, (4, 2))
        looks[f"stage{stage}"] = {"color": colour(stage, folder.last), "lw": 1.5, "ls": dashes}
    for column, i in enumerate(chosen):
        half = 1e3 * AROUND * folder.flames["reference"][i].thickness
        for line, (label, index) in enumerate(panels_of):
            axes = panels[line, column]
            for name in names:
                _draw(axes, folder.flames[name][i], index, looks[name])
            axes.set_xlim(-half, half)
            axes.yaxis.set_major_locator(MaxNLocator(4))
            axes.ticklabel_format(axis="y", scilimits=(-3, 4), useMathText=True)
            if column == 0:
                axes.set_ylabel(label)
        panels[0, column].set_title(rows[i]["case"])
        panels[-1, column].set_xlabel("x from the front [mm]")
    names = ["reference", *(f"stage {stage}" for stage in stages)]
    lines = [Figure().add_subplot().plot([], [], **look)[0] for look in looks.values()]
    figure.legend(lines, names, loc="outside upper center", ncols=len(names))
    return figure


def _draw(axes, flame: Flame, index: int | None, look: dict) -> None:
    if flame.burns:
        values = flame.T if index is None else flame.Y[:, index]
        axes.plot(1e3 * (flame.x - flame.front_x), values, **look)
