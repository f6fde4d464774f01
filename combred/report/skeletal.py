"""The page of a reduced mechanism: reduce.html and its figure, drawn from reduce.json; and the
table that the console shows, too.

Takes a folder of `combred reduce`.
"""

import math
import re
from collections.abc import Iterable
from functools import partial
from itertools import cycle
from pathlib import Path

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import MaxNLocator

from combred.report.blocks import Note, Picture, Section, Table, Text
from combred.report.formats import NBSP, atmospheres, duration, microseconds, percent, span
from combred.report.pages import Page, made_with, read_finished, write_page
from combred.report.style import BLACK, COLOURS, MARKERS, WIDTH

RECORD = "reduce.json"
TRANSPORT = (
    0.23e-6  # s for a species, cell and step: OpenFOAM v1912, counterflow (docs/findings.md)
)
FAILED = "**no result**"  # of a case in which the reduced mechanism does not ignite or burn
LIMITS = 0.01, 0.02, 0.05, 0.1, 0.2  # errors, whose sizes the page tells
CASE = re.compile(r"(\S+) K, (\S+) atm, phi ([^,]+)(?:, (.+))?")  # as the judges name it
GROUPS = "judged_cases", "held_out"  # that the search saw, and that it did not
SHOWN = 12  # cases with the largest errors, and last steps of the path
LEAST = 1e-4  # %: smaller errors are drawn here


def write_reduction(folder: Path) -> Path:
    """Write reduce.html and figures/ from reduce.json; the path of the page. Raises ValueError
    where there are no numbers, or not all of them."""
    record = read_finished(folder / RECORD, "file", "reduction")
    inputs = record["inputs"]
    of_ignitions, of_flames = ranges(inputs["ranges"])
    where = f"Ignitions are judged at {of_ignitions}; flames and reactors at {of_flames}."
    page = Page(
        title=f"{inputs['mechanism']} reduced to {len(record['species'])} species",
        name=inputs["mechanism"],
        alarms=alarms(record),
        verdict=sentence(record),
        further=f"{where} {further(record)}",
        head=[
            Picture(
                "species", partial(draw_errors, record),
                "Largest error of each judge against the number of species.",
                "Largest relative error in the judged cases on the path of the search; the line is "
                "the limit, the large markers are the mechanism that was chosen, after the "
                "removal of reactions.", RECORD,
            ),
            errors_table(record),
            Picture(
                "cases", partial(draw_cases, record),
                "Ignition delays, flame speeds and extinction of both mechanisms.",
                "Lines: the detailed mechanism; points: the reduced one, in the judged ignitions "
                f"at phi {usual_phi(record):g}, in all flames, and in stirred reactors from "
                "extinction (left end) to near equilibrium.", RECORD,
            ),
        ],
        sections=[
            cases_section(record), path_section(record), *refit_section(record),
            provenance(record),
        ],
    )  # fmt: skip
    return write_page(folder / "reduce.html", page)


def alarms(record: dict) -> list[Note]:
    """That rate constants are changed."""
    n, factor = len(record["factors"]), record["inputs"]["refit"]
    said = (
        f"{n} rate constants were refitted within a factor of {factor:g}: they are those of no "
        "measurement, and hold for the cases of this page."
    )
    return [Note(said, alarm=True)] if n else []


def sentence(record: dict) -> str:
    """The result in a sentence."""
    (species, reactions), worst = record["of"], largest(record["held_out"])
    return (
        f"`{record['file']}` has {len(record['species'])} of {species} species and "
        f"{record['reactions']} of {reactions} reactions, for the fuel "
        f"`{record['inputs']['ranges']['fuel']}`. In cases that the search did not see the "
        f"largest error is {percent(worst, infinite=FAILED)}."
    )


def further(record: dict) -> str:
    """The time of a state, and an estimate of that of a flow step."""
    before, after = record["times"]
    if before is None:
        return (
            f"Chemistry takes {microseconds(after)} a state on one core (solver at its default "
            "tolerance, 1e-6 s, along an ignition). The detailed mechanism was not compiled."
        )
    whole, left = before + TRANSPORT * record["of"][0], after + TRANSPORT * len(record["species"])
    return (
        f"Chemistry takes {microseconds(after)} a state on one core, {microseconds(before)} with "
        "the detailed mechanism (solver at its default tolerance, 1e-6 s, along an ignition). "
        f"At {1e6 * TRANSPORT:.2g}{NBSP}µs for the transport of a species, as in OpenFOAM, a cell "
        f"and flow step takes about {microseconds(left)}, and {microseconds(whole)} with the "
        f"detailed mechanism: {whole / left:.1f} times as long."
    )


def flow_step(record: dict, n: int) -> float:
    """About the time [s] of a cell and flow step with n species: `TRANSPORT`, and chemistry as a
    power of n between the detailed and the reduced mechanism, or proportional to n."""
    (before, after), whole, left = record["times"], record["of"][0], len(record["species"])
    steep = before is not None and whole > left
    power = math.log(before / after) / math.log(whole / left) if steep else 1.0
    return TRANSPORT * n + after * (n / left) ** power


def sizes(record: dict) -> str:
    """The smallest mechanisms on the path within usual errors: what other limits would give."""
    path = [
        (row["species"], max(math.inf if e is None else e for e in row["errors"].values()))
        for row in record["path"]
    ]
    least: dict[int, float] = {}
    for limit in LIMITS:
        within = [n for n, error in path if error <= limit]
        if within:
            least.setdefault(min(within), limit)
    found = ", ".join(f"{n} within {100 * limit:g} %" for n, limit in least.items())
    if not path:
        return "The search found no species that can be removed."
    fewest, error = path[-1]
    return (
        f"Fewest species on the path, before swaps and refits: {found or 'none within 20 %'}. It "
        f"ends at {fewest} species with an error of {percent(error)}."
    )


def largest(held_out: dict) -> float:
    """The largest held-out error of all judges; infinite where a skeleton failed."""
    errors = [error for cases in held_out.values() for error in cases.values()]
    return max((math.inf if e is None else abs(e) for e in errors), default=math.nan)


def errors_table(record: dict) -> Table:
    """The largest errors of each judge, in the judged cases and in those held out."""
    rows = []
    for judge, cases in record["held_out"].items():
        errors = [math.inf if e is None else abs(e) for e in cases.values()]
        held = [percent(e, infinite=FAILED) for e in (max(errors), sum(errors) / len(errors))]
        rows.append([judge, percent(record["judged"][judge]), *held, str(len(errors))])
    caption = (
        "Relative errors against the detailed mechanism. The search saw the judged cases, but not "
        f"those held out. Its limit was {percent(record['inputs']['error'])}."
    )
    heads = ["", "judged, worst", "held out, worst", "held out, mean", "held-out cases"]
    return Table(heads, rows, RECORD, caption)


def draw_errors(record: dict) -> Figure:
    """Errors of the judges against the number of species."""
    figure = Figure(figsize=(WIDTH, 4.0))
    axes = figure.subplots()
    path = record["path"]
    for judge, colour, marker in zip(record["judged"], COLOURS, MARKERS, strict=False):
        rows = [(row["species"], row["errors"][judge]) for row in path]
        points = [(n, max(100 * e, LEAST)) for n, e in rows if e is not None]
        sizes, errors = [n for n, _ in points], [e for _, e in points]
        axes.plot(sizes, errors, f"-{marker}", color=colour, ms=4, lw=1.2, label=judge)
        chosen = max(100 * record["judged"][judge], LEAST)
        axes.plot([len(record["species"])], [chosen], marker, color=colour, ms=9, mec=BLACK)
    axes.axhline(100 * record["inputs"]["error"], color=BLACK, lw=1.0, ls=(0, (4, 2)))
    axes.set(yscale="log", xlabel="species", ylabel="largest relative error [%]")
    axes.xaxis.set_major_locator(MaxNLocator(integer=True))
    drawn = [len(record["species"]), *(row["species"] for row in path)]
    axes.set_xlim(max(drawn) + 1, min(drawn) - 1)  # from many species to few
    axes.legend()
    return figure


def cases_of(record: dict, judge: str, groups: Iterable[str] = GROUPS) -> list:
    """The cases of a judge: T [K], p [atm], phi, the quantity, or "" for a delay, the value of the
    detailed and of the reduced mechanism, NaN where it failed."""
    found, values = [], record["values"].get(judge, {})
    for group in groups:
        for name, error in record[group].get(judge, {}).items():
            place, value = CASE.fullmatch(name), values.get(name)
            if place is None or value is None:
                continue
            reduced = math.nan if error is None else value * (1.0 + error)
            found.append((*map(float, place.groups()[:3]), place[4] or "", value, reduced))
    return found


def usual_phi(record: dict) -> float:
    """The phi in the middle of the judged ignitions."""
    phis = sorted({case[2] for case in cases_of(record, "ignition delay", GROUPS[:1])})
    return phis[(len(phis) - 1) // 2]


def draw_cases(record: dict) -> Figure:
    """Delays over 1000 / T0, speeds over phi, and T over the residence time in reactors."""
    figure = Figure(figsize=(WIDTH, 3.6))
    left, middle, right = figure.subplots(1, 3)
    phi = usual_phi(record)
    delays = cases_of(record, "ignition delay", GROUPS[:1])
    delays = [case for case in delays if case[2] == phi and not case[3]]
    draw_by_pressure(left, [(1e3 / T, p, 1e3 * a, 1e3 * b) for T, p, _, _, a, b in delays])
    left.set(yscale="log", xlabel="1000 / T0 [1/K]", ylabel="ignition delay [ms]")
    speeds = [case for case in cases_of(record, "flame") if case[3] == "speed"]
    draw_by_pressure(middle, [(x, p, 100 * a, 100 * b) for _, p, x, _, a, b in speeds])
    middle.set(xlabel="phi", ylabel="flame speed [cm/s]")
    for (case, both), colour in zip(record["curves"].items(), cycle(COLOURS), strict=False):
        (T, tau), (reduced_T, reduced_tau) = map(columns, both)
        right.plot(1e3 * tau, T, color=colour, lw=1.2)
        name = case.partition(", ")[2]  # without T, that of all
        right.plot(1e3 * reduced_tau, reduced_T, "o", color=colour, ms=3, label=name)
    if record["curves"]:
        right.legend(fontsize="small")
    right.set(xscale="log", xlabel="residence time [ms]", ylabel="T [K]")
    return figure


def columns(curve: list) -> np.ndarray:
    """A curve's T [K] and residence times [s], (2, n); NaN where JSON has null."""
    return np.array(curve, dtype=float).reshape(-1, 2).T


def draw_by_pressure(axes: Axes, points: list[tuple[float, float, float, float]]) -> None:
    """Points (x, p [atm], detailed, reduced): a line and markers for each pressure."""
    for p, colour in zip(sorted({point[1] for point in points}), cycle(COLOURS), strict=False):
        rows = sorted(point for point in points if point[1] == p)
        x, _, detailed, reduced = zip(*rows, strict=True)
        axes.plot(x, detailed, "-" if len(x) > 1 else "_", color=colour, lw=1.2, ms=14)
        axes.plot(x, reduced, "o", color=colour, ms=4, label=f"{p:g} atm")
    if points:
        axes.legend(fontsize="small")


def cases_section(record: dict) -> Section:
    """The held-out cases with the largest errors."""
    found = [
        (math.inf if error is None else error, judge, case)
        for judge, cases in record["held_out"].items()
        for case, error in cases.items()
    ]
    found.sort(key=lambda row: -abs(row[0]))
    rows = [
        [judge, case, percent(abs(error), "−+"[error > 0] if error else "", FAILED)]
        for error, judge, case in found[:SHOWN]
    ]
    kept = Text(f"Species that are left: {', '.join(record['species'])}.")
    return Section(
        "Held-out cases", [Table(["judge", "case", "error"], rows, RECORD, left=2), kept]
    )


def path_section(record: dict) -> Section:
    """The last steps of the path, and what the next one would cost."""
    judges, rows = list(record["judged"]), []
    for row in record["path"][-SHOWN:]:
        errors = [percent(row["errors"][judge]) for judge in judges]
        cost = microseconds(flow_step(record, row["species"]))
        rows.append([str(row["species"]), ", ".join(row["removed"]), *errors, cost])
    groups = [row["removed"] for row in record["path"] if len(row["removed"]) > 1]
    together = ", ".join(name for group in groups for name in group)
    first = f"Removed together at first, for they change little: {together}. " if together else ""
    text = Text(
        f"{sizes(record)} {first}Below are the last steps of the search, also those beyond the "
        "limit: what the next removals cost. Swaps and the removal of reactions follow the path "
        "and are not in it. The time of a flow step is estimated from the two measured ones."
    )
    table = Table(["species", "removed", *judges, "flow step"], rows, RECORD, left=2)
    return Section("The path of the search", [text, table])


def refit_section(record: dict) -> list[Section]:
    """The rate constants that a refit has changed most."""
    changed = sorted(record["factors"].items(), key=lambda pair: -abs(math.log(pair[1])))
    rows = [[reaction, f"{factor:.3f}"] for reaction, factor in changed[:SHOWN]]
    table = Table(["reaction of the detailed mechanism", "factor"], rows, RECORD, left=1)
    text = Text(f"The largest of {len(changed)} factors on rate constants.")
    return [Section("Refitted rate constants", [text, table])] * bool(changed)


def ranges(of: dict) -> tuple[str, str]:
    """The judged ignitions, and the judged flames and reactors, in words."""
    p, flame_p = (list(map(atmospheres, of[key])) for key in ("p", "flame_p"))
    T0 = span([round(T) for T in of["T0"]])
    return (
        f"{T0} K, {' to '.join(p)} atm, phi {span(of['phi'])}",
        f"300 K, {' and '.join(flame_p)} atm, phi {span(of['flame_phi'])}",
    )


def provenance(record: dict) -> Section:
    """What the numbers were made with."""
    inputs, of = record["inputs"], record["inputs"]["ranges"]
    of_ignitions, of_flames = ranges(of)
    rows = [
        ["mechanism", f"{inputs['mechanism']}, phase {inputs['phase']}"],
        ["sha256", f"`{inputs['sha256'][:16]}`"],
        ["mixture", f"{of['fuel']} in {of['oxidizer']} (moles)"],
        ["ignitions", of_ignitions],
        ["flames and reactors", of_flames],
        ["kept", ", ".join(inputs["keep"]) or "fuel and oxidizer"],
        ["machine", record["machine"]],
        *(["time of the path", duration(row["seconds"])] for row in record["path"][-1:]),
        ["combred", inputs["version"]],
    ]  # fmt: skip
    return made_with(rows, RECORD)
