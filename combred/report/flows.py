"""Flames and stirred reactors with any number of solvers or networks, compared with a reference: a
section of a page each.

Takes `results`, the rows of each solver or network by its name, a row for each case, with the keys
of validation.json; `curves`, by the same names and "reference", of each case the arrays "x" [m] or
"t" [s], "T" [K] and "Y", mass fractions by species, {} where they are missing; and `files`, the
names of the file of the rows and of that of the curves, which may be the same.
"""

from collections.abc import Callable, Mapping, Sequence
from functools import partial

import numpy as np

from combred.experiments.cells import STEADY, UNSTEADY
from combred.experiments.stirred.reactor import FINISHED
from combred.report.blocks import Block, Note, Picture, Section, Table, Text
from combred.report.formats import NBSP, kelvin, percent, significant
from combred.report.histories import draw_histories, history
from combred.report.ignitions import Results

Curves = Mapping[str, Sequence[dict]]
Files = tuple[str, str]
COLUMNS = 3  # cases in a figure: those with the largest errors of T


def reference_said(off: float | None) -> str:
    """The reference of flames and stirred reactors; off: its difference from CVODE."""
    return (
        "The reference is combred's solver in double precision; over one more step it differs from "
        f"CVODE by at most {percent(off)} of the change."
    )


def flame_section(said: str, results: Results, curves: Curves | None, files: Files) -> Section:
    """Speeds, thicknesses, temperatures and profiles of premixed or counterflow flames. said: the
    sentences that differ between pages; curves: None where the page shows them elsewhere.
    Keys of a row: "case", "outcome", the errors of `flame_errors` that are known; of a premixed
    flame also "speed", "reference_speed" [m/s] and "reference_thickness" [m]."""
    text = (
        "Laminar flames with mixture-averaged transport, as in Cantera's. In each time step the "
        "chemistry is advanced in every cell, also in unburnt gas; species and heat diffuse "
        f"between the cells. {said} Every flame starts from the steady flame of the reference and "
        "is advanced until it is steady again. The speed of a premixed flame follows from the fuel "
        "consumed in the computational domain; the thickness is (T_b - T_u) / max dT/dx."
    )
    caption = (
        "Each flame with the speed and thickness of the reference, and the differences from it; +: "
        "faster, −: slower. T, largest: difference of the profile over x, with both fronts at the "
        "same place. Peaks, largest: of the six intermediate species with the largest peaks."
    )
    table = error_table(results, flame_errors, files[0], caption)
    caption = (
        "Temperature through flames and, below, differences of temperature and mass fractions from "
        "the reference. x = 0: in premixed flames, T is halfway between unburnt and adiabatic; in "
        "counterflow flames, the stagnation plane."
    )
    cases = [(row["case"], row["profile_T_error"]) for row in list(results.values())[-1]]
    pictures = curve_picture("flames", caption, cases, curves, files)
    return Section("Flames", [Text(text), *failed_notes(results), *pictures, table])


def flame_errors(row: dict) -> dict[str, str]:
    """The outcome of a flame, and its differences from the reference."""
    failed = percent(row["profile_T_error"]) == "–"
    sign = "+" if not failed and row.get("speed", 0) >= row.get("reference_speed", 0) else "−"
    peaks = [error for error in row["peak_errors"].values() if error is not None]
    return {
        "outcome": f"**{row['outcome']}**" if failed or has_failed(row) else row["outcome"],
        "speed": percent(row.get("speed_error"), sign),
        "thickness": percent(row.get("thickness_error")),
        "peak T": kelvin(row.get("peak_T_error")),
        "T, largest": kelvin(row["profile_T_error"]),
        "peaks, largest": percent(max(peaks, default=None)),
    }


def stirred_section(said: str, results: Results, curves: Curves, files: Files) -> Section:
    """Mean temperature and species in time. said: the sentences that differ between pages. Keys of
    a row: "case", "outcome", and "errors", by "T" and species the "largest" and the "mean"
    relative difference over time."""
    text = (
        "Partially stirred reactors (Pope 1997) at constant pressure, with particles of gas that "
        "begin burnt. Cold fuel, cold oxidizer and burnt gas flow in separately, at an overall "
        "equivalence ratio of 1; particles mix in pairs and then react over a time step. "
        f"{said} The random mixing is the same in every run. This is close to the use in a flow: "
        "the states are mixtures of fuel, oxidizer and burnt gas, and errors add up."
    )
    caption = (
        "Relative difference from the reference at the same time, the largest and the mean over "
        "time, of the mean temperature and mass fraction of all particles."
    )
    table = error_table(results, stirred_errors, files[0], caption)
    caption = (
        "Mean temperature of all particles in time and, below, differences of the mean "
        "temperature and mass fractions from the reference."
    )
    cases = [(row["case"], row["errors"]["T"]["largest"]) for row in list(results.values())[-1]]
    pictures = curve_picture("stirred", caption, cases, curves, files)
    return Section("Stirred reactors", [Text(text), *failed_notes(results), *pictures, table])


def failed_notes(results: Results) -> list[Block]:
    """What is said of the flames and reactors of each solver or network that failed."""
    notes: list[Block] = []
    for name, rows in results.items():
        failed = [f"{row['case']}: {row['outcome']}" for row in rows if has_failed(row)]
        notes += [Note(f"**{name}:** {'; '.join(failed)}.", alarm=True)] if failed else []
    return notes


def has_failed(row: dict) -> bool:
    """Whether a flame or a reactor does not burn to the end, by its outcome."""
    return row["outcome"] not in (None, STEADY, UNSTEADY, FINISHED)


def stirred_errors(row: dict) -> dict[str, str]:
    """The outcome of a stirred reactor, and its differences from the reference."""
    errors = {
        f"{name}, {kind}": percent(of[kind], infinite="–")
        for name, of in row["errors"].items()
        for kind in ("largest", "mean")
    }
    outcome = f"**{row['outcome']}**" if has_failed(row) else row["outcome"]
    return {"outcome": outcome, **errors}


def error_table(
    results: Results, errors: Callable[[dict], dict[str, str]], source: str, caption: str
) -> Table:
    """Every case, with the errors of every solver or network below it."""
    rows: list[list[str]] = []
    for cases in zip(*results.values(), strict=True):
        rows.append([cases[0]["case"]])
        if "reference_speed" in cases[0]:
            speed, thickness = cases[0]["reference_speed"], 1e3 * cases[0]["reference_thickness"]
            rows[-1][0] += f": {significant(speed)}{NBSP}m/s, {significant(thickness)}{NBSP}mm"
        cells = [errors(row) for row in cases]
        rows += [[name, *of.values()] for name, of in zip(results, cells, strict=True)]
    return Table(["", *cells[0]], rows, source, caption).known()


def curve_picture(
    name: str, caption: str, cases: Sequence[tuple], curves: Curves | None, files: Files
) -> list[Block]:
    """The figure of the cases with the largest errors, or a note that the curves are missing;
    cases: each in words, with its error, which is NaN or None if it failed; curves: None where the
    page shows them elsewhere."""
    if curves is None:
        return []
    if not curves:
        return [Note(f"No curves are shown: {files[1]} is missing or lacks a result.")]
    if len(cases) > COLUMNS:
        caption += f" The {COLUMNS} cases with the largest errors of T are shown."
    sizes = np.nan_to_num(np.array([error for _, error in cases], float), nan=np.inf)
    shown = []
    for i in sorted(np.argsort(-sizes, kind="stable")[:COLUMNS]):
        of_case = {key: of[i] for key, of in curves.items()}
        shown.append(history(cases[i][0], of_case, list(of_case["reference"]["Y"])))
    draw = partial(draw_histories, shown, "mean " if shown[0].axis == "t" else "")
    source = ", ".join(dict.fromkeys(reversed(files)))
    return [Picture(name, draw, "Temperature and species, with the reference", caption, source)]
