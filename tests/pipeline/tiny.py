"""Tiny runs of the pipeline: real in every step, and far too small to be accurate.

A test calls the command in its own process; only what kills a process, limits it or runs under
torchrun starts another. Each module has one finished run, which its tests copy.
"""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from combred.pipeline.command import main

ROOT = Path(__file__).parents[2]


class Command:
    """`python -m combred.pipeline` with some arguments, in a folder."""

    def __init__(self, arguments: str):
        self.arguments = arguments.split()

    def words(self, *more: str) -> list[str]:
        """The command line."""
        return [sys.executable, "-m", "combred.pipeline", *self.arguments, *more]

    def torchrun(self, *more: str) -> list[str]:
        """The command line for two processes of torchrun."""
        launch = [sys.executable, "-m", "torch.distributed.run", "--nproc_per_node", "2"]
        return [*launch, "-m", "combred.pipeline", *self.arguments, *more]

    def start(self, folder: Path, words: list[str], **options) -> subprocess.Popen:
        """A process of its own; its output is piped."""
        environment = {"PYTHONPATH": str(ROOT), "COLUMNS": "200", "OMP_NUM_THREADS": "1"}
        return subprocess.Popen(
            words,
            cwd=folder,
            env=os.environ | environment,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            **options,
        )

    def finish(self, folder: Path, words: list[str], **options) -> tuple[int, str]:
        """Exit status and output of a process of its own."""
        process = self.start(folder, words, **options)
        output = process.communicate(timeout=180)[0]
        return process.returncode, output


def finished_run(command: Command, folder: Path, *arguments: str) -> Path:
    """The folder, after the command has run there to its end."""
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(folder)
        assert main([*command.arguments, *arguments]) == 0
    return folder
