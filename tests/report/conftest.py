"""Run folders with their reports, made once; `run_folder`, of this folder, makes them."""

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from combred.report.style import save as render
from combred.report.writing import write_report

sys.path.insert(0, str(Path(__file__).parent))

from run_folder import THREE, make_run  # noqa: E402


@contextmanager
def rendering(names: set[str]) -> Iterator[None]:
    """Reports render the figures of these names alone. The others are made, but one pixel is saved
    of them: rendering is most of a report's time."""

    def save(figure, path: Path) -> None:
        if path.stem in names:
            render(figure, path)
        else:
            Image.new("RGB", (1, 1)).save(path)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("combred.report.writing.save", save)
        yield


@pytest.fixture
def rendered() -> Iterator[set[str]]:
    """Names of the figures that a report of this test renders: none, unless a test adds some."""
    names: set[str] = set()
    with rendering(names):
        yield names


@pytest.fixture(scope="session")
def whole(made_once, drm19) -> Path:
    """A folder with two reductions and an exported file, and its report."""
    with made_once("whole") as folder:
        if not (folder / "run/report.html").exists():
            write_report(make_run(folder / "run", drm19, THREE, export=True), drm19)
        return folder / "run"


@pytest.fixture(scope="session")
def single(made_once, h2o2) -> Path:
    """A folder of stage 0 alone, of a mechanism without carbon, where one case does not ignite;
    no losses, no states, nothing exported, and no figure rendered."""
    with made_once("single") as folder:
        run = folder / "run"
        if not (run / "report.html").exists():
            make_run(run, h2o2, [[0.02, np.nan, -0.03, 0.005]])
            for name in ("stage0.jsonl", "sample.json"):
                (run / name).unlink()
            with rendering(set()):
                write_report(run, h2o2)
        return run
