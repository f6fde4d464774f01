"""The flames of a validation: their section, with a table and a figure.

Takes flames.h5 and the results "flame" of validation.json; without these there is no section. In
the figure, x is the distance from the front of each flame.
"""

import numpy as np
from matplotlib.figure import Figure
from matplotlib.ticker import MaxNLocator

from combred.report.blocks import NBSP, Block, Note, Picture, Section, Table, Text, percent
from combred.report.blocks import significant as digits
from combred.report.folder import Folder
from combred.report.style import WIDTH, legend, looks

COLUMNS = 3  # flames in the figure: those with the largest speed error
SPECIES = 3  # in the figure
AROUND = 2.5  # flame thicknesses of the reference on each side of the front


def flame_section(folder: Folder) -> Section | None:
    """Speeds, thicknesses and profiles; None if no flame was computed."""
    if "flame" not in folder.measured(folder.last):
        return None
    blocks: list[Block] = [
        Text(
            "Freely propagating premixed flames at constant pressure. In each time step dt the "
            "chemistry is advanced in every cell, also in the unburnt gas; species and heat "
            "diffuse between the cells (mixture-averaged transport, as in Cantera's FreeFlame). "
            "Every flame starts from the steady reference flame and is advanced until its speed is "
            "steady again. The speed follows from the fuel consumed in the computational domain; "
            "the thickness is (T_b - T_u) / max dT/dx. " + of_reference(folder, "flames")
        )
    ]
    figure = draw_flames(folder)
    if figure is None:
        blocks.append(Note("The profiles are not shown: flames.h5 is missing or lacks a stage."))
    else:
        rows = folder.measured(folder.last)["flame"]["cases"]
        few = f", the {COLUMNS} with the largest speed error" if len(rows) > COLUMNS else ""
        caption = (
            f"Temperature and mass fractions through flames{few}. At x = 0, T is halfway between "
            "the unburnt and the adiabatic temperature."
        )
        alt, source = "Temperature and species through flames", "flames.h5, validation.json"
        blocks.append(Picture("flames", figure, alt, caption, source))
    return Section("Flames", [*blocks, flame_table(folder)])


def of_reference(folder: Folder, kind: str) -> str:
    """The reference of flames or stirred reactors, as a sentence with its difference from CVODE."""
    off = folder.validation["reference_difference"][kind]
    return (
        "The reference is combred's solver in double precision; over one more step it differs from "
        f"CVODE by {percent(off)} of the change at most."
    )


def flame_table(folder: Folder) -> Table:
    """Every flame: the reference's speed, and the errors of the solver and of each stage."""
    results = {"solver": folder.solver["flame"]}
    results |= {f"stage {stage}": folder.measured(stage)["flame"] for stage in folder.shown}
    rows: list[list[str]] = []
    for i, case in enumerate(folder.measured(folder.last)["flame"]["cases"]):
        speed = f"{digits(case['reference_speed'])}{NBSP}m/s"
        rows.append([f"{case['case']}: {speed}, {digits(1e3 * case['reference_thickness'])} mm"])
        rows += [[name, *errors(result["cases"][i])] for name, result in results.items()]
    heads = ["", "speed", "thickness", "T, largest", "peaks, largest"]
    caption = (
        "Each flame with the speed and thickness of the reference, and the differences from it; +: "
        "faster, −: slower. The difference of T is that of the profile over x, with both fronts at "
        "the same place; that of peaks is the largest of the six species that peak most, by moles."
    )
    return Table(heads, rows, "validation.json", caption)


def errors(row: dict) -> list[str]:
    """The differences of a flame from the reference, or what became of it."""
    if not row["burns"]:
        return [f"**{row['outcome']}**", "–", "–", "–"]
    sign = "+" if row["speed"] >= row["reference_speed"] else "−"
    return [
        percent(row["speed_error"], sign) + ("" if row["steady"] else f" ({row['outcome']})"),
        percent(row["thickness_error"]),
        f"{digits(row['profile_T_error'])}{NBSP}K",
        percent(max(row["peak_errors"].values(), default=None)),
    ]


def draw_flames(folder: Folder) -> Figure | None:
    """T and species through the flames (columns); None if flames.h5 does not hold the flames of
    validation.json."""
    styles = looks(folder.shown)
    if not folder.flames.keys() >= styles.keys():
        return None
    rows = folder.measured(folder.last)["flame"]["cases"]
    order = sorted(range(len(rows)), key=lambda i: -np.nan_to_num(rows[i]["speed_error"], nan=9.0))
    species = list(dict.fromkeys([*folder.fuels, *rows[0]["peak_errors"]]))[:SPECIES]
    quantities = ["T", *species]
    chosen = sorted(order[:COLUMNS])
    figure = Figure(figsize=(WIDTH, 1.5 * len(quantities) + 0.9))
    panels = figure.subplots(
        len(quantities), len(chosen), sharex="col", sharey="row", squeeze=False
    )
    for column, i in enumerate(chosen):
        half = 1e3 * AROUND * folder.flames["reference"][i].thickness
        for axes, quantity in zip(panels[:, column], quantities, strict=True):
            for name, look in styles.items():
                flame = folder.flames[name][i]
                if flame.burns:
                    k = None if quantity == "T" else folder.mechanism.index(quantity)
                    values = flame.T if k is None else flame.Y[:, k]
                    axes.plot(1e3 * (flame.x - flame.front_x), values, **look)
            axes.set_xlim(-half, half)
            axes.yaxis.set_major_locator(MaxNLocator(4))
            axes.ticklabel_format(axis="y", scilimits=(-3, 4), useMathText=True)
        panels[0, column].set_title(rows[i]["case"])
        panels[-1, column].set_xlabel("x from the front [mm]")
    for axes, quantity in zip(panels[:, 0], quantities, strict=True):
        axes.set_ylabel("T [K]" if quantity == "T" else f"Y({quantity}) [-]")
    legend(figure, styles)
    return figure
