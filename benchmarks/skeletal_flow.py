"""How much faster is a whole run of OpenFOAM with a reduced mechanism, and does it burn alike?

    python -m benchmarks.skeletal_flow LIBRARY FOLDER

The tutorial coupling/openfoam/tutorials/counterflow with GRI-3.0, and with what `combred reduce`
leaves of it for methane at a limit of 1 %, each exported by `combred export --openfoam`. CPU times
are those of the whole run to 4 ms, with the start of the program: the best of several, in turns.
Both then run to 0.1 s: the largest T and the peaks of species, and the time again. Cantera's flames
tell at which strain rate the flame of the streams goes out.

LIBRARY: libcombredChemistry.so, as in coupling/README.md; FOLDER keeps the cases: what is finished
is not done again. Writes benchmarks/results/skeletal_flow.json; prints one JSON line.
"""

import argparse
import json
import re
import shutil
from pathlib import Path

import cantera as ct

import combred
from benchmarks.extinction import strained_flames
from benchmarks.flows import home_of, start
from benchmarks.openfoam import internal, ready, run, told
from benchmarks.provenance import ROOT, stamp
from combred import native
from combred.chemistry.mechanism import Mechanism
from combred.experiments.counterflow.cantera_flame import CounterflowCase, strain_rate
from combred.files.records import strict, write_json
from combred.processes.machine import machine
from combred.skeletal.reducing import reduce_mechanism

RESULTS = Path(__file__).parent / "results" / "skeletal_flow.json"
TUTORIAL, CELLS = ROOT / "coupling/openfoam/tutorials/counterflow", 2000
FILE, FUEL, AIR = "gri30.yaml", "CH4:1", "O2:1, N2:3.76"
SHORT, LONG, TRIES = "0.004", "0.1", 5  # s, ends of runs; how often the short one is timed
SPECIES = "CO", "OH", "H2", "CH2O"
LOWEST, HALVINGS = 200.0, 7  # 1/s, the first strain rate; extinction within .3 %


def make(case: Path, library: Path, mechanism: Mechanism) -> None:
    """Write the tutorial with a mechanism."""
    shutil.rmtree(case, ignore_errors=True)
    shutil.copytree(TUTORIAL, case)
    native.export_case(mechanism, case)
    with (case / "system/controlDict").open("a") as control:
        control.write(f'libs ("{library}");\n')
    run(case, "blockMesh")


def until(case: Path, end: str) -> Path:
    """A copy of a case that ends at `end` [s]."""
    copy = case.with_name(f"{case.name}-{end}")
    if not copy.exists():
        shutil.copytree(case, copy)
        with (copy / "system/controlDict").open("a") as control:
            control.write(f"endTime {end}; writeInterval {end};\n")
    return copy


def seconds(said: str) -> float:
    """The CPU time of a run [s]."""
    return float(re.findall(r"ExecutionTime = ([\d.]+) s", said)[-1])


def timed(cases: dict[str, Path]) -> dict[str, dict]:
    """Times of the short runs [s], the least of `TRIES`: of all, and of the chemistry."""
    found: dict[str, dict] = {way: {"seconds": float("inf")} for way in cases}
    for _ in range(TRIES):
        for way, case in cases.items():
            log = case / "log.reactingFoam"
            log.unlink(missing_ok=True)
            start(case, log)
            said, steps = log.read_text(), len(re.findall(r"^Time = ", log.read_text(), re.M))
            row = {"seconds": seconds(said), "steps": steps}
            row["chemistry"] = 1e-6 * (told(said) or {"us": 0.0})["us"] * CELLS * steps
            found[way] = min(found[way], row, key=lambda one: one["seconds"])
            print(way, row, flush=True)
    return found


def burnt(case: Path) -> dict:
    """The time [s] of a long run, and its largest T [K] and mass fractions at the end."""
    log = case / "log.reactingFoam"
    if not (case / LONG / "T").exists():
        log.unlink(missing_ok=True)
        start(case, log)
    peaks = {name: float(internal(case, LONG, name, CELLS).max()) for name in ("T", *SPECIES)}
    return {"seconds": seconds(log.read_text()), "peaks": peaks}


def extinction(mechanism: Mechanism) -> float:
    """The largest strain rate [1/s] at which Cantera's flame of the streams burns."""
    case = CounterflowCase(FUEL, AIR)
    flames = strained_flames(mechanism, case, LOWEST, halvings=HALVINGS)
    return [strain_rate(flame) for flame in flames][-1]


def measure(library: Path, folder: Path) -> dict:
    """The numbers of both mechanisms."""
    record = reduce_mechanism(FILE, fuel=FUEL, folder=folder / "reduction")
    files = {"detailed": FILE, "reduced": str(folder / "reduction" / record["file"])}
    mechanisms = {way: combred.load_mechanism(file) for way, file in files.items()}
    for way, mechanism in mechanisms.items():
        if not (folder / way / "constant/polyMesh").is_dir():
            make(folder / way, library, mechanism)
    found = timed({way: until(folder / way, SHORT) for way in mechanisms})
    for way, mechanism in mechanisms.items():
        long = burnt(until(folder / way, LONG))
        found[way] |= {"species": mechanism.n_species, "long": long}
        found[way]["extinction"] = extinction(mechanism)
    return found


def main() -> None:
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.skeletal_flow", description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )  # fmt: skip
    parser.add_argument("library", type=Path, help="libcombredChemistry.so")
    parser.add_argument("folder", type=Path, help="of the cases")
    given = parser.parse_args()
    ct.suppress_thermo_warnings()
    library, made = ready(given.library), stamp(__file__)
    found = measure(library, home_of(given.folder.resolve(), made))
    results = {"machine": machine(), "counterflow": {"ways": found} | made}
    write_json(RESULTS, strict(results))
    print(json.dumps(strict(results)))


if __name__ == "__main__":
    main()
