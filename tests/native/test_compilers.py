"""Which compiler is taken, and the same answers of a surrogate by each that there is."""

import errno
import importlib.util
import shutil
from types import SimpleNamespace

import pytest
from compiled_program import COMPILERS, ZIG

from combred.native import NativeSurrogate, build, generate
from combred.native.compilers import CompilerError, find_compiler, is_zig, room_in, run


def test_the_compiler_is_cxx_or_the_first_that_there_is(monkeypatch):
    monkeypatch.setenv("CXX", "g++ -pipe")
    if shutil.which("g++"):
        assert find_compiler() == [shutil.which("g++"), "-pipe"]
    monkeypatch.setenv("CXX", "no-such-compiler")
    with pytest.raises(RuntimeError, match="CXX=no-such-compiler is not there"):
        find_compiler()


@pytest.mark.parametrize("command", ["'", "/bin/true", "echo -n", "g++ no-such-word", "PROGRAM"])
def test_a_command_that_is_no_compiler_is_told(command, tmp_path, monkeypatch):
    program = tmp_path / "program"
    program.write_bytes(b"\0 no program")
    program.chmod(0o755)
    monkeypatch.setenv("CXX", command.replace("PROGRAM", str(program)))
    with pytest.raises(CompilerError, match="set .* to .*g\\+\\+") as told:
        build({"surrogate.cpp": ""}, tmp_path / "here")
    assert "\n" not in str(told.value) and command.split()[0].lower() in str(told.value).lower()


@pytest.mark.parametrize(
    ("output", "said"),
    [
        ("as: /tmp/a.s: No space left on device", "there is no room to compile in /.*TMPDIR"),
        ("ld: final link failed: Disk quota exceeded", "there is no room to compile in /"),
        ("File size limit exceeded signal terminated program cc1plus", "`ulimit -f unlimited`"),
    ],
)
def test_a_compiler_without_room_is_told_in_a_sentence(output, said, tmp_path):
    with pytest.raises(CompilerError, match=said) as told:
        run([["sh", "-c", f"echo '{output}'; exit 1", "sh", "-o", str(tmp_path / "a.o")]])
    assert "\n" not in str(told.value)


@pytest.mark.parametrize("full", ["temporary", "made"])
def test_a_full_disk_is_named_whatever_the_compiler_says(full, tmp_path, monkeypatch):
    for name in ("temporary", "made"):
        (tmp_path / name).mkdir()
    monkeypatch.setenv("TMPDIR", str(tmp_path / "temporary"))
    free = {tmp_path / "temporary": 1 << 30, tmp_path / "made": 1 << 30, tmp_path / full: 4096}
    monkeypatch.setattr(shutil, "disk_usage", lambda path: SimpleNamespace(free=free[path]))
    failing = ["sh", "-c", "echo Bus error; exit 1", "sh", "-o", str(tmp_path / "made/a.o")]
    with pytest.raises(CompilerError, match=f"no room to compile in {tmp_path / full}:"):
        run([failing])
    free[tmp_path / full] = 1 << 30
    with pytest.raises(CompilerError, match="g[+][+] 9.*\nBus error"):
        run([failing])


@pytest.mark.parametrize(
    ("number", "said"),
    [
        (errno.ENOSPC, "no room to compile in folder: .*XDG_CACHE_HOME"),
        (errno.EDQUOT, "no room to compile in folder"), (errno.EFBIG, "`ulimit -f unlimited`"),
    ],
)  # fmt: skip
def test_a_cache_without_room_is_told(number, said):
    with pytest.raises(CompilerError, match=said), room_in("folder"):
        raise OSError(number, "")
    with pytest.raises(PermissionError), room_in("folder"):
        raise OSError(errno.EACCES, "")


@pytest.mark.parametrize("installed", [True, False])
def test_without_another_compiler_zig_is_taken(monkeypatch, installed):
    monkeypatch.delenv("CXX", raising=False)
    monkeypatch.setattr(shutil, "which", lambda name: None)
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: installed or None)
    if installed:
        assert find_compiler() == ZIG.split() and is_zig(find_compiler())
    else:
        with pytest.raises(RuntimeError, match="apt install g.* or `pip install ziglang`"):
            find_compiler()


@pytest.mark.parametrize(
    "compiler", ["g++", "clang++", pytest.param("zig", marks=pytest.mark.slow)]
)
@pytest.mark.parametrize("mechanism", ["h2o2.yaml"], indirect=True, scope="session")
def test_each_compiler_gives_the_answers_of_torch_and_of_the_first(
    compiler, correcting, require_agreement, require_same_solver, made_once, monkeypatch
):
    if COMPILERS[compiler] is None:
        pytest.skip(f"{compiler} is not here")
    monkeypatch.setenv("CXX", COMPILERS[compiler])
    assert is_zig(find_compiler()) == (compiler == "zig")
    with made_once("native") as folder:  # where the fixture `compiled` has that of one of them
        library = build(generate(correcting), folder)
    native = NativeSurrogate(library)
    require_agreement(native)
    require_same_solver(native.library)
