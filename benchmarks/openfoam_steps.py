"""How does the speed of OpenFOAM's premixed flame depend on the time step of the flow?

    python -m benchmarks.openfoam_steps LIBRARY

The flame of benchmarks.openfoam (methane/air, phi 1, 300 K, 400 cells) over 1 ms by the solver,
with one, two and three outer correctors, beside the smallest time step. The chemistry is the same:
flow and chemistry are split otherwise. Writes
benchmarks/results/openfoam-steps.json; prints a table, then one JSON line.
"""

import json
import sys
import tempfile
from pathlib import Path

import combred
from benchmarks.command_line import words
from benchmarks.openfoam import (
    MECHANISM,
    burnt,
    flame_profile,
    folder_of,
    ready,
    write_case,
    write_flame,
)
from benchmarks.provenance import stamp
from combred.files.records import strict, write_json
from combred.processes.machine import machine

RESULTS = Path(__file__).parent / "results" / "openfoam-steps.json"
CELLS, END = 400, 1e-3  # s
STEPS = {
    1: (5e-6, 2e-6, 1e-6, 5e-7, 2.5e-7),
    2: (5e-6, 2e-6, 1e-6),
    3: (5e-6, 2e-6, 1e-6),
}  # s, by the number of outer correctors


def speed(folder: Path, library: Path, profile: tuple, dt: float, correctors: int) -> float:
    """The flame's speed [m/s] in steps of dt [s]."""
    steps = round(END / dt)
    control = f"endTime {END:g}; writeInterval {steps // 2};"
    write_case(folder, library, "solver", dt, control)
    write_flame(folder, *profile, combred.load_mechanism(MECHANISM).species_names)
    solution = folder / "system/fvSolution"
    text = solution.read_text().replace("nOuterCorrectors 1;", f"nOuterCorrectors {correctors};")
    solution.write_text(text)
    return burnt(folder, profile, dt, steps)["speed"]


def main(library: Path) -> None:
    made = stamp(__file__)
    library, profile, found = ready(library), flame_profile(CELLS), {}
    with tempfile.TemporaryDirectory() as scratch:
        for correctors, steps in STEPS.items():
            for dt in steps:
                folder = folder_of(Path(scratch), f"{correctors}", f"{dt:g}")
                one = speed(folder, library, profile, dt, correctors)
                found.setdefault(f"{correctors}", {})[f"{dt:g}"] = one
                print(f"{correctors} outer correctors, {dt:g} s: {one:.4f} m/s", flush=True)
    result = {"machine": machine(), "speeds": found} | made
    write_json(RESULTS, strict(result))
    print(json.dumps(strict(result)))


if __name__ == "__main__":
    if len(given := words(__doc__)) != 1:
        sys.exit(__doc__)
    main(Path(given[0]))
