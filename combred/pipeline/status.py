"""What a command is doing, and a line wherever it would be silent for too long.

On a terminal progress bars move. In a log, or between the bars, a line says every few seconds what
is being done, so that a command that works is never taken for one that hangs.
"""

import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager

from rich.console import Console
from rich.markup import escape

SILENCE = 8.0  # s without a line or a moving bar after which a line is printed


class StatusConsole(Console):
    """A console that knows when it printed last. `doing`: what is being done, in words; `bar`:
    whether a progress bar moves."""

    def __init__(self, **options):
        super().__init__(**options)
        self.spoke = self.begun = time.monotonic()
        self.doing, self.bar = "", False

    def print(self, *objects, **options) -> None:
        """As `Console.print`."""
        super().print(*objects, **options)
        self.spoke = time.monotonic()

    def begin(self, doing: str) -> None:
        """Say what is done from now on."""
        self.doing, self.begun = doing, time.monotonic()

    @contextmanager
    def heard(self, silence: float = SILENCE) -> Iterator[None]:
        """A context in which a line is printed after every `silence` seconds [s] without one."""
        ended = threading.Event()

        def watch() -> None:
            while not ended.wait(silence / 8):
                if self.doing and not self.bar and time.monotonic() - self.spoke > silence:
                    seconds = time.monotonic() - self.begun
                    self.print(f"  [dim]{escape(self.doing)}, {seconds:.0f} s[/]")

        thread = threading.Thread(target=watch, daemon=True)
        thread.start()
        try:
            yield
        finally:
            ended.set()
            thread.join()
