"""Every setting refuses hostile values in one line that names it, or takes values in range.

The settings are those of `combred.config.command.keys()`: a new one is attacked by being listed.
"""

import dataclasses
import math
import os
import random
import time
from typing import Any, get_origin

from small_run import Answer, ask

from combred.config.command import keys
from combred.config.settings import Settings
from combred.pipeline import command

DRAWN = 8  # of some 90 values for each key: a different eight for each
SILENCE = 10.0  # s
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


def test_hostile_values_of_every_setting(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "folder.yaml").mkdir()
    (tmp_path / "binary.yaml").write_bytes(bytes(range(256)))
    rng, refused, accepted = random.Random(0), 0, []
    monkeypatch.setattr(command, "execute", lambda run: accepted.append(run.settings) or 0)
    for key in keys():
        for value in rng.sample(HOSTILE, DRAWN):
            accepted.clear()
            begun = time.monotonic()
            try:
                answer = ask([f"{key}={value}"])
                refused += is_refused(key, answer, accepted)
            except Exception as error:
                error.add_note(f"{key}={value[:40]!r}")
                raise
            assert time.monotonic() - begun < SILENCE, (key, value)
    assert refused > 0.8 * DRAWN * len(keys())


def is_refused(key: str, answer: Answer, accepted: list[Settings]) -> bool:
    """Whether a hostile value of `key` is refused, in one short line that names it; what is
    accepted has to be in range."""
    if answer.status == 0:
        assert accepted and all(map(in_range, sections(accepted[0]))), answer
        return False
    (line,) = answer.errors
    assert key in line and len(line) < 1000 and answer.status == 2, answer
    return True


def sections(settings: Settings) -> list[Any]:
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
