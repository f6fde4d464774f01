"""How accurate and fast is the solver in the OpenFOAM of the Foundation, beside its own seulex?

    python -m benchmarks.foundation FOLDER [MECHANISM ...]

In a shell where a version from 11 on is sourced (with FOAM_TUTORIALS), after `combred openfoam`.
FOLDER keeps the cases: what is finished is not done again. The tutorial counterFlowFlame2D burns
with a mechanism (default drm19.yaml) and combred; from there three steps of dt are taken in each
way, which differ in their chemistry alone: the solver, seulex as in the tutorial with GRI-3.0
(1e-8, 0.1), and the reference, seulex at 1e-12 and 1e-4. Differences are the largest over all
cells, of species as shares of their peaks. The Foundation's chemistry integrates mass fractions at
constant pressure, as combred does. Writes benchmarks/results/foundation.json, a part for each
mechanism; prints one JSON line.
"""

import argparse
import json
import os
import re
import shutil
from pathlib import Path

import combred
from benchmarks.flows import UPWIND
from benchmarks.openfoam import internal, run, told, write
from benchmarks.provenance import stamp, stored
from combred import native
from combred.files.records import strict, write_json
from combred.native.openfoam.versions import sourced

RESULTS = Path(__file__).parent / "results" / "foundation.json"
CASE, CELLS, STEPS = "multicomponentFluid/counterFlowFlame2D", 4000, 3
END = {"drm19.yaml": 0.06, "gri30.yaml": 0.04}  # s, where it burns
DT = {"drm19.yaml": (1e-5, 4e-4), "gri30.yaml": (1e-5,)}  # s; the second is the flow's own
TIGHT, LOOSE = "seulex, 1e-12, 1e-4", "seulex, 1e-8, 0.1"
WAYS = ("off", TIGHT, LOOSE, "combred")
SPECIES = ("OH", "CO", "CH3", "HO2")
STOCK = ("chemistryProperties", "physicalProperties", "reactions", "thermo.compressibleGas")


def write_control(case: Path, end: float, dt: float, more: str) -> None:
    write(
        case,
        "system/controlDict",
        'libs ("libcombredChemistry.so"); solver multicomponentFluid;\n'
        f"startFrom latestTime; startTime 0; stopAt endTime; endTime {end:.10g}; deltaT {dt:g};\n"
        "writeFormat ascii; writePrecision 14; timeFormat general; timePrecision 10;\n"
        f"runTimeModifiable no; {more}\n",
    )


def flame(case: Path, mechanism: str) -> str:
    """Burn the tutorial to its end; returns the name of the last time."""
    if not (case / "done").exists():
        shutil.rmtree(case, ignore_errors=True)
        shutil.copytree(Path(os.environ["FOAM_TUTORIALS"]) / CASE, case)
        for name in STOCK:
            (case / "constant" / name).unlink()
        (case / "system/functions").unlink(missing_ok=True)
        native.export_case(combred.load_mechanism(mechanism), case)
        schemes = case / "system/fvSchemes"
        text, n = re.subn(r"div\(phi,Yi_h\)\s+Gauss [^;]*", UPWIND[1], schemes.read_text())
        assert n == 1
        schemes.write_text(text)
        end = END[mechanism]
        often = f"writeControl adjustableRunTime; writeInterval {end};"
        write_control(case, end, 1e-6, f"adjustTimeStep yes; maxCo 0.4; {often}")
        run(case, "blockMesh")
        (case / "log.foamRun").write_text(run(case, "foamRun"))
        (case / "done").touch()
    return last(case)


def last(case: Path) -> str:
    times = (path.name for path in case.iterdir() if re.fullmatch(r"[\d.e+-]+", path.name))
    return max(times, key=float)


def take_steps(burnt: Path, case: Path, way: str, dt: float) -> str:
    """Three steps from the last time of a burnt flame; what foamRun says, or "" where it fails."""
    log = case / "log.foamRun"
    if not log.exists():
        begun = last(burnt)
        shutil.rmtree(case, ignore_errors=True)
        for name in ("constant", "system", begun):
            shutil.copytree(burnt / name, case / name)
        shutil.rmtree(case / begun / "uniform", ignore_errors=True)  # the flame's time step
        every = f"adjustTimeStep no; writeControl timeStep; writeInterval {STEPS};"
        write_control(case, float(begun) + STEPS * dt, dt, every)
        if way != "combred":
            tolerances = way.split(", ")[1:] or ["1e-8", "0.1"]
            ode = "solver seulex; absTol {}; relTol {};".format(*tolerances)
            write(
                case,
                "constant/chemistryProperties",
                f"chemistryType {{ solver ode; }} odeCoeffs {{ {ode} }} type standard; "
                f"ode {{ {ode} }}\nchemistry {'off' if way == 'off' else 'on'};\n"
                'initialChemicalTimeStep 1e-7;\n#include "reactions"\n',
            )
        try:
            said = run(case, "foamRun")
        except RuntimeError as error:
            print(f"{way}, {dt:g} s: {str(error)[-300:]}", flush=True)
            said = ""
        log.write_text(said)
    return log.read_text()


def seconds(said: str) -> float:
    return float(re.findall(r"ExecutionTime = ([\d.]+) s", said)[-1])


def compare(folder: Path, burnt: Path, dt: float) -> dict:
    """Of each way: the time of the chemistry, and differences from the reference."""
    cases = {way: folder / f"{dt:g}-{way.replace(', ', '-')}" for way in WAYS}
    said = {way: take_steps(burnt, case, way, dt) for way, case in cases.items()}
    known, flow = cases[TIGHT], seconds(said["off"]) / (STEPS * CELLS)
    exact = {name: internal(known, last(known), name, CELLS) for name in ("T", *SPECIES)}
    begun = internal(burnt, last(burnt), "T", CELLS)
    found: dict[str, dict | None] = {
        "flow": {"us": 1e6 * flow, "T_change": float(abs(exact["T"] - begun).max())}
    }
    for way in WAYS[1:]:
        if not said[way]:
            found[way] = None  # it ended in an error
            continue
        row = told(said[way]) or {"us": 1e6 * (seconds(said[way]) / (STEPS * CELLS) - flow)}
        if way != TIGHT:
            for name, true in exact.items():
                off = abs(internal(cases[way], last(cases[way]), name, CELLS) - true).max()
                row[name] = float(off if name == "T" else off / true.max())
        found[way] = row
    return found


def main() -> None:
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.foundation", description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )  # fmt: skip
    parser.add_argument("folder", type=Path, help="of the cases")
    parser.add_argument("names", nargs="*", default=["drm19.yaml"], help=" ".join(END))
    given = parser.parse_args()
    version = sourced(os.environ)
    if version is None or version.foundation < 11:
        parser.error("source a version of the Foundation from 11 on")
    found = stored(RESULTS, ("mechanisms",))
    for name in given.names:
        made = stamp(__file__)
        home = given.folder.resolve() / name.partition(".")[0]
        time = flame(home / "flame", name)
        hottest = float(internal(home / "flame", time, "T", CELLS).max())
        steps = {f"{dt:g}": compare(home, home / "flame", dt) for dt in DT[name]}
        of = {"version": version.name, "hottest": hottest, "steps": steps}
        found["mechanisms"][name] = of | made
        write_json(RESULTS, strict(found))
    print(json.dumps(strict(found)))


if __name__ == "__main__":
    main()
