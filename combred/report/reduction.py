"""The reductions of a run, and the search for the smallest network that meets the acceptance
criteria: a section of a report, from the records of reduce.json."""

from combred.config.reduction import CRITERIA
from combred.report.blocks import Block, Note, Section, Table, Text
from combred.report.folder import Folder
from combred.report.formats import NO_FLAME, NO_IGNITION, duration, percent, shape

ENDED = {
    "max_keep_ratio": "the next cut would have kept more than {share} of the weights",
    "attempts": "the number of attempts was used up (`reduction.attempts`); more attempts may find "
    "a smaller network",
}

LOOP_ENDED = {
    "target": "the size that was asked for",
    "nothing": "layers in which nothing merges any more",
    "steps": "the number of trainings (`reduction.attempts`)",
}


def reduction_section(folder: Folder) -> list[Section]:
    """What each reduction did; [] if nothing was reduced."""
    if not folder.last:
        return []
    first, rows = folder.stages[min(folder.stages)]["weights"], []
    for stage, result in folder.stages.items():
        record = folder.reductions.get(stage, {})
        how = reduced_how(record) if stage else folder.shipped or "trained"
        size = [shape(result["widths"]), percent(result["weights"] / first)]
        rows.append([str(stage), how, *size, percent(record.get("output_error"))])
    heads = ["stage", "how", "widths", "weights of stage 0", "output error"]
    caption = (
        "Each stage removes units of the previous network and is then retrained. Output error: of "
        "the network's output right after the cut, before it is retrained, relative in the 2-norm "
        "over training states."
    )
    table = Table(heads, rows, "reduce.json, validation.json", caption, left=3)
    return [Section("Reduction", [*search_blocks(folder.reductions.get(1, {})), table])]


def reduced_how(record: dict) -> str:
    """A reduction in words."""
    if not record:
        return "– (there is no reduce.json)"
    how = record.get("method", "").replace("_", " ")
    if "layer" in record:
        how = f"condensation of layer {record['layer']} at {record['threshold']:g}, largest group "
        how += str(record["trace"][0]["largest_group"])
    elif loop := record.get("loop"):
        how = f"automatic loop, asked {percent(record['parameters'])} of the parameters: "
        how += f"{loop['reductions']} layers condensed, {loop['restored']} restored, "
        how += f"{loop['steps']} trainings of {loop['optimiser_steps']} steps; ended by "
        return how + LOOP_ENDED[loop["reason"]]
    elif "criteria" in record:
        how += ", the smallest that meets the criteria"
    else:
        how += f", asked {percent(record['parameters'])} of the parameters"
    return f"{how}; {record['compensation'].replace('_', ' ')}"


def search_blocks(record: dict) -> list[Block]:
    """The criteria, the attempts and the result of a search; record: that of stage 1 in
    reduce.json. [] if there was no search."""
    criteria = record.get("criteria", {})
    if not criteria:
        return []
    limits = " and ".join(f"a {CRITERIA[k]} of {percent(v)}" for k, v in criteria["limits"].items())
    trace, cases = criteria["trace"], {k: len(of) for k, of in criteria["cases"].items() if of}
    counts = " and ".join(f"{count} {kind}" for kind, count in cases.items())
    passed = sum(bool(attempt["passed"]) for attempt in trace[1:])
    ended = ENDED[criteria["reason"]].format(share=percent(criteria["max_keep_ratio"]))
    text = Text(
        f"The search looks for the smallest network that alone, without the solver behind it, has "
        f"{limits} at most, over {counts} drawn "
        f"with seed {criteria['seed']} from the range of the validation. The cases of the "
        "validation in this report are others, and played no part in the choice. Each attempt cuts "
        "the smallest network that met the criteria so far, retrains it and computes its errors; "
        f"after a failure the next cut keeps more. Of {len(trace) - 1} attempts, {passed} met the "
        f"criteria; the smallest network has {record['weights_after']:,} weights. The search ended "
        f"because {ended}."
    )
    said = "**No smaller network meets the criteria:** stage 1 is the network of stage 0."
    failed = [] if criteria["smallest"] else [Note(said, alarm=True)]
    kinds = list(criteria["limits"])
    whens = "after the cut", "retrained"
    errors = [f"{kind.replace('_', ', ')}, {when}" for kind in kinds for when in whens]
    heads = ["attempt", "from", "widths", "of stage 0", *errors, "passed", "time"]
    rows = [attempt_row(attempt, kinds) for attempt in trace]
    caption = "Flames are computed only with networks whose ignitions meet the criteria."
    table = Table(heads, rows, "reduce.json", caption, left=0)
    return [text, *failed, table]


def attempt_row(attempt: dict, kinds: list[str]) -> list[str]:
    """The attempt that an attempt started from, its size, its errors, and whether it passed."""
    widths, verdict = attempt["shape"].get("widths"), "yes" if attempt["passed"] else "no"
    errors = [
        percent((attempt[when] or {}).get(k), infinite=NO_FLAME if k == "flame" else NO_IGNITION)
        for k in kinds
        for when in ("errors_cut", "errors")
    ]
    return [
        str(attempt["number"]),
        str(attempt["parent"]) if attempt["number"] else "trained",
        shape(widths) if widths else "–",
        percent(attempt["share"]) if widths else "–",
        *errors,
        f"{verdict}: {attempt['note']}" if attempt["note"] else verdict,
        duration(attempt["seconds"]),
    ]
