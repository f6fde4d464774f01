"""Files for flow codes: the package `combred.coupling`, which `combred openfoam` installs from."""

from pathlib import Path

FOLDER = Path(__file__).parent
