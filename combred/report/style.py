"""The style of all figures: sizes, colours and ticks, and how a figure is saved."""

from collections.abc import Sequence
from itertools import cycle
from pathlib import Path
from typing import Any

import numpy as np
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure
from PIL import Image  # which matplotlib needs anyway
from PIL.PngImagePlugin import PngInfo

MARK = b"Software\0combred"  # of the figures of pages, in their files

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
MARKERS = "osD^vP*X<>"
Look = dict[str, Any]
BLACK = "#000000"
REFERENCE: Look = {"color": BLACK, "lw": 2.6, "alpha": 0.85}
# Colours of Okabe & Ito, which colour-blind readers can distinguish, and grey.
LAST = "#D55E00"
COLOURS = (LAST, "#0072B2", "#666666", "#009E73", "#CC79A7", "#E69F00", "#56B4E9")


def looks(names: Sequence[str]) -> dict[str, Look]:
    """The lines of what is compared with the reference, by name: the last, which a page is about,
    full and in the same colour on every page, the others dashed."""
    look = {"lw": 1.5, "ls": (0, (4, 2))}
    of = {k: look | {"color": c} for k, c in zip(reversed(names), cycle(COLOURS), strict=False)}
    return {name: of[name] for name in names[:-1]} | {names[-1]: of[names[-1]] | {"ls": "-"}}


def literal(text: str) -> str:
    """A text of a file, as a label of a figure shows it: matplotlib takes what stands between two
    dollars for a formula."""
    return text.replace("$", r"\$")


def save(figure: Figure, path: Path) -> None:
    """Write a PNG with a palette of 256 colours, which has a third of the size, and `MARK`."""
    figure.set_dpi(150)
    canvas = FigureCanvasAgg(figure)
    canvas.draw()
    image = Image.fromarray(np.asarray(canvas.buffer_rgba())).convert("RGB")
    info = PngInfo()
    info.add_text("Software", "combred")
    image.quantize(256, dither=Image.Dither.NONE).save(path, optimize=True, pnginfo=info)
