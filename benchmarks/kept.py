"""Files of results that gain a part at a time: what is not run again stays."""

import json
from collections.abc import Iterable
from pathlib import Path

from combred.validation import timing


def kept(results: Path, parts: Iterable[str]) -> dict:
    """What a file of results holds of this machine, so that what is not run again stays; else the
    machine, and {} for each of the parts."""
    machine = timing.machine()
    if results.exists() and (found := json.loads(results.read_text()))["machine"] == machine:
        return found
    return {"machine": machine} | {part: {} for part in parts}
