"""The figures of a reduced mechanism, drawn from the numbers of reduce.json."""

import math
import re
from collections.abc import Iterable
from itertools import cycle

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import MaxNLocator

from combred.report.style import BLACK, COLOURS, MARKERS, WIDTH

CASE = re.compile(  # as the judges name it
    r"(\S+) K, (\S+) atm, phi ([^,]+)(?:, case \d+)?(?:, (?!case \d)(.+?))?(?:, case \d+)?"
)
GROUPS = "judged_cases", "held_out"  # that the search saw, and that it did not
LEAST = 1e-4  # %: smaller errors are drawn here


def draw_errors(record: dict) -> Figure:
    """Errors of the judges against the number of species."""
    figure = Figure(figsize=(WIDTH, 4.0))
    axes = figure.subplots()
    path = record["path"]
    for judge, colour, marker in zip(record["judged"], COLOURS, MARKERS, strict=False):
        rows = [(row["species"], row["errors"][judge]) for row in path]
        points = [(n, max(100 * e, LEAST)) for n, e in rows if e is not None]
        sizes, errors = [n for n, _ in points], [e for _, e in points]
        axes.plot(sizes, errors, f"-{marker}", color=colour, ms=4, lw=1.2, label=judge)
        chosen = max(100 * record["judged"][judge], LEAST)
        axes.plot([len(record["species"])], [chosen], marker, color=colour, ms=9, mec=BLACK)
    axes.axhline(100 * record["inputs"]["error"], color=BLACK, lw=1.0, ls=(0, (4, 2)))
    axes.set(yscale="log", xlabel="species", ylabel="largest relative error [%]")
    axes.xaxis.set_major_locator(MaxNLocator(integer=True))
    drawn = [len(record["species"]), *(row["species"] for row in path)]
    axes.set_xlim(max(drawn) + 1, min(drawn) - 1)  # from many species to few
    axes.legend()
    return figure


def draw_cases(record: dict) -> Figure:
    """Delays over 1000 / T0, speeds over phi, and T over the residence time in reactors."""
    figure = Figure(figsize=(WIDTH, 3.6))
    left, middle, right = figure.subplots(1, 3)
    phi = usual_phi(record)
    delays = cases_of(record, "ignition delay", GROUPS[:1])
    delays = [case for case in delays if case[2] == phi and not case[3]]
    draw_by_pressure(left, [(1e3 / T, p, 1e3 * a, 1e3 * b) for T, p, _, _, a, b in delays])
    left.set(yscale="log", xlabel="1000 / T0 [1/K]", ylabel="ignition delay [ms]")
    speeds = [case for case in cases_of(record, "flame") if case[3] == "speed"]
    cold = min((case[0] for case in speeds), default=0.0)  # not those that are warmer, held out
    speeds = [case for case in speeds if case[0] == cold]
    draw_by_pressure(middle, [(x, p, 100 * a, 100 * b) for _, p, x, _, a, b in speeds])
    middle.set(xlabel="phi", ylabel="flame speed [cm/s]")
    for (case, both), colour in zip(record["curves"].items(), cycle(COLOURS), strict=False):
        (T, tau), (reduced_T, reduced_tau) = map(columns, both)
        right.plot(1e3 * tau, T, color=colour, lw=1.2)
        name = case.partition(", ")[2]  # without T, that of all
        right.plot(1e3 * reduced_tau, reduced_T, "o", color=colour, ms=3, label=name)
    if record["curves"]:
        right.legend(fontsize="small")
    right.set(xscale="log", xlabel="residence time [ms]", ylabel="T [K]")
    return figure


def columns(curve: list) -> np.ndarray:
    """A curve's T [K] and residence times [s], (2, n); NaN where JSON has null."""
    return np.array(curve, dtype=float).reshape(-1, 2).T


def draw_by_pressure(axes: Axes, points: list[tuple[float, float, float, float]]) -> None:
    """Points (x, p [atm], detailed, reduced): a line and markers for each pressure."""
    for p, colour in zip(sorted({point[1] for point in points}), cycle(COLOURS), strict=False):
        rows = sorted(point for point in points if point[1] == p)
        x, _, detailed, reduced = zip(*rows, strict=True)
        axes.plot(x, detailed, "-" if len(x) > 1 else "_", color=colour, lw=1.2, ms=14)
        axes.plot(x, reduced, "o", color=colour, ms=4, label=f"{p:g} atm")
    if points:
        axes.legend(fontsize="small")


def cases_of(record: dict, judge: str, groups: Iterable[str] = GROUPS) -> list:
    """The cases of a judge: T [K], p [atm], phi, the quantity, or "" for a delay, the value of the
    detailed and of the reduced mechanism, NaN where it failed."""
    found = []
    for group in groups:
        values = record["values"][group].get(judge, {})
        for name, error in record[group].get(judge, {}).items():
            place, value = CASE.fullmatch(name), values.get(name)
            if place is None or value is None:
                continue
            reduced = math.nan if error is None else value * (1.0 + error)
            found.append((*map(float, place.groups()[:3]), place[4] or "", value, reduced))
    return found


def usual_phi(record: dict) -> float:
    """The phi in the middle of the judged ignitions."""
    phis = sorted({case[2] for case in cases_of(record, "ignition delay", GROUPS[:1])})
    return phis[(len(phis) - 1) // 2]
