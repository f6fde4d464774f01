"""The one C++ file, its head, and what `export` writes."""

import ctypes
import errno
import hashlib
import json
import logging
import re
import shutil
import subprocess
from pathlib import Path

import numpy as np
import pytest
from compiled_program import ONE_STATE

import combred
from combred.command import main
from combred.files import records
from combred.libraries import export, export_surrogate
from combred.native import NativeSurrogate, exporter, generate
from combred.native.single_file import single_file
from combred.native.solver import generate as generate_solver
from combred.native.solver.generator import SOURCE
from combred.surrogates.files.export import export_torchscript
from combred.surrogates.files.shipped import FOLDER
from combred.surrogates.files.storage import content_digest

ROOT = Path(__file__).parents[2]
hydrogen = pytest.mark.parametrize("mechanism", ["h2o2.yaml"], indirect=True, scope="session")
needs_gcc = pytest.mark.skipif(shutil.which("g++") is None, reason="needs g++")


@hydrogen
def test_the_file_has_every_line_once_and_includes_nothing_of_its_own(correcting):
    files = generate(correcting)
    text = single_file(files, "of a test", "surrogate")
    del files["kernel.cu"]  # for GPUs, beside the library
    assert '#include "' not in text and "#pragma once" not in text
    lines = [line for line in text.splitlines() if line.startswith("struct ")]
    assert len(lines) == len(set(lines)) > 10
    for name, content in files.items():
        for line in content.splitlines():
            if not line.startswith(("#include", "#pragma once")):
                assert line in text, name


@hydrogen
def test_the_head_says_what_it_is(exported, card):
    head, line, body = (exported / "surrogate.cpp").read_text().partition(f"// {'-' * 97}\n")
    assert "of a test" in head.splitlines()[0] and card["mechanism_sha256"] in head
    both = "delays off by 1 % (median), 3 % (worst), 25 % of the states left to the solver"
    assert f"// this file   network with the solver behind it: {both}\n" in head
    alone = "delays off by 30 % (median), 87 % (worst). ABOVE ITS LIMITS: the worst"
    assert f"// TorchScript network alone: {alone}" in head and "python -m combred.pipe" in head
    assert hashlib.sha256(body.encode()).hexdigest() in head
    assert all(text.startswith("//") for text in head.splitlines())
    (said,) = re.findall(r"`(sed .*)`", head)
    done = subprocess.run(said, cwd=exported, shell=True, capture_output=True, text=True)
    assert done.stdout.split()[0] in head


def commands(exported) -> tuple[str, str]:
    """The commands of the head: for this CPU, and for every one."""
    head = (exported / "surrogate.cpp").read_text().partition("// ---")[0]
    lines = re.findall(r"^//     (.*)", head, re.MULTILINE)
    return "\n".join(lines[:2]), "\n".join([lines[0], *lines[2:]])


@hydrogen
@pytest.mark.parametrize("portable", [False, pytest.param(True, marks=pytest.mark.slow)])
@needs_gcc
def test_the_commands_of_the_head_compile_it(exported, tmp_path, require_agreement, portable):
    shutil.copy(exported / "surrogate.cpp", tmp_path)
    command = "set -e\n" + commands(exported)[portable]
    assert "-O3" in command  # tests of the answers compile so: test_steps.py, test_portable.py
    command = command.replace("-O3", f"-O0 {ONE_STATE}")
    done = subprocess.run(command, cwd=tmp_path, shell=True, capture_output=True, text=True)
    assert done.returncode == 0 and not done.stderr, done.stderr
    native = NativeSurrogate(tmp_path / "libsurrogate.so")
    assert bool(native.library.level) == portable
    require_agreement(native)


@pytest.fixture
def set_threads():
    """The function of OpenMP that sets the number of threads, which torch's trainings take too."""
    if shutil.which("g++") is None:
        pytest.skip("needs g++")
    openmp = ctypes.CDLL("libgomp.so.1")
    before = openmp.omp_get_max_threads()
    yield openmp.omp_set_num_threads
    openmp.omp_set_num_threads(before)


@pytest.mark.slow
@hydrogen
def test_openmp_gives_the_same_answers_with_as_many_threads_as_have_room(
    exported, tmp_path, burning, require_agreement, set_threads
):
    library = tmp_path / "libsurrogate.so"
    flags = "-std=c++17 -O0 -march=native -fno-math-errno -fopenmp -shared -fPIC -Wno-psabi".split()
    command = ["g++", *flags, str(exported / "surrogate.cpp"), "-o", str(library)]
    done = subprocess.run(command, capture_output=True, text=True)
    assert done.returncode == 0 and not done.stderr, done.stderr
    native, rows = NativeSurrogate(library), np.repeat(burning, 5, axis=0)
    set_threads(8)
    given = rows[:, 0], rows[:, 1], rows[:, 2:], 1e-6
    one = native.integrate(*given)
    assert 0.02 < (one.steps > 0).mean() < 0.98
    own = native.library
    room = np.empty(3 * own._workspace_size(), dtype=np.uint8)
    own._own.place = room.ctypes.data, room.nbytes
    found = native.integrate(*given)
    for part in ("T", "Y", "error", "steps"):
        assert np.array_equal(getattr(found, part), getattr(one, part))
    assert b"GOMP_parallel" in library.read_bytes()
    require_agreement(native)


@hydrogen
@needs_gcc
def test_the_file_has_no_warnings_and_refuses_fast_math(exported):
    file = str(exported / "surrogate.cpp")
    command = ["g++", *"-std=c++17 -O1 -Wall -Wextra -Wno-psabi -fsyntax-only".split(), file]
    for more in ([], ["-DCOMBRED_LEVEL=v2"], ["-DCOMBRED_DISPATCH"]):
        done = subprocess.run([*command, *more], capture_output=True, text=True)
        assert done.returncode == 0 and not done.stderr
    done = subprocess.run([*command, "-ffast-math"], capture_output=True, text=True)
    assert done.returncode != 0 and "compile without -ffast-math" in done.stderr


@needs_gcc
def test_the_solver_of_every_type_of_rate_has_no_warnings(kinds, tmp_path):
    file = tmp_path / "solver.cpp"
    file.write_text(single_file(generate_solver(kinds), "of a test"))
    command = ["g++", *"-std=c++17 -O1 -Wall -Wextra -Wno-psabi -fsyntax-only".split(), file]
    for more in ([], ["-DCOMBRED_BYTES=0"]):
        done = subprocess.run([*command, *more], capture_output=True, text=True)
        assert done.returncode == 0 and not done.stderr


@hydrogen
@pytest.mark.parametrize(
    "change",
    [
        {"species": ["H2"]},
        {"dt": [1e-6, 1e-6]},
        {"network": {"widths": [3, 2]}},
        {"range": {"T": [1.0, 2.0]}},
        {"mechanism_sha256": "0"},
    ],
)
def test_the_card_of_another_surrogate_is_refused(correcting, card, tmp_path, change):
    message = f"this card is of another surrogate: its {next(iter(change))} is"
    with pytest.raises(ValueError, match=message):
        export(correcting, tmp_path, card | change)
    with pytest.raises(ValueError, match=message):
        states = np.empty((0, correcting.n))
        export_torchscript(tmp_path / "surrogate.pt", correcting, card | change, states)
    with pytest.raises(ValueError, match="a card is a table of keys"):
        export(correcting, tmp_path, [card])
    with pytest.raises(ValueError, match="a card is a table of keys"):
        export_surrogate(correcting, tmp_path, card | {"accuracy": None})
    with pytest.raises(ValueError, match="a mechanism has no network"):
        export_surrogate(correcting.mechanism, tmp_path)
    with pytest.raises(ValueError, match=r"combred\.surrogate makes"):
        export_surrogate(3.0, tmp_path)
    assert not list(tmp_path.iterdir())


@hydrogen
def test_the_library_tells_card_digest_and_ranges(exported, correcting, mechanism, card):
    native = NativeSurrogate(exported / "libsurrogate.so")
    told = json.loads(json.dumps(card))
    told["accuracy"]["this_file"] = "network with the solver behind it"
    assert native.library.card == told
    assert list(native.library.card["accuracy"])[:2] == ["this_file", "with_solver"]
    assert native.library.digest == content_digest(correcting, mechanism)
    assert native.library.mechanism_sha256 == mechanism.sha256
    assert native.ranges["T"] == tuple(card["range"]["T"])
    assert native.ranges["p"] == tuple(card["range"]["p"])
    assert native.ranges["phi"] == (0.25, 4.0)
    assert native.ranges["H2"] == tuple(card["range"]["Y"]["H2"])
    assert (exported / "combred.h").read_bytes() == (SOURCE / "combred.h").read_bytes()


@hydrogen
def test_without_a_compiler_the_sources_are_written(correcting, tmp_path, monkeypatch, caplog):
    monkeypatch.setenv("CXX", "no-such-compiler")
    for name in ("libsurrogate.so.old", "libsurrogate.so.old1"):
        (tmp_path / "libsurrogate.so").write_text(f"to be {name}")
        with caplog.at_level(logging.WARNING):
            files = export(correcting, tmp_path)
        assert [file.name for file in files] == ["surrogate.cpp", "combred.h"]
        assert not (tmp_path / "libsurrogate.so").exists()
        assert f"is now {name}." in caplog.text
    for name in ("libsurrogate.so.old", "libsurrogate.so.old1"):  # the first is kept
        assert (tmp_path / name).read_text() == f"to be {name}"
    assert "no-such-compiler" in caplog.text and "the command in its first lines" in caplog.text


@pytest.mark.parametrize("full", [False, True])
def test_an_export_that_is_interrupted_or_fails_loses_nothing(h2o2, tmp_path, monkeypatch, full):
    """It ends while it compiles, or the disk is full when the library is written. At the end the
    new files take the place of the old ones, and nothing is written through a symbolic link."""
    made, folder = tmp_path / "made.so", tmp_path / "folder"
    made.write_bytes(b"new")
    (tmp_path / "theirs").write_text("old")
    folder.mkdir()
    for name in ("solver.cpp", "combred.h"):
        (folder / name).write_text("old")
    (folder / "libsolver.so").symlink_to(tmp_path / "theirs")

    def content() -> dict[str, bytes]:
        return {file.name: file.read_bytes()[:3] for file in folder.iterdir()}

    def build(files):
        assert set(content().values()) == {b"old"}
        if not full:
            raise KeyboardInterrupt
        return made

    def sync(path):
        if path.name.startswith("libsolver.so"):
            raise OSError(errno.ENOSPC, "no space")

    monkeypatch.setattr(exporter, "build_portable", build)
    with monkeypatch.context() as patch, pytest.raises((KeyboardInterrupt, OSError)):
        patch.setattr(records, "sync", sync)
        export(h2o2, folder)
    assert content() == dict.fromkeys(("solver.cpp", "combred.h", "libsolver.so"), b"old")
    monkeypatch.setattr(exporter, "build_portable", lambda files: made)
    export(h2o2, folder)
    assert content()["libsolver.so"] == b"new" and b"old" not in content().values()
    assert (tmp_path / "theirs").read_text() == "old" and len(content()) == 3


def test_the_command_of_the_readme(tmp_path, monkeypatch):
    """A model that comes with combred is exported by its name."""
    (words,) = re.findall(r"`combred (export drm19\S+ \S+)`", (ROOT / "README.md").read_text())
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("CXX", "no-such-compiler")
    assert main(words.split()) == 0
    text = (tmp_path / words.split()[-1] / "surrogate.cpp").read_text()
    known = combred.models()["drm19-38k"]
    assert "drm19-38k" in text[:200] and known["mechanism_sha256"] in text
    assert "python -m combred.pipeline" in text


def test_a_stage_of_a_run_is_exported_by_its_path(tmp_path, drm19, monkeypatch):
    """With the digest of its file's content, and without a card."""
    monkeypatch.setenv("CXX", "no-such-compiler")
    path = FOLDER / "drm19-11k.safetensors"
    export(shutil.copy(path, tmp_path / "stage2.safetensors"), tmp_path)
    text = (tmp_path / "surrogate.cpp").read_text()
    assert "without a card" in text and drm19.sha256 in text
    assert content_digest(combred.load("drm19-11k"), drm19) in text
