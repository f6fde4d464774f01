"""The figure of the ignition with the largest error of the delay.

Takes the rollouts of validation.h5 and their rows of validation.json; gives a figure.
"""

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import MaxNLocator

from combred.report.folder import Folder
from combred.report.style import WIDTH, Look, legend, looks
from combred.simulation.ignition import Rollout

SPECIES = 4  # in the figure; an even number


def draw_worst(folder: Folder) -> Figure:
    """The worst case: T over the whole rollout, then T and species around the ignition."""
    result = folder.measured(folder.last)
    i = [row["case"] for row in result["cases"]].index(result["worst_case"])
    styles = {n: look for n, look in looks(folder.shown).items() if n in folder.rollouts}
    curves = [(folder.rollouts[name][i], look) for name, look in styles.items()]
    rows = [folder.measured(stage)["cases"][i] for stage in folder.shown]
    zero, around = rows[-1]["reference_delay"], time_range(curves[0][0], rows)
    species = peaks(curves[0][0])
    figure = Figure(figsize=(WIDTH, 1.9 * (1 + len(species) // 2) + 0.8))
    whole, near, *panels = figure.subplots(1 + len(species) // 2, 2, squeeze=False).ravel()
    for rollout, look in curves:
        whole.plot(1e3 * rollout.t, rollout.T, **look)
    whole.axvspan(*(1e3 * t for t in around), color="#f0e442", alpha=0.35, lw=0)
    whole.set(title="all of it; shaded: the other panels", xlabel="time [ms]", ylabel="T [K]")
    _draw_near(near, curves, None, zero, around)
    near.set_ylabel("T [K]")
    for axes, k in zip(panels, species, strict=True):
        _draw_near(axes, curves, k, zero, around)
        axes.set_ylabel(f"Y({folder.mechanism.species_names[k]}) [-]")
    for axes in panels[-2:]:
        axes.set_xlabel("time after CVODE's ignition [µs]")
    legend(figure, styles, "CVODE")
    return figure


def peaks(rollout: Rollout) -> list[int]:
    """The `SPECIES` species that rise most above both ends of a rollout."""
    rise = rollout.Y.max(axis=0) - rollout.Y[[0, -1]].max(axis=0)
    return [int(k) for k in np.argsort(-rise, kind="stable")[:SPECIES]]


def time_range(reference: Rollout, rows: list[dict]) -> tuple[float, float]:
    """First and last time [s] shown around the ignition: a few rise times around all delays."""
    t, T = reference.t, reference.T
    rise = (T.max() - T[0]) / (np.diff(T).max() / (t[1] - t[0]))
    delays = [row["delay"] for row in rows if row["ignited"]] + [rows[-1]["reference_delay"]]
    gap = max(delays) - min(delays)
    low, high = min(delays) - 5 * rise - 0.3 * gap, max(delays) + 5 * rise + 0.3 * gap
    return max(low, 0.0), min(high, t[-1])


def _draw_near(
    axes: Axes,
    curves: list[tuple[Rollout, Look]],
    index: int | None,
    zero: float,
    around: tuple[float, float],
) -> None:
    """T (index None) or a species in the times `around` [s], counted from `zero` [s]."""
    for rollout, look in curves:
        shown = (rollout.t >= around[0]) & (rollout.t <= around[1])
        y = rollout.T if index is None else rollout.Y[:, index]
        axes.plot(1e6 * (rollout.t[shown] - zero), y[shown], **look)
    axes.set_xlim(*(1e6 * (t - zero) for t in around))
    axes.xaxis.set_major_locator(MaxNLocator(5))
    axes.yaxis.set_major_locator(MaxNLocator(4))
    axes.ticklabel_format(axis="y", scilimits=(-3, 4), useMathText=True)
