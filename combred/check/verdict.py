"""The verdict of a check: each result with its limit.

Takes the numbers of check.json; gives rows of plain numbers, which the page shows.
"""

import math

from combred.chemistry.agreement import CHECKED
from combred.experiments.cells import STEADY, UNSTEADY
from combred.experiments.stirred.reactor import FINISHED
from combred.native.solver.generator import TOLERANCE

DELAY = 1e-3  # largest error of an ignition delay at the default tolerance
REFERENCE = 1e-4  # largest difference of the solver in doubles from CVODE, of the change of a state
SPEED = 1e-3  # of a premixed flame
PEAK_T = 1.0  # K, of a counterflow flame
MEANS = 1e-3  # of the mean T of a stirred reactor
NOT_IGNITED = "a case does not ignite"


# Of a flame or a reactor the rows beside CVODE: key, name, limit.
BESIDE_CVODE = (
    ("short", "mean T, few particles", MEANS),
    ("reference", "one step, in doubles", REFERENCE),
)
CVODE = "CVODE"
DOUBLES = "the solver in doubles"


def judge(record: dict) -> list[dict]:
    """Rows of the verdict: what was compared, with what ("reference"), the worst value found
    ("worst"), its "limit", its "unit" ("1": relative; "K"; "states"), and whether it is "right";
    `worst` is None where there is no result, which is wrong, but for what could not be compared,
    with the reason ("skipped"), and for what failed, with its outcome ("failure").

    A row whose reference is the solver in doubles is right only if those of CVODE are: both share
    the rates. So each experiment has a row of CVODE."""
    parts = record["parts"]
    delays = [row for rows in ignition_parts(parts).values() for row in rows]
    rows = [_row("ignition delay", worst_delay(delays, TOLERANCE), DELAY, failure=NOT_IGNITED)]
    for name, compared in ignition_parts(parts).items():
        if lost := len(parts[name]) - len(compared):
            rows.append(_left(name, f"CVODE fails in {lost} of {len(parts[name])} ignitions"))
        elif not compared:
            rows.append(_left(name, "no ignition that was drawn suits this dt"))
    states = parts["states of flows"]
    rows.append(_row("states of flows", states["labels"], REFERENCE))
    if lost := CHECKED - states["checked"]:
        rows.append(_left("states of flows", f"CVODE fails in {lost} of {CHECKED} states"))
    rows.append(_row("states of flows that are bad", states["bad"], 0, "states", DOUBLES))
    rows.append(_row("states of flows that fail", states["failed"], 0, "states", DOUBLES))
    for part, what, error, limit, unit in (
        ("stirred reactors", "mean T", "T", MEANS, "1"),
        ("premixed flame", "speed", "speed_error", SPEED, "1"),
        ("counterflow flame", "peak T", "peak_T_error", PEAK_T, "K"),
    ):
        found = parts[part]
        rows += [
            _row(f"{part}: {name}", found[key], limit_of)
            for key, name, limit_of in BESIDE_CVODE
            if key in found
        ]
        if "skipped" in found:
            rows.append(_left(f"{part}: {what}", found["skipped"], limit, unit, DOUBLES))
            continue
        off = [case["errors"][error]["largest"] for case in found.get("cases", [])]
        worst = max(map(size_of, off or [found["errors"][error]]))
        failed = failure_of(found)
        worst = math.inf if failed else worst
        rows.append(_row(f"{part}: {what}", worst, limit, unit, DOUBLES, failed))
    return rows


def failure_of(part: dict) -> str:
    """The outcome of the flame or of a reactor of a part that failed, as "went out"; "" if none."""
    cases = [*part.get("cases", []), part, part.get("errors", {})]
    outcomes = [case["outcome"] for case in cases if "outcome" in case]
    failed = [outcome for outcome in outcomes if outcome not in (STEADY, UNSTEADY, FINISHED)]
    return failed[0] if failed else ""


def shares_cause(rows: list[dict]) -> list[str]:
    """Of a verdict the names of the rows that are right beside the solver in doubles, which a row
    of CVODE says is wrong; none where all rows of CVODE are right."""
    if all(row["right"] for row in rows if row["reference"] == CVODE):
        return []
    return [row["what"] for row in rows if row["reference"] == DOUBLES and row["right"]]


def ignition_parts(parts: dict) -> dict[str, list[dict]]:
    """The ignitions that CVODE could integrate by the name of their part, the shortest time step
    first."""
    names = [name for name in parts if name.startswith("ignitions")]
    return {
        name: [row for row in parts[name] if row["delay"] is not None]
        for name in sorted(names, key=lambda name: float(name.split()[-2]))
    }


def worst_delay(rows: list[dict], tolerance: float) -> float | None:
    """The largest relative error of the delay at a tolerance, infinite where one does not ignite;
    None without ignitions."""
    errors = [size_of(row["errors"][f"{tolerance:g}"]) for row in rows]
    return max(errors, default=None)


def size_of(error: float | None) -> float:
    """The size of an error; infinite where it is none, which JSON has as null."""
    return math.inf if error is None or math.isnan(error) else abs(error)


def _row(  # noqa: PLR0913
    what: str,
    found: float | None,
    limit: float,
    unit: str = "1",
    reference: str = CVODE,
    failure: str = "",
) -> dict:
    worst = None if found is None or not math.isfinite(found) else found
    right = worst is not None and worst <= limit
    row = {"what": what, "reference": reference, "worst": worst, "limit": limit, "unit": unit}
    failed = found is not None and worst is None
    return row | {"right": right, "skipped": "", "failure": failure if failed else ""}


def _left(
    what: str, reason: str, limit: float = DELAY, unit: str = "1", reference: str = CVODE
) -> dict:
    return _row(what, None, limit, unit, reference) | {"right": True, "skipped": reason}
