"""The page of a reduced mechanism: reduce.html, made from reduce.json; and the table that the
console shows, too.

Takes a folder of `combred reduce`.
"""

import math
from functools import partial
from pathlib import Path

from combred.report.blocks import Note, Picture, Section, Table, Text
from combred.report.formats import NBSP, atmospheres, duration, microseconds, percent, span
from combred.report.pages import Page, made_with, read_finished, write_page
from combred.report.skeletal_figures import draw_cases, draw_errors, usual_phi

RECORD = "reduce.json"
# s for a species, cell and step: OpenFOAM v1912, counterflow (docs/tried.md)
TRANSPORT = 0.23e-6
FAILED = "**no result**"  # of a case in which the reduced mechanism does not ignite or burn
LIMITS = 0.01, 0.02, 0.05, 0.1, 0.2  # errors, whose sizes the page tells
SHOWN = 12  # cases with the largest errors, and last steps of the path


def write_reduction(folder: Path) -> Path:
    """Write reduce.html and figures/ from reduce.json; the path of the page. Raises ValueError
    where there are no numbers, or not all of them."""
    record = read_finished(folder / RECORD, "file", "reduction")
    inputs = record["inputs"]
    of_ignitions, of_flames = ranges(inputs["ranges"])
    judges = {"flame": "flames", "extinction": "reactors"}
    others = " and ".join(name for judge, name in judges.items() if judge in record["judged"])
    where = f"Ignitions are judged at {of_ignitions}{f'; {others} at {of_flames}' * bool(others)}."
    if "flame" not in record["judged"]:
        where += (
            " No flame was judged: the mechanism has no transport data, or Cantera finds no flame."
        )
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
        return "The search removed no species."
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
        rows.append([judge, percent(record["judged"].get(judge)), *held, str(len(errors))])
    caption = (
        "Relative errors against the detailed mechanism. The search saw the judged cases, but not "
        f"those held out. Its limit was {percent(record['inputs']['error'])}."
    )
    heads = ["", "judged, worst", "held out, worst", "held out, mean", "held-out cases"]
    return Table(heads, rows, RECORD, caption)


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
    p, flame_p = (list(dict.fromkeys(map(atmospheres, of[key]))) for key in ("p", "flame_p"))
    T0 = span([round(T) for T in of["T0"]])
    warmer = ", and at 350 K where they are held out" * (of["flame_p"][0] == of["flame_p"][1])
    return (
        f"{T0} K, {' to '.join(p)} atm, phi {span(of['phi'])}",
        f"300 K, {' and '.join(flame_p)} atm, phi {span(of['flame_phi'])}{warmer}",
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
