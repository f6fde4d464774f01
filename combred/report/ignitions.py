"""The ignitions of a validation: delays and their errors in all cases.

Takes the numbers of validation.json; gives a section.
"""

from collections.abc import Sequence

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from combred.report.blocks import (
    NO_IGNITION,
    Picture,
    Section,
    Table,
    Text,
    atmospheres,
    kelvin,
    percent,
    several,
    significant,
)
from combred.report.folder import Folder
from combred.report.style import CVODE, DASHES, MARKERS, WIDTH, colour, plain_log_ticks

SHOWN = 24  # cases in the figure of errors at most: those with the largest
SOLVER = "#666666"


def ignition_section(folder: Folder) -> Section:
    """Delays of all cases, and a table."""
    count = len(folder.measured(folder.last)["cases"])
    text = Text(
        f"{count} ignition{'s' if count > 1 else ''} at constant pressure and enthalpy: "
        f"{cases_in_words(folder)}. All start from the same mixture and take the same time steps, "
        "past ignition to the burnt gas; each step starts from the last one's result. The ignition "
        "delay is the time at which T has reached half of its rise; CVODE continues the last state "
        "before, so that it does not depend on dt."
    )
    left_out = f" Right: the {SHOWN} cases with the largest errors." if count > SHOWN else ""
    delays = Picture(
        "delays",
        draw_delays(folder),
        "Ignition delay against 1000/T0, and its error in every case",
        "Left: ignition delay against initial temperature; lines: CVODE. Right: the error of the "
        f"delay in every case; a cross at the edge does not ignite.{left_out}",
        "validation.json",
    )
    return Section("Ignition", [text, delays, case_table(folder)])


def cases_in_words(folder: Folder) -> str:
    """The cases of the validation: all combinations of T0, phi and p."""
    rows = folder.measured(folder.last)["cases"]
    T0, phi, p = (list(dict.fromkeys(row[key] for row in rows)) for key in ("T0", "phi", "p"))
    in_atm = several([float(atmospheres(value)) for value in p], "atm")
    return f"T0 {several(T0, 'K')}, phi {several(phi)}, p {in_atm}"


def case_table(folder: Folder) -> Table:
    """Every case: CVODE's delay, the errors of the solver, of stage 0 and of the last stage."""
    cases = folder.measured(folder.last)["cases"]
    unit, factor = delay_unit(cases)
    rows = [
        [row["case"], significant(factor * row["reference_delay"], 4)]
        + [signed_error(result["cases"][i]) for result in folder.compared.values()]
        + [kelvin(row["burnt_T_error"])]
        for i, row in enumerate(cases)
    ]
    heads = ["case", f"delay, CVODE [{unit}]", *folder.compared, "burnt T error"]
    caption = (
        "Errors of the delay; +: later than CVODE, −: earlier; and the error of the last T with "
        f"the network of stage {folder.last}."
    )
    return Table(heads, rows, "validation.json", caption)


def delay_unit(rows: Sequence[dict]) -> tuple[str, float]:
    """The unit in which the delays of these cases are written, and its number in a second."""
    longest = max(row["reference_delay"] for row in rows)
    return ("ms", 1e3) if longest >= 1e-4 else ("µs", 1e6)


def signed_error(row: dict) -> str:
    """The delay error of a case with its sign: + if it ignites later than with CVODE."""
    if not row["ignited"]:
        return NO_IGNITION
    return percent(row["delay_error"], "+" if row["delay"] >= row["reference_delay"] else "−")


# -- figures ---------------------------------------------------------------------------------------


def draw_delays(folder: Folder) -> Figure:
    """Delay against 1000/T0, and the errors of every case."""
    cases = folder.measured(folder.last)["cases"]
    size = [row["delay_error"] if row["ignited"] else np.inf for row in cases]
    rows = sorted(sorted(range(len(cases)), key=lambda i: -size[i])[:SHOWN])
    figure = Figure(figsize=(WIDTH, max(4.2, 1.2 + 0.2 * len(rows))))
    left, right = figure.subplots(1, 2)
    _draw_curves(left, folder, cases)
    _draw_errors(right, folder, rows)
    figure.legend(*right.get_legend_handles_labels(), loc="outside upper right", ncols=3)
    return figure


def _draw_curves(axes: Axes, folder: Folder, cases: list[dict]) -> None:
    """CVODE's delays as lines, dashed by pressure; the last stage's as markers of each phi."""
    unit, factor = delay_unit(cases)
    pressures, phis = (list(dict.fromkeys(row[key] for row in cases)) for key in ("p", "phi"))
    own = colour(folder.last, folder.last)
    for i, p in enumerate(pressures):
        of_line = f"CVODE, {atmospheres(p)} atm"
        axes.plot([], [], color=CVODE, ls=DASHES[i % len(DASHES)], label=of_line)
    for i, p in enumerate(pressures):
        dashes = DASHES[i % len(DASHES)]
        for j, phi in enumerate(phis):
            of = [row for row in cases if (row["p"], row["phi"]) == (p, phi)]
            x = [1000 / row["T0"] for row in of]
            axes.plot(x, [factor * row["reference_delay"] for row in of], color=CVODE, ls=dashes)
            marker = MARKERS[j % len(MARKERS)]
            y = [factor * row["delay"] for row in of]
            label = None if i else f"stage {folder.last}, phi {phi:g}"
            axes.plot(x, y, marker, color=own, ms=6, mfc="none", label=label)
    axes.set(yscale="log", ylabel=f"ignition delay [{unit}]", xlabel="1000 / T0 [1/K]")
    plain_log_ticks(axes)
    axes.legend()
    temperatures = sorted({row["T0"] for row in cases})
    upper = axes.secondary_xaxis("top")
    upper.set_xticks([1000 / T for T in temperatures], [f"{T:g} K" for T in temperatures])


def _draw_errors(axes: Axes, folder: Folder, rows: list[int]) -> None:
    """The error of the delay, a line for each of the cases `rows`."""
    hues = [SOLVER, *(colour(stage, folder.last) for stage in folder.shown)]
    markers = ["d", *("o" if stage == folder.last else "s" for stage in folder.shown)]
    errors = {name: [of["cases"][i] for i in rows] for name, of in folder.compared.items()}
    known = [1e-6, *(r["delay_error"] for of in errors.values() for r in of if r["ignited"])]
    low, high = 1e-6, 3.0 * max(known)
    for (name, cases), marker, hue in zip(errors.items(), markers, hues, strict=True):
        x = [100 * max(r["delay_error"], low) if r["ignited"] else np.nan for r in cases]
        axes.plot(x, range(len(rows)), marker, color=hue, ms=6, mfc="none", label=name)
        failed = [i for i, r in enumerate(cases) if not r["ignited"]]
        if failed:  # an empty line that is not clipped spoils the layout
            axes.plot([100 * high] * len(failed), failed, "X", color=hue, ms=9, clip_on=False)
    names = [folder.measured(folder.last)["cases"][i]["case"] for i in rows]
    axes.set_yticks(range(len(rows)), names)
    axes.set(xscale="log", xlim=(50 * low, 100 * high), xlabel="|error of the delay| [%]")
    axes.invert_yaxis()
