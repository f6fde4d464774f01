"""What commands show a person: lines, progress bars, one clear error.

On a terminal progress bars move, and between the bars the last line says what is being done. In a
log a line says it every few seconds, so that a command that works is never taken for one that
hangs.
"""

import re
import shlex
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Literal

from rich.console import Console
from rich.control import Control
from rich.markup import escape
from rich.progress import (
    BarColumn,
    Progress,
    TaskProgressColumn,
    TextColumn,
    TimeElapsedColumn,
    TimeRemainingColumn,
)
from rich.segment import ControlType
from rich.table import Table as RichTable

from combred.report.blocks import Table

SILENCE = 8.0  # s without a line or a moving bar after which a line is printed
ERASE = Control(ControlType.CARRIAGE_RETURN, (ControlType.ERASE_IN_LINE, 2))  # the line


class StatusConsole(Console):
    """A console that knows when it printed last. `doing`: what is being done, in words; `bar`:
    whether a progress bar moves."""

    def __init__(self, **options):
        super().__init__(**options)
        self.spoke = self.begun = time.monotonic()
        self.doing, self.bar = "", False
        self.copy: Console | None = None
        self.pending = False  # whether the terminal's last line is one that the next replaces
        self.turn = threading.RLock()  # of the thread that writes

    def print(self, *objects, **options) -> None:
        """As `Console.print`, and into the log."""
        with self.turn:
            self.erase()
            super().print(*objects, **options)
        if self.copy:
            self.copy.print(*objects, **options)
        self.spoke = time.monotonic()

    def tell(self, line: str) -> None:
        """Print a line that the next replaces, cut at the width of the terminal; in a log it
        stays."""
        if not self.is_terminal:
            self.print(line)
            return
        with self.turn:
            self.erase()
            super().print(line, end="", soft_wrap=False, no_wrap=True, overflow="ellipsis")
            self.pending = True

    def erase(self) -> None:
        """Erase the line of `tell`, if it is the last."""
        if self.pending:
            self.pending = False
            self.control(ERASE)

    @contextmanager
    def logged(self, path: Path, arguments: Sequence[str]) -> Iterator[None]:
        """A context in which lines are added to a log file, too, after the time and the command."""
        with path.open("a", 1, encoding="utf-8") as file:  # whole lines
            now = time.strftime("%Y-%m-%d %H:%M:%S %z")
            file.write(f"\n{now}: combred run {shlex.join(arguments)}\n")
            self.copy = Console(file=file, width=160, highlight=False, soft_wrap=True)
            try:
                yield
            finally:
                self.copy = None

    def begin(self, doing: str) -> None:
        """Say what is done from now on."""
        self.doing, self.begun = doing, time.monotonic()

    @contextmanager
    def heard(self, silence: float = SILENCE) -> Iterator[None]:
        """A context in which a line is printed after every `silence` seconds [s] without one; on a
        terminal it is one line, whose seconds go on."""
        ended = threading.Event()

        def watch() -> None:
            while not ended.wait(silence / 8):
                now = time.monotonic()
                if self.doing and not self.bar and now - self.spoke > silence:
                    self.tell(f"  [dim]{escape(self.doing)}, {now - self.begun:.0f} s[/]")

        thread = threading.Thread(target=watch, daemon=True)
        thread.start()
        try:
            yield
        finally:
            ended.set()
            thread.join()
            self.erase()


# Lines are left to the terminal to break: in a file or a log they stay whole.
console = StatusConsole(highlight=False, soft_wrap=True)
if not console.is_terminal:
    console.width = 160  # tables in a log are not cut at 80 columns


def marked(text: str) -> str:
    """A line of a page in rich's markup: **strong** words are bold, `code` is as other words."""
    return re.sub(r"\*\*(.+?)\*\*", r"[bold]\1[/]", escape(text.replace("`", "")))


def show(table: Table, title: str = "") -> None:
    """Print a table of a page, without its caption."""
    shown = RichTable(title=title or None, title_justify="left", box=None, pad_edge=False)
    for i, name in enumerate(table.columns):
        justify: Literal["left", "right"] = "left" if i < table.left else "right"
        shown.add_column(marked(name), justify=justify, no_wrap=True)
    for row in table.rows:
        shown.add_row(*map(marked, row))
    console.print(shown)


def complain(message: str) -> None:
    """Print an error."""
    console.print(f"[bold red]error:[/] {escape(message)}")


@contextmanager
def progress(title: str) -> Iterator[Callable[..., None]]:
    """A progress bar as a callback (done, total, note); it pulses until something is done."""
    columns = (
        TextColumn("{task.description}"),
        BarColumn(),
        TaskProgressColumn("{task.percentage:>3.0f} %"),
        TimeElapsedColumn(),
        TimeRemainingColumn(),
        TextColumn("{task.fields[note]}"),
    )
    show = console.is_terminal
    before, console.bar = console.doing, show
    console.erase()
    try:
        with Progress(*columns, console=console, disable=not show, transient=True) as bar:
            task = bar.add_task(title, total=None, note="")

            def update(done: int, total: int, note: str = "") -> None:
                fields: dict[str, Any] = {"note": note} if note else {}
                bar.update(task, completed=done, total=total if done else None, **fields)
                console.doing = f"{title}: {done:,} of {total:,}" + (f", {note}" if note else "")

            console.begin(title)
            yield update
    finally:
        console.bar = False
        console.begin(before)
