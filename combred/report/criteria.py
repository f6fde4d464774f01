"""The search for the smallest network that meets the acceptance criteria: attempts and errors.

Takes the record "criteria" of stage 1 in reduce.json; gives blocks of the section on reduction.
"""

import math

from combred.config import CRITERIA
from combred.report.blocks import NO_IGNITION, Block, Note, Table, Text, duration, percent, shape

ENDED = {
    "max_keep_ratio": "the next cut would have kept more than {share} of the weights",
    "attempts": "the number of attempts was used up (`reduction.attempts`); more attempts may find "
    "a smaller network",
}
FAILED = {"flame": "**no flame**"}


def search_blocks(record: dict) -> list[Block]:
    """The criteria, the attempts and the result; record: that of stage 1 in reduce.json. [] if
    there was no search."""
    criteria = record.get("criteria", {})
    if not criteria:
        return []
    blocks: list[Block] = [Text(_search_in_words(record))]
    if not criteria["smallest"]:
        said = "**No smaller network meets the criteria:** stage 1 is the network of stage 0."
        blocks.append(Note(said, alarm=True))
    return [*blocks, criteria_table(criteria)]


def _search_in_words(record: dict) -> str:
    """What was searched for, in which cases, and how the search ended."""
    criteria = record["criteria"]
    trace, cases = criteria["trace"], criteria["cases"]
    limits = " and ".join(
        f"a {CRITERIA[kind]} of {percent(limit)}" for kind, limit in criteria["limits"].items()
    )
    counts = [f"{len(cases[kind])} {kind}" for kind in ("ignitions", "flames") if cases[kind]]
    passed = sum(bool(attempt["passed"]) for attempt in trace[1:])
    ended = ENDED[criteria["reason"]].format(share=percent(criteria["max_keep_ratio"]))
    return (
        f"The search looks for the smallest network with {limits} at most, over "
        f"{' and '.join(counts)} drawn with seed {criteria['seed']} from the range of the "
        "validation. These cases are not those of the validation in this report, which played no "
        "part in the choice. Each attempt cuts the smallest network that met the criteria so far, "
        "retrains it and computes its errors; after a failure the next cut keeps more. "
        f"{len(trace) - 1} attempts were made, {passed} met the criteria; the smallest network has "
        f"{record['weights_after']:,} weights. The search ended because {ended}."
    )


def criteria_table(criteria: dict) -> Table:
    """Every attempt: the attempt it started from, its size, its errors, and whether it passed."""
    kinds = list(criteria["limits"])
    heads = ["attempt", "from", "widths", "of stage 0"]
    for kind in kinds:
        heads += [f"{_name(kind)}, right after the cut", f"{_name(kind)}, retrained"]
    rows = []
    for attempt in criteria["trace"]:
        widths = attempt["shape"].get("widths")
        cells = [
            str(attempt["number"]),
            str(attempt["parent"]) if attempt["number"] else "trained",
            shape(widths) if widths else "–",
            percent(attempt["share"]) if widths else "–",
        ]
        for kind in kinds:
            cells += [_error(attempt, when, kind) for when in ("errors_cut", "errors")]
        verdict = "yes" if attempt["passed"] else "no"
        noted = verdict + (f": {attempt['note']}" if attempt["note"] else "")
        rows.append([*cells, noted, duration(attempt["seconds"])])
    caption = "Flames are computed only with networks whose ignitions meet the criteria."
    return Table([*heads, "passed", "time"], rows, "reduce.json", caption, left=0)


def _name(kind: str) -> str:
    return kind.replace("_", ", ")


def _error(attempt: dict, when: str, kind: str) -> str:
    error = (attempt[when] or {}).get(kind)
    if error is None:
        return "–"
    return percent(error) if math.isfinite(error) else FAILED.get(kind, NO_IGNITION)
