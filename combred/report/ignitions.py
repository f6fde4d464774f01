"""Figures of ignitions: delays, and T and species along the rollouts.

Takes the rollouts of validation.h5 and the errors of validation.json; gives matplotlib figures.
"""

from collections.abc import Sequence

from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import MaxNLocator

from combred.report.blocks import delay_unit
from combred.report.style import CVODE, DASHES, MARKERS, WIDTH, colour, plain_log_ticks
from combred.report.traces import Trace
from combred.simulation.ignition import Rollout


def draw_temperatures(traces: Sequence[Trace]) -> Figure:
    """T around the ignition, one panel for each case."""
    cases = [trace.reference.case for trace in traces]
    mixtures = len({(case.p, case.phi) for case in cases})
    regular = 2 <= mixtures <= 5 and mixtures * len({case.T0 for case in cases}) == len(cases)
    columns = mixtures if regular else min(4, len(traces))
    rows = -(-len(traces) // columns)
    figure = Figure(figsize=(WIDTH, 1.85 * rows + 0.8))
    panels = figure.subplots(rows, columns, sharey=True, squeeze=False).ravel()
    for spare in panels[len(traces) :]:
        spare.axis("off")
    for i, (axes, trace) in enumerate(zip(panels, traces, strict=False)):
        _draw_around_ignition(axes, trace, None)
        axes.set_title(str(trace.reference.case))
        _write_error(axes, trace)
        if i % columns == 0:
            axes.set_ylabel("T [K]")
        if i + columns >= len(traces):
            axes.set_xlabel("time after CVODE's ignition [µs]")
    _legend(figure, traces[0])
    return figure


def draw_species(traces: Sequence[Trace], species: Sequence[tuple[str, int]]) -> Figure:
    """Mass fractions (rows: name and index of a species) around the ignitions (columns)."""
    figure = Figure(figsize=(WIDTH, 1.6 * len(species) + 0.9))
    panels = figure.subplots(len(species), len(traces), sharex="col", sharey="row", squeeze=False)
    for i, (name, index) in enumerate(species):
        for j, trace in enumerate(traces):
            _draw_around_ignition(panels[i, j], trace, index)
            if i == 0:
                panels[i, j].set_title(str(trace.reference.case))
            if i == len(species) - 1:
                panels[i, j].set_xlabel("time after CVODE's ignition [µs]")
        panels[i, 0].set_ylabel(f"Y({name}) [-]")
    _legend(figure, traces[0])
    return figure


def draw_case(trace: Trace, species: Sequence[tuple[str, int]]) -> Figure:
    """One case in detail: T over the whole rollout, then T and species around the ignition."""
    rows = -(-(2 + len(species)) // 2)
    figure = Figure(figsize=(WIDTH, 1.9 * rows + 0.8))
    panels = figure.subplots(rows, 2, squeeze=False).ravel()
    for spare in panels[2 + len(species) :]:
        spare.axis("off")
    for rollout, style in _curves(trace):
        panels[0].plot(1e3 * rollout.t, rollout.T, **style)
    panels[0].axvspan(*(1e3 * t for t in trace.time_range()), color="#f0e442", alpha=0.35, lw=0)
    panels[0].set(title="the whole rollout; shaded: the time shown in the other panels")
    panels[0].set(xlabel="time [ms]", ylabel="T [K]")
    _draw_around_ignition(panels[1], trace, None)
    _write_error(panels[1], trace)
    panels[1].set_ylabel("T [K]")
    for axes, (name, index) in zip(panels[2:], species, strict=False):
        _draw_around_ignition(axes, trace, index)
        axes.set_ylabel(f"Y({name}) [-]")
    for axes in panels[2 + len(species) - 2 : 2 + len(species)]:
        axes.set_xlabel("time after CVODE's ignition [µs]")
    _legend(figure, trace)
    return figure


def _curves(trace: Trace) -> list[tuple[Rollout, dict]]:
    """Each rollout and its line style: CVODE first and thick, the last stage on top."""
    curves = [(trace.reference, {"color": CVODE, "lw": 2.6, "alpha": 0.85})]
    for stage, rollout in trace.rollouts.items():
        dashes = "-" if stage == trace.last else (0, (4, 2))
        curves.append((rollout, {"color": colour(stage, trace.last), "lw": 1.5, "ls": dashes}))
    return curves


def _draw_around_ignition(axes: Axes, trace: Trace, index: int | None) -> None:
    """T (index None) or a species around the ignition, over time after CVODE's delay."""
    low, high = trace.time_range()
    zero = trace.row["reference_delay"]
    for rollout, style in _curves(trace):
        shown = (rollout.t >= low) & (rollout.t <= high)
        y = rollout.T if index is None else rollout.Y[:, index]
        axes.plot(1e6 * (rollout.t[shown] - zero), y[shown], **style)
    axes.set_xlim(1e6 * (low - zero), 1e6 * (high - zero))
    axes.xaxis.set_major_locator(MaxNLocator(5))
    axes.yaxis.set_major_locator(MaxNLocator(4))
    axes.ticklabel_format(axis="y", scilimits=(-3, 4), useMathText=True)


def _write_error(axes: Axes, trace: Trace) -> None:
    """Write the delay error of the last stage into the panel."""
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
    lines = [Figure().add_subplot().plot([], [], **style)[0] for _, style in _curves(trace)]
    figure.legend(lines, names, loc="outside upper center", ncols=len(names))


def draw_delays(results: dict[int, dict]) -> Figure:
    """Delay against 1000/T0, CVODE as lines and stages as markers, and the errors below."""
    figure = Figure(figsize=(WIDTH, 6.2))
    top, bottom = figure.subplots(2, 1, sharex=True, height_ratios=(2, 1))
    last = max(results)
    cases = results[last]["cases"]
    unit, factor = delay_unit(cases)
    mixtures = list(dict.fromkeys((row["p"], row["phi"]) for row in cases))
    for i, mixture in enumerate(mixtures):
        name = _name(mixture, mixtures)
        rows = [row for row in cases if (row["p"], row["phi"]) == mixture]
        look = {"color": CVODE, "ls": DASHES[i % len(DASHES)], "marker": ".", "ms": 4, "lw": 1.3}
        x = [1000 / row["T0"] for row in rows]
        top.plot(
            x, [factor * row["reference_delay"] for row in rows], **look, label=f"CVODE, {name}"
        )
        for stage, result in results.items():
            rows = [row for row in result["cases"] if (row["p"], row["phi"]) == mixture]
            look = {"color": colour(stage, last), "marker": MARKERS[i % len(MARKERS)], "ls": ""}
            look |= {"ms": 6} if stage == last else {"ms": 9, "mfc": "none"}
            top.plot(
                x, [factor * row["delay"] for row in rows], **look, label=f"stage {stage}, {name}"
            )
            bottom.plot(x, [100 * row["delay_error"] for row in rows], **look)
    _mark_failures(top, results, factor)
    top.set(yscale="log", ylabel=f"ignition delay [{unit}]")
    plain_log_ticks(top)
    top.legend(loc="upper left", bbox_to_anchor=(1.01, 1.0))
    bottom.set(ylabel="|error| [%]", xlabel="1000 / T0 [1/K]", ylim=(0, None))
    temperatures = sorted({row["T0"] for row in cases})
    upper = top.secondary_xaxis("top")
    upper.set_xticks([1000 / T for T in temperatures], [f"{T:g} K" for T in temperatures])
    return figure


def _name(mixture: tuple[float, float], mixtures: list[tuple[float, float]]) -> str:
    """The equivalence ratio, and the pressure if there are several."""
    p, phi = mixture
    several = len({p for p, _ in mixtures}) > 1
    return f"phi {phi:g}" + (f", {p / 101325:g} atm" if several else "")


def _mark_failures(axes: Axes, results: dict[int, dict], factor: float) -> None:
    """A cross at CVODE's delay where the network of a stage does not ignite."""
    for stage, result in results.items():
        failed = [row for row in result["cases"] if not row["ignited"]]
        if failed:
            axes.plot(
                [1000 / row["T0"] for row in failed],
                [factor * row["reference_delay"] for row in failed],
                "X" if stage == max(results) else "x",
                color=colour(stage, max(results)),
                ms=11,
                label=f"stage {stage}: no ignition",
            )
