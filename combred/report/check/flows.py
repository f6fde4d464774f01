"""The stirred reactors and flames of a check.

Takes the numbers of check.json; gives a section.
"""

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from combred.check.checking import RECORD
from combred.report.blocks import Block, Note, Picture, Section, Table, Text, percent, significant
from combred.report.style import BETWEEN, FIRST, LAST, REFERENCE, WIDTH, Look, literal

FOUND: Look = {"color": LAST, "lw": 1.4}
COLOURS = (FIRST, LAST, *BETWEEN)  # of species


def flow_section(record: dict) -> Section:
    """Stirred reactors and flames."""
    parts, blocks = record["parts"], list[Block]()
    blocks.append(
        Text(
            "Partially stirred reactors with cold fuel, cold oxidizer and burnt gas, and "
            "laminar flames with mixture-averaged transport, split after Strang. Only the "
            "chemistry differs: the solver at its default tolerance, and in doubles."
        )
    )
    blocks.append(
        Picture(
            "flows",
            draw_flows(record),
            "Mean temperature of stirred reactors; profiles of flames",
            "Black: the solver in doubles; orange: the solver at its default tolerance.",
            RECORD,
        )
    )
    reactors = parts["stirred reactors"]
    if "skipped" in reactors:
        blocks.append(Note(f"No stirred reactors were compared: {reactors['skipped']}."))
    rows = [
        [f"stirred reactor, {case['case']}", f"mean {name}", percent(error["largest"])]
        for case in reactors.get("cases", [])
        for name, error in case["errors"].items()
    ]
    for name, errors in (
        ("premixed flame", {"speed": "speed_error", "thickness": "thickness_error"}),
        ("counterflow flame", {}),
    ):
        flame = parts[name]
        if "skipped" in flame:
            blocks.append(Note(f"No {name} was compared: {flame['skipped']}."))
            continue
        found = flame["errors"]
        rows += [[name, what, percent(found[key])] for what, key in errors.items()]
        off = found["profile_T_error"]
        rows.append([name, "largest difference of T", f"{significant(off or np.nan)} K"])
        rows += [[name, f"peak of {s}", percent(e)] for s, e in found["peak_errors"].items()]
    table = Table(["case", "quantity", "difference"], rows, RECORD, left=2)
    return Section("Reactors and flames", [*blocks, table])


def draw_flows(record: dict) -> Figure:
    """Mean T of the stirred reactors in time; T and species through the flames."""
    parts = record["parts"]
    flames = [n for n in ("premixed flame", "counterflow flame") if "skipped" not in parts[n]]
    figure = Figure(figsize=(WIDTH, 2.6 + 2.9 * len(flames)))
    rows = figure.subplots(1 + len(flames), 2, squeeze=False)
    reactors = parts["stirred reactors"]
    cases, curves = reactors.get("cases", []), reactors.get("curves", [])
    for axes, case, curve in zip(rows[0], cases, curves, strict=bool(cases)):
        t = 1e3 * np.array(curve["t"])
        axes.plot(t, curve["reference"], **REFERENCE)
        axes.plot(t, curve["T"], **FOUND)
        title = f"stirred reactor, {literal(case['case'])}"
        axes.set(xlabel="t [ms]", ylabel="mean T [K]", title=title)
    for (left, right), name in zip(rows[1:], flames, strict=True):
        found, exact = parts[name]["curves"]
        for curve, look in ((exact, REFERENCE), (found, FOUND)):
            left.plot(1e3 * np.array(curve["x"]), curve["T"], **look)
        left.set(xlabel="x [mm]", ylabel="T [K]", title=name)
        _species(right, found, exact)
        for axes in (left, right):
            axes.set_xlim(*_around(exact))
    return figure


def _species(axes: Axes, found: dict, exact: dict) -> None:
    """Mass fractions of the species that are kept, over their largest value."""
    for i, (name, Y) in enumerate(exact["Y"].items()):
        largest = max(Y)
        axes.plot(1e3 * np.array(exact["x"]), np.array(Y) / largest, **REFERENCE)
        look = FOUND | {"color": COLOURS[i % len(COLOURS)]}
        x = 1e3 * np.array(found["x"])
        axes.plot(x, np.array(found["Y"][name]) / largest, **look, label=literal(name))
    axes.set(xlabel="x [mm]", ylabel="Y / largest Y", title="species")
    axes.legend(loc="upper left", bbox_to_anchor=(1.01, 1.0))


def _around(curve: dict) -> tuple[float, float]:
    """The part of x [mm] in which T changes, and a tenth of it on either side."""
    x, T = 1e3 * np.array(curve["x"]), np.array(curve["T"])
    low, high = x[np.abs(np.gradient(T)) > 0.01 * np.abs(np.gradient(T)).max()][[0, -1]]
    margin = 0.1 * (high - low)
    return float(low - margin), float(high + margin)
