"""Figures of an automatic reduction, drawn from its trace (`combred.reduction.automatic`).

Takes the trace.jsonl that the loop wrote, or its lines as dicts; gives figures like 6 and 7 of Chen
& Xu 2024. Nothing is computed here.
"""

import json
import math
from pathlib import Path

from matplotlib.axes import Axes
from matplotlib.figure import Figure

from combred.report.style import BETWEEN, CVODE, FIRST, LAST, WIDTH, plain_log_ticks, save, style

LABEL = "metric [-]"
ABOVE = {"loc": "lower left", "bbox_to_anchor": (0.0, 1.0), "ncols": 5}


def draw_trace(trace: Path, folder: Path, label: str = LABEL) -> list[Path]:
    """Draw the figures of a trace.jsonl into a folder; returns their paths.

    automatic-course.png; and automatic-layers.png, of the first main reduction that reduced a
    layer, if there is one. label: name and unit of the metric. Raises FileNotFoundError if there is
    no trace, ValueError if it has no event.
    """
    lines = trace.read_text().splitlines()
    if not lines:
        raise ValueError(f"{trace} has no event: run the reduction first")
    events = [json.loads(line) for line in lines]
    reduced = [e["main"] for e in events if e["phase"] == "layer" and e["kind"] == "met"]
    folder.mkdir(parents=True, exist_ok=True)
    drawn = []
    with style():
        figures = {"automatic-course": draw_course(events, label)}
        if reduced:
            figures["automatic-layers"] = draw_main_reduction(events, reduced[0], label)
        for name, figure in figures.items():
            drawn.append(folder / f"{name}.png")
            save(figure, drawn[-1])
    return drawn


def draw_course(events: list[dict], label: str = LABEL) -> Figure:
    """Metric, training loss (if recorded) and parameters against the training step, with main
    reductions shaded (figure 6 of the paper)."""
    losses = [(e["step"], e["loss"]) for e in events if e["loss"] is not None]
    rows = 3 if losses else 2
    figure = Figure(figsize=(WIDTH, 2.7 * rows))
    panels = figure.subplots(rows, 1, sharex=True)
    top, size = panels[0], panels[-1]
    steps = [e["step"] for e in events]
    top.plot(steps, [e["metric"] for e in events], color=FIRST, lw=1.1, zorder=2)
    waits = [e for e in events if e["phase"] == "train" and e["kind"] != "end"]
    top.step(
        [e["step"] for e in waits],
        [e["criterion"] for e in waits],
        color=CVODE,
        lw=0.9,
        ls="--",
        where="post",
        label="main criterion",
    )
    for kind, name, marker, colour, ms in (
        ("cut", "right after a cut", "v", LAST, 3.5),
        ("met", "layer done", "o", BETWEEN[0], 3.5),
        ("rollback", "rolled back", "X", CVODE, 6),
    ):
        of_kind = [e for e in events if e["kind"] == kind]
        if of_kind:
            at = [e["step"] for e in of_kind]
            top.plot(at, [e["metric"] for e in of_kind], marker, color=colour, ms=ms, label=name)
    top.set_ylabel(label)
    if losses:
        panels[1].plot(*zip(*losses, strict=True), color=BETWEEN[2], lw=1.4)
        panels[1].set_ylabel("training loss [-]")
        if all(loss > 0 for _, loss in losses):
            panels[1].set_yscale("log")
            plain_log_ticks(panels[1])
    size.step(steps, [e["parameters_after"] for e in events], color=LAST, lw=1.6, where="post")
    size.set(ylabel="parameters", xlabel="training step")
    size.set_ylim(bottom=0)
    size.yaxis.set_major_formatter("{x:,.0f}")
    figure.align_ylabels()
    for axes in panels:
        _shade(axes, events)
    top.legend(**ABOVE)
    return figure


def draw_main_reduction(events: list[dict], main: int = 1, label: str = LABEL) -> Figure:
    """The share of units that each layer keeps in one main reduction, and the metric right after
    its cut and after the first training (figure 7 of the paper).

    A layer in which no units merged has no metric. Raises ValueError if the trace does not hold
    this main reduction.
    """
    ends = ("met", "unchanged", "left")
    met = [e for e in events if (e["phase"], e["main"]) == ("layer", main) and e["kind"] in ends]
    if not met:
        raise ValueError(f"the trace has no layer that is finished in main reduction {main}")
    place = range(len(met))
    figure = Figure(figsize=(WIDTH, 5.4))
    top, bottom = figure.subplots(2, 1, sharex=True)
    for key, name, marker, colour in (
        ("metric_cut", "right after the cut", "v", LAST),
        ("metric_first", "after the first training", "o", FIRST),
    ):
        top.plot(
            place,
            [_or_nan(e[key]) for e in met],
            f"{marker}-",
            color=colour,
            lw=1,
            ms=6,
            label=name,
        )
    top.plot(place, [e["criterion"] for e in met], "_", color=CVODE, ms=18, label="criterion")
    top.set_ylabel(label)
    figure.suptitle(f"main reduction {main}", x=0.01, ha="left", fontsize=10)
    bottom.bar(place, [e["ratio"] for e in met], color=LAST, alpha=0.8, width=0.7)
    for i, e in enumerate(met):
        bottom.annotate(
            f"{e['units_after']}\nof {e['units_before']}",
            (i, e["ratio"]),
            xytext=(0, 2),
            textcoords="offset points",
            ha="center",
            va="bottom",
            fontsize=8,
        )
    bottom.set(ylabel="share of units kept [-]", ylim=(0, 1.25), xlabel="layer")
    bottom.set_yticks([0, 0.25, 0.5, 0.75, 1])
    slanted = {"rotation": 35, "ha": "right", "rotation_mode": "anchor"} if len(met) > 5 else {}
    bottom.set_xticks(place, [e["layer"] for e in met], **slanted)
    bottom.set_xlim(-0.6, len(met) - 0.4)
    bottom.grid(axis="x", visible=False)
    figure.align_ylabels()
    top.legend(**ABOVE)
    return figure


def _shade(axes: Axes, events: list[dict]) -> None:
    """Shade each main reduction in grey and the final cut in red."""
    spans: dict[tuple, list[int]] = {}
    for e in events:
        if e["phase"] != "train":
            spans.setdefault((e["phase"], e["main"]), []).append(e["step"])
    for (phase, _), steps in spans.items():
        hue = "#c8c8c8" if phase == "layer" else "#f0b8b0"
        axes.axvspan(min(steps), max(steps), color=hue, alpha=0.45, lw=0.6, zorder=0)


def _or_nan(value: float | None) -> float:
    return math.nan if value is None else value
