"""An artefact: a file of a run, and everything that its content depends on."""

import json
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any


@dataclass(frozen=True)
class Artefact:
    """A file of a run at `path`; `inputs`: all that its content depends on, as plain JSON."""

    path: Path
    inputs: dict

    def require(self, stored: dict | None) -> None:
        """ValueError, with what differs, if the file was made with other inputs.

        stored: the inputs that the file, or the record beside it, was written with; None where
        they are unknown, as of states that were not made by the pipeline.
        """
        if stored is None:
            return
        differing = [
            f"{key}: {then!r} then, {now!r} now"
            for key, then, now in differences(stored, self.inputs)
        ]
        if differing:
            raise ValueError(
                f"{self.path} was made with other settings ({'; '.join(differing[:4])}). Give "
                "those again, name another run with run=NAME, or move "
                f"{self.path.name} and what was made from it away."
            )


def plain(inputs: dict) -> dict:
    """The same as JSON gives it back: tuples as lists, keys as text."""
    return json.loads(json.dumps(inputs))


def differences(a: Any, b: Any, path: str = "") -> Iterator[tuple[str, Any, Any]]:
    """(key, value in a, value in b) wherever two nested dicts differ."""
    if isinstance(a, dict) and isinstance(b, dict):
        for key in sorted(a.keys() | b.keys()):
            yield from differences(a.get(key), b.get(key), f"{path}.{key}".lstrip("."))
    elif a != b:
        yield path, a, b
