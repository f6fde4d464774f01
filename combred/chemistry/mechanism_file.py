"""The file of a mechanism as one text: found, read once, and harmless.

Takes the name of a file; gives its text, in which no other file is named, so that `Mechanism` never
reads a file again.
"""

import difflib
import functools
import hashlib
import io
import re
import stat
import tempfile
import threading
from pathlib import Path
from typing import Any

import cantera as ct
from ruamel.yaml import YAML  # a requirement of Cantera
from ruamel.yaml.nodes import MappingNode, Node, ScalarNode, SequenceNode

from combred import data
from combred.chemistry.yaml_nodes import (
    compose,
    count,
    node_of,
    plain,
    section,
    unescaped,
    value_of,
)
from combred.config.fields import require, shown
from combred.files.records import write_bytes

DATA = data.FOLDER / "mechanisms"
LARGEST = 200_000_000  # bytes; the largest mechanisms that are published have 10 million
MOST_VALUES = 10_000_000  # of a file, those that stand for others counted again
REFERRING = ("elements", "species", "reactions")  # keys of a phase that may name other files
ADJACENT = "adjacent-phases"  # of an interface, which may lie in other files, too
# What Cantera counts in where a file has no units of its own.
UNITS = {
    "length": "m", "mass": "kg", "time": "s", "quantity": "kmol", "pressure": "Pa", "energy": "J",
    "temperature": "K", "current": "A",
}  # fmt: skip
WRITING = threading.Lock()  # of a file of `phase_of`
UNPRINTABLE = re.compile("[^\t\n\r -~\x85\xa0-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")  # YAML's
ANCHOR, ALIAS = (re.compile(rf"(?:^|[\s\[{{,:?-]){sign}\S", re.M) for sign in ("&", r"\*"))


def hint() -> str:
    """Mechanisms that may be given, for a message."""
    ours = ", ".join(sorted(p.name for p in DATA.glob("*.yaml")))
    return (
        f"give the path of a YAML file, one of combred's ({ours}) or one that Cantera ships "
        "(gri30.yaml, h2o2.yaml, ...)"
    )


def find(file: str) -> Path:
    """The path of one of combred's mechanisms (`drm19.yaml`), one of Cantera's, or a path itself.
    Raises FileNotFoundError where there is none, and ValueError where it is no regular file."""
    folders = [Path(), *([DATA] * (Path(file).name == file)), *_folders()]
    try:
        found = next((folder / file for folder in folders if (folder / file).exists()), None)
        if found is None:
            raise FileNotFoundError(f"there is no mechanism {shown(file)!r}{_near(file)}: {hint()}")
        mode = found.stat().st_mode
    except (OSError, ValueError) as error:  # a name that is no path, as one that is too long
        if isinstance(error, FileNotFoundError):
            raise
        reason = getattr(error, "strerror", None) or error
        raise ValueError(f"{shown(file)!r}: {reason}: {hint()}") from error
    if not stat.S_ISREG(mode):
        kind = "a folder, and no mechanism" if stat.S_ISDIR(mode) else "no regular file"
        raise ValueError(f"{shown(file)!r} is {kind}: {hint()}")
    return found.resolve()


def read(path: Path) -> str:
    """The text of a file in UTF-8, or in Latin-1.

    Raises ValueError where it cannot be read, is no text, has more than `LARGEST` bytes or stands
    for more than `MOST_VALUES`, and where it has `extensions`, by which Cantera imports modules of
    Python.
    """
    try:
        size = path.stat().st_size
        require(
            size <= LARGEST,
            f"it has {size / 1e6:.0f} MB, and no mechanism has more than {LARGEST / 1e6:.0f}: "
            f"{hint()}",
        )
        content = path.read_bytes()
        try:
            text = content.decode("utf-8-sig")
        except UnicodeDecodeError:
            text = content.decode("latin-1")
        text = text.replace("\r\n", "\n")
        require_harmless(text)
    except (OSError, ValueError) as error:
        reason = getattr(error, "strerror", None) or error
        raise ValueError(f"{shown(path.name)!r} cannot be read: {reason}") from error
    return text


@functools.lru_cache(maxsize=32)
def require_harmless(text: str) -> None:
    """ValueError for a text that `read` refuses. It is parsed only where it may be one."""
    strange = UNPRINTABLE.search(text)
    if strange:
        raise ValueError(f"it is no text (it has the character {strange[0]!r}): {hint()}")
    if "extensions" in unescaped(text) and value_of(compose(text), "extensions"):
        raise ValueError(
            "it has the key `extensions`, by which Cantera imports modules of Python: combred "
            "takes data alone. Remove it, and the reactions whose rates need it"
        )
    if ANCHOR.search(text) and ALIAS.search(text) and count(compose(text), {}) > MOST_VALUES:
        raise ValueError(
            f"its aliases (as in *name) stand for more than {MOST_VALUES:,} values: write the "
            "file without them"
        )


@functools.cache
def _own_folder() -> tempfile.TemporaryDirectory:
    """A folder of this process, which is removed at its end."""
    return tempfile.TemporaryDirectory(prefix="combred-")


def phase_of(text: str, phase: str, transport: bool = False) -> ct.Solution:
    """A phase of a text that names no other file. Cantera reads it from a file of this process: of
    a text in memory it would keep a copy for each reaction."""
    digest = hashlib.sha256(text.encode()).hexdigest()[:24]
    with WRITING:
        path = Path(_own_folder().name) / f"{digest}.yaml"
        if not path.is_file():
            path.parent.mkdir(exist_ok=True)
            write_bytes(path, text.encode())
    if transport:
        return ct.Solution(str(path), phase)
    return ct.Solution(str(path), phase, transport_model=None)


@functools.lru_cache(maxsize=8)
def phases(text: str) -> dict[str, dict[str, Any]]:
    """The phases of a text by name, their scalars as text. Raises ValueError where it has none."""
    found = plain(section(text, "phases", only=True))
    try:
        named = {one["name"]: one for one in found}
    except (KeyError, TypeError):
        raise ValueError(f"it has no list of phases with names: {hint()}") from None
    require(len(named) == len(found), "two of its phases have one name: change one")
    return named


def references(text: str) -> list[str]:
    """The other files that the phases of a text name."""
    found = set()
    for phase in phases(text).values():
        for key in (*REFERRING, ADJACENT):
            for entry in phase[key] if isinstance(phase.get(key), list) else []:
                sources = entry if isinstance(entry, dict) else [entry] * (key == "reactions")
                found |= {one.rpartition("/")[0] for one in sources if isinstance(one, str)}
    return sorted(found - {""})


def locate(name: str, folder: Path) -> Path | None:
    """The path of a file that a mechanism in a folder names, None where there is none."""
    paths = (place / name for place in (folder, Path(), *_folders()))
    return next((path for path in paths if path.is_file()), None)


def stand_alone(text: str, folder: Path) -> str:
    """The text of a file in a folder, with the sections that its phases name in other files as
    sections of its own, so that Cantera opens no file. Raises ValueError where one is not there."""
    paths = {name: locate(name, folder) for name in references(text)}
    found = tuple((name, read(path)) for name, path in paths.items() if path is not None)
    return _with_sections(text, found) if paths else text


@functools.lru_cache(maxsize=8)
def _with_sections(text: str, files: tuple[tuple[str, str], ...]) -> str:
    """The text with those sections of the files (name, text) that its phases name, and without
    phases of other files beside its interfaces, which combred does not take."""
    root, others = compose(text), dict(files)
    listed = value_of(root, "phases")
    for phase in listed.value if isinstance(listed, SequenceNode) else []:
        beside = plain(value_of(phase, ADJACENT))
        if any("/" in source for one in beside or [] if isinstance(one, dict) for source in one):
            phase.value = [(key, value) for key, value in phase.value if key.value != ADJACENT]
        for key in REFERRING:
            entries = value_of(phase, key)
            for entry in entries.value if isinstance(entries, SequenceNode) else []:
                alone = [(entry, None)] if key == "reactions" else []
                for source, names in entry.value if isinstance(entry, MappingNode) else alone:
                    written = source.value if isinstance(source, ScalarNode) else ""
                    name, slash, key_in_it = written.rpartition("/")
                    if slash:
                        require(name in others, f"it names {source.value}, and {name} is not there")
                        found = _section(others[name], source.value, names)
                        source.value = f"{key_in_it} {len(root.value)}"
                        root.value.append((node_of(source.value), found))
    stream = io.StringIO()
    YAML(typ="safe", pure=True).serialize(root, stream)
    return stream.getvalue()


def _section(text: str, source: str, names: Node | None) -> Node:
    """The section of another file, in its units; of a section of species those of these names."""
    found = section(text, source.rpartition("/")[2])
    if not isinstance(found, SequenceNode):
        raise ValueError(f"one of its phases names {source}, and there is no such list")
    units = UNITS | plain(section(text, "units") or node_of({}))
    entries = [(one, plain(one)) for one in found.value]
    if entries and entries[0][1].keys() == {"units"}:
        units |= entries.pop(0)[1]["units"]
    units.setdefault("activation-energy", f"{units['energy']}/{units['quantity']}")
    if isinstance(names, SequenceNode):
        known = plain(names)  # elements have a symbol
        entries = [
            (one, content)
            for one, content in entries
            if content.get("name", content.get("symbol")) in known
        ]
    return SequenceNode(found.tag, [node_of({"units": units}), *(one for one, _ in entries)])


def _folders() -> list[Path]:
    """The folders in which Cantera looks for files."""
    return list(map(Path, ct.get_data_directories()))


def _near(file: str) -> str:
    """The names of mechanisms that a name may stand for, as a question."""
    known = {path.name for folder in [DATA, *_folders()] for path in folder.glob("*.yaml")}
    near = difflib.get_close_matches(file.lower(), sorted(known - {file}))
    return f" (did you mean {', '.join(near)}?)" if near else ""
