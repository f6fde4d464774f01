"""Figures of training, condensation and time.

Takes numbers from files; gives matplotlib figures. Nothing is computed here.
"""

import math

import matplotlib
import numpy as np
from matplotlib.figure import Figure

from combred.report.style import CVODE, SAMPLERS, WIDTH, colour, plain_log_ticks

SHADES = matplotlib.colormaps["RdBu_r"].resampled(41)  # steps of 0.05: a PNG of few colours


def draw_losses(losses: dict[int, list[dict]], reductions: dict[int, dict]) -> Figure:
    """Training and validation loss of all stages, one after another, and validation by sampler."""
    figure = Figure(figsize=(WIDTH, 6.2))
    total, split = figure.subplots(2, 1, sharex=True)
    start, last = 0, max(losses)
    samplers = list(dict.fromkeys(n for s in losses for n in losses[s][0]["validation_by_sampler"]))
    hues = dict(zip(samplers, SAMPLERS * len(samplers), strict=False))
    for stage, lines in losses.items():
        steps = start + np.array([line["step"] for line in lines])
        own, record = colour(stage, last), reductions.get(stage, {})
        name = f"stage {stage}"
        if "layer" in record:
            name += f": layer {record['layer']} at {record['threshold']:g}"
        elif record:
            name += f": {100 * record['parameters']:g} % by {record['method']}"
        total.plot(steps, [x["train"] for x in lines], color=own, alpha=0.55, lw=1, ls="--")
        merged = record.get("validation_merged", math.nan)
        total.plot(
            [start, *steps],
            [merged, *(x["validation"] for x in lines)],
            color=own,
            lw=1.8,
            label=name,
        )
        total.plot(start, merged, "v", color=own, ms=7)
        for sampler, hue in hues.items():
            loss = [x["validation_by_sampler"].get(sampler, math.nan) for x in lines]
            split.plot(steps, loss, color=hue, lw=1.5, label=None if start else sampler)
        for axes in (total, split) if start else ():
            axes.axvline(start, color="#666666", lw=0.8)
        start = steps[-1]
    for axes in (total, split):
        axes.set(yscale="log", ylabel="loss [-]")
        plain_log_ticks(axes)
    total.plot([], [], color="#666666", lw=1, ls="--", label="dashed: training")
    if any("validation_merged" in r for r in reductions.values()):
        total.plot([], [], "v", color="#666666", label="right after the merge")
    beside = {"loc": "upper left", "bbox_to_anchor": (1.01, 1.0), "alignment": "left"}
    total.legend(**beside, title="validation", title_fontsize=9)
    split.legend(**beside, title="validation, by sampler", title_fontsize=9)
    split.set_xlabel("optimiser step, stages one after another")
    split.set_xlim(0, start)
    return figure


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
                cmap=SHADES,
                vmin=-1,
                vmax=1,
                extent=(0, units, units, 0),
                interpolation="nearest",
            )
            axes.set_title(
                f"stage {record['stage']}, layer {record['layer']}, {when}\n"
                f"{units} units, {numbers['groups']} groups"
            )
            axes.grid(False)
            axes.set_xlabel("unit, ordered by group")
    figure.colorbar(
        image,
        ax=list(panels),
        label="cosine similarity [-]",
        shrink=0.9 / rows,
        aspect=25,
        ticks=(-1, -0.5, 0, 0.5, 1),
    )
    return figure


def draw_groups(numbers: dict) -> Figure:
    """Number of groups against threshold: a panel for each hidden layer, a line for each stage."""
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
    panels[-1].legend()
    return figure


def draw_times(times: dict[str, dict]) -> Figure:
    """Time per state: all on one scale, and all but CVODE on another."""
    stages = [int(name.split()[1]) for name in times if name.startswith("stage")]
    few = {name: t for name, t in times.items() if not name.startswith("CVODE")}
    figure = Figure(figsize=(WIDTH, 1.6 + 0.36 * len(times)))
    whole, enlarged = figure.subplots(1, 2, width_ratios=(1.15, 1))
    for axes, chosen in ((whole, times), (enlarged, few)):
        for row, (name, time) in enumerate(chosen.items()):
            stage = int(name.split()[1]) if name.startswith("stage") else None
            hue = CVODE if stage is None else colour(stage, max(stages))
            middle, low, high = (1e6 * time[key] for key in ("median", "fastest", "slowest"))
            axes.barh(row, middle, color=hue, alpha=0.9, height=0.7)
            axes.plot([low, high], [row, row], color="#777777", lw=1.4, marker="|", ms=6)
            axes.annotate(
                f"{middle:.3g} µs",
                (middle, row),
                xytext=(5, 1),
                textcoords="offset points",
                va="bottom",  # above the line of the spread
                fontsize=9,
            )
        axes.set_yticks(range(len(chosen)), [_two_lines(name) for name in chosen])
        axes.invert_yaxis()
        axes.grid(axis="y", visible=False)
        axes.set(xlabel="time per state, one core [µs]")
        longest = [max(1e6 * t[key] for t in chosen.values()) for key in ("median", "slowest")]
        axes.set_xlim(0, max(1.25 * longest[0], min(1.05 * longest[1], 2 * longest[0])))
    whole.set_title("CVODE, the solver and the networks")
    enlarged.set_title("without CVODE, enlarged")
    return figure


def _two_lines(name: str) -> str:
    """The tolerances of CVODE below its name, so that the label stays narrow."""
    return name.replace(" rtol", "\nrtol") if name.startswith("CVODE") else name
