"""The compiler, its failures, and the cache of compiled libraries."""

import subprocess
import sys
import time
from pathlib import Path

import pytest

from combred.files.records import cache_folder
from combred.native import NativeSurrogate, builder
from combred.native.builder import build
from combred.native.compilers import find_compiler
from combred.native.generator import SOURCE, generate

# Any library will do: these tests do not load it.
SMALL = {"surrogate.cpp": '#include "value.hpp"\nstatic int value() { return VALUE; }\n'}


def with_value(value: int) -> dict[str, str]:
    return SMALL | {"value.hpp": f"#define VALUE {value}\n"}


def test_a_library_is_compiled_once(tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    first = build(with_value(1))
    assert cache_folder() == tmp_path / "combred" and first.is_relative_to(cache_folder())
    written = first.stat().st_mtime_ns
    assert build(with_value(1)) == first and first.stat().st_mtime_ns == written
    others = {build(with_value(2)), build(with_value(1), flags=("-O1",))}
    assert len(others | {first}) == 3


@pytest.mark.parametrize("terminal", [True, False])
def test_that_it_compiles_is_told_a_terminal_and_is_no_warning(
    terminal, tmp_path, monkeypatch, capsys, caplog
):
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    monkeypatch.setattr(sys.stderr, "isatty", lambda: terminal)
    caplog.set_level("INFO")
    build(with_value(1))
    assert [record.levelname for record in caplog.records] == ["INFO"] * (not terminal)
    said = capsys.readouterr().err
    assert said.startswith("compiling C++, once; the library is kept in /") == terminal
    assert said.count("\n") == terminal


def test_a_damaged_library_of_the_cache_is_compiled_again(tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    library = build(with_value(4))
    whole = library.read_bytes()
    library.write_bytes(whole[:5000] + bytes([whole[5000] ^ 1]) + whole[5001:])
    assert build(with_value(4)) == library and library.read_bytes() == whole


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


def test_networks_of_a_mechanism_share_the_objects_of_its_solver(tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    compiled, run = [], builder.run
    monkeypatch.setattr(builder, "run", lambda commands: (compiled.append(commands), run(commands)))

    def pieces_of(value: str, **changed: str) -> int:
        compiled.clear()
        build(IN_PIECES | {"identity.hpp": f"#define COMBRED_NETWORK\n// {value}\n"} | changed)
        return len(compiled[0])

    assert [pieces_of("one"), pieces_of("two")] == [4, 2]
    assert pieces_of("two", **{"solver.hpp": "static const int SIZE = 2;\n"}) == 4
    for made in cache_folder().glob("*.o"):
        made.write_bytes(made.read_bytes()[:-100])
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


def test_the_header_is_c(tmp_path):
    """A flow solver in C includes it."""
    (tmp_path / "call.c").write_text('#include "combred.h"\nint main(void) { return 0; }\n')
    command = [*find_compiler(), "-x", "c", "-std=c99", "-pedantic", "-Wall", "-Werror"]
    command += ["-fsyntax-only", f"-I{SOURCE}", str(tmp_path / "call.c")]
    done = subprocess.run(command, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr


def test_a_failing_compiler_is_told(tmp_path):
    with pytest.raises(RuntimeError, match="no_such_name"):
        build({"surrogate.cpp": "int x = no_such_name;\n"}, tmp_path)
    assert not list(tmp_path.glob("*.so"))


def test_a_library_that_is_not_there(tmp_path):
    with pytest.raises(FileNotFoundError, match="combred.native.compile"):
        NativeSurrogate(tmp_path / "none.so")


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
