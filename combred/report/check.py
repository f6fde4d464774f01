"""The page of a check: check.html and its figures, drawn from the numbers of check.json.

Takes a folder of `combred.check`; measures nothing.
"""

from pathlib import Path
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from combred.check.checking import RECORD
from combred.check.ignitions import TOLERANCES
from combred.check.verdict import size_of, worst_delay
from combred.files.records import read_record
from combred.native.solver.generator import TOLERANCE
from combred.report.blocks import (
    NBSP,
    Block,
    Note,
    Picture,
    Section,
    Table,
    Text,
    duration,
    microseconds,
    percent,
    power,
    several,
    significant,
)
from combred.report.pages import write_page
from combred.report.style import CVODE, FIRST, LAST, MARKERS, WIDTH, plain_log_ticks, save, style

SOURCE = RECORD
ATM = 101325.0  # Pa
COLOURS = (FIRST, LAST, "#009E73", "#CC79A7")  # of time steps
REFERENCE: dict[str, Any] = {"color": CVODE, "lw": 2.6, "alpha": 0.85}
FOUND: dict[str, Any] = {"color": LAST, "lw": 1.4}


def write_check(folder: Path) -> Path:
    """Write check.html and figures/ from check.json; the path of the page. Raises ValueError where
    there are no numbers, or not all of them."""
    record = read_record(folder / RECORD)
    if "verdict" not in record:
        raise ValueError(f"{folder / RECORD} is missing or not finished: run the check again")
    (folder / "figures").mkdir(exist_ok=True)
    with style():
        for name, figure in draw(record).items():
            save(figure, folder / "figures" / f"{name}.png")
    name, wrong = record["inputs"]["mechanism"], [r for r in record["verdict"] if not r["right"]]
    content = {
        "title": f"The solver of {name} beside CVODE",
        "run": name,
        "what": "Checked",
        "source": SOURCE,
        "sentence": sentence(record),
        "further": further(record),
        "alarms": [Note(f"**{row['what']}**: {value(row)}", alarm=True) for row in wrong],
        "keys": keys(record),
        "sections": sections(record),
    }
    write_page(folder / "check.html", content)
    return folder / "check.html"


# -- words -----------------------------------------------------------------------------------------


def sentence(record: dict) -> str:
    """The verdict in a sentence."""
    rows = [row for row in record["verdict"] if not row["skipped"]]
    wrong, left = [row for row in rows if not row["right"]], len(record["verdict"]) - len(rows)
    rest = f" {left} could not be made." if left else ""
    if wrong:
        return f"**{len(wrong)} of {len(rows)} comparisons exceed their limit.**{rest}"
    return (
        f"All {len(rows)} comparisons are within their limits: the solver takes the place of CVODE "
        f"for this mechanism.{rest}"
    )


def further(record: dict) -> str:
    """What was compared, and in which conditions."""
    about, of = record["about"], record["inputs"]["conditions"]
    skipped = [row["skipped"] for row in record["verdict"] if row["skipped"]]
    pressures = several([round(p / ATM, 2) for p in of["p"]], "atm").replace(" and ", " to ")
    return (
        f"{about['species']} species, {about['reactions']} reactions; {of['fuel']} in "
        f"{of['oxidizer']} (moles), {of['T0'][0]:g} to {of['T0'][1]:g}{NBSP}K, {pressures}. "
        f"Tolerance of the solver: {TOLERANCE:g}, its default, unless told."
        + (f" Not compared: {'; '.join(dict.fromkeys(skipped))}." if skipped else "")
    )


def keys(record: dict) -> list[tuple[str, str, str]]:
    """The most important numbers."""
    states, times = record["parts"]["states of flows"], record["times"]
    ignitions = [row for rows in ignition_parts(record).values() for row in rows]
    found = [
        (
            percent(worst_delay(ignitions, TOLERANCE)),
            "ignition delay, worst",
            f"of {len(ignitions)} ignitions, against CVODE",
        ),
        (
            f"{states['bad'] + states['failed']}",
            "bad or failed states",
            f"of {states['rows']:,} states of flows",
        ),
    ]
    for row in times[:1]:
        ratio = row["cvode_seconds"] / row["seconds"]
        found += [
            (microseconds(row["seconds"]), "time a state", f"dt = {row['dt']:g} s, one core"),
            (f"{significant(ratio, 2)}{NBSP}×", "faster than CVODE", "Cantera, rtol 1e-6"),
        ]
    return [*found, (duration(record["about"]["build_seconds"]), "to build", "0 s: from the cache")]


def value(row: dict) -> str:
    """The worst value of a row of the verdict."""
    if row["worst"] is None:
        return "not compared" if row["skipped"] else "**no result**"
    if row["unit"] == "1":
        return percent(row["worst"])
    return f"{significant(row['worst'], 2)} {row['unit']}"


def limit(row: dict) -> str:
    """The limit of a row of the verdict."""
    return value(row | {"worst": row["limit"], "skipped": ""})


def ignition_parts(record: dict) -> dict[str, list[dict]]:
    """The ignitions by the name of their part."""
    return {name: rows for name, rows in record["parts"].items() if name.startswith("ignitions")}


# -- sections --------------------------------------------------------------------------------------


def sections(record: dict) -> list[Section]:
    """All sections of the page."""
    rows = [[row["what"], value(row), limit(row)] for row in record["verdict"]]
    caption = (
        "Worst values. The solver at its default tolerance is compared with CVODE (ignitions) or "
        "with itself in doubles, at a tolerance of 1e-6 (states, reactors, flames), which is "
        "compared with CVODE at rtol 1e-10 in the same states."
    )
    found = [Section("Comparisons", [Table(["", "worst", "limit"], rows, SOURCE, caption)])]
    found += [ignition_section(record), state_section(record), flow_section(record)]
    return [*found, provenance(record)]


def ignition_section(record: dict) -> Section:
    """Delays for each time step and tolerance."""
    rows = []
    for name, cases in ignition_parts(record).items():
        row = [name.removeprefix("ignitions, dt "), str(len(cases))]
        for tolerance in TOLERANCES:
            errors = [size_of(case["errors"][f"{tolerance:g}"]) for case in cases]
            row += [percent(float(np.mean(errors)) if errors else None)]
            row += [percent(worst_delay(cases, tolerance))]
        rows.append(row)
    heads = ["time step", "ignitions"]
    heads += [f"{what}, {tolerance:g}" for tolerance in TOLERANCES for what in ("mean", "worst")]
    text = Text(
        "Adiabatic reactors at constant pressure, drawn at random. The solver marches in steps of "
        "dt, as in a flow code. Ignition delay: the time at half the rise of T to its equilibrium. "
        "The reference is one integration by CVODE (rtol 1e-9, atol 1e-18)."
    )
    picture = Picture(
        "delays",
        "Ignition delay over initial temperature, and its error",
        "Crosses: CVODE; the other markers: the solver, a colour and a marker for each time step. "
        "A delay suits its time step: 40 to 3500 steps.",
        SOURCE,
    )
    caption = "Relative error of the delay at two tolerances."
    return Section("Ignition", [text, picture, Table(heads, rows, SOURCE, caption)])


def state_section(record: dict) -> Section:
    """Errors and times over states of flows."""
    states = record["parts"]["states of flows"]
    errors = states["errors"]
    rows = [
        ["solver in doubles, from CVODE, largest", percent(states["labels"])],
        ["solver: median", percent(errors["0.5"])],
        ["99 % of the states below", percent(errors["0.99"])],
        ["largest", percent(errors["1"])],
        ["bad (above 10 %)", str(states["bad"])],
        ["failed", str(states["failed"])],
    ]
    text = Text(
        f"{states['rows']:,} states as flows have them: ignitions, mixtures of fresh and burnt "
        "gas, fuel and oxidizer, layers and small flames, each with its own dt of 1e-8 to 1e-4 s. "
        "Error: of T relative to its change + 1 K, or of a Y relative to the largest change + 1e-5."
    )
    times = [
        [
            f"{row['dt']:g} s",
            microseconds(row["seconds"]),
            significant(row["steps"], 2),
            microseconds(row["cvode_seconds"]),
            f"{significant(row['cvode_seconds'] / row['seconds'], 2)}{NBSP}×",
        ]
        for row in record["times"]
    ]
    heads = ["time step", "solver", "its steps", "CVODE", "ratio"]
    caption = (
        "Time a state on one core: the solver in one batch, Cantera's CVODE (rtol 1e-6, atol "
        f"1e-12) state by state, both from a cold start. {record['machine']}."
    )
    return Section(
        "States of flows",
        [text, Table(["", ""], rows, SOURCE), Table(heads, times, SOURCE, caption)],
    )


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
            "Mean temperature of stirred reactors; profiles of flames",
            "Black: the solver in doubles; orange: the solver at its default tolerance.",
            SOURCE,
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
    table = Table(["case", "quantity", "difference"], rows, SOURCE, left=2)
    return Section("Reactors and flames", [*blocks, table])


def provenance(record: dict) -> Section:
    """What the numbers were made with."""
    inputs, about, took = record["inputs"], record["about"], sum(record["seconds"].values())
    rates = ", ".join(f"{count} {kind}" for kind, count in about["rates"].items())
    rows = [
        ["mechanism", f"{inputs['mechanism']}, phase {inputs['phase']}"],
        ["sha256", f"`{inputs['sha256'][:16]}`"],
        ["rates", rates],
        ["machine", record["machine"]],
        ["computing time", duration(took)],
        ["combred", inputs["version"]],
        ["size", power(inputs["size"])],
    ]
    return Section("How it was made", [Table(["", ""], rows, SOURCE, left=2)])


# -- figures ---------------------------------------------------------------------------------------


def draw(record: dict) -> dict[str, Figure]:
    """The figures by name."""
    return {"delays": draw_delays(record), "flows": draw_flows(record)}


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
        axes.set(xlabel="t [ms]", ylabel="mean T [K]", title=f"stirred reactor, {case['case']}")
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
        axes.plot(x, np.array(found["Y"][name]) / largest, **look, label=name)
    axes.set(xlabel="x [mm]", ylabel="Y / largest Y", title="species")
    axes.legend(loc="upper left", bbox_to_anchor=(1.01, 1.0))


def _around(curve: dict) -> tuple[float, float]:
    """The part of x [mm] in which T changes, and a tenth of it on either side."""
    x, T = 1e3 * np.array(curve["x"]), np.array(curve["T"])
    low, high = x[np.abs(np.gradient(T)) > 0.01 * np.abs(np.gradient(T)).max()][[0, -1]]
    margin = 0.1 * (high - low)
    return float(low - margin), float(high + margin)
