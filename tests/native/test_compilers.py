"""Which compiler is taken, and the same answers of a surrogate by each that there is."""

import importlib.util
import shutil

import pytest
from compiled_program import COMPILERS, ZIG

from combred.native import NativeSurrogate, build, generate
from combred.native.compilers import CompilerError, find_compiler, is_zig


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
