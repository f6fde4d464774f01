#!/bin/bash
# Question: does a file of OpenFOAM keep its numbers when PyFoam reads it and writes it again?
# Guess (65 % for scalars, 25 % for vectors): yes, to 12 digits at least.
# What happens: scalars keep every digit, vectors are cut to six: (0.123456789012345 1e-09 -3.000000012345) comes back as
#   (0.123457 1e-09 -3), in uniform fields, in lists and in boundary values. There is no warning; the numbers in memory are right.
# Version: PyFoam 2026.6, numpy 2.4.6.
# Who meets it: who changes one entry of 0/U (or of a field with a list of vectors) by ParsedParameterFile.writeFile: a velocity field of
#   a DNS, or the origin of a thin zone, is rounded to 1e-6.
# Instead: foamlib (it keeps all digits), or write the vectors as strings.
# Date: 2026-11-29
set -eu
command -v python3 >/dev/null || { echo "NOT CHECKED: needs python3"; exit 0; }
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m pip install -q --no-compile --target "$folder/site" numpy==2.4.6 PyFoam==2026.6 foamlib==1.7.10 2>"$folder/log" ||
  { echo "NOT CHECKED: the packages cannot be installed here"; exit 0; }
cat > "$folder/U" <<'FIELD'
FoamFile { version 2.0; format ascii; class volVectorField; location "0"; object U; }
dimensions [0 1 -1 0 0 0 0];
internalField nonuniform List<vector> 2((0.123456789012345 1e-9 -3.000000012345) (1.0000001 2.0000002 3.0000003));
boundaryField
{
    inlet { type fixedValue; value uniform (1.23456789012345 0 0); }
    outlet { type advective; lInf 0.123456789012345; }
}
FIELD
PYTHONPATH="$folder/site" python3 -W ignore - "$folder" <<'PYTHON'
import importlib.metadata
import re
import sys

import foamlib
from PyFoam.RunDictionary.ParsedParameterFile import ParsedParameterFile

print(*(f"{name} {importlib.metadata.version(name)}" for name in ("PyFoam", "foamlib")))
folder = sys.argv[1]
ParsedParameterFile(f"{folder}/U").writeFileAs(f"{folder}/by_pyfoam")
text = open(f"{folder}/by_pyfoam").read()
print("PyFoam:", re.findall(r"\([-\d.e ]+\)", text), re.findall(r"lInf\s+\S+", text))
assert "(0.123457 1e-09 -3)" in text and "(1 2 3)" in text and "uniform (1.23457 0 0)" in text
assert "0.123456789012345" in text  # the scalar keeps its digits

field = foamlib.FoamFieldFile(f"{folder}/U")
field.boundary_field["inlet"]["value"] = [2.23456789012345, 0, 0]
text = open(f"{folder}/U").read()
assert "0.123456789012345 1e-9 -3.000000012345" in text and "2.23456789012345" in text
print("foamlib keeps all digits")
print("PASS")
PYTHON
