"""What the flows in OpenFOAM have in common: periodic boxes, runs that resume, differences.

A flow is run in several ways that differ in their chemistry alone (`Flow`). The reference is the
solver at a tolerance of 1e-6, in doubles: the same coupling, mesh, schemes and time steps. Cases
are kept in a folder, of the same code in one of its own: a run that was stopped goes on from the
last field that it wrote, and one that is finished is not done again. `div(phi,Yi_h)` is `upwind`:
`limitedLinear` has one limiter for all species, the smallest, and so amplifies rounding in N2.
"""

import argparse
import os
import re
import shutil
import subprocess
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from pathlib import Path

import cantera as ct
import numpy as np

from benchmarks.openfoam import (
    MECHANISM,
    folder_of,
    internal,
    ready,
    run,
    told,
    write,
    write_case,
    write_field,
)
from benchmarks.provenance import KEY

REFERENCE = "solver 1e-6"
SEULEX_STEPS = 3  # the first of them is not timed
DT = 1e-6  # s
FRONT, HOT = (900.0, 1700.0), 1500.0  # K
CORNERS = " ".join(f"({x} {y} {z})" for z in (0, 1) for x, y in ((0, 0), (1, 0), (1, 1), (0, 1)))
FACES = {
    "left": "(0 4 7 3)", "right": "(1 2 6 5)", "bottom": "(0 1 5 4)", "top": "(3 7 6 2)",
    "back": "(0 3 2 1)", "front": "(4 5 6 7)",
}  # fmt: skip
PAIRS = {"left": "right", "bottom": "top"}
UPWIND = ("div(phi,Yi_h) Gauss limitedLinear 1", "div(phi,Yi_h) Gauss upwind")
PRESSURE = ("tolerance 1e-9; relTol 0;", "tolerance 1e-8; relTol 0;")
Fields = tuple[np.ndarray, np.ndarray, np.ndarray]  # T (n,) [K], U (n, 3) [m/s], Y (n, n_species)


@dataclass(frozen=True)
class Flow:
    """A flow in a periodic square at 1 atm, in steps of `DT`.

    name: of its folders; side [m]; cells: of a side; steps; written: steps between two fields;
    fields: gives T, U and Y at the beginning, x fastest; judged: how many of the last fields are
    compared.
    """

    name: str
    side: float
    cells: int
    steps: int
    written: int
    fields: Callable[[], Fields]
    mechanism: str = MECHANISM
    species: tuple[str, ...] = ("CO", "OH", "H", "CH2O")
    judged: int = 1

    @property
    def times(self) -> list[str]:
        """Of the fields that are compared, as OpenFOAM names them [s]."""
        return [f"{i * DT:g}" for i in range(self.written, self.steps + 1, self.written)]

    def read(self, folder: Path, time: str, name: str) -> np.ndarray:
        """A scalar field (cells, cells), x last, of a case."""
        return internal(folder, time, name, self.cells**2).reshape(self.cells, self.cells)


def home_of(folder: Path, made: dict[str, dict]) -> Path:
    """The folder of the cases that the commit of a stamp ran."""
    return folder / made[KEY]["commit"]


# -- cases -----------------------------------------------------------------------------------------


def make_box(flow: Flow, folder: Path, names: list[str]) -> None:
    """Write mesh and fields of the beginning; `back` and `front` are empty."""
    n, neighbours = flow.cells, PAIRS | {other: one for one, other in PAIRS.items()}
    kinds = {
        patch: f"type cyclic; neighbourPatch {neighbours[patch]};" if patch in neighbours
        else "type empty;" for patch in FACES
    }  # fmt: skip
    patches = " ".join(f"{name} {{ {kinds[name]} faces ({FACES[name]}); }}" for name in FACES)
    write(
        folder,
        "system/blockMeshDict",
        f"scale {flow.side:.12g}; vertices ( {CORNERS} );\nblocks ( hex (0 1 2 3 4 5 6 7) "
        f"({n} {n} 1) simpleGrading (1 1 1) );\nboundary ( {patches} );\n",
    )
    T, U, Y = flow.fields()
    outside = {patch: kind.split(";")[0] + ";" for patch, kind in kinds.items()}
    write_field(folder, "T", "[0 0 0 1 0 0 0]", T, outside)
    write_field(folder, "p", "[1 -1 -2 0 0 0 0]", ct.one_atm, outside)
    write_field(folder, "U", "[0 1 -1 0 0 0 0]", U, outside)
    for name, values in zip(names, Y.T, strict=True):
        write_field(folder, name, "[0 0 0 0 0 0 0]", values, outside)


def prepare(flow: Flow, folder: Path, library: Path, way: str, end: str, written: int) -> None:
    """Write the dictionaries of a case and make its mesh; end [s]; way: as for `write_case`."""
    control = f"endTime {end}; writeInterval {written}; startFrom latestTime;"
    write_case(folder, library, way, DT, control, flow.mechanism)
    for name, (before, after) in {"fvSchemes": UPWIND, "fvSolution": PRESSURE}.items():
        path = folder / "system" / name
        path.write_text(path.read_text().replace(before, after))
    write(folder, "constant/combustionProperties", "combustionModel laminar;\n")
    write(folder, "constant/turbulenceProperties", "simulationType laminar;\n")
    run(folder, "blockMesh")


def burn(
    flow: Flow, folder: Path, library: Path, way: str, names: list[str], ranks: int = 1
) -> str:
    """What OpenFOAM says of a run, which is continued or begun (on several ranks: begun); nothing
    is run if it is done."""
    log = folder / "log.reactingFoam"
    if not log.exists():
        shutil.rmtree(folder, ignore_errors=True)
        folder.mkdir(parents=True)
        make_box(flow, folder, names)
        prepare(flow, folder, library, way, flow.times[-1], flow.written)
    if not (folder / flow.times[-1] / "T").exists():
        start(folder, log, ranks)
    return log.read_text()


def start(folder: Path, log: Path, ranks: int = 1) -> None:
    """Run reactingFoam; what it says is added to the log. On several ranks the square is divided
    along x."""
    command, environment = ["reactingFoam"], None
    if ranks > 1:
        for part in folder.glob("processor*"):
            shutil.rmtree(part)
        divided = f"numberOfSubdomains {ranks}; method simple; simpleCoeffs"
        write(folder, "system/decomposeParDict", f"{divided} {{ n ({ranks} 1 1); delta 0.001; }}\n")
        run(folder, "decomposePar")
        command = ["mpirun", "-np", str(ranks), "reactingFoam", "-parallel"]
        as_root = "OMPI_ALLOW_RUN_AS_ROOT"  # Open MPI refuses root otherwise
        environment = os.environ | {as_root: "1", f"{as_root}_CONFIRM": "1"}
    with log.open("a") as said:
        done = subprocess.run(command, cwd=folder, stdout=said, stderr=said, env=environment)
    if done.returncode:
        raise RuntimeError(f"reactingFoam failed: see {log}")
    if ranks > 1:
        run(folder, "reconstructPar")


def beside_seulex(flow: Flow, home: Path, library: Path) -> dict[str, float]:
    """Some steps from the reference's first field with OpenFOAM's own chemistry and with the
    reference: times a cell and step [us] of seulex and of the flow without its chemistry."""
    time, cells, took = flow.times[0], flow.cells**2, {}
    for way in (REFERENCE, "ode"):
        folder = folder_of(home, flow.name, "from", time, way)
        log = folder / "log.reactingFoam"
        if not log.exists():
            folder.mkdir(parents=True, exist_ok=True)
            for part in ("system/blockMeshDict", time):
                of = folder_of(home, flow.name, REFERENCE) / part
                (shutil.copytree if of.is_dir() else _copy)(of, folder / part)
            end = f"{float(time) + SEULEX_STEPS * DT:g}"
            prepare(flow, folder, library, way, end, 1000000)
            start(folder, log)
        spent = [float(one) for one in re.findall(r"ExecutionTime = ([\d.]+) s", log.read_text())]
        took[way] = 1e6 * (spent[-1] - spent[0]) / ((SEULEX_STEPS - 1) * cells)
        if way == REFERENCE:
            took["flow"] = took[way] - told(log.read_text())["us"]
    return {"seulex_us": took["ode"] - took["flow"], "flow_us": took["flow"]}


def _copy(of: Path, to: Path) -> None:
    to.parent.mkdir(parents=True)
    shutil.copy(of, to)


# -- differences -----------------------------------------------------------------------------------


def shift(T: np.ndarray, exact: np.ndarray, spacing: float) -> np.ndarray:
    """How far the front lies [m], from the difference of T over the gradient of the reference, in
    the cells where the reference is from 900 to 1700 K. spacing [m]: of the cells."""
    slope = np.sqrt(sum(one**2 for one in np.gradient(exact, spacing)))
    front = (exact > FRONT[0]) & (exact < FRONT[1])
    return (T - exact)[front] / slope[front]


def difference(flow: Flow, folder: Path, reference: Path, time: str) -> dict:
    """Differences from the reference at a time: T [K] (`T_max`, `T_rms`), the shift of the front
    [m] (`front_mean`, `front_rms`), and relative ones of the hottest T, the area above
    1500 K and the heat release; of each species the largest difference as a share of the peak, and
    those of its peak and of its sum (mass fractions over the cells)."""
    T, exact = (flow.read(one, time, "T") for one in (folder, reference))
    moved = shift(T, exact, flow.side / flow.cells)
    heat, known = (flow.read(one, time, "Qdot").sum() for one in (folder, reference))
    found: dict = {
        "T_max": float(abs(T - exact).max()),
        "T_rms": float(np.sqrt(((T - exact) ** 2).mean())),
        "front_mean": float(moved.mean()),
        "front_rms": float(np.sqrt((moved**2).mean())),
        "hottest": float(T.max() / exact.max() - 1.0),
        "area": float((T > HOT).sum() / max((exact > HOT).sum(), 1) - 1.0),
        "heat": float(heat / known - 1.0),
    }
    for name in flow.species:
        Y, true = (flow.read(one, time, name) for one in (folder, reference))
        found[name] = {
            "field": float(abs(Y - true).max() / true.max()),
            "peak": float(Y.max() / true.max() - 1.0),
            "sum": float(Y.sum() / true.sum() - 1.0),
        }
    return found


def compare(flow: Flow, home: Path, library: Path, ways: Iterable[str], names: list[str]) -> dict:
    """A flow in the reference's and all other ways: what the chemistry took, and the differences at
    the last times."""
    reference = folder_of(home, flow.name, REFERENCE)
    found: dict = {"cells": flow.cells, "steps": flow.steps, "ways": {}}
    for way in (REFERENCE, *ways):
        folder = folder_of(home, flow.name, way)
        one = found["ways"][way] = told(burn(flow, folder, library, way, names)) or {}
        if way != REFERENCE:
            times = flow.times[-flow.judged :]
            one["times"] = {time: difference(flow, folder, reference, time) for time in times}
        print(flow.name, way, one, flush=True)
    return found


def arguments(
    name: str,
    docstring: str | None,
    ways: tuple[str, ...],
    cells: int = 0,
    flows: Iterable[str] = (),
) -> argparse.Namespace:
    """The command line of flows: library, folder of the cases, ways, and cells of a side, or where
    there are several `flows` the names of those that are run."""
    parser = argparse.ArgumentParser(
        prog=f"python -m benchmarks.{name}", description=docstring,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )  # fmt: skip
    parser.add_argument("library", type=Path, help="libcombredChemistry.so")
    parser.add_argument("folder", type=Path, help="of the cases")
    parser.add_argument("ways", nargs="*", default=ways, help=f"default: {', '.join(ways)}")
    if cells:
        parser.add_argument("--cells", type=int, default=cells, help=f"of a side; default: {cells}")
    if flows:
        parser.add_argument("--flows", nargs="+", default=list(flows), choices=list(flows))
    given = parser.parse_intermixed_args()
    given.library, given.folder = ready(given.library), given.folder.resolve()
    return given
