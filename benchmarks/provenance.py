"""Where results come from: each part of a file names its script, its commit and its date.

Without torch, for `docs.tables` and the scripts alike. A result is older than the code if the
script, or a file of `WATCHED`, differs from that commit: `python -m docs.tables --stale`.
"""

import hashlib
import json
import subprocess
from collections.abc import Iterable, Iterator
from datetime import UTC, datetime
from pathlib import Path

import cantera as ct

from combred.processes.machine import machine

ROOT = Path(__file__).parents[1]
# References by CVODE.
CACHE = Path(__file__).parent / "cache"
# The key of a stamp in its part of the results.
KEY = "code"
# Code and data on which results depend beside their script.
WATCHED = (
    "combred/native/source",
    "combred/native/solver",
    "combred/flames",
    "combred/surrogates/library",
    "combred/surrogates/model",
    "coupling",
    "data",
)


def _git(*arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(["git", *arguments], cwd=ROOT, capture_output=True, text=True)


def stamp(script: str) -> dict[str, dict]:
    """The stamp of a part of results, to be merged into it. script: `__file__`. Make it before the
    measurement, since sources may change meanwhile."""
    commit = _git("rev-parse", "--short=8", "HEAD").stdout.strip()
    date = f"{datetime.now(UTC):%Y-%m-%d}"
    return {KEY: {"commit": commit, "date": date, "script": Path(script).stem}}


def is_current(part: dict | None) -> bool:
    """Whether the script and `WATCHED` are as they were in the commit of a part's stamp."""
    code = (part or {}).get(KEY)
    if code is None:
        return False
    paths = (f"benchmarks/{code['script']}.py", *WATCHED)
    return _git("diff", "--quiet", code["commit"], "--", *paths).returncode == 0


def stamps(results: dict | list) -> Iterator[dict[str, str]]:
    """The stamps of all parts of results."""
    values = results.items() if isinstance(results, dict) else enumerate(results)
    for key, item in values:
        if key == KEY:
            yield item
        elif isinstance(item, dict | list):
            yield from stamps(item)


def digest(script: str, *rooms: str) -> str:
    """The digest of what references depend on: Cantera's version, a script (`__file__`) and rooms
    of the package, such as "chemistry"."""
    paths = [path for room in rooms for path in sorted((ROOT / "combred" / room).rglob("*.py"))]
    texts = [ct.__version__, *(path.read_text() for path in (Path(script), *paths))]
    return hashlib.sha256("\n".join(texts).encode()).hexdigest()[:16]


def stored(results: Path, names: Iterable[str]) -> dict:
    """A file of results if it was measured on this machine, so that parts that are not run again
    stay; else the machine, and {} for each of the names."""
    present = machine()
    if results.exists() and (content := json.loads(results.read_text()))["machine"] == present:
        return content
    return {"machine": present} | {name: {} for name in names}
