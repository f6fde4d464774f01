"""The page of a run: report.html and its figures.

Takes the files that the other steps wrote into a run folder; measures and computes nothing.
"""

from pathlib import Path

import numpy as np

from combred.chemistry.mechanism import Mechanism
from combred.experiments.accuracy import ALONE, BEHIND
from combred.experiments.metrics import worst
from combred.report import verdict
from combred.report.blocks import Block, Section
from combred.report.flows import flame_section, reference_said, stirred_section
from combred.report.folder import Folder, cases
from combred.report.formats import NBSP, number
from combred.report.histories import history, history_picture
from combred.report.ignitions import ignition_section
from combred.report.pages import Page, write_page
from combred.report.provenance import limit_section, made_section, ranges
from combred.report.reduction import reduction_section

NUMBERS = "validation.json"
SPECIES = 3  # in the figure of flames


def write_report(folder: Path, mechanism: Mechanism) -> None:
    """Write report.html and figures/ into a run folder that has been validated.

    Raises FileNotFoundError if validation.json is missing, ValueError if a file is damaged or
    belongs to another mechanism.
    """
    run = Folder(folder, mechanism)
    s = run.settings
    own = "states.h5 of the user" in run.sample.get("inputs", {})
    trained = f" The states of the training have {ranges(s['sampling'])}." if s and not own else ""
    page = Page(
        title=f"Networks, solver and CVODE: {run.inputs['fuel']}, {mechanism.name}",
        name=f"run {run.path.resolve().name}",
        alarms=verdict.alarms(run),
        verdict=verdict.sentence(run.validation),
        further=f"{verdict.further(run.validation)}{trained}",
        head=[*temperature(run), verdict.comparison(run.validation, run.shipped)],
        sections=[
            *experiments(run),
            *reduction_section(run),
            made_section(run),
            limit_section(run),
        ],
    )
    write_page(run.path / "report.html", page)


def temperature(run: Folder) -> list[Block]:
    """The picture of T in the ignition with the largest error of the last network alone, and in
    such a flame where there are flames; nothing where their files are missing."""
    shown, last = [], run.stages[run.last][ALONE]
    for of, file, inputs, error in (
        (last, "validation.h5", "inputs", "delay_error"),
        (last.get("flame", {}), "flames.h5", "flame_inputs", "speed_error"),
    ):
        rows = of.get("cases", [])
        sizes = [size if (size := row[error]) is not None else np.inf for row in rows]
        curves = run.curves(file, inputs, [], worst(sizes)) if rows else {}
        if curves:
            row = rows[worst(sizes)]
            end = 2.0 * row["reference_delay"] if file == "validation.h5" else np.inf
            every = {name: of[0] for name, of in curves.items()}
            shown.append(history(row["case"], every, end=end))
    both = "CVODE (ignition) and the solver in doubles (flame)"
    reference = "CVODE" if len(shown) == 1 else both
    return [history_picture(shown, reference, NUMBERS)] if shown else []


def experiments(run: Folder) -> list[Section]:
    """The ignitions, and the flames and stirred reactors if there are any."""
    results = {name: of["cases"] for name, of in run.compared.items()}
    said = f"Cases: {cases(run.validation)}."
    sections = [ignition_section(said, results, NUMBERS)]
    off, last = run.validation.get("reference_difference", {}), run.stages[run.last][BEHIND]
    if "flame" in last:
        results = {name: of["flame"]["cases"] for name, of in run.compared.items()}
        species = list(results["solver"][0]["peak_errors"])[:SPECIES]
        curves = run.curves("flames.h5", "flame_inputs", species)
        said = reference_said(off["flames"])
        sections.append(flame_section(said, results, curves, (NUMBERS, "flames.h5")))
    if last.get("stirred"):
        results = {name: of["stirred"] for name, of in run.compared.items()}
        species = [name for name in last["stirred"][0]["errors"] if name != "T"]
        curves = run.curves("stirred.h5", "stirred_inputs", species)
        of = run.validation["stirred_inputs"]["cases"][0]
        said = (
            f"There are {of['particles']} particles, and dt = {number(of['dt'])}{NBSP}s. "
            f"The residence time is {1e3 * of['residence']:g}{NBSP}ms, the mixing time "
            f"{1e3 * of['mixing']:g}{NBSP}ms. {reference_said(off['stirred'])}"
        )
        sections.append(stirred_section(said, results, curves, (NUMBERS, "stirred.h5")))
    return sections
