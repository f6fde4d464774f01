"""Fixtures of the coupling: a surrogate that comes with combred, compiled as the README says."""

import shutil
import subprocess
from dataclasses import dataclass
from pathlib import Path

import pytest

import combred
from combred.native import NativeSurrogate, generate
from combred.native.damage import sealed
from combred.native.single_file import single_file

COUPLING = Path(__file__).parents[2] / "coupling"


@dataclass(frozen=True)
class Commands:
    """The folder in which the README's commands ran, and what they printed."""

    folder: Path
    printed: str


@pytest.fixture(scope="session")
def surrogate():
    return combred.load("drm19-11k").eval().requires_grad_(False)


@pytest.fixture(scope="session")
def commands(surrogate, tmp_path_factory) -> Commands:
    """From surrogate.cpp to an ignition, by the three commands of coupling/README.md."""
    if shutil.which("g++") is None:
        pytest.skip("needs g++")
    text = (COUPLING / "README.md").read_text()
    lines = text.split("## From surrogate.cpp")[1].split("```")[1].removeprefix("bash\n")
    assert len(lines.splitlines()) == 3
    folder = tmp_path_factory.mktemp("commands")
    (folder / "coupling").symlink_to(COUPLING)
    (folder / "surrogate.cpp").write_text(single_file(generate(surrogate), "drm19-11k"))
    words = ["bash", "-euc", lines]
    done = subprocess.run(words, cwd=folder, capture_output=True, text=True)
    assert done.returncode == 0 and not done.stderr, done.stderr
    return Commands(folder, done.stdout)


@pytest.fixture(scope="session")
def library(commands) -> Path:
    """The compiled surrogate, with a checksum behind it, as combred writes it."""
    path = commands.folder / "sealed" / "libsurrogate.so"
    path.parent.mkdir()
    path.write_bytes(sealed((commands.folder / "libsurrogate.so").read_bytes()))
    return path


@pytest.fixture(scope="session")
def native(library) -> NativeSurrogate:
    """The same library in Python."""
    return NativeSurrogate(library)
