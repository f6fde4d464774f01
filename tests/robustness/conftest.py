"""Two finished runs, without what takes long and has tests of its own (`benchmarks.hostile`)."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from unittest import mock

import pytest

from benchmarks.hostile import files
from benchmarks.hostile.short import quick
from combred.surrogate.advance import StateFunction


@contextmanager
def short() -> Iterator[None]:
    """`quick`, and without TorchScript, which takes a second to compile."""
    with quick(), mock.patch("combred.pipeline.steps.cases.fastest", StateFunction):
        yield


@pytest.fixture
def fast():
    """A test in which runs are `quick`, and advance without TorchScript."""
    with short():
        yield


@pytest.fixture(scope="module")
def runs(tmp_path_factory) -> tuple[Path, Path]:
    """The folders of a finished run and of another one."""
    with short():
        made = [files.make(tmp_path_factory.mktemp("run"), a) for a in (files.SMALL, files.OTHER)]
    return made[0], made[1]
