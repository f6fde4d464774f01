"""Cases of OpenFOAM for the benchmarks and tests, and what their runs tell.

Takes libcombredChemistry.so, built as in coupling/README.md, and a way to advance the chemistry:
"ode" (OpenFOAM's seulex), "solver" or the name of a shipped model, or one of the latter with a
tolerance, "solver 0.01". Gives two cases of methane/air: chemFoam, one cell at constant pressure;
and reactingFoam, a laminar premixed flame, initially at rest, open on the burnt side, whose speed
follows from the consumption of methane. Both programs have to be on the path (OpenFOAM v1912 of
openfoam.com).
"""

import os
import re
import shutil
import subprocess
from collections.abc import Sequence
from pathlib import Path

import cantera as ct
import numpy as np

import combred
from benchmarks.command_line import MECHANISM
from combred import native
from combred.experiments.ignition import rollout as ignition
from combred.native.openfoam.case import write_mechanism
from combred.native.openfoam.files import HEAD
from combred.native.openfoam.versions import DEBIAN
from combred.native.solver import generate as generate_solver
from combred.surrogates.library.generator import is_compiled

ODE = {"absTol": 1e-12, "relTol": 1e-4}  # seulex
REACHED = 2000.0  # K
LONGEST = 3e-3  # s, of an ignition
PHI, T_UNBURNT, LENGTH = 1.0, 300.0, 0.01  # of the flame; K, m
THERMOPHYSICAL = DEBIAN.needed("", "N2")["thermophysicalProperties"]
SCHEMES = """
ddtSchemes { default Euler; }
gradSchemes { default Gauss linear; }
divSchemes { default none; div(phi,U) Gauss limitedLinearV 1; div(phi,Yi_h) Gauss limitedLinear 1;
    div(phi,K) Gauss limitedLinear 1; div(phid,p) Gauss limitedLinear 1; div(phiv,p) Gauss linear;
    div(((rho*nuEff)*dev2(T(grad(U))))) Gauss linear; }
laplacianSchemes { default Gauss linear orthogonal; }
interpolationSchemes { default linear; }
snGradSchemes { default orthogonal; }
"""
SOLUTION = """
solvers
{
    "rho.*" { solver diagonal; }
    "p.*" { solver PCG; preconditioner DIC; tolerance 1e-9; relTol 0; }
    "(U|h|Yi).*" { solver PBiCGStab; preconditioner DILU; tolerance 1e-12; relTol 0; }
}
PIMPLE { momentumPredictor no; nOuterCorrectors 1; nCorrectors 2; nNonOrthogonalCorrectors 0; }
"""


def ready(library: Path) -> Path:
    """The whole path of the chemistry solver; programs have one thread. Ends the program where it,
    or OpenFOAM, is not there."""
    if not library.is_file():
        raise SystemExit(f"no library at {library}: build it as coupling/README.md says")
    for program in ("chemFoam", "reactingFoam", "blockMesh"):
        if shutil.which(program) is None:
            raise SystemExit(f"{program} is not on the path: source OpenFOAM's etc/bashrc")
    os.environ |= {"OMP_NUM_THREADS": "1"}
    return library.resolve()


# -- cases -----------------------------------------------------------------------------------------


def write(folder: Path, name: str, text: str) -> None:
    """Write a dictionary of a case."""
    path = folder / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(HEAD.format(path.name) + text)


def folder_of(scratch: Path, *words: str) -> Path:
    """A folder of a case; OpenFOAM takes no spaces."""
    return scratch / "-".join(words).replace(" ", "-")


def combred_coefficients(folder: Path, way: str, mechanism: str = MECHANISM) -> str:
    """The entries of `combredCoeffs`; copies the library into the case. way: see `write_case`."""
    name, *tolerance = way.split()
    if name.endswith(".so"):
        library = Path(name)
    elif name == "solver":
        library = native.build(generate_solver(combred.load_mechanism(mechanism)))
    elif is_compiled(surrogate := combred.load(name)):
        library = native.build(native.generate(surrogate))
    else:  # a library that calls LibTorch, and the files beside it
        native.export(name, folder / "constant")
        return f'library "constant/{native.LIBRARY}"; tolerance {surrogate.TOLERANCE:g};'
    shutil.copy(library, folder / "constant/libcombred.so")
    entries = 'library "constant/libcombred.so";'
    return entries + "".join(f" tolerance {value};" for value in tolerance)


def write_chemistry(folder: Path, way: str, mechanism: str = MECHANISM) -> None:
    """Write chemistryProperties. way: see `write_case`."""
    ode = " ".join(f"{key} {value:g};" for key, value in ODE.items())
    stock = way in ("ode", "off")
    coefficients = (
        "" if stock else f"combredCoeffs {{ {combred_coefficients(folder, way, mechanism)} }}\n"
    )
    write(
        folder,
        "constant/chemistryProperties",
        f"chemistryType {{ solver {'ode' if stock else 'combred'}; }}\n"
        f"chemistry {'off' if way == 'off' else 'on'};\n"
        f"initialChemicalTimeStep 1e-7;\nodeCoeffs {{ solver seulex; {ode} }}\n{coefficients}",
    )


def write_case(
    folder: Path, library: Path, way: str, dt: float, control: str, mechanism: str = MECHANISM
) -> None:
    """Write the files that all cases have. way: "solver", the name of a shipped model, or the path
    of a libsolver.so or libsurrogate.so, each with a tolerance after a space if it is not the
    default; "ode" or "off". dt [s]: the largest time step, and the only one unless `control`,
    further entries of controlDict, sets adjustTimeStep."""
    write_mechanism(combred.load_mechanism(mechanism), folder / "constant")
    write(folder, "constant/thermophysicalProperties", THERMOPHYSICAL)
    write_chemistry(folder, way, mechanism)
    write(folder, "system/fvSchemes", SCHEMES)
    write(folder, "system/fvSolution", SOLUTION)
    write(
        folder,
        "system/controlDict",
        f'libs ("{library}");\ndeltaT {dt:g}; maxDeltaT {dt:g}; adjustTimeStep off;\n'
        "startFrom startTime; startTime 0; stopAt endTime; writeFormat ascii; writePrecision 12;\n"
        "writeControl timeStep; timeFormat general; timePrecision 8; runTimeModifiable no;\n"
        f"{control}\n",
    )


def run(folder: Path, command: str) -> str:
    """The output of a program of OpenFOAM. Raises RuntimeError with its end if the program
    fails."""
    done = subprocess.run([command], cwd=folder, capture_output=True, text=True)
    said = done.stdout + done.stderr
    if done.returncode or "FATAL" in said:
        raise RuntimeError(f"{command} in {folder} failed ({done.returncode}):\n{said[-2000:]}")
    return said


def told(said: str) -> dict | None:
    """What the chemistry solver `combred` said of the cells that it advanced: the share that the
    solver advanced, the mean number of steps, and the CPU time a cell and call [us]. None if it
    advanced none."""
    lines = re.findall(
        r"combred: (\d+) cells, \d+ by the network, (\d+) by the solver, (\S+) steps a cell, "
        r"at most \d+, (\S+) s",
        said,
    )
    cells, by_solver, steps, seconds = np.array(lines, float).reshape(-1, 4).T
    if not cells.sum():
        return None
    return {
        "solver": float(by_solver.sum() / cells.sum()),
        "steps": float((steps * cells).sum() / cells.sum()),
        "us": float(1e6 * seconds.sum() / cells.sum()),
    }


# -- ignitions -------------------------------------------------------------------------------------


def reached(t: np.ndarray, T: np.ndarray) -> float:
    """The time at which T [K] first exceeds `REACHED`, by interpolation."""
    i = int(np.argmax(T > REACHED))
    return float(np.interp(REACHED, T[i - 1 : i + 1], t[i - 1 : i + 1]))


def by_cvode(dt: float, wanted: Sequence[tuple[float, float]]) -> list[tuple[int, float]]:
    """For each ignition (T0 [K], phi) a number of steps of dt [s] that suffices, and the time [s]
    of `reached` with CVODE."""
    mechanism = combred.load_mechanism("drm19.yaml")
    cases = [ignition.Case(T0, ct.one_atm, phi) for T0, phi in wanted]
    Y0 = ignition.mixtures(mechanism, cases, "CH4:1", "O2:1, N2:3.76")
    steps = [round(LONGEST / dt)] * len(cases)
    found = ignition.march(combred.CVODE(mechanism, 1e-8, 1e-16), dt, cases, Y0, steps)
    times = [reached(dt * np.arange(len(r.T)), r.T) for r in found]
    return [(int(1.2 * time / dt), time) for time in times]


def ignite(
    folder: Path, library: Path, way: str, T0: float, phi: float, dt: float, control: str
) -> tuple[np.ndarray, np.ndarray]:
    """Times [s] and temperatures [K] of chemFoam's cell at constant pressure, in steps of dt [s];
    control: entries of controlDict, with the endTime (see `write_case`)."""
    write_case(folder, library, way, dt, f"writeInterval 1000000; {control}")
    write(
        folder,
        "constant/initialConditions",
        f"constantProperty pressure; fractionBasis mole; p {ct.one_atm:g}; T {T0:g};\n"
        f"fractions {{ CH4 {phi:g}; O2 2; N2 7.52; }}\n",
    )
    run(folder, "chemFoam")
    t, T = np.loadtxt(folder / "chemFoam.out", comments="#", usecols=(0, 1)).T
    return t, T


# -- a flame ---------------------------------------------------------------------------------------


def flame_profile(cells: int) -> tuple[np.ndarray, np.ndarray]:
    """T (cells,) [K] and Y (cells, n_species) of Cantera's flame with unit Lewis numbers; the front
    is at a third of the domain, the unburnt gas comes first."""
    gas = combred.load_mechanism("drm19.yaml").solution()
    gas.transport_model = "unity-Lewis-number"
    gas.set_equivalence_ratio(PHI, "CH4:1", "O2:1, N2:3.76")
    gas.TP = T_UNBURNT, ct.one_atm
    flame = ct.FreeFlame(gas, width=LENGTH)
    flame.set_refine_criteria(ratio=3, slope=0.06, curve=0.12)
    flame.solve(loglevel=0, auto=True)
    x = flame.grid - np.interp(1500.0, flame.T, flame.grid)
    at = (np.arange(cells) + 0.5) * LENGTH / cells - LENGTH / 3
    Y = np.stack([np.interp(at, x, row) for row in flame.Y], axis=1)
    return np.interp(at, x, flame.T), Y / Y.sum(axis=1, keepdims=True)


def write_field(folder: Path, name: str, dimensions: str, values, patches: dict[str, str]) -> None:
    """Write a volScalarField of a number or of values (cells,), a volVectorField of (cells, 3);
    patches: name or pattern -> entries."""
    rank = max(np.ndim(values) - 1, 0)
    kind = ("Scalar", "Vector")[rank]
    if np.ndim(values):
        rows = np.char.mod("%.12g", np.asarray(values))
        rows = [f"({' '.join(row)})" for row in rows] if rank else rows
        field = f"nonuniform List<{kind.lower()}> {len(values)}\n(\n" + "\n".join(rows) + "\n)"
    else:
        field = f"uniform {values:.12g}"
    boundary = "\n".join(f'"{patch}" {{ {entries} }}' for patch, entries in patches.items())
    (folder / "0").mkdir(exist_ok=True)
    (folder / "0" / name).write_text(
        f"FoamFile {{ version 2.0; format ascii; class vol{kind}Field; object {name}; }}\n"
        f"dimensions {dimensions};\ninternalField {field};\nboundaryField\n{{\n{boundary}\n}}\n"
    )


def write_flame(folder: Path, T: np.ndarray, Y: np.ndarray, names: list[str]) -> None:
    """Write mesh and fields of a flame at rest: closed on the unburnt side, open on the burnt
    one."""
    cells, half = len(T), LENGTH / len(T) / 2
    corners = " ".join(
        f"({x:g} {y:g} {z:g})"
        for z in (-half, half)
        for x, y in ((0, -half), (LENGTH, -half), (LENGTH, half), (0, half))
    )
    sides = "(0 1 5 4) (3 2 6 7) (0 1 2 3) (4 5 6 7)"
    write(
        folder,
        "system/blockMeshDict",
        f"vertices ( {corners} );\n"
        f"blocks ( hex (0 1 2 3 4 5 6 7) ({cells} 1 1) simpleGrading (1 1 1) );\n"
        "boundary ( closed { type wall; faces ((0 3 7 4)); } open { type patch; faces "
        f"((1 2 6 5)); }} sides {{ type empty; faces ({sides}); }} );\n",
    )
    write(folder, "constant/combustionProperties", "combustionModel laminar; active true;\n")
    write(folder, "constant/turbulenceProperties", "simulationType laminar;\n")
    flat = {"closed": "type zeroGradient;", "open": "type zeroGradient;", "sides": "type empty;"}
    write_field(folder, "T", "[0 0 0 1 0 0 0]", T, flat)
    at_rest = flat | {"closed": "type noSlip;"}
    write_field(folder, "U", "[0 1 -1 0 0 0 0]", np.zeros((cells, 3)), at_rest)
    outlet = f"type fixedValue; value uniform {ct.one_atm:g};"
    write_field(folder, "p", "[1 -1 -2 0 0 0 0]", ct.one_atm, flat | {"open": outlet})
    for name, values in zip(names, Y.T, strict=True):
        write_field(folder, name, "[0 0 0 0 0 0 0]", values, flat)


def internal(folder: Path, time: str, name: str, cells: int) -> np.ndarray:
    """A scalar field (cells,) as OpenFOAM wrote it."""
    text = (folder / time / name).read_text()
    found = re.search(r"internalField\s+nonuniform List<scalar>\s*\d+\s*\(([^)]*)\)", text)
    if found is None:
        uniform = re.search(r"internalField\s+uniform ([-\d.e+]+)", text)
        return np.full(cells, float(uniform[1]))
    return np.array(found[1].split(), float)


def burnt(folder: Path, profile: tuple, dt: float, steps: int) -> dict:
    """Run the case of a flame: its speed [m/s] over the second half of the steps of dt [s], highest
    T [K], time of the run [s], and what was `told`."""
    T, Y = profile
    mechanism = combred.load_mechanism(MECHANISM)
    run(folder, "blockMesh")
    said = run(folder, "reactingFoam")
    gas, fuel, width, CH4 = mechanism.solution(), [], LENGTH / len(T), mechanism.index("CH4")
    times = [f"{steps // 2 * dt:.8g}", f"{steps * dt:.8g}"]
    for time in times:
        T_now, p = (internal(folder, time, name, len(T)) for name in ("T", "p"))
        Y_now = np.array([internal(folder, time, k, len(T)) for k in mechanism.species_names])
        moles = (1.0 / mechanism.molecular_weights) @ Y_now
        density = p / (ct.gas_constant * T_now * moles)
        fuel.append(float((density * Y_now[CH4]).sum() * width))
    gas.TPY = T[0], ct.one_atm, Y[0]
    consumed = (fuel[0] - fuel[1]) / ((steps - steps // 2) * dt)
    return {
        "speed": consumed / (gas.density * Y[0, CH4]),
        "T_highest": float(T_now.max()),
        "seconds": float(re.findall(r"ExecutionTime = ([\d.]+) s", said)[-1]),
        "chemistry": told(said),
    }
