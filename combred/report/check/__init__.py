"""The page of a check: check.html and its figures, drawn from the numbers of check.json; and the
words that the console shows, too.

Takes a folder of `combred.check`; measures nothing.
"""

from pathlib import Path

from combred.check.checking import RECORD
from combred.check.verdict import ignition_parts, worst_delay
from combred.files.records import read_record
from combred.native.solver.generator import TOLERANCE
from combred.report.blocks import (
    NBSP,
    Note,
    Section,
    Table,
    Text,
    atmospheres,
    duration,
    microseconds,
    percent,
    significant,
)
from combred.report.check.flows import flow_section
from combred.report.check.ignitions import ignition_section
from combred.report.pages import write_page
from combred.report.style import style


def write_check(folder: Path) -> Path:
    """Write check.html and figures/ from check.json; the path of the page. Raises ValueError where
    there are no numbers, or not all of them."""
    record = read_record(folder / RECORD)
    if "verdict" not in record:
        raise ValueError(f"{folder / RECORD} is missing or not finished: run the check again")
    name, wrong = record["inputs"]["mechanism"], [r for r in record["verdict"] if not r["right"]]
    with style():
        ignitions = ignition_section(record)
        content = {
            "title": f"The solver of {name} beside CVODE",
            "run": name,
            "what": "Checked",
            "sentence": sentence(record),
            "further": further(record),
            "alarms": [Note(f"**{row['what']}**: {value(row)}", alarm=True) for row in wrong],
            "head": [comparisons(record)],
            "sections": [
                ignitions, state_section(record), flow_section(record), provenance(record),
            ],
        }  # fmt: skip
        write_page(folder / "check.html", content)
    return folder / "check.html"


def comparisons(record: dict) -> Table:
    """The rows of the verdict."""
    rows = [[row["what"], value(row), limit(row)] for row in record["verdict"]]
    caption = (
        "Worst values. The solver at its default tolerance is compared with CVODE (ignitions) or "
        "with itself in doubles, at a tolerance of 1e-6 (states, reactors, flames), which is "
        "compared with CVODE at rtol 1e-10 in the same states."
    )
    return Table(["", "worst", "limit"], rows, RECORD, caption)


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
        "Error: of T relative to its change + 1 K, or of a Y relative to the largest change + "
        "1e-5. The tolerance bounds the estimated error of each step, not the sum of the errors."
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
        [text, Table(["", ""], rows, RECORD), Table(heads, times, RECORD, caption)],
    )


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
        ["size", f"{inputs['size']:.2g}"],
    ]
    return Section("How it was made", [Table(["", ""], rows, RECORD, left=2)])


# -- words of the page and of the console ----------------------------------------------------------


def sentence(record: dict) -> str:
    """The verdict in a sentence."""
    rows = [row for row in record["verdict"] if not row["skipped"]]
    wrong, left = [row for row in rows if not row["right"]], len(record["verdict"]) - len(rows)
    rest = f" {left} could not be made." if left else ""
    if wrong:
        return f"**{len(wrong)} of {len(rows)} comparisons exceed their limit.**{rest}"
    return (
        f"All {len(rows)} comparisons are within their limits: in these cases the solver can take "
        f"the place of CVODE.{rest}"
    )


def further(record: dict) -> str:
    """The most important numbers, and the conditions in which they were found."""
    about, of, states = (
        record["about"],
        record["inputs"]["conditions"],
        record["parts"]["states of flows"],
    )
    ignitions = [row for rows in ignition_parts(record).values() for row in rows]
    low, high = map(atmospheres, of["p"])
    said = [
        f"The delays of {len(ignitions)} ignitions differ from CVODE's by at most "
        f"{percent(worst_delay(ignitions, TOLERANCE))}; of {states['rows']:,} states of flows "
        f"{states['bad'] + states['failed']} are bad or failed."
    ]
    built = about["build_seconds"]
    made = f"compiled in {duration(built)}" if built > 1.0 else "the library was in the cache"
    for row in record["times"][:1]:
        said.append(
            f"A state takes {microseconds(row['seconds'])} on one core over {row['dt']:g}{NBSP}s, "
            f"{significant(row['cvode_seconds'] / row['seconds'], 2)}{NBSP}× faster than Cantera's "
            "CVODE (rtol 1e-6)."
        )
    said.append(
        f"{about['species']} species, {about['reactions']} reactions; {of['fuel']} in "
        f"{of['oxidizer']} (moles), {of['T0'][0]:g} to {of['T0'][1]:g}{NBSP}K, {low} to {high} "
        f"atm; tolerance {TOLERANCE:g}, the default; {made}."
    )
    return " ".join(said)


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
