#!/bin/bash
# Question: do the readers of OpenFOAM fields for Python take lists of up to ten entries, which OpenFOAM writes on one line?
# Guess (60 %): fluidfoam and Ofpp fail with an error, foamlib and PyFoam read them.
# What happens: for a field of vectors fluidfoam returns an empty array of shape (3, 0), silently; scalars are right. Ofpp raises
#   "invalid literal for int()" for both. foamlib and PyFoam are right. With eleven vectors, one a line, all are right.
# Version: fluidfoam 0.3.1, Ofpp 0.12, foamlib 1.7.10, numpy 2.4.6.
# Who meets it: who reads U or cell centres of a small case (one-cell reactors, tests, 1D cases of few cells), and takes means of it.
# Instead: foamlib; or assert the number of cells after reading.
# Date: 2026-11-29
set -eu
command -v python3 >/dev/null || { echo "NOT CHECKED: needs python3"; exit 0; }
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m pip install -q --no-compile --no-deps --target "$folder/site" numpy==2.4.6 fluidfoam==0.3.1 Ofpp==0.12 \
  foamlib==1.7.10 aioshutil==1.6 multicollections==1.1.7 rich==15.0.0 typing_extensions==4.16.0 2>"$folder/log" ||
  { echo "NOT CHECKED: the packages cannot be installed here"; exit 0; }
mkdir -p "$folder/case/0"
cd "$folder"
PYTHONPATH="$folder/site" python3 -W ignore - <<'PYTHON'
import importlib.metadata

import fluidfoam
import foamlib
import numpy as np
import Ofpp

print(*(f"{name} {importlib.metadata.version(name)}" for name in ("fluidfoam", "Ofpp", "foamlib")))


def write(name, kind, cells, value):
    """A field as OpenFOAM writes it: up to ten entries on one line, more of them one a line."""
    entries = [value] * cells
    text = f"{cells}({' '.join(entries)})" if cells <= 10 else f"\n{cells}\n(\n" + "\n".join(entries) + "\n)\n"
    entry = f'version 2.0;\nformat ascii;\nclass vol{kind.capitalize()}Field;\nlocation "0";\nobject {name};'
    header = f"FoamFile\n{{\n{entry}\n}}\n"
    boundary = "boundaryField\n{\n    walls\n    {\n        type            zeroGradient;\n    }\n}\n"
    with open(f"case/0/{name}", "w") as file:
        file.write(f"{header}\ndimensions      [0 0 0 0 0 0 0];\n\ninternalField   nonuniform List<{kind}> {text};\n\n{boundary}")


def ofpp(name):
    try:
        return Ofpp.parse_internal_field(f"case/0/{name}").shape
    except ValueError as error:
        return "ValueError " + str(error)[:40]


for cells in (3, 11):
    write("T", "scalar", cells, "1500.5")
    write("U", "vector", cells, "(1.5 2.5 3.5)")
    T, U = (fluidfoam.readfield("case", time_name="0", name=name, verbose=False) for name in "TU")
    right = foamlib.FoamFieldFile("case/0/U").internal_field
    print(cells, "cells: fluidfoam T", T.shape, "U", U.shape, "| foamlib U", np.shape(right), "| Ofpp T", ofpp("T"), "U", ofpp("U"))
    assert T.shape == (cells,) and np.shape(right) == (cells, 3)
    assert U.shape == ((3, 0) if cells == 3 else (3, 11))
    assert (cells == 11) == (ofpp("U") == (11, 3))
print("PASS")
PYTHON
