"""The installation of OpenFOAM: packages that cannot be had are no failure of it."""

import os
import subprocess
from pathlib import Path

INSTALL = Path(__file__).parents[2] / "coupling/openfoam/install.sh"


def test_packages_that_cannot_be_had_are_told_by_the_status(tmp_path):
    apt = tmp_path / "apt-get"
    apt.write_text("#!/bin/sh\nexit 100\n")
    apt.chmod(0o755)
    environment = os.environ | {"PATH": f"{tmp_path}:{os.environ['PATH']}"}
    done = subprocess.run(
        ["bash", INSTALL, tmp_path / "foam"], env=environment, capture_output=True, text=True
    )
    assert done.returncode == 69 and "packages of OpenFOAM cannot be had" in done.stderr
