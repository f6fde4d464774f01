"""The style of all figures: sizes, colours and ticks, and how a figure is saved."""

import math
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import matplotlib
import numpy as np
from matplotlib.axes import Axes
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure
from matplotlib.ticker import FuncFormatter, LogLocator, NullFormatter
from PIL import Image  # which matplotlib needs anyway

STYLE = {
    "figure.constrained_layout.use": True,
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
# Colours of Okabe & Ito, which colour-blind readers can distinguish.
CVODE, FIRST, LAST = "#000000", "#0072B2", "#D55E00"
BETWEEN = ("#009E73", "#CC79A7", "#E69F00", "#56B4E9")
MARKERS = "osD^vP*X<>"
DASHES = ("-", "--", ":", "-.", (0, (6, 2, 1, 2, 1, 2)))
Look = dict[str, Any]
REFERENCE: Look = {"color": CVODE, "lw": 2.6, "alpha": 0.85}


def colour(stage: int, last: int) -> str:
    """The colour of a stage, the same in every figure."""
    if stage == 0:
        return FIRST
    return LAST if stage == last else BETWEEN[(stage - 1) % len(BETWEEN)]


def looks(stages: Sequence[int]) -> dict[str, Look]:
    """The lines of the reference and of stages by the names of their groups in the files: the
    reference first and thick, the last stage on top; an earlier one dashed."""
    last = max(stages)
    lines = {
        f"stage{stage}": {
            "color": colour(stage, last),
            "lw": 1.5,
            "ls": "-" if stage == last else (0, (4, 2)),
        }
        for stage in stages
    }
    return {"reference": REFERENCE, **lines}


def literal(text: str) -> str:
    """A text of a file, as a label of a figure shows it: matplotlib takes what stands between two
    dollars for a formula."""
    return text.replace("$", r"\$")


def save(figure: Figure, path: Path) -> None:
    """Write a PNG with a palette of 256 colours, which has a third of the size."""
    figure.set_dpi(150)
    canvas = FigureCanvasAgg(figure)
    canvas.draw()
    image = Image.fromarray(np.asarray(canvas.buffer_rgba())).convert("RGB")
    image.quantize(256, dither=Image.Dither.NONE).save(path, optimize=True)


@contextmanager
def style() -> Iterator[None]:
    """The report's style, for as long as its figures are drawn and saved."""
    with matplotlib.rc_context(STYLE):  # type: ignore[arg-type]  # its stubs list every key
        yield


def plain_log_ticks(axes: Axes) -> None:
    """Tick labels like 0.05 on a logarithmic axis, also if it spans less than a decade."""
    low, high = axes.get_ylim()
    decades = math.log10(high / low)
    subs = (1, 2, 5) if decades > 0.7 else (1, 1.5, 2, 3, 4, 5, 6, 8)
    axes.yaxis.set_major_locator(LogLocator(subs=subs))
    axes.yaxis.set_major_formatter(FuncFormatter(lambda y, _: f"{y:.3g}"))
    axes.yaxis.set_minor_formatter(NullFormatter())
