"""The stirred reactors of a validation: their section, with a table and a figure.

Takes stirred.h5 and the results "stirred" of validation.json; without these there is no section.
"""

import numpy as np
from matplotlib.figure import Figure

from combred.report.blocks import NBSP, Block, Note, Picture, Section, Table, Text, percent
from combred.report.flames import of_reference
from combred.report.folder import Folder
from combred.report.style import WIDTH, legend, looks
from combred.simulation.stirred.reactor import FINISHED

COLUMNS = 3  # pressures in the figure: those with the largest difference of the mean T


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
    figure = draw_stirred(folder)
    if figure is None:
        blocks.append(Note("The means are not shown: stirred.h5 is missing or lacks a stage."))
    else:
        few = f", the {COLUMNS} pressures with the largest errors" if len(rows) > COLUMNS else ""
        alt = "Mean temperature and species of the stirred reactors in time"
        caption = f"Means over all particles in time{few}."
        blocks.append(Picture("stirred", figure, alt, caption, "stirred.h5, validation.json"))
    return Section("Stirred reactor", [*blocks, stirred_table(folder)])


def stirred_table(folder: Folder) -> Table:
    """For each pressure, the differences of the solver and of the stages from the reference."""
    results = {"solver": folder.solver["stirred"]}
    results |= {f"stage {stage}": folder.measured(stage)["stirred"] for stage in folder.shown}
    first = folder.measured(folder.last)["stirred"]
    names, rows = list(first[0]["errors"]), list[list[str]]()
    for i, case in enumerate(first):
        rows.append([case["case"]])
        for name, result in results.items():
            kinds = [(of, kind) for of in names for kind in ("largest", "mean")]
            rows.append([name, *(_cell(result[i], *kind) for kind in kinds)])
    heads = [f"mean {name}, {kind}" for name in names for kind in ("largest", "average")]
    caption = (
        "Relative difference from the reference at the same time, the largest and the average over "
        "time, of the mean temperature and mass fraction of all particles."
    )
    return Table(["", *heads], rows, "validation.json", caption)


def _cell(row: dict, name: str, kind: str) -> str:
    return percent(row["errors"][name][kind]) if row["outcome"] == FINISHED else "**not finite**"


def draw_stirred(folder: Folder) -> Figure | None:
    """The mean T and the mean mass fraction of the compared species (rows) at each pressure
    (columns); None if stirred.h5 does not hold the runs of validation.json."""
    styles, rows = looks(folder.shown), folder.measured(folder.last)["stirred"]
    if not folder.stirred.keys() >= styles.keys():
        return None
    worst = [np.nan_to_num(row["errors"]["T"]["largest"], nan=np.inf) for row in rows]
    chosen, compared = sorted(np.argsort(worst)[::-1][:COLUMNS]), list(rows[0]["errors"])
    figure = Figure(figsize=(WIDTH, 2.0 * len(compared) + 0.9))
    panels = figure.subplots(len(compared), len(chosen), sharex=True, sharey="row", squeeze=False)
    for column, i in enumerate(chosen):
        for axes, quantity in zip(panels[:, column], compared, strict=True):
            for name, look in styles.items():
                run = folder.stirred[name][i]
                k = None if quantity == "T" else folder.mechanism.index(quantity)
                axes.plot(1e3 * run.t, run.T if k is None else run.Y[:, k], **look)
            axes.ticklabel_format(axis="y", scilimits=(-3, 4), useMathText=True)
        panels[0, column].set_title(rows[i]["case"])
        panels[-1, column].set_xlabel("t [ms]")
    for axes, quantity in zip(panels[:, 0], compared, strict=True):
        axes.set_ylabel("mean T [K]" if quantity == "T" else f"mean Y({quantity}) [-]")
    legend(figure, styles)
    return figure
