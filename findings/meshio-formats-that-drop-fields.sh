#!/bin/bash
# Question: which file formats of meshio keep mass fractions at points, Y of shape (points, species), and a density in cells?
# Guess (70 %): CGNS drops them silently. Exodus, VTK and XDMF were expected to keep both.
# What happens: CGNS, SU2, Abaqus and MDPA drop all fields without a word. Exodus keeps those at points and drops those in cells, without a word.
#   XDMF refuses 4 or 5 species with a ReadError that has no text (2, 3, 6 and 9 pass). Legacy VTK makes three columns of two
#   (it warns), and does so in the mesh in memory too, so that a VTU written afterwards has three species. VTU, MED and AVS-UCD keep all.
# Version: meshio 5.3.5, numpy 2.4.6, h5py 3.16.0, netCDF4 1.7.5.1.post1.
# Who meets it: who carries flames between CFD tools by meshio, which lists all of these formats as readable and writable.
# Instead: VTU (binary), one array for each species, and a comparison after reading.
# Date: 2026-11-29
set -eu
command -v python3 >/dev/null || { echo "NOT CHECKED: needs python3"; exit 0; }
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m pip install -q --no-compile --target "$folder/site" numpy==2.4.6 meshio==5.3.5 h5py==3.16.0 netCDF4==1.7.5.1.post1 2>"$folder/log" ||
  { echo "NOT CHECKED: the packages cannot be installed here"; exit 0; }
cd "$folder"
PYTHONPATH="$folder/site" python3 - <<'PYTHON'
import contextlib
import io

import meshio
import numpy as np

print("meshio", meshio.__version__, "numpy", np.__version__)
points = np.array([[0, 0, 0], [1, 0, 0], [0, 1, 0], [0, 0, 1], [1, 1, 1.0]])
fractions = np.random.default_rng(0).random((5, 9))


def mesh(species):
    cells = [("tetra", [[0, 1, 2, 3], [1, 2, 3, 4]])]
    return meshio.Mesh(points, cells, point_data={"Y": fractions[:, :species].copy()}, cell_data={"rho": [np.array([1.2, 0.2])]})


def result(species, name, kind):
    """What a file keeps, and what meshio prints while it is written."""
    said = io.StringIO()
    with contextlib.redirect_stdout(said), contextlib.redirect_stderr(said):
        meshio.write(name, mesh(species), file_format=kind)
        again = meshio.read(name, file_format=kind)
    Y, rho = again.point_data.get("Y"), again.cell_data.get("rho")
    right_Y = Y is not None and Y.shape == (5, species) and np.allclose(Y, fractions[:, :species], rtol=1e-12)
    right_rho = rho is not None and np.allclose(np.concatenate(rho), [1.2, 0.2], rtol=1e-12)
    return ("Y" if right_Y else "-", "rho" if right_rho else "-"), said.getvalue().strip()


expected = dict.fromkeys(("cgns", "su2", "abaqus", "mdpa"), ("-", "-")) | {"exodus": ("Y", "-")}
expected |= dict.fromkeys(("vtu", "med", "avsucd"), ("Y", "rho"))
for kind, kept in expected.items():
    seen, said = result(4, "file." + kind, kind)
    print(f"{kind}: keeps {seen}, says {said!r}")
    assert seen == kept and not said, kind

for species in (2, 3, 4, 5, 6, 9):
    try:
        kept, _ = result(species, "file.xdmf", "xdmf")
        refused = False
    except meshio.ReadError as error:
        refused, text = True, str(error)
    print("xdmf,", species, "species:", f"ReadError {text!r}" if refused else kept)
    assert refused == (species in (4, 5)) and (not refused or text == "")

two = mesh(2)
with contextlib.redirect_stdout(io.StringIO()):
    two.write("file.vtk", file_format="vtk")
two.write("file.vtu")
later = meshio.read("file.vtu").point_data["Y"].shape
print("two species after a .vtk was written: in memory", two.point_data["Y"].shape, "in a later .vtu", later)
assert two.point_data["Y"].shape == later == (5, 3)
print("PASS")
PYTHON
