"""How far the labels of a state file are from the states of CVODE."""

from pathlib import Path

from combred.chemistry.agreement import largest_difference
from combred.chemistry.mechanism import Mechanism
from combred.experiments.labelled import Block
from combred.surrogates.dataset.schema import StateFileError


def check(mechanism: Mechanism, block: Block, path: Path) -> dict:
    """The attributes `checked_rows` and `largest_difference` of a state file, of some of its rows.
    Raises StateFileError where a label differs too much from that of CVODE."""
    before, after = (block.T, block.p, block.Y), (block.T_next, block.Y_next)
    try:
        largest, rows = largest_difference(mechanism, before, block.dt, after)
    except ValueError as error:
        parts = f"{path.stem}.*.partial"
        raise StateFileError(f"{path}: {error}; then remove {parts} and sample again") from error
    return {"checked_rows": rows, "largest_difference": largest}
