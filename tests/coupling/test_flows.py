"""Two short flows in OpenFOAM, whose solver (0.001) and reference (1e-6) differ in the chemistry
alone. Bounds: .02 K, .1 um, .1 % of the peaks.

Runs where OpenFOAM's environment is sourced and has the chemistry solver (coupling/openfoam/
install.sh).
"""

import os
import shutil
from pathlib import Path

import pytest

from benchmarks import flows, openfoam
from benchmarks.turbulent_ignition import ignition

LIBRARY = Path(os.environ.get("FOAM_USER_LIBBIN", "none")) / "libcombredChemistry.so"
TUTORIAL = Path(openfoam.__file__).parents[1] / "coupling/openfoam/tutorials/counterflow"
STEPS = 20

pytestmark = pytest.mark.skipif(
    shutil.which("reactingFoam") is None or not LIBRARY.is_file(),
    reason="needs the environment of OpenFOAM and libcombredChemistry.so",
)


def test_a_turbulent_ignition_burns_as_its_reference(drm19, tmp_path):
    """128 x 128 cells; the kernel of 3000 K becomes a flame."""
    flow = ignition(128, STEPS, STEPS)
    names = list(drm19.species_names)
    found = flows.compare(flow, tmp_path, LIBRARY, ["solver"], names)["ways"]
    assert found[flows.REFERENCE]["steps"] > found["solver"]["steps"] >= 1.0
    off = found["solver"]["times"][flow.times[-1]]
    assert 0.0 < off["T_max"] < 0.02 and off["front_rms"] < 1e-7 and abs(off["heat"]) < 1e-3
    assert all(0.0 < off[name]["field"] < 1e-3 for name in ("CO", "OH", "H", "CH2O"))
    reference = tmp_path / "128-solver-1e-6"
    OH = [flow.read(reference, time, "OH").max() for time in ("0", flow.times[-1])]
    assert flow.read(reference, flow.times[-1], "T").max() > 2000.0 and OH[1] > 0.5 * OH[0]
    # What is finished is not run again.
    log = reference / "log.reactingFoam"
    before = log.read_text()
    assert flows.burn(flow, reference, LIBRARY, flows.REFERENCE, names) == before
    assert openfoam.told(before)["solver"] == 1.0


def counterflow(folder: Path, library: Path, way: str, end: str, begun: Path | None = None) -> Path:
    """The tutorial of coupling/ in steps of 5e-5 s to `end` [s], from its start or from a field;
    its last field."""
    shutil.copytree(TUTORIAL, folder)
    if begun:
        shutil.copytree(begun, folder / begun.name)
    control = f"endTime {end}; writeInterval {STEPS}; startFrom latestTime;"
    openfoam.write_case(folder, library, way, 5e-5, control)
    schemes = folder / "system/fvSchemes"
    schemes.write_text(schemes.read_text().replace(*flows.UPWIND))
    for program in ("blockMesh", "reactingFoam"):
        openfoam.run(folder, program)
    return folder / end


def test_a_counterflow_flame_burns_as_its_reference(tmp_path):
    """Twenty steps of 5e-5 s of a flame of 4 ms."""
    begun = counterflow(tmp_path / "begun", LIBRARY, "solver", "0.004")
    reference, solver = (
        counterflow(tmp_path / name, LIBRARY, way, "0.005", begun)
        for name, way in (("reference", flows.REFERENCE), ("solver", "solver"))
    )
    T, exact = (openfoam.internal(one.parent, one.name, "T", 2000) for one in (solver, reference))
    assert exact.max() > 2000.0
    assert 0.0 < abs(T - exact).max() < 0.02
    for name in ("OH", "H", "CO", "CH2O"):
        Y, true = (openfoam.internal(x.parent, x.name, name, 2000) for x in (solver, reference))
        assert 0.0 < abs(Y - true).max() < 1e-3 * true.max(), name
