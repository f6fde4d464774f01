"""What do other solvers take where the matrix is large, at 53 and 100 species?

    python -m benchmarks.competitors [--mechanisms FILE[:PHASE]:FUEL ...] [--states N]

States, solvers, tolerances and errors are those of benchmarks/solver.py, all in one run: N (480)
states of flows in one batch for the generated solver, every eighth one by one for the others.
Writes benchmarks/results/competitors.json; prints a table, then one JSON line.
"""

import json
from pathlib import Path

import cantera as ct
import numpy as np

from benchmarks.solver import arguments, work_precision
from combred.check import find_conditions, states
from combred.chemistry.mechanism import load_mechanism
from combred.files.records import write_json
from combred.native.solver import Solver
from combred.processes.threads import one_thread
from combred.validation.timing import machine

RESULTS = Path(__file__).parent / "results" / "competitors.json"
MECHANISMS = ("gri30.yaml:CH4", "nDodecane_Reitz.yaml:nDodecane_IG:c12h26")


def of_mechanism(text: str, count: int) -> dict:
    """Times and errors on the states of one mechanism, of the text FILE[:PHASE]:FUEL."""
    file, *phase, fuel = text.split(":")
    mechanism = load_mechanism(file, *phase)
    solver = Solver(mechanism)
    block = states.draw(mechanism, solver, find_conditions(mechanism, solver, f"{fuel}:1"), count)
    rows = np.column_stack([block.T, block.p, block.Y])
    print(f"{file}: {mechanism.n_species} species, {len(rows)} states", flush=True)
    found = work_precision(mechanism, solver, rows)
    return {"species": mechanism.n_species, "states": len(rows), "work_precision": found}


def main() -> None:
    given = arguments("competitors", __doc__, MECHANISMS, 480)
    ct.suppress_thermo_warnings()
    with one_thread():
        found = {Path(text.split(":")[0]).stem: of_mechanism(text, given.states)
                 for text in given.mechanisms}  # fmt: skip
    result = {"machine": machine(), "cores": 1, "mechanisms": found}
    if tuple(given.mechanisms) == MECHANISMS:
        write_json(RESULTS, result)
    print(json.dumps(result))


if __name__ == "__main__":
    main()
