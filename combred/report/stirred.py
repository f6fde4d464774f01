"""The stirred reactors of a validation: their section, with a table and a figure.

Takes stirred.h5 and the results "stirred" of validation.json; without these there is no section.
"""

from typing import Any

import numpy as np
from matplotlib.figure import Figure

from combred.report.blocks import NBSP, Block, Note, Picture, Section, Table, Text, percent
from combred.report.folder import Folder
from combred.report.style import CVODE, WIDTH, colour
from combred.report.verdict import of_reference
from combred.simulation.stirred.reactor import FINISHED

COLUMNS = 3  # pressures in the figure: those with the largest difference of the mean T


def stirred_result(folder: Folder, stage: int) -> list[dict]:
    """The results of the stirred reactors of a stage in validation.json, [] if there were none."""
    return folder.measured(stage).get("stirred", [])


def stirred_section(folder: Folder, drawn: set[str]) -> Section | None:
    """Mean temperature and species in time; None if no stirred reactor was computed."""
    rows = stirred_result(folder, folder.last)
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
            "Network and reference see the same random mixing. This is close to the use in a flow: "
            "the states are mixtures of fuel, oxidizer and burnt gas, and errors add up. "
            + of_reference(folder, "stirred")
        )
    ]
    if "stirred" in drawn:
        lines = f"orange: stage {folder.last}; dashed blue: stage {folder.stages[0]}"
        shown = f", the {COLUMNS} pressures with the largest errors" if len(rows) > COLUMNS else ""
        blocks.append(
            Picture(
                "stirred",
                "Mean temperature and species of the stirred reactors in time",
                f"Means over all particles in time{shown}. Black: the reference; "
                f"{lines if folder.last else 'blue: stage 0'}.",
                "stirred.h5, validation.json",
            )
        )
    else:
        blocks.append(Note("The means are not shown: stirred.h5 is missing or lacks a stage."))
    return Section("Stirred reactor", [*blocks, stirred_table(folder)])


def stirred_table(folder: Folder) -> Table:
    """For each pressure, the differences from the reference of the last stage and of stage 0."""
    stages, names = _stages(folder)[::-1], list(stirred_result(folder, folder.last)[0]["errors"])
    rows: list[list[str]] = []
    for i, row in enumerate(stirred_result(folder, folder.last)):
        rows.append([row["case"]])
        for stage in stages:
            of_stage = stirred_result(folder, stage)[i]
            cells = [_cell(of_stage, name, kind) for name in names for kind in ("largest", "mean")]
            rows.append([f"stage {stage}", *cells])
    heads = [f"mean {name}, {kind}" for name in names for kind in ("largest", "average")]
    caption = (
        "Relative difference from the reference at the same time, the largest and the average over "
        "time, of the mean temperature and mass fraction of all particles."
    )
    return Table(["", *heads], rows, "validation.json", caption)


def _stages(folder: Folder) -> list[int]:
    """Stage 0 and the last stage."""
    return list(dict.fromkeys((folder.stages[0], folder.last)))


def _cell(row: dict, name: str, kind: str) -> str:
    return percent(row["errors"][name][kind]) if row["outcome"] == FINISHED else "**not finite**"


def draw_stirred(folder: Folder) -> Figure | None:
    """The mean T and the mean mass fraction of the compared species (rows) at each pressure
    (columns); None if stirred.h5 does not hold the runs of validation.json."""
    names = ["reference", *(f"stage{stage}" for stage in _stages(folder))]
    rows = stirred_result(folder, folder.last)
    if not rows or not folder.stirred.keys() >= set(names):
        return None
    worst = [np.nan_to_num(row["errors"]["T"]["largest"], nan=np.inf) for row in rows]
    chosen = sorted(np.argsort(worst)[::-1][:COLUMNS])
    looks: dict[str, dict[str, Any]] = {"reference": {"color": CVODE, "lw": 2.6, "alpha": 0.85}}
    for stage in _stages(folder):
        dashes = "-" if stage == folder.last else (0, (4, 2))
        looks[f"stage{stage}"] = {"color": colour(stage, folder.last), "lw": 1.5, "ls": dashes}
    compared = list(rows[0]["errors"])
    figure = Figure(figsize=(WIDTH, 2.0 * len(compared) + 0.9))
    panels = figure.subplots(len(compared), len(chosen), sharex=True, sharey="row", squeeze=False)
    for column, i in enumerate(chosen):
        for axes, quantity in zip(panels[:, column], compared, strict=True):
            for name in names:
                run = folder.stirred[name][i]
                index = None if quantity == "T" else folder.mechanism.index(quantity)
                axes.plot(1e3 * run.t, run.T if index is None else run.Y[:, index], **looks[name])
            axes.ticklabel_format(axis="y", scilimits=(-3, 4), useMathText=True)
        panels[0, column].set_title(rows[i]["case"])
        panels[-1, column].set_xlabel("t [ms]")
    for axes, quantity in zip(panels[:, 0], compared, strict=True):
        axes.set_ylabel("mean T [K]" if quantity == "T" else f"mean Y({quantity}) [-]")
    lines = [panels[0, 0].lines[k] for k in range(len(names))]
    labels = ["reference", *(f"stage {stage}" for stage in _stages(folder))]
    figure.legend(lines, labels, loc="outside upper center", ncols=len(labels))
    return figure
