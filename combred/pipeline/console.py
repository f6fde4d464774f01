"""What commands show a person: lines, progress bars, one clear error."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from rich.markup import escape
from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn, TimeRemainingColumn

from combred.pipeline.status import StatusConsole

# Lines are left to the terminal to break: in a file or a log they stay whole.
console = StatusConsole(highlight=False, soft_wrap=True)
if not console.is_terminal:
    console.width = 160  # tables in a log are not cut at 80 columns


def complain(message: str) -> None:
    """Print an error."""
    console.print(f"[bold red]error:[/] {escape(message)}")


@contextmanager
def progress(title: str) -> Iterator[Callable[..., None]]:
    """A progress bar as a callback (done, total, note)."""
    columns = (
        TextColumn("{task.description}"),
        BarColumn(),
        TextColumn("{task.percentage:>3.0f} %"),
        TimeElapsedColumn(),
        TimeRemainingColumn(),
        TextColumn("{task.fields[note]}"),
    )
    show = console.is_terminal
    with Progress(*columns, console=console, disable=not show, transient=True) as bar:
        task = bar.add_task(title, total=None, note="")

        def update(done: int, total: int, note: str = "") -> None:
            fields: dict[str, Any] = {"note": note} if note else {}
            bar.update(task, completed=done, total=total, **fields)
            console.doing = f"{title}: {done:,} of {total:,}" + (f", {note}" if note else "")

        before, console.bar = console.doing, show
        console.begin(title)
        try:
            yield update
        finally:
            console.bar = False
            console.begin(before)
