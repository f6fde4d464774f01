"""The trace of a long reduction, and the state from which it goes on after an interruption.

`automatic`, `complexity` and `search` add rows of numbers, and save their state now and then: a
reduction that is killed at any time goes on from the state saved last.
"""

import hashlib
import json
from pathlib import Path

from combred.files.checkpoint import load_checkpoint, save_checkpoint
from combred.files.records import write_bytes

KIND = "trace of a reduction"  # the signature of the file of a state


class Trace:
    """Rows in `NAME.jsonl`, one JSON object a line, and the state in the file `path`.

    The state counts the rows that belong to it and holds their digest. Rows are appended first and
    the state is written whole or not at all: rows beyond its count are of an interrupted save, and
    are removed. inputs: plain JSON of all that decides the outcome. path: None keeps nothing.
    leads: whether this process writes.
    """

    def __init__(self, path: Path | None, inputs: dict, leads: bool = True):
        self.path, self.leads = path, leads and path is not None
        self.inputs = json.loads(json.dumps(inputs))  # as they are read again
        self.rows: list[dict] = []
        self.unsaved, self.digest = "", hashlib.sha256()

    @property
    def lines(self) -> Path:
        """The file of the rows."""
        return self.path.with_suffix(".jsonl")

    def add(self, row: dict) -> None:
        """Add a row, to be written with the next state."""
        self.rows.append(row)
        if self.path:
            self.unsaved += json.dumps(row) + "\n"

    def save(self, state: dict) -> None:
        """Write the new rows, and a state of tensors and plain values."""
        text, self.unsaved = self.unsaved.encode(), ""
        if not self.leads:
            return
        self.path.parent.mkdir(parents=True, exist_ok=True)
        with self.lines.open("ab") as file:
            file.write(text)
        self.digest.update(text)
        count = {"rows": len(self.rows), "digest": self.digest.hexdigest()}
        save_checkpoint(self.path, KIND, {"inputs": self.inputs, "state": state} | count)

    def peek(self) -> dict | None:
        """The stored state with its `inputs` and number of `rows`; None where there is none."""
        return load_checkpoint(self.path, KIND, "give another") if self.path else None

    def load(self) -> dict | None:
        """The state saved last, after its rows are read; None where there is none.

        Raises ValueError for a damaged file, rows that are missing, and a state of other inputs.
        """
        stored = self.peek()
        if not stored:
            self.restart()
            return None
        was, now = stored["inputs"], self.inputs
        other = [key for key in {**now, **was} if was.get(key) != now.get(key)]
        if other:
            changes = "; ".join(f"{k}: then {was.get(k)}, now {now.get(k)}" for k in other)
            raise ValueError(
                f"{self.path} is of another reduction ({changes}). Give the same network and "
                "settings to go on with it, or another place."
            )
        text = self.lines.read_bytes() if self.lines.exists() else b""
        lines = text.splitlines(keepends=True)[: stored["rows"]]
        self.digest = hashlib.sha256(b"".join(lines))
        if self.digest.hexdigest() != stored["digest"]:
            raise ValueError(
                f"{self.lines} is not as it was written: of {stored['rows']} rows that "
                f"{self.path.name} counts it has {len(lines)}, or some were changed. Move both "
                "away to start anew"
            )
        if self.leads:
            write_bytes(self.lines, b"".join(lines))
        self.rows = [json.loads(line) for line in lines]
        return stored["state"]

    def restart(self) -> None:
        """Forget the state and all rows; the state, which counts the rows, goes first."""
        self.rows, self.unsaved, self.digest = [], "", hashlib.sha256()
        if self.leads:
            self.path.unlink(missing_ok=True)
            self.lines.unlink(missing_ok=True)
