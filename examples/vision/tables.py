"""Command line and output of the scripts: tables of our results beside the paper's, one JSON line.

A table is a list of flat rows, {column: value}; accuracies and shares are in %.
"""

import argparse
import json
import sys
import time
from pathlib import Path

import torch
from rich.console import Console
from rich.table import Table

from combred.files.records import strict, write_bytes
from combred.processes.machine import machine
from examples.vision import training

RESULTS = Path(__file__).parent / "results"
WIDTH = 160  # of a table that is not printed to a terminal


def arguments(description: str, tables: dict[str, str]) -> argparse.Namespace:
    """`--data FOLDER` and `--table NAME ...`; tables: name and description of each, all by default.
    `whole`, which no option sets, says whether all are asked for."""
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
    found = parser.parse_args()
    found.whole = {*found.table} == {*tables}
    return found


def percent(share: float) -> float:
    """0.93124 -> 93.12."""
    return round(100 * share, 2)


def finish(
    name: str, chosen: argparse.Namespace, started: float, tables: dict[str, list[dict]]
) -> None:
    """Print the tables by title, then all as one JSON line, and write results/NAME.json.

    chosen: of `arguments`. Numbers of the paper's images go to results/NAME-published.json; where
    not all tables were asked for, to a file of theirs under runs/, so that the others are kept.
    started: `time.monotonic()` at the beginning.
    """
    console = Console(highlight=False)
    if not console.is_terminal:
        console.width = WIDTH
    for title, rows in tables.items():
        table = Table(box=None)
        for column, first in rows[0].items():
            table.add_column(column, justify="left" if isinstance(first, str) else "right")
        for row in rows:
            table.add_row(*("-" if value is None else f"{value}" for value in row.values()))
        console.print(f"\n{title}")
        console.print(table)
    record = {
        "machine": machine(),
        "device": torch.cuda.get_device_name() if torch.cuda.is_available() else "cpu",
        "torch": torch.__version__,
        "seconds": round(time.monotonic() - started, 1),
        **strict(tables),
    }
    name += "-published" if chosen.data else ""
    path = RESULTS / f"{name}.json"
    if not chosen.whole:
        path = training.RUNS / f"{name}-table-{'-'.join(chosen.table)}.json"
    path.parent.mkdir(parents=True, exist_ok=True)
    write_bytes(path, text(record).encode())
    print(json.dumps(record))
    print(f"written to {path}", file=sys.stderr)


def text(record: dict) -> str:
    """JSON with a row of a table on each line."""
    lines = [
        f" {json.dumps(key)}: "
        + ("[\n  " + ",\n  ".join(map(json.dumps, value)) + "\n ]" if isinstance(value, list)
           else json.dumps(value))
        for key, value in record.items()
    ]  # fmt: skip
    return "{\n" + ",\n".join(lines) + "\n}\n"
