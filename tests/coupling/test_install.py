"""The chemistry model of OpenFOAM, compiled for a sourced version, and Debian's installation."""

import os
import subprocess
from pathlib import Path

import pytest
from combred.coupling import FOLDER

from combred import command
from combred.native.openfoam import model
from combred.native.openfoam.model import NAME, compile_model

INSTALL = FOLDER / "openfoam/install.sh"


def program(folder: Path, name: str, script: str) -> None:
    path = folder / name
    path.write_text(f"#!/bin/sh\n{script}\n")
    path.chmod(0o755)


def test_packages_that_cannot_be_had_are_told_by_the_status(tmp_path):
    program(tmp_path, "apt-get", "exit 100")
    environment = os.environ | {"PATH": f"{tmp_path}:{os.environ['PATH']}"}
    done = subprocess.run(
        ["bash", INSTALL, tmp_path / "foam"], env=environment, capture_output=True, text=True
    )
    assert done.returncode == 69 and "packages of OpenFOAM cannot be had" in done.stderr


@pytest.fixture
def foam(tmp_path) -> dict[str, str]:
    """The environment of an OpenFOAM whose wmake copies what it is given."""
    tools, headers = tmp_path / "tools", tmp_path / "OpenFOAM/src/finiteVolume/lnInclude"
    headers.mkdir(parents=True)
    (headers / "volFields.H").touch()
    tools.mkdir()
    program(tools, "wmake", f'cat cells.hpp "$2"/Make/files > "$FOAM_USER_LIBBIN/{NAME}"')
    program(tools, "g++", "exit 1")
    return {
        "WM_PROJECT_VERSION": "13",
        "WM_PROJECT_DIR": str(tmp_path / "OpenFOAM"),
        "FOAM_USER_LIBBIN": str(tmp_path / "user/lib"),
        "PATH": f"{tools}:/usr/bin:/bin",
    }


def test_the_model_is_compiled_into_the_user_s_folder(foam):
    path, version, _ = compile_model(FOLDER, foam)
    assert version.foundation == 13 and path == Path(foam["FOAM_USER_LIBBIN"]) / NAME
    assert "combredChemistrySolvers.C" in path.read_text() and "class Cells" in path.read_text()


FAILING = 'echo "file.C:1: error: no such thing" >&2; exit 1'


@pytest.mark.parametrize(
    "change, message",
    [
        ({"WM_PROJECT_VERSION": ""}, "no OpenFOAM is sourced .* --install"),
        ({"WM_PROJECT_VERSION": "6"}, "6 is no version of OpenFOAM"),
        ({"PATH": "/none"}, "OpenFOAM 13 is sourced, but has no wmake: install"),
        ({"WM_PROJECT_DIR": "/none"}, "OpenFOAM 13 has no headers in /none/src/.*: install"),
        ({"WM_CXX": "gxx-99 -m64"}, "compiles with gxx-99, which is not there: install it"),
        ({"FOAM_USER_LIBBIN": ""}, "FOAM_USER_LIBBIN is not set"),
        ({"FOAM_USER_LIBBIN": "/dev/null/lib"}, "/dev/null/lib cannot be written .*: export"),
        ({"wmake": FAILING}, r"could not compile .* \(file.C:1: error: no such thing\): .*log"),
    ],
)
def test_what_is_missing_is_told_in_a_sentence(foam, change, message, monkeypatch):
    monkeypatch.setattr(model, "BASHRC", ())
    if "wmake" in change:
        program(Path(foam["PATH"].split(":")[0]), "wmake", change.pop("wmake"))
    with pytest.raises(ValueError, match=message):
        compile_model(FOLDER, foam | change)


def test_the_command_names_what_can_be_sourced(tmp_path, monkeypatch, capsys):
    for name in ("FOAM_API", "WM_PROJECT_VERSION"):
        monkeypatch.delenv(name, raising=False)
    bashrc = tmp_path / "openfoam13/etc/bashrc"
    bashrc.parent.mkdir(parents=True)
    bashrc.touch()
    monkeypatch.setattr(model, "BASHRC", (str(tmp_path / "openfoam*/etc/bashrc"),))
    assert command.main(["openfoam"]) != 0
    said = capsys.readouterr()
    assert f"source {bashrc}" in "".join((said.out + said.err).split("\n"))
