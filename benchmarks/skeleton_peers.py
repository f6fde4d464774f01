"""How small and how right are the skeletons of other methods, with the judges of `combred reduce`?

    python -m benchmarks.skeleton_peers

GRI-3.0, methane/air, limit 1 %, the same held-out cases for all:

    DRGEP       the graph alone (`combred.skeletal.graph`): importance for CH4, O2 and heat (as CO2)
                along the judged ignitions; the smallest skeleton in its order that all judges
                accept
    `PEERS`     the species that other programs left, run by hand: version, judges and time stand
                there; none changes a rate constant

Writes benchmarks/results/skeleton_peers.json; prints one JSON line. `benchmarks.skeletal` has the
row of combred.
"""

import json
import os
import time
from functools import partial
from pathlib import Path

import cantera as ct
import numpy as np

from benchmarks.command_line import words
from benchmarks.provenance import stamp
from combred.chemistry.mechanism import load_mechanism
from combred.files.records import strict, write_json
from combred.native.solver.multipliers import MultipliedSolver
from combred.processes.machine import machine
from combred.processes.workers import Processes
from combred.skeletal import cases
from combred.skeletal.cases import Ranges, states
from combred.skeletal.compiled import TOLERANCE, Chemistry
from combred.skeletal.flames import HELD_OUT, JUDGED, Solved
from combred.skeletal.graph import importance
from combred.skeletal.judging import Panel, opened, worst
from combred.skeletal.references import Asked, detailed_results, judges_of
from combred.skeletal.skeleton import ReactionNetwork, Skeleton

RESULTS = Path(__file__).parent / "results" / "skeleton_peers.json"
FILE, LIMIT = "gri30.yaml", 0.01
RANGES = Ranges("CH4:1", "O2:1, N2:3.76", (1000.0, 2000.0))  # of `combred reduce`
TARGETS, STAY = ("CH4", "O2", "CO2"), ("CH4", "O2", "N2")
PEERS = {
    "pyMARS 1.2.0 (DRGEP, greedy)": {
        "judges": "12 delays, 1200 to 2000 K, 1 and 20 atm",
        "names": "H2 H O O2 OH H2O HO2 H2O2 CH CH2 CH2(S) CH3 CH4 CO CO2 HCO CH2O CH2OH CH3O CH3OH "
        "C2H2 C2H3 C2H4 C2H5 C2H6 HCCO CH2CO N2 CH2CHO".split(),
        "seconds": 65.4,
    },
}


def drgep(panel: Panel, whole: Skeleton, worth: np.ndarray) -> Skeleton:
    """The smallest skeleton in the order of importance within the limit: species leave one by one
    until a judge refuses."""
    mechanism, found = whole.network.mechanism, whole
    stay = {mechanism.index(name) for name in STAY}
    for k in np.argsort(worth):
        if int(k) in stay:
            continue
        smaller = found.without(int(k))
        errors = panel.errors([(i, smaller) for i in range(len(panel.judges))])
        if max(map(worst, errors)) > LIMIT:
            return found
        found = smaller
    return found


def main() -> None:
    words(__doc__)
    ct.suppress_thermo_warnings()
    made, mechanism = stamp(__file__), load_mechanism(FILE)
    network, processes = ReactionNetwork.of(mechanism), Processes(len(os.sched_getaffinity(0)))
    # compiled before the clock starts
    solver = MultipliedSolver(mechanism, np.ones(len(network.reactions)), TOLERANCE)
    results = partial(detailed_results, processes, network, solver)
    judges = partial(judges_of, mechanism, Chemistry.of(network.whole()))
    begun, asked = (
        time.perf_counter(),
        Asked(RANGES, cases.judged(RANGES), Solved(JUDGED, True, ())),
    )
    known = results(asked)
    delay = known[0][1]
    ignites = np.isfinite(delay)
    T, p, Y = (x[ignites] for x in states(mechanism, RANGES, asked.cases.ignitions))
    of = [mechanism.index(name) for name in TARGETS]
    worth = importance(network, solver, (T, p, Y), delay[ignites], of)
    with opened(processes, network, judges(asked, known)) as panel:
        left = drgep(panel, network.whole(), worth)
    rows = {"DRGEP": {"judges": "all", "names": left.names(),
                      "seconds": time.perf_counter() - begun}}  # fmt: skip
    rows |= PEERS
    asked = Asked(RANGES, cases.held_out(RANGES), Solved(HELD_OUT, False, ()))
    with opened(processes, network, judges(asked, results(asked))) as panel:
        for row in rows.values():
            gone = set(mechanism.species_names).difference(row["names"])
            skeleton = network.whole().without(*map(mechanism.index, gone))
            found = panel.by_case(skeleton)
            row["held_out"] = {name: worst(np.array(list(e.values()))) for name, e in found.items()}
            row["species"] = len(row.pop("names"))
    result = {"machine": machine(), "rows": rows} | made
    write_json(RESULTS, strict(result))
    print(json.dumps(strict(result)))


if __name__ == "__main__":
    main()
