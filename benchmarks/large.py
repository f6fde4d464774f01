"""What does a large mechanism cost: n-hexane of NUI Galway (2015), 1268 species, 5336 reactions?

    python -m benchmarks.large

Time and memory of its compilation; 64 states along ignitions at 900 to 1500 K and 10 atm:
processor time of a state, of a step and of Cantera's CVODE (rtol 1e-6, every sixteenth state), and
the largest difference from CVODE at 1e-9 over the change (combred.chemistry.agreement); and the
delay of one ignition against CVODE. On one core, but for the compilation. Writes
benchmarks/results/large.json; prints one JSON line.
"""

import json
import os
import resource
import tempfile
import time
from pathlib import Path
from unittest.mock import patch

import cantera as ct
import numpy as np

from benchmarks.command_line import words
from benchmarks.provenance import stamp
from combred.chemistry.agreement import relative_difference
from combred.chemistry.fuel import Mixture, air
from combred.chemistry.mechanism import load_mechanism
from combred.chemistry.reactor import CVODE, Tolerances
from combred.experiments.ignition.experiment import Ignitions
from combred.experiments.ignition.rollout import Case
from combred.files.records import strict, write_json
from combred.native.builder import build
from combred.native.solver import Solver, generate
from combred.processes.machine import machine
from combred.processes.threads import one_thread

RESULTS = Path(__file__).parent / "results" / "large.json"
FILE, FUEL = "example_data/n-hexane-NUIG-2015.yaml", "NC6H14:1"
STATES, OF_CVODE, STEPS, SEED = 64, 16, (1e-6, 1e-5), 0
CASE, DT = Case(1300.0, 10.0 * ct.one_atm, 1.0), 1e-6


def main() -> None:
    words(__doc__)
    ct.suppress_thermo_warnings()
    made = stamp(__file__)
    begun, mechanism = time.perf_counter(), load_mechanism(FILE)
    with tempfile.TemporaryDirectory() as scratch, patch.dict(os.environ, XDG_CACHE_HOME=scratch):
        build(generate(mechanism), Path(scratch))
    found: dict = {
        "species": mechanism.n_species,
        "reactions": mechanism.solution().n_reactions,
        "compile_s": time.perf_counter() - begun,
        "compile_GB": resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss / 1e6,
    }
    solver, rng = Solver(mechanism), np.random.default_rng(SEED)
    T, p = rng.uniform(900.0, 1500.0, STATES), np.full(STATES, CASE.p)
    Y = np.tile(mechanism.mixture(FUEL, air(mechanism), 1.0), (STATES, 1))
    with one_thread():
        T, Y = solver.advance(T, p, Y, 10.0 ** rng.uniform(-6.0, -3.0, STATES))
        few = slice(0, None, OF_CVODE)
        for dt in STEPS:
            begun = time.process_time()
            later = solver.attempt(T, p, Y, dt)
            seconds = time.process_time() - begun
            exact = CVODE(mechanism, 1e-9, 1e-18).advance(T[few], p[few], Y[few], dt)
            begun = time.process_time()
            CVODE(mechanism, 1e-6, 1e-14).advance(T[few], p[few], Y[few], dt)
            own = (time.process_time() - begun) / len(T[few])
            off = relative_difference((T[few], Y[few]), exact, (later.T[few], later.Y[few]))
            found[f"{dt:g} s"] = {
                "us": 1e6 * seconds / STATES,
                "us_step": 1e6 * seconds / float(later.steps.sum()),
                "failed": int((~np.isfinite(later.error)).sum()),
                "us_CVODE": 1e6 * own,
                "error": float(off.max()),
            }
            print(json.dumps(found), flush=True)
        mixture = Mixture(FUEL, air(mechanism))
        ignitions = Ignitions(mechanism, mixture, [CASE], DT, 1e-5, Tolerances(1e-6, 1e-14))
        references = ignitions.reference()
        row = ignitions.compare(ignitions.follow(solver, references), references)["cases"][0]
    found["ignition"] = {k: row[k] for k in ("case", "reference_delay", "delay_error")}
    results = {"machine": machine(), "mechanism": FILE, **found, **made}
    write_json(RESULTS, strict(results))
    print(json.dumps(strict(results)))


if __name__ == "__main__":
    main()
