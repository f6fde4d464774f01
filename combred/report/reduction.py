"""The reductions of a run, one after another.

Takes the records of reduce.json; gives a section.
"""

from combred.report.blocks import Note, Section, Table, percent, shape
from combred.report.criteria import search_blocks
from combred.report.folder import Folder


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
