"""The reduction of Chen & Xu 2024 beside the one of a run, stage by stage.

Takes a `Folder`; gives a `Section` if the run started from the paper's network.
"""

from combred.report.blocks import Section, Table, Text, percent, significant
from combred.report.folder import PAPER_MECHANISM, PAPER_WEIGHTS, Folder

PAPER_WIDTHS = [23, 3200, 1600, 800, 400, 23]
# Chen & Xu 2024, section 3.1.3 and table 1: reduction, widths, parameters, validation loss.
PAPER_STAGES = (
    ("–", "23-3200-1600-800-400-23", 6_802_800, "0.02276"),
    ("layer 1 at 0.9", "23-2205-1600-800-400-23", 5_187_915, "0.01694"),
    ("layer 1 at 0.8", "23-1105-1600-800-400-23", 3_402_615, "0.01454"),
    ("layer 2 at 0.999", "23-1105-1309-800-400-23", 2_848_260, "0.01434"),
)


def paper_section(folder: Folder) -> Section | None:
    """The table of the paper beside that of the run; None if the run started from another
    network."""
    first = folder.measured(folder.stages[0])
    if folder.mechanism.name != PAPER_MECHANISM or first["widths"] != PAPER_WIDTHS:
        return None
    rows = []
    for stage in sorted({*range(len(PAPER_STAGES)), *folder.stages}):
        if stage < len(PAPER_STAGES):
            how, widths, weights, loss = PAPER_STAGES[stage]
            share = percent(weights / PAPER_WEIGHTS)
            rows.append([f"{stage}, paper", how, widths, f"{weights:,}", share, loss, "–"])
        if stage in folder.stages:
            rows.append(_own_row(folder, stage))
    columns = ["stage", "reduction", "widths", "weights", "share", "validation loss", "delay error"]
    source = "validation.json, reduce.json, train.json; Chen & Xu 2024, table 1"
    text = (
        "The same network, reduced in the paper and in this run. The delay error is median / worst "
        "over the ignitions of this report; the paper gives none. The losses of paper and run have "
        "different targets (the paper's is not raised to a power) and different states: compare "
        "each with its own stage 0. In the paper each retraining takes 5000 steps of Adam."
    )
    return Section("Beside the paper", [Table(columns, rows, source, left=3), Text(text)])


def _own_row(folder: Folder, stage: int) -> list[str]:
    """A stage of the run in the columns of the paper's table."""
    result, record = folder.measured(stage), folder.reductions.get(stage, {})
    how = f"layer {record['layer']} at {record['threshold']:g}" if "layer" in record else "–"
    loss, error = folder.loss(stage), result["delay_error"]
    return [
        f"{stage}, here",
        how,
        "-".join(map(str, result["widths"])),
        f"{result['weights']:,}",
        percent(result["weights"] / PAPER_WEIGHTS),
        "–" if loss is None else significant(loss, 3),
        f"{percent(error['median'])} / {percent(error['worst'])}",
    ]
