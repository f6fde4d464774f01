"""The compilation beside the validation: what it leaves in the cache, and how it is ended."""

import os
import shlex
import time

import pytest

from combred.files.records import cache_folder
from combred.native.builder import PIECES, SHARED
from combred.native.compilers import find_compiler
from combred.pipeline.ahead import compiling_ahead
from combred.surrogates.files.shipped import load

# It knows its version, and writes its process number, and then "compiled" to the last argument.
COMPILER = """#!/bin/sh
case "$*" in *-E*) exec {real} "$@";; esac
for last; do :; done
echo $$ > "{folder}/${{last##*/}}"
sleep {seconds}
echo compiled > "$last"
"""


@pytest.fixture
def compiler(monkeypatch, tmp_path):
    """A factory: a compiler that takes some seconds, and a cache of its own; gives a folder with
    the number of its process of each object."""
    real = shlex.join(find_compiler())

    def make(seconds: int):
        started, file = tmp_path / "started", tmp_path / "compiler"
        started.mkdir()
        file.write_text(COMPILER.format(real=real, folder=started, seconds=seconds))
        file.chmod(0o755)
        monkeypatch.setenv("CXX", str(file))
        monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
        return started

    return make


def test_what_networks_share_is_in_the_cache(compiler):
    started = compiler(0)
    with compiling_ahead([load("drm19-11k")]):
        pass
    made = {path.stem for path in started.iterdir()}
    for_every_cpu = {name for name in made if "-" in name}
    assert for_every_cpu and {name.partition("-")[0] for name in for_every_cpu} == set(SHARED)
    assert len(list(cache_folder().glob("*.o"))) == len(for_every_cpu) + len(SHARED)
    assert made - for_every_cpu == {*PIECES, "linked"}


def test_an_exception_ends_the_compilers(compiler):
    started = compiler(100)
    with pytest.raises(KeyboardInterrupt), compiling_ahead([load("drm19-11k")]):
        until = time.monotonic() + 60
        while not list(started.iterdir()) and time.monotonic() < until:
            time.sleep(0.1)
        numbers = [int(path.read_text()) for path in started.iterdir()]
        raise KeyboardInterrupt
    assert numbers
    for number in numbers:
        while time.monotonic() < until and os.path.exists(f"/proc/{number}"):
            time.sleep(0.1)
        assert not os.path.exists(f"/proc/{number}")
