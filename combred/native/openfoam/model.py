"""The chemistry model `combred` (coupling/openfoam), compiled for the OpenFOAM that is sourced.

Takes the environment of the shell; writes libcombredChemistry.so into the user's own folder of
libraries, which needs no rights of root.
"""

import glob
import os
import shutil
import subprocess
import tempfile
from collections.abc import Mapping
from pathlib import Path

from combred.native.openfoam.versions import Version, sourced

NAME = "libcombredChemistry.so"
BASHRC = (  # where packages and sources of OpenFOAM usually are
    "/opt/openfoam*/etc/bashrc",
    "/opt/OpenFOAM/OpenFOAM-*/etc/bashrc",
    "/usr/lib/openfoam/openfoam*/etc/bashrc",
    "~/OpenFOAM/OpenFOAM-*/etc/bashrc",
)


def compile_model(sources: Path, environment: Mapping[str, str]) -> tuple[Path, Version, str]:
    """Compile the model with wmake. sources: the folder coupling. Returns the path of the library
    in $FOAM_USER_LIBBIN, the version that it is for, and what wmake said.

    Raises ValueError where no OpenFOAM is sourced, where wmake, the compiler or headers are
    missing, where the folder cannot be written, and where the compiler fails.
    """
    version = sourced(environment)
    if version is None:
        raise ValueError(_how_to_source())
    _require_tools(version, environment)
    folder = _library_folder(environment)
    with tempfile.TemporaryDirectory() as scratch:
        copy = Path(scratch) / "coupling"
        copy_sources(sources, copy)
        done = subprocess.run(
            ["wmake", "libso", "openfoam"],
            cwd=copy, env=dict(environment), capture_output=True, text=True,
        )  # fmt: skip
    said, log = done.stdout + done.stderr, folder / "libcombredChemistry.log"
    if done.returncode or not (folder / NAME).is_file():
        log.write_text(said)
        lines = said.splitlines()
        causes = [line for line in lines if "error:" in line or "***" in line] or lines[-1:]
        raise ValueError(
            f"wmake of OpenFOAM {version.name} could not compile {NAME} ({''.join(causes[:1])}): "
            f"{log} has all that it said"
        )
    log.unlink(missing_ok=True)  # of a failure before
    return folder / NAME, version, said


def copy_sources(sources: Path, target: Path) -> None:
    """Copy the folder coupling, without what was compiled there."""
    built = shutil.ignore_patterns("linux*", "lnInclude", "__pycache__")
    shutil.copytree(sources, target, ignore=built, dirs_exist_ok=True)


def _how_to_source() -> str:
    installed = [path for pattern in BASHRC for path in glob.glob(os.path.expanduser(pattern))]
    if installed:
        return (
            "no OpenFOAM is sourced in this shell; type one of these, and the command again:\n"
            + "\n".join(f"  source {path}" for path in sorted(installed))
        )
    return (
        "no OpenFOAM is sourced in this shell (source .../etc/bashrc), and none is in its usual "
        "places. Packages are at openfoam.org and openfoam.com; on Debian 12, `combred openfoam "
        "--install` as root installs Debian's v1912"
    )


def _require_tools(version: Version, environment: Mapping[str, str]) -> None:
    """ValueError where wmake, headers or the compiler of a sourced OpenFOAM are missing."""
    path, name = environment.get("PATH"), f"OpenFOAM {version.name}"
    if shutil.which("wmake", path=path) is None:
        raise ValueError(
            f"{name} is sourced, but has no wmake: install its development package, as "
            "openfoam2312-dev of openfoam.com"
        )
    project = Path(environment.get("WM_PROJECT_DIR", ""))
    headers = project / "src/finiteVolume/lnInclude"
    if not (headers / "volFields.H").exists():
        raise ValueError(
            f"{name} has no headers in {headers}: install its development package, or, of sources, "
            f"type wmakeLnIncludeAll in {project / 'src'}"
        )
    compiler = environment.get("WM_CXX", "g++").split()[0]
    if shutil.which(compiler, path=path) is None:
        raise ValueError(f"{name} compiles with {compiler}, which is not there: install it")


def _library_folder(environment: Mapping[str, str]) -> Path:
    """$FOAM_USER_LIBBIN, which is made. Raises ValueError where it cannot be written."""
    folder = environment.get("FOAM_USER_LIBBIN")
    if not folder:
        raise ValueError("FOAM_USER_LIBBIN is not set: source etc/bashrc of OpenFOAM again")
    try:
        Path(folder).mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryFile(dir=folder):
            pass
    except OSError as error:
        raise ValueError(
            f"{folder} cannot be written ({error.strerror}): export FOAM_USER_LIBBIN=FOLDER with a "
            "folder of yours, and add it to LD_LIBRARY_PATH"
        ) from error
    return Path(folder)
