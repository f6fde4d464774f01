"""Figures of training, condensation, time and delays, and the style of all figures.

Takes numbers that lie in files; gives matplotlib figures. With `ignitions` the only module that
imports matplotlib. A figure never computes: what is drawn was written first.
"""

import math
from pathlib import Path

import matplotlib
import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure

STYLE = {
    "figure.constrained_layout.use": True,
    "figure.dpi": 150,
    "savefig.dpi": 150,
    "font.family": "DejaVu Sans",  # comes with matplotlib
    "font.size": 10,
    "axes.titlesize": 10,
    "axes.titlelocation": "left",
    "axes.labelsize": 10,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.grid": True,
    "axes.axisbelow": True,
    "grid.color": "#e4e4e4",
    "grid.linewidth": 0.6,
    "xtick.labelsize": 9,
    "ytick.labelsize": 9,
    "legend.frameon": False,
    "legend.fontsize": 9,
}
WIDTH = 10.0  # inches; shown at 1000 pixels
# Okabe & Ito's colours, which the colour-blind can tell apart.
CVODE, FIRST, LAST = "#000000", "#0072B2", "#D55E00"
BETWEEN = ("#009E73", "#CC79A7", "#E69F00", "#56B4E9")
SAMPLERS = (FIRST, "#56B4E9", "#009E73", LAST, "#E69F00", "#CC79A7")
MARKERS = "osD^vP"
DASHES = ("-", "--", ":", "-.")


def colour(stage: int, last: int) -> str:
    """The colour of a stage, the same in every figure."""
    if stage == 0:
        return FIRST
    return LAST if stage == last else BETWEEN[(stage - 1) % len(BETWEEN)]


def save(figure: Figure, path: Path) -> None:
    """Write a PNG that depends on nothing but what is drawn."""
    figure.savefig(path, metadata={"Software": None})


def styled(draw):
    """A drawing function that runs in the style of the report."""

    def drawn(*arguments, **named) -> Figure:
        with matplotlib.rc_context({**matplotlib.rcParamsDefault, **STYLE}):
            figure = draw(*arguments, **named)
            figure.canvas.draw()  # the layout is made while the style holds
            return figure

    return drawn


@styled
def draw_losses(losses: dict[int, list[dict]], reductions: dict[int, dict]) -> Figure:
    """Training and validation loss of all stages end to end, and the latter by sampler."""
    figure = Figure(figsize=(WIDTH, 6.4))
    total, split = figure.subplots(2, 1, sharex=True)
    start, last = 0, max(losses)
    samplers = list(dict.fromkeys(n for s in losses for n in losses[s][0]["validation_by_sampler"]))
    for stage, lines in losses.items():
        steps = start + np.array([line["step"] for line in lines])
        own = colour(stage, last)
        total.plot(steps, [x["train"] for x in lines], color=own, alpha=0.55, lw=1, ls="--")
        total.plot(steps, [x["validation"] for x in lines], color=own, lw=1.8)
        for name, hue in zip(samplers, SAMPLERS, strict=False):
            loss = [x["validation_by_sampler"].get(name, math.nan) for x in lines]
            split.plot(steps, loss, color=hue, lw=1.5, label=name if start == 0 else None)
        record = reductions.get(stage, {})
        if start:
            for axes in (total, split):
                axes.axvline(start, color="#666666", lw=0.8)
        if "validation_merged" in record:
            total.plot(start, record["validation_merged"], "v", color=own, ms=7, clip_on=False)
        total.annotate(
            f" stage {stage}" + (f": layer {record['layer']} at {record['threshold']:g}" if record else ""),
            (start, 1.0),
            xycoords=("data", "axes fraction"),
            va="bottom",
            color=own,
            weight="bold",
            fontsize=9,
        )
        start = steps[-1]
    for axes in (total, split):
        axes.set(yscale="log", ylabel="loss [-]")
        _plain_log_ticks(axes)
    total.plot([], [], color="#444444", lw=1.8, label="validation")
    total.plot([], [], color="#444444", lw=1, ls="--", alpha=0.7, label="training")
    if any("validation_merged" in r for r in reductions.values()):
        total.plot([], [], "v", color="#444444", ls="", label="validation, right after the merge")
    total.legend(loc="upper right", ncols=3)
    split.legend(loc="upper right", ncols=3, title="validation, by sampler", title_fontsize=9)
    split.set_xlabel("optimiser step, stages laid end to end")
    split.set_xlim(0, start * 1.01)
    return figure


def _plain_log_ticks(axes: Axes) -> None:
    """Numbers like 0.05 on a logarithmic axis, also where it spans less than a decade."""
    low, high = axes.get_ylim()
    decades = math.log10(high / low)
    subs = (1, 2, 5) if decades > 0.7 else (1, 1.5, 2, 3, 4, 5, 6, 8)
    axes.yaxis.set_major_locator(matplotlib.ticker.LogLocator(subs=subs))
    axes.yaxis.set_major_formatter(matplotlib.ticker.FuncFormatter(lambda y, _: f"{y:.3g}"))
    axes.yaxis.set_minor_formatter(matplotlib.ticker.NullFormatter())


@styled
def draw_similarity(reductions: list[dict], matrices: dict[str, np.ndarray]) -> Figure:
    """Similarity matrices of the reduced layers, before and after each reduction."""
    columns = 2 if len(reductions) < 3 else 4
    rows = math.ceil(2 * len(reductions) / columns)
    side = WIDTH / columns
    figure = Figure(figsize=(WIDTH, rows * (side * 0.93 + 0.25)))
    panels = figure.subplots(rows, columns, squeeze=False).ravel()
    for spare in panels[2 * len(reductions) :]:
        spare.axis("off")
    for i, record in enumerate(reductions):
        for axes, when in zip(panels[2 * i : 2 * i + 2], ("before", "after"), strict=True):
            numbers = record[when]
            units = numbers["units"]
            image = axes.imshow(
                matrices[f"stage{record['stage']}_{when}"].astype(float),
                cmap="RdBu_r",
                vmin=-1,
                vmax=1,
                extent=(0, units, units, 0),
                interpolation="nearest",
            )
            state = "before" if when == "before" else "after, retrained"
            axes.set_title(
                f"stage {record['stage']}, layer {record['layer']}, {state}\n"
                f"{units} units in {numbers['groups']} groups"
            )
            axes.grid(False)
            axes.set_xlabel("unit, ordered by group")
    figure.colorbar(
        image, ax=list(panels), label="cosine similarity [-]", shrink=0.8 / rows, aspect=25
    )
    return figure


@styled
def draw_groups(numbers: dict) -> Figure:
    """Groups against threshold, a panel for each hidden layer, a line for each stage."""
    stages = {int(name.removeprefix("stage")): g for name, g in numbers["groups"].items()}
    layers = sorted({layer for groups in stages.values() for layer in groups}, key=int)
    figure = Figure(figsize=(WIDTH, 3.3))
    panels = figure.subplots(1, len(layers), squeeze=False)[0]
    position = range(len(numbers["thresholds"]))
    for axes, layer in zip(panels, layers, strict=True):
        for stage, groups in stages.items():
            axes.plot(
                position,
                groups[layer],
                "o-",
                color=colour(stage, max(stages)),
                ms=4,
                label=f"stage {stage}",
            )
        axes.set_xticks(position, [f"{t:g}" for t in numbers["thresholds"]], rotation=45)
        axes.set(title=f"layer {layer}", xlabel="cosine threshold [-]")
        axes.set_ylim(bottom=0)
    panels[0].set_ylabel("groups (units left by a merge)")
    panels[0].legend()
    return figure


@styled
def draw_times(times: dict[str, dict]) -> Figure:
    """Time per state: everything on one scale, and the surrogates alone on their own."""
    stages = [int(name.split()[1].rstrip(",")) for name in times if name.startswith("stage")]
    few = {name: t for name, t in times.items() if not name.startswith("CVODE")}
    figure = Figure(figsize=(WIDTH, 1.6 + 0.36 * len(times)))
    whole, enlarged = figure.subplots(1, 2, width_ratios=(1.15, 1))
    for axes, chosen in ((whole, times), (enlarged, few)):
        for row, (name, time) in enumerate(chosen.items()):
            hue, alone = CVODE, name.endswith("alone")
            if not name.startswith("CVODE"):
                hue = colour(int(name.split()[1].rstrip(",")), max(stages))
            middle, low, high = (1e6 * time[key] for key in ("median", "fastest", "slowest"))
            axes.barh(row, middle, color=hue, alpha=0.45 if alone else 0.9, height=0.7)
            axes.plot([low, high], [row, row], color="#777777", lw=1.4, marker="|", ms=6)
            axes.annotate(
                f"{middle:.3g} µs",
                (max(middle, high), row),
                xytext=(5, 0),
                textcoords="offset points",
                va="center",
                fontsize=9,
            )
        axes.set_yticks(range(len(chosen)), [_two_lines(name) for name in chosen])
        axes.invert_yaxis()
        axes.grid(axis="y", visible=False)
        axes.set(xlabel="time per state, one core [µs]")
        axes.set_xlim(0, 1.28 * max(1e6 * t["slowest"] for t in chosen.values()))
    whole.set_title("CVODE and the networks")
    enlarged.set_title("the networks, enlarged")
    return figure


def _two_lines(name: str) -> str:
    """The tolerances of CVODE under its name: long labels leave no room for bars."""
    return name.replace(" rtol", "\nrtol") if name.startswith("CVODE") else name
