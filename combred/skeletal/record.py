"""The record of a reduction: what was asked for, the path so far, and the result.

A folder holds reductions of one mechanism and of the same ranges. reduce.json is the record of the
last one. Those of others stand beside it: a finished one as NAME.json beside its NAME.yaml, one
that is not finished as reduce.DIGEST.json. None is lost, and each goes on where it was.
"""

import hashlib
import os
from dataclasses import asdict, dataclass
from itertools import count
from pathlib import Path

import numpy as np

import combred
from combred.chemistry.mechanism import Mechanism
from combred.config.fields import require
from combred.files.code import code_digest
from combred.files.records import digest_of, read_begun, read_record, strict
from combred.skeletal.cases import Ranges

RECORD = "reduce.json"
LEAST = 1e-3  # limit of the errors: those of the judges themselves are a fifth of it
WIDEST = 10.0  # factor within which rate constants are refitted


@dataclass(frozen=True)
class Wanted:
    """What a user asks for. error: limit of each relative error; species: how many may be left, 0
    for as few as the limit allows; keep: names of species that stay beside fuel and oxidizer, whose
    peaks in flames are judged, too; refit: the uncertainty of the rate constants, within whose
    factor they are refitted, 0: they stay."""

    error: float = 0.01
    species: int = 0
    keep: tuple[str, ...] = ()
    refit: float = 0.0

    def __post_init__(self):
        require(LEAST <= self.error < 1.0, f"error={self.error} is not from {LEAST:g} to 1")
        whole = isinstance(self.species, int | np.integer) and self.species >= 0
        require(whole, f"species={self.species} has to be a whole number from 0 up")
        require(
            self.refit == 0.0 or 1.0 < self.refit <= WIDEST,
            f"refit={self.refit} is neither 0 nor a factor from 1 to {WIDEST:g}: 1.3 is usual",
        )


def begun(file: Path, mechanism: Mechanism, ranges: Ranges, wanted: Wanted) -> dict:
    """The record of a reduction, with the path so far. Where the folder has the record of another
    one of the same mechanism and ranges, that is put aside. Raises ValueError where the folder has
    another mechanism or other ranges, or where the mechanism of a finished one is not there."""
    of = {
        "mechanism": mechanism.name,
        "phase": mechanism.phase,
        "sha256": mechanism.sha256,
        "text": digest_of_text(mechanism.text.encode()),  # has the transport data, too
        "ranges": strict(asdict(ranges)),
        "version": combred.__version__,
        "code": code_digest("combred.skeletal.reducing"),
    }
    inputs = of | asdict(wanted) | {"keep": sorted(wanted.keep)}
    before = read_record(file)
    then = before.get("inputs", {})
    if before and then != inputs and all(then.get(key) == value for key, value in of.items()):
        aside = before["file"] if "file" in before else f"reduce.{digest_of(then)}.yaml"
        os.replace(file, (file.parent / aside).with_suffix(".json"))
    if not file.exists():
        _take_back(file, inputs)
    record = read_begun(file, inputs, "reduction") or {"inputs": inputs, "path": []}
    if "file" in record:
        _require_result(file.parent, record)
    return record


def _take_back(file: Path, inputs: dict) -> None:
    """Make the record with these inputs that was put aside that of the folder, if there is one."""
    for path in file.parent.glob("*.json"):
        try:
            known = read_record(path)
        except (ValueError, OSError):  # of something else, or damaged: it stays where it is
            continue
        if known.get("inputs") == inputs:
            os.replace(path, file)
            return


def _require_result(folder: Path, record: dict) -> None:
    """Raise ValueError where the mechanism of a finished reduction is not as it was written."""
    path = folder / record["file"]
    fault = "is not as it was written" if path.is_file() else "is not there any more"
    require(
        path.is_file() and digest_of_text(path.read_bytes()) == record["file_sha256"],
        f"{path} {fault}: put it back, or move {RECORD} away, and the same command reduces again",
    )


def digest_of_text(text: bytes) -> str:
    """The SHA-256 of the file of a mechanism."""
    return hashlib.sha256(text).hexdigest()


def free_name(folder: Path, stem: str, text: bytes) -> str:
    """The name of the file of a reduced mechanism: `stem`.yaml, or with -2, -3, ... where there is
    a file of this name with another text, or the record of another reduction."""
    for i in count(1):
        path = folder / f"{stem}{f'-{i}' * (i > 1)}.yaml"
        other = os.path.lexists(path) and not (path.is_file() and path.read_bytes() == text)
        if not other and not path.with_suffix(".json").exists():
            break
    return path.name
