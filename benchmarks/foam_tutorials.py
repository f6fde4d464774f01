"""How accurate and fast is the solver in OpenFOAM's own tutorials?

    python -m benchmarks.foam_tutorials LIBRARY FOLDER [NAME ...]

LIBRARY: libcombredChemistry.so, as in coupling/README.md; FOLDER keeps the cases: what is finished
is not done again. The tutorials are as OpenFOAM v1912 has them (FOAM_TUTORIALS, of its sources);
only the chemistry and the format of the fields are exchanged, and runs end earlier (`TUTORIALS`):

- chemFoam h2 and gri, with their own mechanisms: the time at which T is halfway up.
- flames of reactingFoam, with DRM19 or GRI-3.0: laminar ones, in time steps that grow from 1e-6 to
  4e-4 s, or local ones, and the turbulent Sandia D and DLR A (EDC, local time steps).

Differences at the end from the solver at 1e-6 of T and of species (shares of their peaks). The
tutorials' `limitedLinear` has one limiter for all species, so that the rounding of a trace moves
the flame: beside them are those of a reference at 1e-7, and of a twin with `upwind`, which also
shows the solver at .01. Times are of the last five steps; seulex (1e-4) takes three of them from
the reference's field. `long_steps`: the solver over 1e-4 to 1e-2 s beside CVODE, hot cells of a
field. Writes benchmarks/results/foam_tutorials.json; prints a table, then one JSON line.
"""

import argparse
import json
import os
import re
import shutil
import subprocess
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from cantera import ck2yaml

import combred
from benchmarks.flows import REFERENCE, UPWIND, home_of, start
from benchmarks.openfoam import (
    THERMOPHYSICAL,
    folder_of,
    internal,
    ready,
    run,
    told,
    write,
    write_chemistry,
    write_mechanism,
)
from benchmarks.provenance import stamp, stored
from combred.files.records import strict, write_json

RESULTS = Path(__file__).parent / "results" / "foam_tutorials.json"
STRICTER, LOOSER = "solver 1e-7", "solver 1e-2"
LAST = 5  # steps
# s: what the counterflow's Courant number of 0.4 allows. Given, for time steps that the program
# chooses follow from rounding, and differ.
LARGEST = 4e-4
SPECIES = ("H", "O", "OH", "CO", "CH2O")
LONG, HOT, ROWS, SMALL = (1e-4, 1e-3, 1e-2), 1200.0, 48, 1e-3  # s, K, cells, share of the peak


@dataclass(frozen=True)
class Tutorial:
    """A flame. case: its folder; end: of the run, [s] or steps where time steps are local; cold:
    steps without chemistry before; prepared: programs that make the mesh and the fields; upwind:
    species and enthalpy, a twin without seulex; stricter: whether a second reference runs."""

    case: str
    end: float
    mechanism: str = "drm19.yaml"
    cold: int = 0
    prepared: tuple[str, ...] = ("blockMesh",)
    upwind: bool = False
    stricter: bool = False


CELLS = ("chemFoam h2", "chemFoam gri")
TUTORIALS = {
    "counterflow": Tutorial("laminar/counterFlowFlame2D", 0.04, stricter=True),
    "counterflow, upwind": Tutorial("laminar/counterFlowFlame2D", 0.04, upwind=True),
    "counterflow, LTS": Tutorial("laminar/counterFlowFlame2DLTS", 100),
    "Sandia D, LTS": Tutorial(
        "RAS/SandiaD_LTS", 400, cold=300, prepared=("blockMesh", "setFields")
    ),
    "DLR A, LTS": Tutorial("RAS/DLR_A_LTS", 100, prepared=("blockMesh", "setFields")),
    "counterflow, GRI-3.0": Tutorial("laminar/counterFlowFlame2D_GRI", 0.005, "gri30.yaml"),
    "counterflow, GRI-3.0, upwind": Tutorial(
        "laminar/counterFlowFlame2D_GRI", 0.04, "gri30.yaml", upwind=True
    ),
}


def stock(case: str, folder: Path) -> None:
    """Copy a tutorial; fields that it keeps under other names get theirs."""
    shutil.copytree(Path(os.environ["FOAM_TUTORIALS"]) / "combustion" / case, folder)
    if (folder / "0.orig").exists():
        shutil.copytree(folder / "0.orig", folder / "0")
    if (folder / "0/T.orig").exists():
        shutil.copy(folder / "0/T.orig", folder / "0/T")


# -- one cell --------------------------------------------------------------------------------------


def one_cell(name: str, folder: Path, library: Path) -> dict:
    """chemFoam's case h2 or gri: the time at which T is halfway up [s]; of the solver the relative
    difference of this time, and that of T at the end [K]."""
    found: dict[str, dict[str, float]] = {}
    for way in (REFERENCE, "solver"):
        case = folder_of(folder, *name.split(), way)
        if not (case / "chemFoam.out").exists():
            shutil.rmtree(case, ignore_errors=True)
            make_cell(name, case, library, way)
            run(case, "chemFoam")
        t, T = np.loadtxt(case / "chemFoam.out", comments="#", usecols=(0, 1)).T
        half = 0.5 * (T[0] + T.max())
        i = int(np.argmax(T > half))
        found[way] = {"delay": float(np.interp(half, T[i - 1 : i + 1], t[i - 1 : i + 1]))}
        found[way]["T"] = float(T[-1])
    known, ours = found[REFERENCE], found["solver"]
    errors = {
        "delay_error": ours["delay"] / known["delay"] - 1.0,
        "T_error": ours["T"] - known["T"],
    }
    return {"delay": known["delay"], "steps": len(t), **errors}


def make_cell(name: str, case: Path, library: Path, way: str) -> None:
    """Write the case of chemFoam; the library has the tutorial's own mechanism, by Cantera."""
    stock(name.replace(" ", "/"), case)
    inputs, mechanism = [case / "chemkin" / f for f in ("chem.inp", "therm.dat")], case / "own.yaml"
    ck2yaml.convert(inputs[0], thermo_file=inputs[1], out_name=str(mechanism), quiet=True)
    if name == "chemFoam gri":  # as its Allrun
        files = *inputs, case / "chemkin/transportProperties"
        to = "constant/reactions", "constant/thermo"
        subprocess.run(
            ["chemkinToFoam", *map(str, files), *to], cwd=case, check=True, capture_output=True
        )
    write_chemistry(case, way, str(mechanism))
    with (case / "system/controlDict").open("a") as control:
        control.write(f'libs ("{library}");\n')


# -- flames ----------------------------------------------------------------------------------------


def make(one: Tutorial, folder: Path, library: Path, way: str, end: float) -> None:
    """Write the case of a tutorial in a way; `end`, [s] or steps."""
    stock("reactingFoam/" + one.case, folder)
    mechanism = combred.load_mechanism(one.mechanism)
    write_mechanism(mechanism, folder / "constant")
    write(folder, "constant/thermophysicalProperties", THERMOPHYSICAL)
    write_chemistry(folder, way, one.mechanism)
    with (folder / "system/controlDict").open("a") as control:
        control.write(
            f'libs ("{library}"); endTime {end:g}; startFrom latestTime; writeFormat ascii;\n'
            f"writeControl timeStep; writeInterval {LAST}; purgeWrite 2; writePrecision 12;\n"
            f"timePrecision 8; maxCo 1000; maxDeltaT {LARGEST};\n"
        )
    if one.upwind:
        schemes = folder / "system/fvSchemes"
        text, n = re.subn(r"div\(phi,Yi_h\)\s+Gauss [^;]*", UPWIND[1], schemes.read_text())
        assert n == 1
        schemes.write_text(text)
    for program in one.prepared:
        run(folder, program)


def fields(folder: Path) -> list[str]:
    """The names of the times whose fields a case has, but the first, in order."""
    times = (path.name for path in folder.iterdir() if re.fullmatch(r"[\d.e+-]+", path.name))
    return sorted((time for time in times if float(time) > 0.0), key=float)


def burn(one: Tutorial, folder: Path, library: Path, way: str, begun: Path | None = None) -> str:
    """What OpenFOAM says of a run to its end; nothing is run if it is done. begun: a folder of a
    time from which it starts."""
    done, log = folder / "done", folder / "log.reactingFoam"
    if not done.exists():
        shutil.rmtree(folder, ignore_errors=True)
        make(one, folder, library, way, one.cold if way == "off" else one.end)
        if begun:
            shutil.copytree(begun, folder / begun.name)
        start(folder, log)
        done.touch()
    return log.read_text()


def last_steps(said: str, cells: int) -> dict:
    """Of the last steps of a run: what the chemistry took; of all: what the flow takes a cell and
    step without it [us]."""
    steps = said.split("\nTime = ")[1:]
    spent = [float(found) for found in re.findall(r"ExecutionTime = ([\d.]+) s", said)]
    chemistry = (told(said) or {"us": 0.0})["us"]
    flow = 1e6 * (spent[-1] - spent[0]) / ((len(spent) - 1) * cells) - chemistry
    of_cells = told("".join(steps[-LAST:])) or {"us": 0.0, "steps": 0.0}
    return {"steps": len(steps), "flow_us": flow, "us": of_cells["us"], "tries": of_cells["steps"]}


def difference(folder: Path, reference: Path, cells: int, species: list[str]) -> dict:
    """Differences of T [K] and of species (shares of their peaks) at the last field."""
    ours, known = (fields(one)[-1] for one in (folder, reference))
    T, exact = internal(folder, ours, "T", cells), internal(reference, known, "T", cells)
    found = {
        "T_max": float(abs(T - exact).max()),
        "T_rms": float(np.sqrt(np.mean((T - exact) ** 2))),
    }
    for name in species:
        Y, true = internal(folder, ours, name, cells), internal(reference, known, name, cells)
        found[name] = float(abs(Y - true).max() / true.max())
    return found


def flame(name: str, home: Path, library: Path) -> dict:
    """A tutorial in all ways."""
    one, begun = TUTORIALS[name], None
    ways = [REFERENCE, "solver", *[STRICTER] * one.stricter, *[LOOSER] * one.upwind]
    folders = {way: folder_of(home, name.replace(",", ""), way) for way in ("off", *ways, "ode")}
    if one.cold:
        burn(one, folders["off"], library, "off")
        begun = folders["off"] / fields(folders["off"])[-1]
    said = {way: burn(one, folders[way], library, way, begun) for way in ways}
    reference = folders[REFERENCE]
    before, end = fields(reference)[-2:]
    cells = int(
        re.search(r"nonuniform List<scalar>\s*(\d+)", (reference / end / "T").read_text())[1]
    )
    solver, known = (last_steps(said[way], cells) for way in ("solver", REFERENCE))
    found = {
        "steps": solver["steps"],
        "hottest": float(internal(reference, end, "T", cells).max()),
        "flow_us": solver["flow_us"],
        "solver_us": solver["us"],
        "reference_us": known["us"],
        "solver": difference(folders["solver"], reference, cells, list(SPECIES)),
    }
    if one.upwind:
        found["looser_us"] = last_steps(said[LOOSER], cells)["us"]
        found["looser"] = difference(folders[LOOSER], reference, cells, list(SPECIES))
    else:
        until = float(before) + 0.6 * (float(end) - float(before))
        short = Tutorial(one.case, until, one.mechanism, 0, one.prepared)
        said["ode"] = burn(short, folders["ode"], library, "ode", reference / before)
        found["seulex_us"] = last_steps(said["ode"], cells)["flow_us"] - solver["flow_us"]
    if one.stricter:
        found["noise"] = difference(folders[STRICTER], reference, cells, list(SPECIES))
    return found


def long_steps(home: Path) -> dict:
    """Largest relative errors of H, O and OH of hot cells of the flame with local time steps, by
    tolerance and time step [s], where they are above a share of their peak; CVODE knows."""
    mechanism = combred.load_mechanism("drm19.yaml")
    folder = folder_of(home, "counterflow LTS", REFERENCE)
    time = fields(folder)[-1]
    T, p = (internal(folder, time, name, 4000) for name in ("T", "p"))
    Y = np.stack([internal(folder, time, name, 4000) for name in mechanism.species_names], axis=1)
    hot = np.flatnonzero(T > HOT)
    at = hot[np.linspace(0, len(hot) - 1, ROWS).astype(int)]
    T, p, Y = T[at], p[at], Y[at] / Y[at].sum(axis=1, keepdims=True)
    cvode, solver, found = combred.CVODE(mechanism, 1e-10, 1e-18), combred.solver(mechanism), {}
    for dt in LONG:
        _, exact = cvode.advance(T, p, Y, dt)
        for tolerance in (1e-3, 1e-4):
            ours = solver.integrate(T, p, Y, dt, tolerance).Y
            errors = found.setdefault(f"{tolerance:g}", {}).setdefault(f"{dt:g}", {})
            for name in ("H", "O", "OH"):
                a, b = ours[:, mechanism.index(name)], exact[:, mechanism.index(name)]
                some = b > SMALL * b.max()
                errors[name] = float(abs(a[some] / b[some] - 1.0).max())
    return found


def main() -> None:
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.foam_tutorials", description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )  # fmt: skip
    parser.add_argument("library", type=Path, help="libcombredChemistry.so")
    parser.add_argument("folder", type=Path, help="of the cases")
    parser.add_argument("names", nargs="*", default=[*CELLS, *TUTORIALS], help="default: all")
    given = parser.parse_args()
    library, folder = ready(given.library), given.folder.resolve()
    found = stored(RESULTS, ("cells", "flames"))
    for name in given.names:
        kind, measure = ("cells", one_cell) if name in CELLS else ("flames", flame)
        made = stamp(__file__)
        found[kind][name] = measure(name, home_of(folder, made), library) | made
        print(f"{name:30} {json.dumps(strict(found[kind][name]))}", flush=True)
    if "counterflow, LTS" in given.names:
        made = stamp(__file__)
        found["long"] = long_steps(home_of(folder, made)) | made
    write_json(RESULTS, strict(found))
    print(json.dumps(strict(found)))


if __name__ == "__main__":
    main()
