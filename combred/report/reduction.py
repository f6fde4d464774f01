"""The reductions of a run, one after another, and the search for the smallest network that meets
the acceptance criteria.

Takes the records of reduce.json; gives a section.
"""

import math

from combred.config import CRITERIA
from combred.report.blocks import (
    NO_IGNITION,
    Block,
    Note,
    Section,
    Table,
    Text,
    duration,
    percent,
    shape,
)
from combred.report.folder import Folder

ENDED = {
    "max_keep_ratio": "the next cut would have kept more than {share} of the weights",
    "attempts": "the number of attempts was used up (`reduction.attempts`); more attempts may find "
    "a smaller network",
}


def reduction_section(folder: Folder) -> Section | None:
    """What each reduction did; None if nothing was reduced."""
    if not folder.last:
        return None
    if not folder.reductions:
        note = Note("The reductions are not described: there is no reduce.json.")
        return Section("Reduction", [note])
    rows = [["0", folder.train.get("shipped", "trained"), *_size(folder, 0), "–"]]
    for stage, record in folder.reductions.items():
        error = percent(record.get("output_error"))
        rows.append([str(stage), _how(record), *_size(folder, stage), error])
    heads = ["stage", "how", "widths", "weights of stage 0", "output error"]
    caption = (
        "Each stage removes units of the previous network and is then retrained. Output error: of "
        "the network's output right after the cut, before it is retrained, relative in the 2-norm "
        "over training states."
    )
    table = Table(heads, rows, "reduce.json, validation.json", caption, left=3)
    search = search_blocks(folder.reductions.get(1, {}))
    return Section("Reduction", [*search, table])


def _how(record: dict) -> str:
    """A reduction in words."""
    fit = record["compensation"].replace("_", " ")
    if "layer" in record:
        how = f"condensation of layer {record['layer']} at {record['threshold']:g}"
        return f"{how}, largest group {record['trace'][0]['largest_group']}; {fit}"
    how = record["method"].replace("_", " ")
    if "criteria" in record:
        return f"{how}, the smallest that meets the criteria; {fit}"
    return f"{how}, asked {percent(record['parameters'])} of the parameters; {fit}"


def _size(folder: Folder, stage: int) -> list[str]:
    result, first = folder.measured(stage), folder.measured(folder.stages[0])
    return [shape(result["widths"]), percent(result["weights"] / first["weights"])]


# -- the search ------------------------------------------------------------------------------------


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
        heads += [
            f"{kind.replace('_', ', ')}, right after the cut",
            f"{kind.replace('_', ', ')}, retrained",
        ]
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


def _error(attempt: dict, when: str, kind: str) -> str:
    error = (attempt[when] or {}).get(kind)
    if error is None:
        return "–"
    if math.isfinite(error):
        return percent(error)
    return "**no flame**" if kind == "flame" else NO_IGNITION
