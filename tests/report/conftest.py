"""Run folders with their reports."""

from pathlib import Path

import pytest
from PIL import Image
from run_folder import THREE, make_run

from combred.report.run import write_report


@pytest.fixture
def rendered(monkeypatch):
    """Figures are drawn, but one pixel is saved of them: rendering is most of a report's time."""
    monkeypatch.setattr(
        "combred.report.pages.save", lambda _, path: Image.new("RGB", (1, 1)).save(path)
    )


@pytest.fixture
def whole(tmp_path, drm19, rendered) -> Path:
    """A folder with two reductions and an exported file, and its report."""
    folder = make_run(tmp_path / "run", drm19, THREE)
    write_report(folder, drm19)
    return folder


@pytest.fixture
def single(tmp_path, h2o2, rendered) -> Path:
    """A folder of stage 0 alone, of a mechanism without carbon, where one case does not ignite;
    nothing but the validation."""
    folder = make_run(tmp_path / "single", h2o2, [[0.02, float("nan"), -0.03, 0.005]], whole=False)
    write_report(folder, h2o2)
    return folder
