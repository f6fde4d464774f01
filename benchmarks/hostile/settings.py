"""Hostile values of every setting: each is refused in one line, or is a value in range.

The settings are those of `combred.config.keys()`: a new one is attacked by being listed.
"""

import contextlib
import dataclasses
import math
import os
import random
from pathlib import Path
from typing import Any, get_origin
from unittest import mock

from benchmarks.hostile.outcome import SILENCE, Counts, ask
from combred import config
from combred.pipeline import command
from combred.pipeline.run import Run

WORDS = (
    "nan inf -inf -1 0 -0 1e308 1e-300 1e400 -1e-300 010 1:30 +5 1_000 1__0 0x10 1e3 1,5 "
    "[1 [ ] [] [[1]] [,] [1,,2] [nan] [inf,inf] [-1,-1] [1e308,1e308] [0,0] [1,2,3] [2,1] [a,b] "
    "{a {} &x *x !x @x %x %s ' \" ` $HOME ~ ../x / a/b . .. true None null yes stage2 "
    "CH4:nan CH4:-1 CH4:1e308 CH4:0 N2:1 O2:1 CH4 CH4:1,CH4:1 \\ x\\ny <b> [red]x[/]"
)
HOSTILE = [
    *WORDS.split(),
    *("", " ", "\n", "a\nb", "\t", "\x1b[31m", "a" * 5000, "9" * 5000, f"[{'9' * 5000}]"),
    *("[" * 1000, "\u0663", "\u4e2d\u00e9", "\u202e", "1 2", "folder.yaml", "binary.yaml"),
]


def attack(folder: Path, profile: str, draw: int | None = None, seed: int = 0) -> Counts:
    """Give every setting every value of `HOSTILE`, or `draw` of them, drawn at random, on top of a
    profile. No step is run: a value that is accepted has to be one in the range of its setting."""
    counts, rng = Counts(), random.Random(seed)
    (folder / "folder.yaml").mkdir(exist_ok=True)
    (folder / "binary.yaml").write_bytes(bytes(range(256)))
    accepted: list[config.Settings] = []

    def no_step(run: Run, only: str = "") -> None:
        accepted.append(run.settings)

    with contextlib.chdir(folder), mock.patch.object(command, "execute", no_step):
        for key in config.keys():
            for value in rng.sample(HOSTILE, draw) if draw else HOSTILE:
                accepted.clear()
                answer = ask([f"profile={profile}", f"{key}={value}"])
                counts.add(judge(key, answer, accepted), f"{key}={value[:40]!r}: {answer}"[:600])
    return counts


def judge(key: str, answer: Any, accepted: list[config.Settings]) -> str:
    """The kind of an answer to a hostile value of `key`."""
    if answer.status is None:
        return "tracebacks"
    if answer.silence > SILENCE:
        return "silent"
    if answer.status == 0:
        return "harmless" if accepted and all(map(in_range, sections(accepted[0]))) else "wrong"
    lines = answer.errors
    clear = len(lines) == 1 and key in lines[0] and len(lines[0]) < 1000
    return "refused" if clear and answer.status == 2 else "wrong"


def sections(settings: config.Settings) -> list[Any]:
    """All settings objects."""
    parts = [getattr(settings, item.name) for item in dataclasses.fields(settings)]
    return [settings, *(part for part in parts if dataclasses.is_dataclass(part))]


def in_range(section: Any) -> bool:
    """Whether every value of a settings object has the type and lies in the range of its field."""
    for item in dataclasses.fields(section):
        value, within = getattr(section, item.name), item.metadata.get("within")
        if get_origin(item.type) is list and not isinstance(value, list):
            return False
        if item.type in (int, float, str, bool) and not isinstance(value, item.type | int):
            return False
        for number in value if isinstance(value, list) else [value]:
            if within and not (math.isfinite(number) and within[0] <= number <= within[1]):
                return False
        if item.type is str and (os.linesep in value or not value.isprintable()):
            return False
    return True
