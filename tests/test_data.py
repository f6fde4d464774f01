"""Mechanisms and models: the folder data/ of the repository is the package `combred.data`."""

import importlib.resources
from pathlib import Path

from combred import data


def test_resources_of_the_package_are_the_files_of_the_folder():
    folder = importlib.resources.files("combred.data")
    assert Path(str(folder)) == data.FOLDER == Path(__file__).parents[1] / "data"
    for name in ("README.md", "SHA256SUMS", "mechanisms/drm19.yaml", "models/drm19-full.json"):
        assert folder.joinpath(name).is_file(), name
