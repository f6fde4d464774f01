"""The words of a check's page and of the console: its verdict in a sentence, values and limits.

Takes the numbers of check.json; gives text.
"""

from combred.check.verdict import worst_delay
from combred.native.solver.generator import TOLERANCE
from combred.report.blocks import NBSP, atmospheres, duration, microseconds, percent, significant


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
    for row in record["times"][:1]:
        said.append(
            f"A state takes {microseconds(row['seconds'])} on one core over {row['dt']:g}{NBSP}s, "
            f"{significant(row['cvode_seconds'] / row['seconds'], 2)}{NBSP}× faster than Cantera's "
            "CVODE (rtol 1e-6)."
        )
    said.append(
        f"{about['species']} species, {about['reactions']} reactions; {of['fuel']} in "
        f"{of['oxidizer']} (moles), {of['T0'][0]:g} to {of['T0'][1]:g}{NBSP}K, {low} to {high} "
        f"atm; tolerance {TOLERANCE:g}, the default; compiled in "
        f"{duration(about['build_seconds'])} (0 s: from the cache)."
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


def ignition_parts(record: dict) -> dict[str, list[dict]]:
    """The ignitions by the name of their part."""
    return {name: rows for name, rows in record["parts"].items() if name.startswith("ignitions")}
