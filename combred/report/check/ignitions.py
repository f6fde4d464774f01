"""The ignitions of a check: delays for each time step and tolerance.

Takes the numbers of check.json; gives a section.
"""

import numpy as np
from matplotlib.figure import Figure

from combred.check.checking import RECORD
from combred.check.ignitions import LONGEST, SHORTEST, TOLERANCES
from combred.check.verdict import ignition_parts, size_of, worst_delay
from combred.native.solver.generator import TOLERANCE
from combred.report.blocks import Picture, Section, Table, Text, percent
from combred.report.style import BETWEEN, CVODE, FIRST, LAST, MARKERS, WIDTH, plain_log_ticks

COLOURS = (FIRST, LAST, *BETWEEN)  # of time steps


def ignition_section(record: dict) -> Section:
    """Delays of the solver and of CVODE, and the errors for each time step and tolerance."""
    rows = []
    for name, cases in ignition_parts(record).items():
        row = [name.removeprefix("ignitions, dt "), str(len(cases))]
        for tolerance in TOLERANCES:
            errors = [size_of(case["errors"][f"{tolerance:g}"]) for case in cases]
            row += [percent(float(np.mean(errors)) if errors else None)]
            row += [percent(worst_delay(cases, tolerance))]
        rows.append(row)
    heads = ["time step", "ignitions"]
    heads += [f"{what} at {tolerance:g}" for tolerance in TOLERANCES for what in ("mean", "worst")]
    text = Text(
        "Adiabatic reactors at constant pressure, drawn at random. The solver marches in steps of "
        "dt, as in a flow code. Ignition delay: the time at half the rise of T to its equilibrium. "
        "The reference is one integration by CVODE (rtol 1e-9, atol 1e-18)."
    )
    picture = Picture(
        "delays",
        draw_delays(record),
        "Ignition delay over initial temperature, and its error",
        "Crosses: CVODE; the other markers: the solver, a colour and a marker for each time step. "
        f"A delay suits its time step: {SHORTEST} to {LONGEST} steps.",
        RECORD,
    )
    caption = "Relative error of the delay at two tolerances."
    return Section("Ignition", [text, picture, Table(heads, rows, RECORD, caption)])


def draw_delays(record: dict) -> Figure:
    """Delay over 1000 / T0 of CVODE and of the solver, and the error below."""
    figure = Figure(figsize=(WIDTH, 5.6))
    top, bottom = figure.subplots(2, 1, sharex=True, height_ratios=(2, 1))
    for i, (name, cases) in enumerate(ignition_parts(record).items()):
        x = [1000.0 / case["T0"] for case in cases]
        look = {"color": COLOURS[i % len(COLOURS)], "marker": MARKERS[i % len(MARKERS)], "ls": ""}
        exact = np.array([case["delay"] for case in cases])
        errors = [case["errors"][f"{TOLERANCE:g}"] for case in cases]
        off = np.array([np.nan if error is None else error for error in errors])
        label = name.removeprefix("ignitions, ")
        top.plot(x, 1e3 * exact * (1.0 + off), **look, ms=7, mfc="none", label=label)
        top.plot(x, 1e3 * exact, "x", color=CVODE, ms=4)
        bottom.plot(x, 100.0 * np.abs(off), **look, ms=4)
    top.set(ylabel="ignition delay [ms]")
    top.legend(loc="upper left", bbox_to_anchor=(1.01, 1.0))
    bottom.set(ylabel="|error| [%]", xlabel="1000 / T0 [1/K]")
    if record["verdict"][0]["worst"]:  # there are ignitions
        top.set(yscale="log")
        plain_log_ticks(top)
        bottom.set(yscale="log")
    return figure
