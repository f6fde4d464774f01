"""The compiler, its failures, and the cache of compiled libraries."""

import ctypes
import fcntl
import os
import stat
import subprocess
import sys
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from types import SimpleNamespace

import pytest

from combred.files.records import cache_folder
from combred.native import builder
from combred.native.builder import build
from combred.native.compilers import find_compiler
from combred.native.damage import sealed
from combred.native.interface import open_library
from combred.surrogates.library.generator import generate

# Any library will do: these tests do not load it.
SMALL = {"surrogate.cpp": '#include "value.hpp"\nstatic int value() { return VALUE; }\n'}


def with_value(value: int) -> dict[str, str]:
    return SMALL | {"value.hpp": f"#define VALUE {value}\n"}


@pytest.fixture
def compilations(tmp_path, monkeypatch) -> list:
    """A cache of its own, and a compiler that takes no time; a list of what it was asked."""
    asked: list[list[list[str]]] = []

    def run(commands: list[list[str]]) -> None:
        asked.append(commands)
        for command in commands:
            Path(command[-1]).write_bytes(b"compiled")

    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    monkeypatch.setattr(builder, "run", run)
    return asked


def test_a_library_is_compiled_once(compilations, tmp_path):
    first = build(with_value(1))
    assert cache_folder() == tmp_path / "combred" and first.is_relative_to(cache_folder())
    written = first.stat().st_mtime_ns
    assert build(with_value(1)) == first and first.stat().st_mtime_ns == written
    others = {build(with_value(2)), build(with_value(1), flags=("-O1",))}
    assert len(others | {first}) == 3


@pytest.mark.parametrize("terminal", [True, False])
def test_that_it_compiles_is_told_a_terminal_and_is_no_warning(
    terminal, compilations, monkeypatch, capsys, caplog
):
    monkeypatch.setattr(sys.stderr, "isatty", lambda: terminal)
    caplog.set_level("INFO")
    build(with_value(1))
    assert [record.levelname for record in caplog.records] == ["INFO"] * (not terminal)
    said = capsys.readouterr().err
    assert said.startswith("compiling C++, once; the library is kept in /") == terminal
    assert said.count("\n") == terminal


@pytest.mark.parametrize("folder", [None, "here"])
def test_a_damaged_library_is_compiled_again(compilations, tmp_path, folder):
    """Without its checksum, too: the end of a file is lost with the power."""
    place = tmp_path / folder if folder else None
    library = build(with_value(4), place)
    whole = library.read_bytes()
    damages = [whole[:3] + b"x" + whole[4:], whole[: len(whole) // 2] + bytes(len(whole) // 2)]
    for damage in (*damages, b"", b"\x7fELF", os.urandom(100), b"compiled"):
        library.write_bytes(damage)
        assert build(with_value(4), place) == library and library.read_bytes() == whole
    if not folder:
        library.unlink()
        (library / "inner").mkdir(parents=True)
        assert build(with_value(4)).read_bytes() == whole
        for target in (tmp_path, tmp_path / "none"):  # the library is a link
            library.unlink()
            library.symlink_to(target)
            assert build(with_value(4)).read_bytes() == whole and not library.is_symlink()
    assert build(with_value(4), place).read_bytes() == whole
    assert len(compilations) == 2 * (7 + 3 * (not folder))


def test_an_entry_of_the_cache_that_is_no_folder_is_told_or_followed(compilations, tmp_path):
    library = build(with_value(5))
    entry = library.parent
    os.rename(entry, tmp_path / "elsewhere")
    entry.symlink_to(tmp_path / "elsewhere")
    assert build(with_value(5)) == library and len(compilations) == 2
    for make in (entry.touch, lambda: entry.symlink_to(tmp_path / "none")):
        entry.unlink()
        make()
        with pytest.raises(ValueError, match=f"{entry} cannot be made .*XDG_CACHE_HOME"):
            build(with_value(5))


def test_a_cache_from_which_nothing_can_be_loaded_is_told_before_a_compilation(
    compilations, monkeypatch, tmp_path
):
    flags = SimpleNamespace(f_flag=os.ST_NOEXEC | os.ST_NOSUID)
    monkeypatch.setattr(os, "statvfs", lambda _: flags)
    with pytest.raises(ValueError, match="mounted with noexec, .*: set XDG_CACHE_HOME"):
        build(with_value(6))
    assert not compilations
    assert build(with_value(6), tmp_path / "here").is_file()  # it may be moved
    flags.f_flag = os.ST_NOSUID
    assert build(with_value(6)).is_file()


def test_a_library_that_cannot_be_mapped_is_not_said_to_be_damaged(tmp_path, monkeypatch):
    library = tmp_path / "a.so"
    library.write_bytes(sealed(b"x"))

    def refuse(name: str):
        raise OSError(f"{name}: failed to map segment from shared object")

    monkeypatch.setattr(ctypes, "CDLL", refuse)
    with pytest.raises(ValueError, match="noexec, or memory is limited .*another disk"):
        open_library(library)


def test_without_a_home_the_variable_is_named(monkeypatch):
    def unknown():
        raise RuntimeError("Could not determine home directory.")

    monkeypatch.delenv("XDG_CACHE_HOME", raising=False)
    monkeypatch.setattr(Path, "home", unknown)
    with pytest.raises(ValueError, match="no home folder.*: set XDG_CACHE_HOME"):
        cache_folder()


VALUE = """#include "value.hpp"
#if COMBRED_PIECE & 1
extern "C" __attribute__((visibility("default"))) const int value = VALUE;
#endif
"""


def test_two_that_are_compiled_into_one_folder_at_once_keep_their_own_sources(
    tmp_path, monkeypatch
):
    """Also where the file system has no locks: both have written their sources before either is
    compiled."""
    both, run = threading.Barrier(2), builder.run
    monkeypatch.setattr(builder, "PIECES", {"all": 15})
    monkeypatch.setattr(fcntl, "flock", lambda *_: os.close(-1))  # an OSError
    monkeypatch.setattr(builder, "run", lambda commands: (both.wait(30), run(commands)))

    def value(number: int) -> int:
        library = build(with_value(number) | {"surrogate.cpp": VALUE}, tmp_path)
        (text,) = (file for file in library.with_suffix("").iterdir() if file.suffix == ".hpp")
        assert text.read_text() == f"#define VALUE {number}\n"
        return ctypes.c_int.in_dll(ctypes.CDLL(str(library)), "value").value

    with ThreadPoolExecutor(2) as pool:
        assert list(pool.map(value, [1, 2])) == [1, 2]


def test_threads_that_need_the_same_new_library_compile_it_once(compilations):
    together = threading.Barrier(8)

    def one(_: int) -> Path:
        together.wait(30)
        return build(with_value(7))

    with ThreadPoolExecutor(8) as pool:
        assert len(set(pool.map(one, range(8)))) == 1
    assert len(compilations) == 2  # objects and the library


@pytest.mark.parametrize("mask", [0o000, 0o002, 0o077])
def test_the_cache_is_safe_with_any_umask(compilations, mask):
    before = os.umask(mask)
    try:
        libraries = {build(with_value(8)) for _ in range(2)}
        build(IN_PIECES)
    finally:
        os.umask(before)
    assert len(libraries) == 1 and len(compilations) == 4
    for path in (cache_folder(), *cache_folder().glob("*"), *cache_folder().glob("*/*.so")):
        assert not path.stat().st_mode & (stat.S_IWGRP | stat.S_IWOTH), path


@pytest.mark.parametrize("mode", [0o020, 0o002])
@pytest.mark.parametrize("place", ["cache", "folder", "library", "object"])
def test_a_cache_that_others_may_write_is_refused(compilations, place, mode):
    library = build(with_value(9))
    build(IN_PIECES)
    places = {"cache": cache_folder(), "folder": library.parent, "library": library}
    path = places.get(place) or next(cache_folder().glob("*.o"))
    path.chmod(path.stat().st_mode | mode)
    files = IN_PIECES | {"identity.hpp": "#define COMBRED_NETWORK\n// another\n"}
    with pytest.raises(ValueError, match=f"{path} is not safe, others may write.*XDG_CACHE_HOME"):
        build(files if place == "object" else with_value(9))


def test_a_cache_of_another_user_is_refused_but_root_s_is_not(compilations, monkeypatch):
    library = build(with_value(9))
    owner, stat_of = library.stat().st_uid, Path.stat
    monkeypatch.setattr(os, "geteuid", lambda: owner + 1)
    if owner != 0:
        with pytest.raises(ValueError, match="another user owns it.*XDG_CACHE_HOME"):
            build(with_value(9))

    def owned_by(user: int):
        def stat(path, **options):
            found = list(stat_of(path, **options))
            return os.stat_result([*found[:4], user, *found[5:]])

        return stat

    for user, safe in ((0, True), (owner + 1, True), (owner + 2, False)):
        with monkeypatch.context() as patch:
            patch.setattr(Path, "stat", owned_by(user))
            if safe:
                assert build(with_value(9)) == library
                continue
            with pytest.raises(ValueError, match="another user owns it.*XDG_CACHE_HOME"):
                build(with_value(9))


def test_a_cache_that_cannot_be_made_names_its_variable(tmp_path, monkeypatch):
    (tmp_path / "file").touch()
    for root in (tmp_path / "file", tmp_path / "file" / "below"):
        monkeypatch.setenv("XDG_CACHE_HOME", str(root))
        with pytest.raises(ValueError, match="cannot be made .*: set XDG_CACHE_HOME to a folder"):
            build(with_value(1))


IN_PIECES = {
    "library.cpp": """
#if COMBRED_PIECE & 9
#include "identity.hpp"
#endif
#include "solver.hpp"
""",
    "identity.hpp": "#define COMBRED_NETWORK\n",
    "solver.hpp": "static const int SIZE = 1;\n",
}


def test_a_cache_that_cannot_be_written_only_costs_time(tmp_path, monkeypatch):
    (tmp_path / "file").touch()
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "file"))
    assert build(IN_PIECES, tmp_path / "here").is_file()


def test_networks_of_a_mechanism_share_the_objects_of_its_solver(compilations):
    def pieces_of(value: str, **changed: str) -> int:
        compilations.clear()
        build(IN_PIECES | {"identity.hpp": f"#define COMBRED_NETWORK\n// {value}\n"} | changed)
        return len(compilations[0])

    assert [pieces_of("one"), pieces_of("two")] == [4, 2]
    assert pieces_of("two", **{"solver.hpp": "static const int SIZE = 2;\n"}) == 4
    for made in cache_folder().glob("*.o"):
        made.write_bytes(made.read_bytes()[:-5])
    assert pieces_of("three") == 4


def test_the_solver_includes_nothing_of_a_network(correcting, tmp_path):
    files = generate(correcting)
    for file, content in files.items():
        (tmp_path / file).parent.mkdir(exist_ok=True)
        (tmp_path / file).write_text(content)
    for piece in builder.PIECES:
        flags = [f"-DCOMBRED_PIECE={builder.PIECES[piece]}", "-MM", "-I", str(tmp_path)]
        command = [*find_compiler(), *flags, str(tmp_path / "library.cpp")]
        done = subprocess.run(command, capture_output=True, text=True, check=True)
        included = {Path(name).relative_to(tmp_path).as_posix() for name in done.stdout.split()
                    if name.startswith(str(tmp_path))}  # fmt: skip
        of_network = [name for name in included if name.startswith(builder.OF_NETWORK)]
        assert bool(of_network) != (piece in builder.SHARED), (piece, included)


def test_without_xdg_the_cache_is_in_the_home(monkeypatch):
    monkeypatch.delenv("XDG_CACHE_HOME", raising=False)
    assert cache_folder().parts[-2:] == (".cache", "combred")


def test_sources_and_library_are_written_to_a_folder(tmp_path):
    library = build(with_value(3), tmp_path / "here")
    there = {file.name: file for file in (tmp_path / "here").iterdir()}
    assert set(there) == {library.stem, library.name}
    assert {file.name for file in there[library.stem].iterdir()} == {"surrogate.cpp", "value.hpp"}


def test_a_failing_compiler_is_told(tmp_path):
    with pytest.raises(RuntimeError, match="no_such_name"):
        build({"surrogate.cpp": "int x = no_such_name;\n"}, tmp_path)
    assert not list(tmp_path.glob("*.so"))


COMPILER = """#!/bin/sh
case "$*" in
    *" -c "*) sh -c 'echo $$ >> STARTED; exec sleep 60'; exit 0 ;;
    *) exec g++ "$@" ;;
esac
"""


@pytest.fixture
def started(tmp_path, monkeypatch) -> Path:
    """A compiler that does not end; the file that gets the number of each process that it starts.

    Several compile at once, and each adds a line: to write the file anew empties it for a moment.
    """
    compiler, started = tmp_path / "compiler", tmp_path / "started"
    compiler.write_text(COMPILER.replace("STARTED", str(started)))
    compiler.chmod(0o755)
    monkeypatch.setenv("CXX", str(compiler))
    return started


def wait_for(started: Path) -> None:
    """Wait until the file has a number in it."""
    limit = time.monotonic() + 30.0
    while not (started.is_file() and started.read_text().strip()):
        assert time.monotonic() < limit, "the compiler was not started"
        time.sleep(0.01)


def ended(number: str) -> bool:
    """Whether there is no process of this number, or one that only its parent still waits for."""
    try:
        return Path(f"/proc/{number}/stat").read_text().split()[2] == "Z"
    except (FileNotFoundError, ProcessLookupError):
        return True


def require_end(started: Path) -> None:
    """The processes of the numbers in the file end by themselves within ten seconds."""
    limit = time.monotonic() + 10.0
    left = started.read_text().split()
    while left := [number for number in left if not ended(number)]:
        assert time.monotonic() < limit, f"processes {left} are left"
        time.sleep(0.05)


def test_an_interrupt_ends_a_compiler_and_what_it_has_started(started, tmp_path, monkeypatch):
    whole = subprocess.Popen.communicate

    def interrupted(process, *arguments, **options):
        if "-c" not in process.args:
            return whole(process, *arguments, **options)
        wait_for(started)
        raise KeyboardInterrupt

    with monkeypatch.context() as patch, pytest.raises(KeyboardInterrupt):
        patch.setattr(subprocess.Popen, "communicate", interrupted)
        build(with_value(5), tmp_path / "here")
    require_end(started)


def test_a_compiler_ends_with_a_process_that_is_killed(started, tmp_path):
    code = f"from combred.native.builder import build; build({with_value(6)!r}, {str(tmp_path)!r})"
    killed = subprocess.Popen([sys.executable, "-c", code])
    try:
        wait_for(started)
    finally:
        killed.kill()
        killed.wait()
    require_end(started)
