"""Two finished runs of seconds, without what takes long: worker processes, figures, and the
comparison of the exported file, which have tests of their own."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from unittest import mock

import pytest

from benchmarks.hostile import files

TIMES = {"cores": 1, "machine": "none", "batch": 1, "times": {}}


@contextmanager
def cheap(in_process) -> Iterator[None]:
    """The parts of a run that take long are left out."""
    with (
        in_process(),
        mock.patch("combred.report.draw", lambda *_: {}),
        mock.patch("combred.surrogate.export.largest_difference", lambda *_: 0.0),
        mock.patch("combred.pipeline.steps.cases.fastest", lambda surrogate: surrogate),
        mock.patch("combred.pipeline.steps.validate.print_validation"),
        mock.patch("combred.validation.timing.compare_times", lambda *_, **__: TIMES),
    ):
        yield


@pytest.fixture
def fast(in_process):
    """A test in which runs are `cheap`."""
    with cheap(in_process):
        yield


@pytest.fixture(scope="module")
def runs(in_process, tmp_path_factory) -> tuple[Path, Path]:
    """The folders of a finished run and of another one."""
    with cheap(in_process):
        made = [files.make(tmp_path_factory.mktemp("run"), a) for a in (files.SMALL, files.OTHER)]
    return made[0], made[1]
