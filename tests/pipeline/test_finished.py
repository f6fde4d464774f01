"""A finished run is recognised without torch; whatever has changed makes it a run again."""

import os
import subprocess
import sys

import cantera as ct
import pytest

from combred.config.command import resolve
from combred.pipeline.finished import finish, finished
from combred.pipeline.tables import EXAMPLES

ARGUMENTS = ["profile=smoke", "seed=3"]


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    path = tmp_path / "runs/drm19-smoke"
    path.mkdir(parents=True)
    for name in ("states.h5", "report.html", "lock"):
        (path / name).write_text(name)
    finish(path, resolve(ARGUMENTS), 1)
    return path


def test_a_finished_run_ends_at_once_with_its_status(folder):
    (folder / "lock").write_text("another process")
    code = (
        "import sys; from combred.pipeline.__main__ import run; status = run(sys.argv[1:]);"
        "assert 'torch' not in sys.modules; sys.exit(status)"
    )
    words = [sys.executable, "-c", code, *ARGUMENTS, "workers=7"]
    done = subprocess.run(words, capture_output=True, text=True, timeout=60)
    assert done.returncode == 1 and "nothing has changed" in done.stdout, done.stderr
    assert "rejected for flow codes" in done.stdout and "report.html" in done.stdout


def change(path):
    path.write_text("other")


@pytest.mark.parametrize(
    "what",
    [
        lambda folder: change(folder / "states.h5"),
        lambda folder: change(folder / "finished.json"),
        lambda folder: change(folder / "new.json"),
        lambda folder: os.unlink(folder / "report.html"),
    ],
)
def test_what_has_changed_is_run_again(folder, what):
    assert finished(ARGUMENTS)
    what(folder)
    assert finished(ARGUMENTS) is None


@pytest.mark.parametrize("name", ["their.yaml", "their other.yaml", "their.txt"])
def test_a_file_that_the_mechanism_names_counts(folder, tmp_path, monkeypatch, name):
    (tmp_path / "data").mkdir()
    (tmp_path / "data/own.yaml").write_text(
        f"phases: [{{name: gas, species: [{{{name}/species: all}}]}}]"
    )
    (tmp_path / "data" / name).write_text("species: []")
    monkeypatch.setattr(ct, "get_data_directories", lambda: [str(tmp_path / "data")])
    words = [*ARGUMENTS, "mechanism=own.yaml", "run=drm19-smoke"]
    finish(folder, resolve(words), 0)
    assert finished(words)
    (tmp_path / "data" / name).write_text("species: [{name: AR}]")
    assert finished(words) is None


@pytest.mark.parametrize(
    "more", [["seed=4"], ["only=report"], ["run=other"], ["training.steps=9"], ["stge=1"]]
)
def test_another_command_is_no_finished_run(folder, more):
    assert finished([*[word for word in ARGUMENTS if word[:4] != more[0][:4]], *more]) is None


def test_other_code_is_another_run(folder, monkeypatch):
    monkeypatch.setattr("combred.__version__", "9.9.9")
    assert finished(ARGUMENTS) is None


def test_the_examples_of_the_help_are_understood():
    assert all(resolve(example.split()) for example in EXAMPLES)
