"""Command line and output of the scripts: a table of our results beside the paper's, one JSON
line."""

import argparse
import json
import sys
import time
from pathlib import Path

import torch
from rich.console import Console
from rich.table import Table

from combred.files.records import strict, write_json
from combred.validation.timing import machine

RESULTS = Path(__file__).parents[1] / "results"
WIDTH = 160  # of a table that is not printed to a terminal


def arguments(description: str, tables: dict[str, str]) -> argparse.Namespace:
    """`--data FOLDER` and `--table NAME ...`; tables: name and description of each, all by
    default."""
    parser = argparse.ArgumentParser(
        description=description, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument(
        "--data",
        type=Path,
        metavar="FOLDER",
        help="folder with the published images; without it, scikit-learn's digits and narrow "
        "networks",
    )
    names = "; ".join(f"{name}: {what}" for name, what in tables.items())
    parser.add_argument(
        "--table", nargs="+", choices=list(tables), default=list(tables), help=names
    )
    return parser.parse_args()


def show(title: str, columns: list[str], rows: list[list], note: str = "") -> None:
    """Print a table, text aligned left, numbers right."""
    console = Console(highlight=False)
    if not console.is_terminal:
        console.width = WIDTH
    table = Table(box=None)
    for i, name in enumerate(columns):
        words = any(isinstance(row[i], str) and row[i][:1].isalpha() for row in rows)
        table.add_column(name, justify="left" if words else "right")
    for row in rows:
        table.add_row(*("-" if value is None else str(value) for value in row))
    console.print(f"\n{title}")
    console.print(table)
    if note:
        console.print(f"  {note}")


def percent(share: float | None, digits: int = 2) -> str | None:
    """0.9312 -> "93.12"."""
    return None if share is None else f"{100 * share:.{digits}f}"


def finish(name: str, data: str, started: float, numbers: dict) -> None:
    """Print the numbers as one JSON line and write them to results/vision-NAME.json.

    data: "digits" or "published"; numbers of published images go to vision-NAME-published.json.
    """
    record = {
        "script": f"benchmarks.vision.{name}",
        "data": data,
        "machine": machine(),
        "threads": torch.get_num_threads(),
        "device": torch.cuda.get_device_name() if torch.cuda.is_available() else "cpu",
        "torch": torch.__version__,
        "seconds": round(time.monotonic() - started, 1),
        **numbers,
    }
    suffix = "" if data == "digits" else f"-{data}"
    path = RESULTS / f"vision-{name.replace('_', '-')}{suffix}.json"
    write_json(path, strict(record))
    print(json.dumps(strict(record)))
    print(f"written to {path}", file=sys.stderr)
