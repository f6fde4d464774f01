#!/bin/bash
# Question: does foamlib write a scalar field back as a scalar field?
# Expectation (no guess was written): yes, since the file says volScalarField.
# What happens: not with 3, 6 or 9 cells. An array of three numbers is taken for one vector (six: a symmetric tensor, nine: a tensor):
#   `field.internal_field = field.internal_field + 1` writes "uniform (301 302 303)" into a volScalarField; so do patches of 3, 6, 9 faces. foamlib
#   itself reads it back as before; OpenFOAM stops with "expected scalar value". One, two, four, ten cells are right.
# Version: foamlib 1.7.10 (the newest for Python 3.11), numpy 2.4.6.
# Who meets it: who sets inlet profiles or small test cases (a one-dimensional case of nine cells, a patch of three faces) from Python.
# Instead: other numbers of cells in tests; otherwise write the list of scalars as text for these sizes.
# Date: 2026-11-29
set -eu
command -v python3 >/dev/null || { echo "NOT CHECKED: needs python3"; exit 0; }
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m pip install -q --no-compile --target "$folder/site" numpy==2.4.6 foamlib==1.7.10 2>"$folder/log" ||
  { echo "NOT CHECKED: the packages cannot be installed here"; exit 0; }
cd "$folder"
PYTHONPATH="$folder/site" python3 - <<'PYTHON'
import importlib.metadata
import re

import foamlib
import numpy as np

print(*(f"{name} {importlib.metadata.version(name)}" for name in ("foamlib", "numpy")))
for cells in (1, 2, 3, 4, 6, 9, 10):
    numbers = "\n".join(str(300.5 + cell) for cell in range(cells))
    with open("T", "w") as file:
        file.write(f"""FoamFile {{ version 2.0; format ascii; class volScalarField; object T; }}
dimensions [0 0 0 1 0 0 0];
internalField nonuniform List<scalar>
{cells}
(
{numbers}
)
;
boundaryField {{ inlet {{ type fixedValue; value uniform 300; }} }}
""")
    field = foamlib.FoamFieldFile("T")
    assert np.shape(field.internal_field) == (cells,)
    field.internal_field = field.internal_field + 1
    field.boundary_field["inlet"]["value"] = np.full(cells, 400.0)
    text = open("T").read()
    kinds = re.findall(r"(?:internalField|value) +(uniform \(|nonuniform List<scalar>)", text)
    print(cells, "cells and faces:", kinds)
    assert kinds == (["uniform ("] if cells in (3, 6, 9) else ["nonuniform List<scalar>"]) * 2, text
    assert np.allclose(field.internal_field, 301.5 + np.arange(cells))
print("PASS")
PYTHON
