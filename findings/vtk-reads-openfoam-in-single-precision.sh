#!/bin/bash
# Question: in which precision does VTK's reader of OpenFOAM cases (also behind pyvista) hand out fields and points?
# Expectation (80 %): double, since the text files have 12 digits or more and the reader's property Use64BitFloats is on by default.
# What happens: float32, whatever that property says (it describes binary files). 101325.0009 Pa becomes 101325, 1500.123456789 K
#   becomes 1500.1234, the point 0.1000000001 m becomes 0.1, a mass fraction of 1e-46 becomes 0.
# Version: vtk 9.7.2, numpy 2.4.6.
# Who meets it: who computes differences from such data: p - p_mean in a low-Mach flow, budgets, gradients on a fine mesh, or sums
#   of mass fractions compared with 1.
# Instead: foamlib or fluidfoam for the numbers, VTK for pictures.
# Date: 2026-11-29
set -eu
command -v python3 >/dev/null || { echo "NOT CHECKED: needs python3"; exit 0; }
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m pip install -q --no-compile --no-deps --target "$folder/site" numpy==2.4.6 vtk==9.7.2 2>"$folder/log" ||
  { echo "NOT CHECKED: the packages cannot be installed here"; exit 0; }
PYTHONPATH="$folder/site" python3 - "$folder" <<'PYTHON'
import sys
from pathlib import Path

import numpy as np
from vtkmodules.util.numpy_support import vtk_to_numpy
from vtkmodules.vtkCommonCore import vtkVersion
from vtkmodules.vtkIOGeometry import vtkOpenFOAMReader

print("vtk", vtkVersion.GetVTKVersion(), "numpy", np.__version__)
case = Path(sys.argv[1]) / "case"
mesh = case / "constant/polyMesh"
for part in (mesh, case / "0", case / "system"):
    part.mkdir(parents=True)


def write(path, kind, text):
    path.write_text(f"FoamFile {{ version 2.0; format ascii; class {kind}; object {path.name}; }}\n{text}\n")


d = 0.1000000001  # edge of the only cell, m
points = [(0, 0, 0), (d, 0, 0), (d, d, 0), (0, d, 0), (0, 0, d), (d, 0, d), (d, d, d), (0, d, d)]
faces = [(0, 3, 2, 1), (4, 5, 6, 7), (0, 1, 5, 4), (3, 7, 6, 2), (0, 4, 7, 3), (1, 2, 6, 5)]
write(mesh / "points", "vectorField", "8\n(\n" + "\n".join("(%.16g %.16g %.16g)" % point for point in points) + "\n)")
write(mesh / "faces", "faceList", "6\n(\n" + "\n".join("4(%d %d %d %d)" % face for face in faces) + "\n)")
write(mesh / "owner", "labelList", "6\n(\n" + "0\n" * 6 + ")")
write(mesh / "neighbour", "labelList", "0\n(\n)")
write(mesh / "boundary", "polyBoundaryMesh", "1\n(\nwalls { type wall; nFaces 6; startFace 0; }\n)")
write(case / "system/controlDict", "dictionary", "startFrom startTime; startTime 0; stopAt endTime; endTime 1; deltaT 1; writeInterval 1;")
values = {"p": 101325.0009, "T": 1500.123456789, "OH": 1e-46}
for name, value in values.items():
    field = f"dimensions [0 0 0 0 0 0 0];\ninternalField uniform {value!r};\nboundaryField {{ walls {{ type zeroGradient; }} }}"
    write(case / "0" / name, "volScalarField", field)
(case / "case.foam").touch()

reader = vtkOpenFOAMReader()
reader.SetFileName(str(case / "case.foam"))
reader.SkipZeroTimeOff()
reader.UpdateInformation()
reader.UpdateTimeStep(0)
grid = reader.GetOutput().GetBlock(0)
print("Use64BitFloats", reader.GetUse64BitFloats())
assert reader.GetUse64BitFloats()
for name, value in values.items():
    array = vtk_to_numpy(grid.GetCellData().GetArray(name))
    print(f"{name}: written {value!r}, read {float(array[0])!r} as {array.dtype}")
    assert array.dtype == np.float32
corner = vtk_to_numpy(grid.GetPoints().GetData())
print("points:", corner.dtype, "largest", float(corner.max()), "written", d)
assert corner.dtype == np.float32 and vtk_to_numpy(grid.GetCellData().GetArray("OH"))[0] == 0
print("PASS")
PYTHON
