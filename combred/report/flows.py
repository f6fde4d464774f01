"""The flames and the stirred reactors of a validation: a section each, with a table and a figure.

Takes flames.h5, stirred.h5 and the results "flame" and "stirred" of validation.json; without these
there is no section.
"""

from collections.abc import Callable, Mapping, Sequence

import numpy as np
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.ticker import MaxNLocator

from combred.experiments.premixed.flame import Flame
from combred.experiments.stirred.reactor import FINISHED
from combred.report.blocks import NBSP, Block, Note, Picture, Section, Table, Text, percent
from combred.report.blocks import significant as digits
from combred.report.folder import Folder
from combred.report.style import WIDTH, literal, looks

COLUMNS = 3  # flames, or pressures, in a figure: those with the largest error
SPECIES = 3  # in the figure of flames
AROUND = 2.5  # flame thicknesses of the reference on each side of the front


def of_reference(folder: Folder, kind: str) -> str:
    """The reference of flames or stirred reactors, as a sentence with its difference from CVODE."""
    off = folder.validation["reference_difference"][kind]
    return (
        "The reference is combred's solver in double precision; over one more step it differs from "
        f"CVODE by {percent(off)} of the change at most."
    )


def worst(errors: Sequence[float]) -> list[int]:
    """Indices, in order, of the `COLUMNS` largest errors; of a failed case it is NaN."""
    return sorted(np.argsort(-np.nan_to_num(errors, nan=np.inf), kind="stable")[:COLUMNS].tolist())


def draw_runs(
    folder: Folder,
    runs: Mapping[str, Sequence],
    columns: Mapping[int, str],
    quantities: Sequence[str],
    x: Callable[..., np.ndarray],
    labels: tuple[str, str],
) -> Figure:
    """T and species (`quantities`, rows) of some runs over x(run): columns by index, with titles.
    labels: of x, and what stands before a quantity."""
    styles = looks(folder.shown)
    figure = Figure(figsize=(WIDTH, len(quantities) + 2.9))
    shape = len(quantities), len(columns)
    panels = figure.subplots(*shape, sharex="col", sharey="row", squeeze=False)
    for column, (i, title) in zip(panels.T, columns.items(), strict=True):
        for axes, quantity in zip(column, quantities, strict=True):
            for name, look in styles.items():
                run = runs[name][i]
                k = None if quantity == "T" else folder.mechanism.index(quantity)
                axes.plot(x(run), run.T if k is None else run.Y[:, k], **look)
            axes.yaxis.set_major_locator(MaxNLocator(4))
            axes.ticklabel_format(axis="y", scilimits=(-3, 4), useMathText=True)
        column[0].set_title(title)
        column[-1].set_xlabel(labels[0])
    for axes, quantity in zip(panels[:, 0], quantities, strict=True):
        axes.set_ylabel(labels[1] + ("T [K]" if quantity == "T" else f"Y({literal(quantity)}) [-]"))
    lines = [Line2D([], [], **look) for look in styles.values()]
    names = [name.replace("stage", "stage ") for name in styles]
    figure.legend(lines, names, loc="outside upper center", ncols=len(names))
    return figure


# -- flames ----------------------------------------------------------------------------------------


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
    rows = folder.measured(folder.last)["flame"]["cases"]
    if not folder.flames:
        blocks.append(Note("The profiles are not shown: flames.h5 is missing or lacks a stage."))
    else:
        few = f", the {COLUMNS} with the largest speed error" if len(rows) > COLUMNS else ""
        caption = (
            f"Temperature and mass fractions through flames{few}. At x = 0, T is halfway between "
            "the unburnt and the adiabatic temperature."
        )
        alt, source = "Temperature and species through flames", "flames.h5, validation.json"
        blocks.append(Picture("flames", draw_flames(folder), alt, caption, source))
    return Section("Flames", [*blocks, flame_table(folder)])


def flame_table(folder: Folder) -> Table:
    """Every flame: the reference's speed, and the errors of the solver and of each stage."""
    rows: list[list[str]] = []
    for i, case in enumerate(folder.measured(folder.last)["flame"]["cases"]):
        speed = f"{digits(case['reference_speed'])}{NBSP}m/s"
        rows.append([f"{case['case']}: {speed}, {digits(1e3 * case['reference_thickness'])} mm"])
        for name, result in folder.compared.items():
            rows.append([name, *flame_errors(result["flame"]["cases"][i])])
    heads = ["", "speed", "thickness", "T, largest", "peaks, largest"]
    caption = (
        "Each flame with the speed and thickness of the reference, and the differences from it; +: "
        "faster, −: slower. The difference of T is that of the profile over x, with both fronts at "
        "the same place; that of peaks is the largest of the six species that peak most, by moles."
    )
    return Table(heads, rows, "validation.json", caption)


def flame_errors(row: dict) -> list[str]:
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


def draw_flames(folder: Folder) -> Figure:
    """T and species through the flames, over the distance from the front of each."""
    rows = folder.measured(folder.last)["flame"]["cases"]
    species = list(dict.fromkeys([*folder.fuels, *rows[0]["peak_errors"]]))[:SPECIES]
    columns = {i: rows[i]["case"] for i in worst([row["speed_error"] for row in rows])}

    def x(flame: Flame) -> np.ndarray:
        return 1e3 * (flame.x - (flame.front_x if flame.burns else np.nan))  # else nothing is drawn

    labels = "x from the front [mm]", ""
    figure = draw_runs(folder, folder.flames, columns, ["T", *species], x, labels)
    for axes, i in zip(figure.axes, columns, strict=False):
        half = 1e3 * AROUND * folder.flames["reference"][i].thickness
        axes.set_xlim(-half, half)
    return figure


# -- stirred reactors ------------------------------------------------------------------------------


def stirred_section(folder: Folder) -> Section | None:
    """Mean temperature and species in time; None if no stirred reactor was computed."""
    rows = folder.measured(folder.last).get("stirred", [])
    if not rows:
        return None
    of = folder.validation["stirred_inputs"]["cases"][0]
    blocks: list[Block] = [
        Text(
            f"A partially stirred reactor (Pope 1997) at constant pressure: {of['particles']} "
            "particles of gas that begin burnt. Cold fuel, cold oxidizer and burnt gas flow in "
            "separately, at an overall equivalence ratio of 1. Particles mix in pairs and then "
            f"react over dt = {of['dt']:g}{NBSP}s. The residence time is "
            f"{1e3 * of['residence']:g}{NBSP}ms, the mixing time {1e3 * of['mixing']:g}{NBSP}ms. "
            "All see the same random mixing. This is close to the use in a flow: the states are "
            "mixtures of fuel, oxidizer and burnt gas, and errors add up. "
            + of_reference(folder, "stirred")
        )
    ]
    if not folder.stirred:
        blocks.append(Note("The means are not shown: stirred.h5 is missing or lacks a stage."))
    else:
        few = f", the {COLUMNS} pressures with the largest errors" if len(rows) > COLUMNS else ""
        alt = "Mean temperature and species of the stirred reactors in time"
        caption, source = f"Means over all particles in time{few}.", "stirred.h5, validation.json"
        blocks.append(Picture("stirred", draw_stirred(folder), alt, caption, source))
    return Section("Stirred reactor", [*blocks, stirred_table(folder)])


def stirred_table(folder: Folder) -> Table:
    """For each pressure, the differences of the solver and of the stages from the reference."""
    first = folder.measured(folder.last)["stirred"]
    names, rows = list(first[0]["errors"]), list[list[str]]()
    for i, case in enumerate(first):
        rows.append([case["case"]])
        for name, result in folder.compared.items():
            row, kinds = result["stirred"][i], [(n, k) for n in names for k in ("largest", "mean")]
            finished = row["outcome"] == FINISHED
            cells = [percent(row["errors"][of][kind]) for of, kind in kinds]
            rows.append([name, *(cell if finished else "**not finite**" for cell in cells)])
    heads = [f"mean {name}, {kind}" for name in names for kind in ("largest", "average")]
    caption = (
        "Relative difference from the reference at the same time, the largest and the average over "
        "time, of the mean temperature and mass fraction of all particles."
    )
    return Table(["", *heads], rows, "validation.json", caption)


def draw_stirred(folder: Folder) -> Figure:
    """The mean T and the mean mass fraction of the compared species at each pressure, in time."""
    rows = folder.measured(folder.last)["stirred"]
    columns = {i: rows[i]["case"] for i in worst([r["errors"]["T"]["largest"] for r in rows])}
    quantities, labels = list(rows[0]["errors"]), ("t [ms]", "mean ")
    return draw_runs(folder, folder.stirred, columns, quantities, lambda run: 1e3 * run.t, labels)
