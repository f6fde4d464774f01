"""The command in the test's own process, and a copy of a module's finished run. `tiny`, of this
folder, is imported by the tests here and in steps/."""

import shutil
import sys
from pathlib import Path

import pytest
import torch

sys.path.insert(0, str(Path(__file__).parent))

from tiny import Command, main  # noqa: E402


@pytest.fixture
def call(monkeypatch, capsys):
    """The command in this process: call(command, folder, *arguments) -> (exit status, output with
    white space folded)."""

    def run(command: Command, folder: Path, *arguments: str) -> tuple[int, str]:
        monkeypatch.chdir(folder)
        threads = torch.get_num_threads()
        status = main([*command.arguments, *arguments])
        assert torch.get_num_threads() == threads
        return status, " ".join(capsys.readouterr().out.split())

    return run


@pytest.fixture
def copy(finished, tmp_path) -> Path:
    """A copy of the module's finished run, to break."""
    shutil.copytree(finished / "runs", tmp_path / "runs")
    return tmp_path
