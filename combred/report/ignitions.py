"""Ignitions with any number of solvers or networks, compared with CVODE: a section of a page.

Takes `results`: the rows of each solver or network by its name, a row for each case, with the keys
of validation.json: "case" in words, "T0" [K], "p" [Pa], "phi", "ignited", "delay" and
"reference_delay" [s], "delay_error" (relative); optionally "burnt_T_error" [K], and "dt" [s] where
the cases have different time steps. The last name is the one that the page is about.
"""

from collections.abc import Mapping, Sequence
from functools import partial
from itertools import cycle

import numpy as np
from matplotlib.figure import Figure
from matplotlib.ticker import LogLocator, NullFormatter

from combred.report.blocks import Note, Picture, Section, Table, Text
from combred.report.formats import atmospheres, kelvin, number, percent, significant
from combred.report.style import BLACK, LAST, MARKERS, WIDTH, looks

Results = Mapping[str, Sequence[dict]]
SHOWN = 24  # cases in the table at most: those with the largest errors
LEAST = 1e-12  # delay [s] or relative error: smaller ones are drawn here


def ignition_section(said: str, results: Results, source: str) -> Section:
    """Delays and their errors. said: the sentences that differ between pages; source: the file of
    the numbers."""
    text = Text(
        f"Adiabatic reactors at constant pressure. {said} The solution marches in time steps, as "
        "in a flow code, each from the result of the last one. The ignition delay is the time at "
        "half the rise of T; CVODE continues the last state before it, so that the delay does not "
        "depend on the time step."
    )
    if not any(results.values()):
        return Section("Ignition", [text, Note("No ignition was compared.")])
    delays = Picture(
        "delays",
        partial(draw_delays, results),
        "Ignition delay against 1000/T0, and its error in every case",
        "Left: ignition delay against initial temperature; black lines or crosses: CVODE; markers: "
        f"{list(results)[-1]}. Right: error of the delay; a cross at the top does not ignite.",
        source,
    )
    tables = error_table(results, source), case_table(results, source)
    return Section("Ignition", [text, delays, *tables])


def groups(rows: Sequence[dict]) -> dict[str, list[int]]:
    """The indices of the cases by time step, where there are several, or else by pressure."""
    found: dict[str, list[int]] = {}
    for i, row in enumerate(rows):
        name = f"dt {number(row['dt'])} s" if "dt" in row else f"{atmospheres(row['p'])} atm"
        found.setdefault(name, []).append(i)
    return found


def size(row: dict) -> float:
    """The relative error of a delay; infinite where the case does not ignite."""
    return row["delay_error"] if row["ignited"] else np.inf


def error_table(results: Results, source: str) -> Table:
    """Mean and worst error of every solver or network in each group of cases."""
    rows = []
    for group, of in groups(list(results.values())[-1]).items():
        errors = [[size(cases[i]) for i in of] for cases in results.values()]
        cells = [percent(float(f(sizes))) for sizes in errors for f in (np.mean, np.max)]
        rows.append([group, str(len(of)), *cells])
    heads = [f"{name}, {kind}" for name in results for kind in ("mean", "worst")]
    caption = "Relative errors of the ignition delay."
    return Table(["", "ignitions", *heads], rows, source, caption)


def case_table(results: Results, source: str) -> Table:
    """The cases with the largest errors: CVODE's delay, and the error of every solver or network
    with its sign."""
    cases = list(zip(*results.values(), strict=True))
    order = sorted(range(len(cases)), key=lambda i: -max(map(size, cases[i])))
    rows = [
        [rows[-1]["case"], significant(1e3 * rows[-1]["reference_delay"], 4)]
        + [percent(size(r), "+" if r["delay"] >= r["reference_delay"] else "−") for r in rows]
        + [kelvin(rows[-1].get("burnt_T_error"))]
        for rows in (cases[i] for i in sorted(order[:SHOWN]))
    ]
    few = f"The {SHOWN} cases with the largest errors. " if len(cases) > SHOWN else ""
    caption = f"{few}Errors of the delay; +: later than CVODE, −: earlier."
    heads = ["case", "delay, CVODE [ms]", *results, f"burnt T error, {list(results)[-1]}"]
    return Table(heads, rows, source, caption).known()


def draw_delays(results: Results) -> Figure:
    """Delay against 1000/T0, CVODE's as a line where only T0 differs; and the errors of every case,
    a colour for each solver or network. Groups of cases have different markers."""
    figure = Figure(figsize=(WIDTH, 4.6))
    left, right = figure.subplots(1, 2)
    rows, curves = list(results.values())[-1], dict[tuple, list[dict]]()
    for row in rows:
        curves.setdefault((row["p"], row["phi"]), []).append(row)
    for curve in curves.values():
        x = [1000 / row["T0"] for row in curve]
        y = [1e3 * row["reference_delay"] for row in curve]
        left.plot(x, y, "-" if len(curve) > 1 else "x", color=BLACK, ms=4, lw=1.2)
    for marker, (group, of) in zip(cycle(MARKERS), groups(rows).items(), strict=False):
        left.plot(
            *points(rows, of, "delay", 1e3), marker, color=LAST, ms=7, mfc="none", label=group
        )
        for name, look in looks(list(results)).items():
            label = name if marker == MARKERS[0] else ""
            found = points(results[name], of, "delay_error", 100.0)
            right.plot(*found, marker, color=look["color"], ms=5, mfc="none", label=label)
    top = {"transform": right.get_xaxis_transform(), "clip_on": False}
    for name, look in looks(list(results)).items():
        failed = [1000 / row["T0"] for row in results[name] if not row["ignited"]]
        if failed:  # an empty line that is not clipped spoils the layout
            right.plot(failed, [1.0] * len(failed), "X", color=look["color"], ms=9, **top)
    left.set(yscale="log", ylabel="ignition delay [ms]", xlabel="1000 / T0 [1/K]")
    right.set(yscale="log", ylabel="|error of the delay| [%]", xlabel="1000 / T0 [1/K]")
    narrow = left.get_ylim()[1] < 10 * left.get_ylim()[0]
    subs = (1.0, 1.5, 2.0, 3.0, 5.0, 7.0) if narrow else (1.0, 2.0, 5.0)
    left.yaxis.set(major_locator=LogLocator(subs=subs), major_formatter="{x:g}")
    left.yaxis.set(minor_formatter=NullFormatter())
    # Not among the points.
    figure.legend(*left.get_legend_handles_labels(), loc="outside upper left", ncols=4)
    figure.legend(*right.get_legend_handles_labels(), loc="outside upper right", ncols=3)
    return figure


def points(rows: Sequence[dict], of: list[int], key: str, unit: float) -> tuple[list, list]:
    """1000 / T0 [1/K] and a value of the cases `of` that ignite, at least `LEAST` of a unit."""
    ignited = [rows[i] for i in of if rows[i]["ignited"]]
    return [1000 / row["T0"] for row in ignited], [unit * max(row[key], LEAST) for row in ignited]
