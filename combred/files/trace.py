"""The rows and the state of a long computation, from which it goes on after an interruption.

Trainings, reductions and searches add rows of numbers and save their state now and then: one that
is killed at any time goes on from the state saved last.
"""

import hashlib
import io
import json
from pathlib import Path

import torch

from combred.config.fields import require, shown
from combred.files.records import require_same, sync, write_bytes
from combred.files.torch_archive import read_parts, written_anew

KIND = "combred trace"  # in the file of a state: what it is


class Trace:
    """Rows in `NAME.jsonl`, one JSON object a line, and the state in the file `path`.

    The state counts the rows that belong to it and holds their digest. A row is appended as it is
    added, and the state is written whole or not at all: rows beyond its count are removed when it
    is loaded. inputs: plain JSON of all that decides the outcome. path: None keeps nothing.
    instead: as for `require_same`.
    """

    def __init__(self, path: Path | None, inputs: dict, instead: str = ""):
        self.path, self.kept = path or Path(), path is not None
        self.inputs = json.loads(json.dumps(inputs))  # as they are read again
        self.instead = instead
        self.rows: list[dict] = []
        self.digest = hashlib.sha256()

    @property
    def lines(self) -> Path:
        """The file of the rows."""
        return self.path.with_suffix(".jsonl")

    def add(self, row: dict) -> None:
        """Add a row, which stays if a state is saved after it."""
        self.rows.append(row)
        if self.kept:
            text = (json.dumps(row) + "\n").encode()
            self.path.parent.mkdir(parents=True, exist_ok=True)
            with self.lines.open("ab") as file:
                file.write(text)
            self.digest.update(text)

    def save(self, state: dict) -> None:
        """Write a state of tensors and plain values, which belongs to all rows so far."""
        if self.kept:
            self.path.parent.mkdir(parents=True, exist_ok=True)
            if self.lines.exists():
                sync(self.lines)  # the state counts its rows
            count = {"rows": len(self.rows), "digest": self.digest.hexdigest()}
            save_tensors(self.path, {"inputs": self.inputs, "state": state} | count)

    def peek(self) -> dict | None:
        """The stored state with its `inputs` and number of `rows`; None where there is none."""
        return load_tensors(self.path) if self.kept and self.path.exists() else None

    def load(self, needs_rows: bool = True) -> dict | None:
        """The state saved last, after its rows are read; None where there is none. needs_rows:
        False where it goes on without its rows if their file has been moved away.

        Raises ValueError for a damaged file, rows that are missing, and a state of other inputs.
        """
        stored = self.peek()
        if not stored:
            self.restart()
            return None
        require_same(self.path, stored["inputs"], self.inputs, self.instead)
        if not needs_rows and not self.lines.exists():
            return stored["state"]
        text = self.lines.read_bytes() if self.lines.exists() else b""
        lines = text.splitlines(keepends=True)[: stored["rows"]]
        kept = b"".join(lines)
        self.digest = hashlib.sha256(kept)
        if self.digest.hexdigest() != stored["digest"]:
            remedy = "Move both away to start anew"
            if not needs_rows:
                remedy = "Move it away: its rows are lost, and all else goes on"
            raise ValueError(
                f"{self.lines} is not as it was written: of {stored['rows']} rows that "
                f"{self.path.name} counts it has {len(lines)}, or some were changed. {remedy}"
            )
        if text != kept:
            write_bytes(self.lines, kept)
        self.rows = [json.loads(line) for line in lines]
        return stored["state"]

    def restart(self) -> None:
        """Forget the state and all rows; the state, which counts the rows, goes first."""
        self.rows, self.digest = [], hashlib.sha256()
        if self.kept:
            self.path.unlink(missing_ok=True)
            self.lines.unlink(missing_ok=True)


def save_tensors(path: Path, content: dict) -> None:
    """Write tensors and plain values, whole or not at all."""
    buffer = io.BytesIO()  # so that a full disk raises OSError, which is reported
    torch.save({"kind": KIND, **content}, buffer)
    write_bytes(path, buffer.getvalue())


def load_tensors(path: Path) -> dict:
    """What `save_tensors` wrote. Raises ValueError where the file is damaged or of another kind."""
    try:
        archive = written_anew(read_parts(path))
        stored = torch.load(archive, map_location="cpu", weights_only=True)
        require(
            isinstance(stored, dict) and stored.get("kind") == KIND,
            "it is no state that combred has saved",
        )
    except Exception as error:
        raise ValueError(
            f"{path} cannot be read ({shown(error, 200)}). Move it away to start anew."
        ) from error
    return stored


def digest_of_tensors(tensors: dict[str, torch.Tensor], what: str = "") -> str:
    """SHA-256 of a text, and of the names, types, shapes and values of tensors."""
    found = hashlib.sha256(what.encode())
    for name, tensor in sorted(tensors.items()):
        found.update(f"{name} {tensor.dtype} {list(tensor.shape)}".encode())
        flat = tensor.detach().cpu().contiguous().flatten()
        found.update(flat.view(torch.uint8).numpy().tobytes())
    return found.hexdigest()
