"""What is left of the chemistry's error in two flows of OpenFOAM, and what does it cost?

    python -m benchmarks.openfoam_flows LIBRARY [WAY ...]

LIBRARY and WAY: as for benchmarks.openfoam. DRM19, time steps of 1e-6 s:

- kernel: a kernel of gas at 3000 K, 0.4 mm in radius, in methane/air (phi 1, 300 K) with isotropic
  turbulence, the ignition of Chen & Xu (2024), section 4, on 128 x 128 cells; 200 steps.
- counterflow: the flame of coupling/openfoam/tutorials, settled for 0.1 s; 1000 steps.

Fields are compared with those of the solver at a tolerance of 1e-6. The way "ode", OpenFOAM's
seulex, takes a tenth of the steps; its time is that of the run, less that of one without chemistry.
The time of the others is the CPU time that the chemistry solver prints. Prints a table, then one
JSON line.
"""

import argparse
import json
import re
import shutil
import tempfile
from pathlib import Path

import cantera as ct
import numpy as np

import combred
from benchmarks.openfoam import (
    folder_of,
    internal,
    ready,
    run,
    told,
    write,
    write_case,
    write_field,
)
from combred.validation import timing

REFERENCE = "solver 1e-6"
WAYS = ("solver", "solver 0.01", "drm19-38k", "ode")
DT = 1e-6  # s
STEPS = {"kernel": 200, "counterflow": 1000}
SPECIES = ("CO", "OH", "H", "CH2O", "HO2", "C2H6")
CELLS, LENGTH = 128, 0.015  # of a side of the kernel's square; m
MODES = 128  # of a side of the turbulence, the same on every mesh
U_RMS, SCALE, SEED = 2.0, 0.002, 3  # of the turbulence: m/s, most energetic length [m]
RADIUS, EDGE, T_KERNEL = 4e-4, 1e-4, 3000.0  # m, m, K
TUTORIAL = Path(__file__).parents[1] / "coupling/openfoam/tutorials/counterflow"
CORNERS = " ".join(f"({x} {y} {z})" for z in (0, 1) for x, y in ((0, 0), (1, 0), (1, 1), (0, 1)))
SQUARE = f"""
scale {LENGTH}; vertices ( {CORNERS} );
blocks ( hex (0 1 2 3 4 5 6 7) (CELLS CELLS 1) simpleGrading (1 1 1) );
boundary (
    left {{ type cyclic; neighbourPatch right; faces ((0 4 7 3)); }}
    right {{ type cyclic; neighbourPatch left; faces ((1 2 6 5)); }}
    bottom {{ type cyclic; neighbourPatch top; faces ((0 1 5 4)); }}
    top {{ type cyclic; neighbourPatch bottom; faces ((3 7 6 2)); }}
    sides {{ type empty; faces ((0 3 2 1) (4 5 6 7)); }}
);
"""
# limitedLinear has one limiter for all species, the smallest, and so amplifies rounding in N2.
UPWIND = ("div(phi,Yi_h) Gauss limitedLinear 1", "div(phi,Yi_h) Gauss upwind")
PATCHES = {"left|right|bottom|top": "type cyclic;", "sides": "type empty;"}


def turbulence(cells: int) -> np.ndarray:
    """Velocity (cells, cells, 3) [m/s], index [y, x], of random phases with the spectrum of Passot
    and Pouquet (1987), E(k) ~ k^4 exp(-2 (k / ke)^2), ke = 2 pi / `SCALE`. Central differences of
    a stream function leave no divergence of the fluxes between cells. The same eddies on every mesh
    of at least `MODES` cells."""
    m, h = np.fft.fftfreq(MODES, 1.0 / MODES), LENGTH / cells
    k = 2.0 * np.pi / LENGTH * np.hypot(*np.meshgrid(m, m))
    noise = np.fft.fft2(np.random.default_rng(SEED).standard_normal((MODES, MODES)))
    k[0, 0] = 1.0  # no mean velocity, for the noise's mean is cleared
    noise[0, 0] = 0.0
    amplitude = k**0.5 * np.exp(-((k * SCALE / (2.0 * np.pi)) ** 2))  # root of E(k) / k, over k
    modes, places = np.zeros((cells, cells), complex), m.astype(int) % cells
    half = np.pi * (1.0 / cells - 1.0 / MODES)  # from the first cell's centre to that of MODES
    shift = np.exp(1j * half * np.add.outer(m, m))
    modes[np.ix_(places, places)] = noise * amplitude * shift
    psi = np.fft.ifft2(modes).real
    u = (np.roll(psi, -1, 0) - np.roll(psi, 1, 0)) / (2.0 * h)
    v = -(np.roll(psi, -1, 1) - np.roll(psi, 1, 1)) / (2.0 * h)
    both = np.stack([u, v, np.zeros_like(u)], axis=-1)
    return both * U_RMS / np.sqrt((both[..., :2] ** 2).mean())


def kernel_states(gas: ct.Solution, cells: int) -> tuple[np.ndarray, np.ndarray]:
    """T (cells^2,) [K] and Y (cells^2, n_species): burnt gas in the centre, mixed at constant
    pressure and enthalpy over its edge."""
    x = (np.arange(cells) + 0.5) * LENGTH / cells - LENGTH / 2
    share = 0.5 * (1.0 - np.tanh(2.0 * (np.hypot(x[:, None], x) - RADIUS) / EDGE)).ravel()
    gas.TP = 300.0, ct.one_atm
    gas.set_equivalence_ratio(1.0, "CH4", "O2:1, N2:3.76")
    fresh = np.array([gas.enthalpy_mass, *gas.Y])
    gas.TP = T_KERNEL, ct.one_atm
    gas.equilibrate("TP")
    burnt = np.array([gas.enthalpy_mass, *gas.Y])
    shares, rows = np.linspace(0.0, 1.0, 401), []
    for s in shares:
        h, *Y = (1.0 - s) * fresh + s * burnt
        gas.HPY = h, ct.one_atm, Y
        rows.append([gas.T, *gas.Y])
    T, *Y = (np.interp(share, shares, column) for column in np.transpose(rows))
    return T, np.stack(Y, axis=1)


def make_kernel(folder: Path, cells: int = CELLS) -> None:
    """The kernel's mesh and fields."""
    gas = combred.load_mechanism("drm19.yaml").solution()
    T, Y = kernel_states(gas, cells)
    write_field(folder, "T", "[0 0 0 1 0 0 0]", T, PATCHES)
    write_field(folder, "p", "[1 -1 -2 0 0 0 0]", ct.one_atm, PATCHES)
    write_field(folder, "U", "[0 1 -1 0 0 0 0]", turbulence(cells).reshape(-1, 3), PATCHES)
    for name, values in zip(gas.species_names, Y.T, strict=True):
        write_field(folder, name, "[0 0 0 0 0 0 0]", values, PATCHES)
    write(folder, "system/blockMeshDict", SQUARE.replace("CELLS", str(cells)))


def make_counterflow(folder: Path, library: Path) -> None:
    """The tutorial's mesh, and its fields after 0.1 s."""
    settled = folder / "settled"
    shutil.copytree(TUTORIAL, settled)
    control = "deltaT 1e-6; adjustTimeStep yes; maxCo 0.4; endTime 0.1; "
    control += "writeControl adjustableRunTime; writeInterval 0.1;"
    write_case(settled, library, "solver", 5e-5, control)
    run(settled, "blockMesh")
    run(settled, "reactingFoam")
    shutil.move(settled / "0.1", folder / "0")
    shutil.rmtree(folder / "0" / "uniform", ignore_errors=True)
    (folder / "system").mkdir()
    shutil.copy(settled / "system/blockMeshDict", folder / "system")


def prepare(folder: Path, library: Path, way: str, control: str) -> None:
    """Write the dictionaries of a laminar flow whose fields are there, and make its mesh. way,
    control: as for `write_case`."""
    write_case(folder, library, way, DT, control)
    schemes = folder / "system/fvSchemes"
    schemes.write_text(schemes.read_text().replace(*UPWIND))
    write(folder, "constant/combustionProperties", "combustionModel laminar;\n")
    write(folder, "constant/turbulenceProperties", "simulationType laminar;\n")
    run(folder, "blockMesh")


def flow(start: Path, folder: Path, library: Path, way: str, steps: int) -> dict:
    """Run a flow from its start, a tenth of the steps for "ode": the seconds of the run and of its
    first tenth, and what the chemistry solver said."""
    shutil.copytree(start, folder, ignore=shutil.ignore_patterns("settled"))
    end = steps // 10 if way == "ode" else steps
    control = f"endTime {end * DT:g}; writeInterval {steps // 10};"
    prepare(folder, library, way, control)
    said = run(folder, "reactingFoam")
    seconds = [float(one) for one in re.findall(r"ExecutionTime = ([\d.]+) s", said)]
    known = told(said) or {"us": 0.0}
    first = seconds[steps // 10 - 1]
    return {"time_steps": end, "seconds": seconds[-1], "seconds_tenth": first, **known}


def difference(folder: Path, reference: Path, steps: int, cells: int) -> dict:
    """Differences of T [K] and of species, as shares of their peaks, after a number of steps."""
    time = f"{steps * DT:g}"
    T, T_known = (internal(one, time, "T", cells) for one in (folder, reference))
    found = {"T_max": float(abs(T - T_known).max()), "T_rms": float(np.std(T - T_known))}
    for name in SPECIES:
        Y, Y_known = (internal(one, time, name, cells) for one in (folder, reference))
        found[name] = float(abs(Y - Y_known).max() / Y_known.max())
    return found


def compare(scratch: Path, library: Path, case: str, ways: list[str]) -> dict:
    """Times and differences of a flow in all ways."""
    start, steps = scratch / case, STEPS[case]
    start.mkdir()
    if case == "kernel":
        make_kernel(start)
    else:
        make_counterflow(start, library)
    cells = CELLS**2 if case == "kernel" else 2000
    found: dict[str, dict] = {}
    reference = folder_of(scratch, case, REFERENCE)
    for way in ("off", REFERENCE, *ways):
        folder = folder_of(scratch, case, way)
        one = found[way] = flow(start, folder, library, way, steps)
        if way == "ode":
            spent = one["seconds"] - found["off"]["seconds_tenth"]
            one["us"] = 1e6 * spent / (cells * one["time_steps"])
        if way in ways:
            one |= difference(folder, reference, one["time_steps"], cells)
        shown = " ".join(f"{name} {100 * one[name]:.3f} %" for name in SPECIES if name in one)
        off = f"T {one['T_max']:.3f}, rms {one['T_rms']:.4f} K, {shown}" if "T_max" in one else ""
        print(f"{case:12} {way:12} {one['us']:8.3f} us {off}", flush=True)
    return found


def main() -> None:
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.openfoam_flows", description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )  # fmt: skip
    parser.add_argument("library", type=Path, help="libcombredChemistry.so")
    parser.add_argument("ways", nargs="*", help=f"default: {', '.join(WAYS)}")
    asked = parser.parse_args()
    library = ready(asked.library)
    result: dict = {"machine": timing.machine(), "dt": DT}
    with tempfile.TemporaryDirectory() as scratch:
        for case in STEPS:
            ways = asked.ways or list(WAYS)
            result[case] = compare(Path(scratch), library, case, ways)
    print(json.dumps(result))


if __name__ == "__main__":
    main()
