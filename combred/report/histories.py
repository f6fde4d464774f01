"""Temperature beside the reference, and the differences from it: the first picture of a page.

Takes curves of plain numbers; gives a `Picture`. `differences` brings curves to one axis; figures
compute nothing.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import partial

import numpy as np
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from scipy.interpolate import CubicSpline

from combred.report.blocks import Picture
from combred.report.style import REFERENCE, WIDTH, literal, looks

MOST = 600  # points of a curve
AXES = {"t": "t [ms]", "x": "x [mm]"}


@dataclass(frozen=True)
class History:
    """T [K] of a case over t [s] or x [m] (`axis`, `at`) by name, "reference" first, and the
    `differences` of the others from it at the same place."""

    title: str
    axis: str
    at: Sequence[float]
    T: Mapping[str, Sequence[float]]
    differences: Mapping[str, Sequence[float]]


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
    at, off = np.array(reference[axis], float), differences(curves)
    shown = np.flatnonzero(at <= end)
    shown = shown[np.unique(np.linspace(0, len(shown) - 1, MOST).astype(int))]
    T = values(reference, "T")
    return History(
        title,
        axis,
        at[shown].tolist(),
        {"reference": T[shown].tolist()} | {k: (T + d)[shown].tolist() for k, d in off.items()},
        {name: d[shown].tolist() for name, d in off.items()},
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


def draw_histories(histories: Sequence[History]) -> Figure:
    """T above, differences below; a column for each history."""
    figure = Figure(figsize=(WIDTH, 4.4))
    panels = figure.subplots(2, len(histories), sharex="col", squeeze=False, height_ratios=(3, 2))
    styles = looks(list(histories[0].differences))
    for (above, below), one in zip(panels.T, histories, strict=True):
        at = 1e3 * np.array(one.at)
        last = list(one.differences)[-1]
        above.plot(at, one.T["reference"], **REFERENCE)
        above.plot(at, one.T[last], **styles[last])
        for name, off in one.differences.items():
            below.plot(at, off, **styles[name])
        above.set(title=literal(one.title), ylabel="T [K]")
        below.set(xlabel=AXES[one.axis], ylabel="difference [K]")
    lines = {"reference": REFERENCE, **styles}
    handles = [Line2D([], [], **look) for look in lines.values()]
    figure.legend(handles, list(lines), loc="outside upper center", ncols=len(lines))
    return figure
