"""A run that is finished: the same command again has nothing to do, and says so in a second.

`finish` keeps what a finished run was made from, and its files, in finished.json; `finished`
compares both, before torch is loaded.
"""

import hashlib
from dataclasses import asdict
from importlib.metadata import version
from pathlib import Path

import combred
from combred.chemistry.mechanism_file import find, read, stand_alone
from combred.config.command import resolve
from combred.config.settings import Settings
from combred.files.records import digest, read_json, write_record

RECORD = "finished.json"
OTHERS = RECORD, "lock", "run.log"
RESULTS = "surrogate.pt", "surrogate.cpp", "libsurrogate.so", "rejected.pt", "report.html"


def made_from(settings: Settings) -> dict:
    """What a run depends on: settings, versions, the code, the mechanism with what it takes
    from other files. Raises as `find`, `read` and `stand_alone`."""
    path = find(settings.mechanism)
    mechanism = stand_alone(read(path), path.parent)
    code = max(path.stat().st_mtime_ns for path in Path(combred.__file__).parent.rglob("*.[chp]*"))
    return {
        "settings": {k: v for k, v in asdict(settings).items() if k != "workers"},
        "versions": {"combred": combred.__version__, "cantera": version("cantera"), "code": code},
        "mechanism": hashlib.sha256(mechanism.encode()).hexdigest(),
    }


def finish(folder: Path, settings: Settings, status: int) -> None:
    """Keep that a run is finished; settings: as given, status: of its exit."""
    record = {"made_from": made_from(settings), "status": status, "files": _files(folder)}
    write_record(folder / RECORD, record)


def finished(arguments: list[str]) -> tuple[Path, int] | None:
    """The folder and the exit status of the run of a command, if it is finished and nothing has
    changed since; None of any other."""
    try:
        settings = resolve(arguments)
        folder = Path("runs") / settings.run_name
        record = read_json(folder / RECORD)
        same = bool(record) and not settings.only and record["made_from"] == made_from(settings)
        return (folder, record["status"]) if same and record["files"] == _files(folder) else None
    except (ValueError, OSError, KeyError):  # which the run itself tells
        return None


def _files(folder: Path) -> dict[str, str]:
    """The digest of every file of a run, by name."""
    found = (path for path in sorted(folder.iterdir()) if path.name not in OTHERS)
    return {path.name: digest(path) for path in found if path.is_file()}


def results(folder: Path) -> list[Path]:
    """The files of a run that a user takes."""
    return [folder / name for name in RESULTS if (folder / name).exists()]
