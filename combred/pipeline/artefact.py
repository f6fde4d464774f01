"""An artefact: a file of a run, and everything that its content depends on."""

import json
from dataclasses import dataclass
from pathlib import Path

from combred.files.records import require_same


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
        if stored is not None:
            require_same(self.path, stored, self.inputs)


def plain(inputs: dict) -> dict:
    """The same as JSON gives it back: tuples as lists, keys as text."""
    return json.loads(json.dumps(inputs))
