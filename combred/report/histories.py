"""Temperature beside the reference, and the differences from it: the first picture of a page, and
those of its flames and stirred reactors.

Takes curves of plain numbers: by name, "reference" first, the arrays "x" [m] or "t" [s], "T" [K]
and "Y", mass fractions by species. `history` brings curves to one axis; figures compute nothing.
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
Numbers = Mapping[str, Sequence[float]]  # by the name of a curve


@dataclass(frozen=True)
class History:
    """T [K] of a case over t [s] or x [m] (`axis`, `at`) by name, "reference" first, and by
    quantity, "T" or a species, the `differences` of the others from it at the same places."""

    title: str
    axis: str
    at: Sequence[float]
    T: Numbers
    differences: Mapping[str, Numbers]


def differences(curves: Mapping[str, dict], key: str = "T") -> dict[str, np.ndarray]:
    """A quantity of each curve less that of the "reference", at the points of the reference; a mass
    fraction by its name. NaN where a curve has no place, or ends earlier."""
    reference = curves["reference"]
    axis = axis_of(curves)
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


def axis_of(curves: Mapping[str, dict]) -> str:
    """The axis of curves: "t" or "x"."""
    return "t" if "t" in curves["reference"] else "x"


def values(curve: dict, key: str) -> np.ndarray:
    """T or a mass fraction of a curve."""
    return np.array(curve["T"] if key == "T" else curve["Y"][key], float)


def history(
    title: str, curves: Mapping[str, dict], species: Sequence[str] = (), end: float = np.inf
) -> History:
    """The history of a case up to `end` [s or m], with the differences of T and of some species."""
    reference, axis = curves["reference"], axis_of(curves)
    at, T = np.array(reference[axis], float), values(reference, "T")
    shown = np.flatnonzero(at <= end)
    shown = shown[np.unique(np.linspace(0, len(shown) - 1, MOST).astype(int))]
    off = {
        key: {name: d[shown].tolist() for name, d in differences(curves, key).items()}
        for key in ("T", *species)
    }
    every = {"reference": T[shown].tolist()}
    every |= {name: (T[shown] + d).tolist() for name, d in off["T"].items()}
    return History(title, axis, at[shown].tolist(), every, off)


def history_picture(histories: Sequence[History], reference: str, source: str) -> Picture:
    """The figure of histories; reference: in words, for the caption."""
    words = "; ".join(one.title for one in histories)
    caption = (
        f"Temperature and, below, its difference from the reference, {reference}: {words}. In an "
        "ignition that is a little early or late, the difference has a short peak."
    )
    draw = partial(draw_histories, histories)
    return Picture("temperature", draw, "T, and its difference from the reference", caption, source)


def draw_histories(histories: Sequence[History], mean: str = "") -> Figure:
    """T of the reference and of the last one, and below the differences of every quantity; a column
    for each history. mean: the word before T, of means."""
    rows, styles = len(histories[0].differences), looks(list(histories[0].T)[1:])
    styles = {"reference": REFERENCE, **styles}
    figure = Figure(figsize=(WIDTH, rows + 3.4))
    heights = (3, *[2] * rows)
    panels = figure.subplots(
        1 + rows, len(histories), sharex="col", squeeze=False, height_ratios=heights
    )
    for (above, *below), one in zip(panels.T, histories, strict=True):
        at = 1e3 * np.array(one.at)
        for name in ("reference", list(styles)[-1]):
            above.plot(at, one.T[name], **styles[name])
        above.set(title=literal(one.title), ylabel=f"{mean}T [K]")
        for axes, (quantity, found) in zip(below, one.differences.items(), strict=True):
            for name, off in found.items():
                axes.plot(at, off, **styles[name])
            said = "T [K]" if quantity == "T" else f"Y({literal(quantity)})"
            axes.set_ylabel(f"difference of\n{said}")
            axes.yaxis.set_major_locator(MaxNLocator(4))
            axes.ticklabel_format(axis="y", scilimits=(-3, 4), useMathText=True)
        below[-1].set_xlabel(AXES[one.axis])
    lines = [Line2D([], [], **look) for look in styles.values()]
    figure.legend(lines, list(styles), loc="outside upper center", ncols=len(styles))
    return figure
