"""The page of a check: check.html and its figures, drawn from check.json; and the sentence and the
table that the console shows, too.

Takes a folder of `combred check`. The rows of check.json become those of the blocks of all pages.
"""

import math
from pathlib import Path

from combred.check.verdict import ignition_parts, shares_cause
from combred.native.solver.generator import TOLERANCE
from combred.report.blocks import Note, Section, Table, Text
from combred.report.flows import flame_section, reference_said, stirred_section
from combred.report.formats import (
    NBSP,
    atmospheres,
    duration,
    microseconds,
    number,
    percent,
    significant,
    span,
)
from combred.report.ignitions import ignition_section
from combred.report.pages import Page, made_with, read_finished, write_page

RECORD = "check.json"
SHARED = "The solver differs from CVODE."


def write_check(folder: Path) -> Path:
    """Write check.html and figures/ from check.json; the path of the page. Raises ValueError where
    there are no numbers, or not all of them."""
    record = read_finished(folder / RECORD, "verdict", "check")
    name, wrong = record["inputs"]["mechanism"], [r for r in record["verdict"] if not r["right"]]
    page = Page(
        title=f"The solver of {name} beside CVODE",
        name=name,
        alarms=[*alarms(wrong), *shared(record["verdict"])],
        verdict=sentence(record),
        further=further(record),
        head=[comparisons(record)],
        sections=[*experiments(record["parts"]), state_section(record), provenance(record)],
    )
    return write_page(folder / "check.html", page)


def alarms(wrong: list[dict]) -> list[Note]:
    """Of each row that is above its limit."""
    return [
        Note(f"**{row['what']}**, beside {row['reference']}: {value(row)}", alarm=True)
        for row in wrong
    ]


def shared(verdict: list[dict]) -> list[Note]:
    """That rows which compare the solver with itself prove nothing where CVODE says it is wrong."""
    names = shares_cause(verdict)
    if not names:
        return []
    said = (
        f"{SHARED} These rows compare it with itself, share the cause, and say nothing of it: "
        f"{', '.join(names)}."
    )
    return [Note(said, alarm=True)]


# -- words of the page and of the console ----------------------------------------------------------


def sentence(record: dict) -> str:
    """The verdict in a sentence."""
    rows = [row for row in record["verdict"] if not row["skipped"]]
    wrong, left = [row for row in rows if not row["right"]], len(record["verdict"]) - len(rows)
    said = (
        f"All {len(rows)} comparisons are within their limits: in these cases the solver can take "
        "the place of CVODE."
    )
    if wrong:
        said = f"**{len(wrong)} of {len(rows)} comparisons exceed their limit.**"
    if shares_cause(record["verdict"]):
        said += f" {SHARED} The comparisons with the solver in doubles share the cause."
    said += f" The fuel is `{record['inputs']['conditions']['fuel']}`."
    return f"{said} {left} could not be made." if left else said


def comparisons(record: dict) -> Table:
    """The rows of the verdict."""
    rows = []
    for row in record["verdict"]:
        above = " **above**" if row["worst"] is not None and not row["right"] else ""
        limit = value(row | {"worst": row["limit"], "right": True})
        rows.append([row["what"], row["reference"], value(row) + above, limit])
    caption = (
        "Worst values. Ignitions: the solver at its default tolerance beside CVODE. States, "
        "reactors and flames: the solver in doubles, at a tolerance of 1e-6, beside CVODE at rtol "
        "1e-10 in one step of their states; the solver at its default tolerance beside that in "
        "doubles. Bad states are more than 10 % of their change off."
    )
    return Table(["", "compared with", "worst", "limit"], rows, RECORD, caption)


def value(row: dict) -> str:
    """The worst value of a row of the verdict; one that would read as its limit has all digits."""
    if row["worst"] is None:
        failed = f"**{row.get('failure') or 'no result'}**"
        return f"not compared: {row['skipped']}" if row["skipped"] else failed
    scale, unit = (100.0, "%") if row["unit"] == "1" else (1.0, row["unit"])
    found, limit = (
        percent(x) if unit == "%" else f"{significant(x, 2)} {unit}"
        for x in (row["worst"], row["limit"])
    )
    return found if row["right"] or found != limit else f"{scale * row['worst']:.12g}{NBSP}{unit}"


def further(record: dict) -> str:
    """The time of a state beside that of CVODE."""
    return "".join(
        f"A state takes {microseconds(row['seconds'])} on one core over "
        f"{number(row['dt'])}{NBSP}s; Cantera's CVODE (rtol 1e-6) takes "
        f"{microseconds(row['cvode_seconds'])}."
        for row in record["times"][:1]
    )


# -- sections --------------------------------------------------------------------------------------


def experiments(parts: dict) -> list[Section]:
    """The ignitions, and the stirred reactors and flames, as far as they could be compared."""
    said = (
        "They are drawn at random, for each time step those whose delay suits it. The reference is "
        "one integration by CVODE (rtol 1e-9, atol 1e-18)."
    )
    sections = [ignition_section(said, ignition_results(parts), RECORD)]
    names = "stirred reactors", "premixed flame", "counterflow flame"
    found = {name: parts[name] for name in names if "skipped" not in parts[name]}
    if reactors := found.pop("stirred reactors", {}):
        curves = {
            name: [{"t": of["t"], "T": of[key], "Y": {}} for of in reactors["curves"]]
            for name, key in (("reference", "reference"), ("solver", "T"))
        }
        said, results = kept_said(reactors["reference"]), {"solver": reactors["cases"]}
        sections.append(stirred_section(said, results, curves, (RECORD, RECORD)))
    if found:
        flames = found.values()
        off = [part["reference"] for part in flames]
        said = kept_said(None if None in off else max(off))
        pairs = zip(*(part["curves"] for part in flames), strict=True)
        curves = dict(zip(("solver", "reference"), map(list, pairs), strict=True))
        results = {"solver": [flame_row(*item) for item in found.items()]}
        sections.append(flame_section(said, results, curves, (RECORD, RECORD)))
    return sections


def kept_said(off: float | None) -> str:
    """As `reference_said`, and how exact the curves of check.json are."""
    return (
        f"{reference_said(off)} The figure's curves are kept with six digits: differences of "
        "0.01 K and less are rounding."
    )


def ignition_results(parts: dict) -> dict[str, list[dict]]:
    """The ignitions by tolerance, the default last, as validation.json has them; the shortest time
    step first."""
    found_in = ignition_parts(parts).items()
    cases = [row | {"dt": float(name.split()[-2])} for name, rows in found_in for row in rows]
    results: dict[str, list[dict]] = {}
    for row in cases:
        case = f"{row['T0']:.0f} K, phi {row['phi']:.2f}, {atmospheres(row['p'])} atm"
        for tolerance, error in row["errors"].items():
            found = {"case": f"{case}, dt {number(row['dt'])} s", "ignited": error is not None}
            late = math.nan if error is None else error
            found |= {"delay": row["delay"] * (1.0 + late), "delay_error": abs(late)}
            of = results.setdefault(f"tolerance {tolerance}", [])
            of.append(row | found | {"reference_delay": row["delay"]})
    return results


def flame_row(name: str, part: dict) -> dict:
    """A flame as validation.json has it."""
    errors = part["errors"]
    of = errors["case"] if "case" in errors else f"{part['strain']:.0f} 1/s"
    return {"outcome": part.get("outcome"), **errors, "case": f"{name}, {of}"}


def state_section(record: dict) -> Section:
    """Errors and times over states of flows."""
    states = record["parts"]["states of flows"]
    median, high, largest = map(percent, states["errors"].values())
    text = Text(
        f"{states['rows']:,} states as flows have them: ignitions, mixtures of fresh and burnt "
        "gas, fuel and oxidizer, layers and small flames, each with its own dt of 1e-8 to 1e-4 s. "
        "Error: of T relative to its change + 1 K, or of a Y relative to the largest change + "
        f"1e-5; median {median}, 99 % below {high}, largest {largest}. The tolerance bounds the "
        "estimated error of each step, not the sum of the errors."
    )
    rows = [
        [f"{number(row['dt'])} s", microseconds(row["seconds"]), significant(row["steps"], 2)]
        + [microseconds(row["cvode_seconds"])]
        + [f"{significant(row['cvode_seconds'] / row['seconds'], 2)}{NBSP}×"]
        for row in record["times"]
    ]
    caption = (
        "CPU time of one state on one core: the solver in one batch, Cantera's CVODE (rtol 1e-6, "
        f"atol 1e-12) state by state, both from a cold start. {record['machine']}."
    )
    heads = ["time step", "solver", "its steps", "CVODE", "ratio"]
    return Section("States of flows", [text, Table(heads, rows, RECORD, caption)])


def provenance(record: dict) -> Section:
    """What the numbers were made with."""
    inputs, about, of = record["inputs"], record["about"], record["inputs"]["conditions"]
    rows = [
        ["mechanism", f"{inputs['mechanism']}, phase {inputs['phase']}"],
        ["sha256", f"`{inputs['sha256'][:16]}`"],
        ["species, reactions", f"{about['species']}, {about['reactions']}"],
        ["rates", ", ".join(f"{count} {kind}" for kind, count in about["rates"].items())],
        ["mixture", f"{of['fuel']} in {of['oxidizer']} (moles)"],
        ["T0, p", f"{span(of['T0'])} K, {' to '.join(map(atmospheres, of['p']))} atm"],
        ["tolerance", f"{TOLERANCE:g}, the default"],
        ["machine", record["machine"]],
        ["compilation", f"{duration(about['build_seconds'])} (less than 1 s: from the cache)"],
        ["computing time", duration(sum(record["seconds"].values()))],
        ["combred, size", f"{inputs['version']}, {inputs['size']:.2g}"],
    ]
    return made_with(rows, RECORD)
