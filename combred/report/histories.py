"""Temperature beside the reference, and the differences from it: pictures of all pages.

Takes curves of plain numbers; gives a `Picture`. `differences` brings curves to one axis; figures
compute nothing.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import partial

import numpy as np
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.ticker import MaxNLocator
from scipy.interpolate import CubicSpline

from combred.report.blocks import Picture
from combred.report.style import REFERENCE, WIDTH, literal, looks

MOST = 600  # points of a curve
AXES = {"t": "t [ms]", "x": "x [mm]"}


@dataclass(frozen=True)
class History:
    """T [K] of a case over t [s] or x [m] (`axis`, `at`) by name, "reference" first, and the
    `differences` of the others from it at the same place, of T and of mass fractions by species."""

    title: str
    axis: str
    at: np.ndarray
    T: Mapping[str, np.ndarray]
    differences: Mapping[str, Mapping[str, np.ndarray]]


def differences(curves: Mapping[str, dict], key: str = "T") -> dict[str, np.ndarray]:
    """A quantity of each curve less that of the "reference", at the points of the reference; a mass
    fraction by its name. NaN where a curve has no place, or ends earlier."""
    reference = curves["reference"]
    axis = "t" if "t" in reference else "x"
    at, known = np.array(reference[axis], float), values(reference, key)
    found = {}
    for name, curve in curves.items():
        if name != "reference":
            own = np.array(curve[axis], float)
            found[name] = np.full(len(at), np.nan)
            if np.isfinite(own).all():
                if axis == "x":  # cells of another flame lie elsewhere, and a front has few
                    y = CubicSpline(own, values(curve, key), extrapolate=False)(at)
                else:
                    y = np.interp(at, own, values(curve, key), left=np.nan, right=np.nan)
                found[name] = y - known
    return found


def values(curve: dict, key: str) -> np.ndarray:
    """T or a mass fraction of a curve."""
    return np.array(curve["T"] if key == "T" else curve["Y"][key], float)


def history(title: str, curves: Mapping[str, dict], end: float = np.inf) -> History:
    """The history of a case, up to `end` [s or m]; curves: by name, as `differences` takes them."""
    reference = curves["reference"]
    axis = "t" if "t" in reference else "x"
    at = np.array(reference[axis], float)
    shown = np.flatnonzero(at <= end)
    shown = shown[np.unique(np.linspace(0, len(shown) - 1, MOST).astype(int))]
    off = {
        key: {name: d[shown] for name, d in differences(curves, key).items()}
        for key in ("T", *reference.get("Y", ()))
    }
    T = values(reference, "T")[shown]
    return History(
        title, axis, at[shown], {"reference": T} | {k: T + d for k, d in off["T"].items()}, off
    )


def history_picture(histories: Sequence[History], reference: str, source: str) -> Picture:
    """The figure of histories; reference: in words, for the caption."""
    words = "; ".join(one.title for one in histories)
    caption = (
        f"Temperature and, below, its difference from the reference, {reference}: {words}. In an "
        "ignition that is a little early or late, the difference has a short peak."
    )
    draw = partial(draw_histories, histories)
    return Picture("temperature", draw, "T, and its difference from the reference", caption, source)


def draw_histories(histories: Sequence[History], T: str = "T") -> Figure:
    """T above, differences of T and species below; a column for each history. T: what it is."""
    rows = 1 + max(len(one.differences) for one in histories)
    figure = Figure(figsize=(WIDTH, rows + 2.4))
    ratios = [3, *[2] * (rows - 1)]
    panels = figure.subplots(
        rows, len(histories), sharex="col", squeeze=False, height_ratios=ratios
    )
    styles = looks(list(histories[0].differences["T"]))
    for column, one in zip(panels.T, histories, strict=True):
        at, last = 1e3 * one.at, list(styles)[-1]
        column[0].plot(at, one.T["reference"], **REFERENCE)
        column[0].plot(at, one.T[last], **styles[last])
        column[0].set(title=literal(one.title), ylabel=f"{T} [K]")
        for axes, (key, found) in zip(column[1:], one.differences.items(), strict=False):
            for name, off in found.items():
                axes.plot(at, off, **styles[name])
            said = "T [K]" if key == "T" else f"Y({literal(key)})"
            axes.set_ylabel(f"difference of\n{said}")
        for axes in column:
            axes.yaxis.set_major_locator(MaxNLocator(4))
            axes.ticklabel_format(axis="y", scilimits=(-3, 4), useMathText=True)
        column[-1].set_xlabel(AXES[one.axis])
    lines = {"reference": REFERENCE, **styles}
    handles = [Line2D([], [], **look) for look in lines.values()]
    figure.legend(handles, list(lines), loc="outside upper center", ncols=len(lines))
    return figure
