"""What came of attacks, counted.

An attack is refused (one clear line, before any harm), harmless (the answer is what it was), or it
got through: wrong (another answer without a word), a traceback, or a silence of over ten seconds.
"""

import io
import time
import traceback
from collections.abc import Callable
from contextlib import redirect_stdout
from dataclasses import asdict, dataclass, field, fields

from combred.pipeline import command

SILENCE = 10.0  # s


@dataclass
class Counts:
    """Numbers of attacks by what came of them, and those that got through, in words."""

    tried: int = 0
    refused: int = 0
    harmless: int = 0
    wrong: int = 0
    tracebacks: int = 0
    silent: int = 0
    through: list[str] = field(default_factory=list)

    def add(self, kind: str, what: str = "") -> None:
        """Count an attack; kind: "refused", "harmless", "wrong", "tracebacks" or "silent"; what:
        the attack, in words, kept if it got through."""
        self.tried += 1
        setattr(self, kind, getattr(self, kind) + 1)
        if kind not in ("refused", "harmless"):
            self.through.append(f"{kind}: {what}")

    def __add__(self, other: "Counts") -> "Counts":
        pairs = ((getattr(self, item.name), getattr(other, item.name)) for item in fields(self))
        return Counts(*(one + two for one, two in pairs))

    def numbers(self) -> dict:
        """The counts as plain JSON."""
        return asdict(self)


class Recorder(io.StringIO):
    """An output that knows its longest silence [s]."""

    def __init__(self):
        super().__init__()
        self.last, self.silence = time.monotonic(), 0.0

    def write(self, text: str) -> int:
        """Keep a text."""
        self.pause()
        return super().write(text)

    def pause(self) -> None:
        """Note the silence since the last text."""
        now = time.monotonic()
        self.silence, self.last = max(self.silence, now - self.last), now


@dataclass(frozen=True)
class Answer:
    """The answer of a command: its exit status (None: an exception came out of it), its output, the
    longest silence [s], and the exception's traceback."""

    status: int | None
    output: str
    silence: float
    traceback: str = ""

    @property
    def errors(self) -> list[str]:
        """The lines of the output from the first error on."""
        lines = self.output.splitlines()
        first = next((i for i, line in enumerate(lines) if line.startswith("error:")), len(lines))
        return lines[first:]


def ask(arguments: list[str], call: Callable[[list[str]], int] = command.main) -> Answer:
    """The answer of the pipeline's command to arguments, in this process."""
    output, failure = Recorder(), ""
    status: int | None = None
    with redirect_stdout(output):
        try:
            status = call(arguments)
        except Exception:
            failure = traceback.format_exc()
    output.pause()
    return Answer(status, output.getvalue(), output.silence, failure)
