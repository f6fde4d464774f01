"""The command in the test's own process, a finished run, and copies of it to break."""

import shutil
from pathlib import Path

import pytest
import torch
from tiny import TINY, cheap_steps, finished_run, main, merged


@pytest.fixture
def cheap(in_process):
    """The test's process without what takes long (`tiny.cheap_steps`)."""
    with cheap_steps(in_process):
        yield


@pytest.fixture
def call(monkeypatch, capsys, cheap):
    """The command in this process: call(folder, *arguments) -> (exit status, output with white
    space folded). Several arguments may stand in one text."""

    def run(folder: Path, *arguments: str) -> tuple[int, str]:
        monkeypatch.chdir(folder)
        threads = torch.get_num_threads()
        capsys.readouterr()  # of a command before, which raised
        status = main(merged(*arguments))
        assert torch.get_num_threads() == threads
        return status, " ".join(capsys.readouterr().out.split())

    return run


@pytest.fixture(scope="session")
def finished(made_once, in_process) -> Path:
    """A tiny run, done in one go."""
    with made_once("finished") as folder:
        if not (folder / "runs/tiny/report.html").exists():
            finished_run(in_process, folder, *TINY.split())
        return folder


@pytest.fixture
def copy(finished, tmp_path) -> Path:
    """A copy of the finished run, to break."""
    shutil.copytree(finished / "runs", tmp_path / "runs")
    return tmp_path
