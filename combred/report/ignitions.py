"""Figures of ignitions: delays, and what T and the species do along a rollout.

Takes the rollouts of validation.h5 and the errors of validation.json; gives matplotlib figures.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import FuncFormatter, MaxNLocator, NullFormatter

from combred.ignition import Rollout
from combred.report.figures import CVODE, DASHES, MARKERS, WIDTH, colour, styled

PANELS = 24  # ignitions on the overview; of more, those of the largest error


@dataclass(frozen=True)
class Trace:
    """One case: CVODE's rollout, that of each stage drawn, and their rows of validation.json."""

    reference: Rollout
    rollouts: dict[int, Rollout]
    rows: dict[int, dict]
    last: int

    @property
    def row(self) -> dict:
        """The row of the last stage."""
        return self.rows[self.last]

    @property
    def error(self) -> float:
        """The delay error of the last stage; inf where it does not ignite."""
        return self.row["delay_error"] if self.row["ignited"] else np.inf

    def curves(self) -> list[tuple[Rollout, dict]]:
        """Each rollout and how it is drawn, CVODE first."""
        style = {"color": CVODE, "lw": 2.6, "alpha": 0.85}
        curves = [(self.reference, style)]
        for stage, rollout in self.rollouts.items():
            final = stage == self.last
            style = {
                "color": colour(stage, self.last),
                "lw": 1.5,
                "ls": "-" if final else (0, (4, 2)),
            }
            curves.append((rollout, style))
        return curves

    def window(self) -> tuple[float, float]:
        """Times [s] between which the ignition is seen: around all delays, a few rise times wide."""
        t, T = self.reference.t, self.reference.T
        rise = (T.max() - T[0]) / (np.diff(T).max() / (t[1] - t[0]))
        delays = [row["delay"] for row in self.rows.values() if row["ignited"]]
        delays.append(self.row["reference_delay"])
        gap = max(delays) - min(delays)
        low, high = min(delays) - 8 * rise - 0.3 * gap, max(delays) + 8 * rise + 0.3 * gap
        return max(low, 0.0), min(high, t[-1])


def overview(traces: Sequence[Trace]) -> list[Trace]:
    """The traces that the overview shows: all, or the `PANELS` of largest delay error."""
    if len(traces) <= PANELS:
        return list(traces)
    worst = sorted(range(len(traces)), key=lambda i: -traces[i].error)[:PANELS]
    return [traces[i] for i in sorted(worst)]


def typical_columns(traces: Sequence[Trace], most: int = 4) -> list[Trace]:
    """For each equivalence ratio (of only one: each T0) the case of the largest delay error."""
    by = "phi" if len({t.reference.case.phi for t in traces}) > 1 else "T0"
    worst: dict[float, Trace] = {}
    for trace in traces:
        key = getattr(trace.reference.case, by)
        if key not in worst or trace.error > worst[key].error:
            worst[key] = trace
    chosen = sorted(worst, key=lambda key: -worst[key].error)[:most]
    return [worst[key] for key in sorted(chosen)]


@styled
def draw_temperatures(traces: Sequence[Trace]) -> Figure:
    """T around the ignition of every case, a panel each."""
    mixtures = {(t.reference.case.p, t.reference.case.phi) for t in traces}
    regular = 2 <= len(mixtures) <= 5 and len(traces) % len(mixtures) == 0
    columns = len(mixtures) if regular else min(4, len(traces))
    rows = -(-len(traces) // columns)
    figure = Figure(figsize=(WIDTH, 1.85 * rows + 0.8))
    panels = figure.subplots(rows, columns, sharey=True, squeeze=False).ravel()
    for spare in panels[len(traces) :]:
        spare.axis("off")
    for i, (axes, trace) in enumerate(zip(panels, traces, strict=False)):
        _draw_window(axes, trace, None)
        axes.set_title(str(trace.reference.case))
        _write_error(axes, trace)
        if i % columns == 0:
            axes.set_ylabel("T [K]")
        if i + columns >= len(traces):
            axes.set_xlabel("time after CVODE's ignition [µs]")
    _legend(figure, traces[0])
    return figure


@styled
def draw_species(traces: Sequence[Trace], species: Sequence[tuple[str, int]]) -> Figure:
    """Species (rows: name and index) around the ignitions (columns)."""
    figure = Figure(figsize=(WIDTH, 1.6 * len(species) + 0.9))
    panels = figure.subplots(len(species), len(traces), sharex="col", sharey="row", squeeze=False)
    for i, (name, index) in enumerate(species):
        for j, trace in enumerate(traces):
            _draw_window(panels[i, j], trace, index)
            if i == 0:
                panels[i, j].set_title(str(trace.reference.case))
            if i == len(species) - 1:
                panels[i, j].set_xlabel("time after CVODE's ignition [µs]")
        panels[i, 0].set_ylabel(f"Y({name}) [-]")
    _legend(figure, traces[0])
    return figure


@styled
def draw_case(trace: Trace, species: Sequence[tuple[str, int]]) -> Figure:
    """One case in detail: T over the whole rollout, then T and species around the ignition."""
    rows = -(-(2 + len(species)) // 2)
    figure = Figure(figsize=(WIDTH, 1.9 * rows + 0.8))
    panels = figure.subplots(rows, 2, squeeze=False).ravel()
    for spare in panels[2 + len(species) :]:
        spare.axis("off")
    for rollout, style in trace.curves():
        panels[0].plot(1e3 * rollout.t, rollout.T, **style)
    panels[0].axvspan(*(1e3 * t for t in trace.window()), color="#f0e442", alpha=0.35, lw=0)
    panels[0].set(title="the whole rollout; shaded: the window of the other panels")
    panels[0].set(xlabel="time [ms]", ylabel="T [K]")
    _draw_window(panels[1], trace, None)
    _write_error(panels[1], trace)
    panels[1].set_ylabel("T [K]")
    for axes, (name, index) in zip(panels[2:], species, strict=False):
        _draw_window(axes, trace, index)
        axes.set_ylabel(f"Y({name}) [-]")
    for axes in panels[2 + len(species) - 2 : 2 + len(species)]:
        axes.set_xlabel("time after CVODE's ignition [µs]")
    _legend(figure, trace)
    return figure


def _draw_window(axes: Axes, trace: Trace, index: int | None) -> None:
    """T (index None) or a species around the ignition, over time after CVODE's delay."""
    low, high = trace.window()
    zero = trace.row["reference_delay"]
    for rollout, style in trace.curves():
        inside = (rollout.t >= low) & (rollout.t <= high)
        y = rollout.T if index is None else rollout.Y[:, index]
        axes.plot(1e6 * (rollout.t[inside] - zero), y[inside], **style)
    axes.set_xlim(1e6 * (low - zero), 1e6 * (high - zero))
    axes.xaxis.set_major_locator(MaxNLocator(5))
    axes.yaxis.set_major_locator(MaxNLocator(4))
    axes.ticklabel_format(axis="y", scilimits=(-3, 4), useMathText=True)


def _write_error(axes: Axes, trace: Trace) -> None:
    """The delay error of the last stage, in the panel."""
    ignited = trace.row["ignited"]
    axes.text(
        0.03,
        0.95,
        f"{100 * trace.error:.2g} %" if ignited else "does not ignite",
        transform=axes.transAxes,
        va="top",
        color=colour(trace.last, trace.last),
        weight="bold",
        fontsize=10 if ignited else 11,
    )


def _legend(figure: Figure, trace: Trace) -> None:
    names = ["CVODE", *(f"stage {stage}" for stage in trace.rollouts)]
    lines = [Figure().add_subplot().plot([], [], **style)[0] for _, style in trace.curves()]
    figure.legend(lines, names, loc="outside upper center", ncols=len(names))


@styled
def draw_delays(results: dict[int, dict]) -> Figure:
    """Delay against 1000/T0 of CVODE (lines) and stages (markers), and the errors below."""
    figure = Figure(figsize=(WIDTH, 6.2))
    top, bottom = figure.subplots(2, 1, sharex=True, height_ratios=(2, 1))
    last = max(results)
    mixtures = list(dict.fromkeys((r["p"], r["phi"]) for r in results[last]["cases"]))
    many_p = len({p for p, _ in mixtures}) > 1
    for i, (p, phi) in enumerate(mixtures):
        dashes, marker = DASHES[i % len(DASHES)], MARKERS[i % len(MARKERS)]
        name = f"phi {phi:g}" + (f", {p / 101325:g} atm" if many_p else "")
        for stage, result in results.items():
            rows = [r for r in result["cases"] if (r["p"], r["phi"]) == (p, phi)]
            x = [1000 / r["T0"] for r in rows]
            final = stage == last
            look = {"color": colour(stage, last), "marker": marker, "ls": "", "ms": 6}
            look |= {} if final else {"mfc": "none", "ms": 9}
            if final:
                reference = [1e3 * r["reference_delay"] for r in rows]
                top.plot(x, reference, color=CVODE, ls=dashes, lw=1.3, label=f"CVODE, {name}")
            top.plot(x, [1e3 * r["delay"] for r in rows], **look, label=f"stage {stage}, {name}")
            bottom.plot(x, [100 * r["delay_error"] for r in rows], **look)
    _mark_failures(bottom, results[last]["cases"], colour(last, last))
    top.set(yscale="log", ylabel="ignition delay [ms]")
    top.yaxis.set_major_formatter(FuncFormatter(lambda y, _: f"{y:g}"))
    top.yaxis.set_minor_formatter(NullFormatter())
    top.legend(loc="upper left", ncols=len(mixtures) if len(mixtures) < 4 else 3)
    bottom.set(ylabel="|error| [%]", xlabel="1000 / T0 [1/K]")
    bottom.set_ylim(bottom=0)
    temperatures = sorted({r["T0"] for r in results[last]["cases"]})
    upper = top.secondary_xaxis("top")
    upper.set_xticks([1000 / T for T in temperatures], [f"{T:g} K" for T in temperatures])
    return figure


def _mark_failures(axes: Axes, rows: list[dict], hue: str) -> None:
    failed = [1000 / r["T0"] for r in rows if not r["ignited"]]
    if failed:
        top = [0.9] * len(failed)
        where = axes.get_xaxis_transform()
        axes.plot(failed, top, "X", color=hue, ms=10, transform=where, label="no ignition")
        axes.legend(loc="center left")
