"""Two finished runs, and a command without what takes long and has tests of its own."""

from pathlib import Path
from unittest import mock

import pytest
from small_run import OTHER, SMALL, finished

from combred.experiments.accuracy import ALONE, BEHIND, named
from combred.surrogates.library.choice import StateFunction

STAGES = [named(stage, key) for stage in range(3) for key in (ALONE, BEHIND)]
NAMES = "CVODE rtol 1e-08 atol 1e-16", "solver, tolerance 0.01", *STAGES
TIMES = {"machine": "none", "states": "none", "batch": 1, "solved": {}} | {
    "times": {name: {"median": 1e-6} for name in NAMES}
}


def _in_torch(surrogate, alone):
    assert alone
    return StateFunction(surrogate)


@pytest.fixture(scope="module")
def quick(in_process):
    """Worker pools work in this process; times are not measured, figures are not rendered, C++ is
    not compiled, and TorchScript, which takes a second, is not compared with its original."""
    with (
        in_process(),
        mock.patch("combred.surrogates.training.loop.CHECKPOINT_SECONDS", 0.0),
        mock.patch("combred.files.records.sync"),  # a thousand times: tests/files/test_records.py
        mock.patch("combred.report.pages.save", lambda _, path: path.write_bytes(b"")),
        mock.patch("combred.surrogates.files.export.largest_difference", lambda *_: 0.0),
        mock.patch("combred.pipeline.steps.validate.print_validation"),
        mock.patch("combred.surrogates.timing.compare_times", lambda *_, **__: TIMES),
        mock.patch("combred.pipeline.steps.validate.fastest", _in_torch),
        mock.patch("combred.surrogates.library.generator.MOST_WEIGHTS", 0),
    ):
        yield


@pytest.fixture(scope="module")
def runs(quick, tmp_path_factory) -> tuple[Path, Path]:
    """The folders of a finished run and of another one."""
    one, two = (finished(tmp_path_factory.mktemp("run"), words) for words in (SMALL, OTHER))
    return one, two
