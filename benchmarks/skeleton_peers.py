"""How small and how right are the skeletons of other methods, with the judges of `combred reduce`?

    python -m benchmarks.skeleton_peers

GRI-3.0, methane/air, limit 1 %, the same held-out cases for all:

    DRGEP       the graph alone (Pepiot-Desjardins & Pitsch, Combust. Flame 154, 2008, equations 5
                to 9), written plainly here: importance for CH4, O2 and heat (as CO2) along the
                judged ignitions; the smallest skeleton in its order that all judges accept
    `PEERS`     the species that other programs left, run by hand: version, judges and time stand
                there; none changes a rate constant

Writes benchmarks/results/skeleton_peers.json; prints one JSON line. `benchmarks.skeletal` has the
row of combred.
"""

import heapq
import json
import os
import time
from pathlib import Path

import cantera as ct
import numpy as np

from benchmarks.command_line import words
from benchmarks.kept import stamp
from combred.chemistry.mechanism import load_mechanism
from combred.experiments.ignition.criteria import times_to
from combred.files.records import strict, write_json
from combred.native.solver.multipliers import MultipliedSolver
from combred.processes.machine import machine
from combred.processes.workers import Processes
from combred.skeletal import cases
from combred.skeletal.cases import Ranges, states
from combred.skeletal.delays import TOLERANCE
from combred.skeletal.flames import HELD_OUT, JUDGED, Solved
from combred.skeletal.judging import Panel, opened, worst
from combred.skeletal.reducing import make_judges
from combred.skeletal.skeleton import ReactionNetwork, Skeleton

RESULTS = Path(__file__).parent / "results" / "skeleton_peers.json"
FILE, LIMIT = "gri30.yaml", 0.01
RANGES = Ranges("CH4:1", "O2:1, N2:3.76", (1000.0, 2000.0))  # of `combred reduce`
TARGETS, STAY = ("CH4", "O2", "CO2"), ("CH4", "O2", "N2")
SAMPLES = 20  # states of an ignition, to 1.5 delays
PEERS = {
    "pyMARS 1.2.0 (DRGEP, greedy)": {
        "judges": "12 delays, 1200 to 2000 K, 1 and 20 atm",
        "names": "H2 H O O2 OH H2O HO2 H2O2 CH CH2 CH2(S) CH3 CH4 CO CO2 HCO CH2O CH2OH CH3O CH3OH "
        "C2H2 C2H3 C2H4 C2H5 C2H6 HCCO CH2CO N2 CH2CHO".split(),
        "seconds": 65.4,
    },
}


def importance(skeleton: Skeleton) -> np.ndarray:
    """(n_species,): the largest product of interaction coefficients on a path from a target, over
    states of the judged ignitions."""
    mechanism = skeleton.network.mechanism
    gas = mechanism.solution(transport=False)
    nu = gas.product_stoich_coeffs - gas.reactant_stoich_coeffs
    takes_part = (gas.product_stoich_coeffs + gas.reactant_stoich_coeffs) > 0
    solver = MultipliedSolver(mechanism, skeleton.multipliers, TOLERANCE)
    T, p, Y = states(mechanism, RANGES, cases.judged(RANGES).ignitions)
    delay = times_to(solver, (T, p, Y), T + 400.0)
    ignites = np.isfinite(delay)
    T, p, Y, dt = T[ignites], p[ignites], Y[ignites], 1.5 * delay[ignites] / SAMPLES
    found = np.zeros(mechanism.n_species)
    for _ in range(SAMPLES):
        T, Y = solver.advance(T, p, Y, dt)
        for i in range(len(T)):
            gas.TPY = T[i], p[i], Y[i]
            found = np.maximum(found, _from_targets(gas, nu, takes_part))
    return found


def _from_targets(gas: ct.Solution, nu: np.ndarray, takes_part: np.ndarray) -> np.ndarray:
    """The importance (n_species,) in one state."""
    made = nu * gas.net_rates_of_progress  # (n_species, n_reactions)
    scale = np.maximum(np.maximum(made, 0.0).sum(axis=1), np.maximum(-made, 0.0).sum(axis=1))
    coefficient = np.abs(made @ takes_part.T) / np.maximum(scale, 1e-300)[:, None]
    best = np.zeros(gas.n_species)
    queue = [(-1.0, gas.species_index(name)) for name in TARGETS]
    while queue:  # Dijkstra: the largest product first
        value, k = heapq.heappop(queue)
        if -value <= best[k]:
            continue
        best[k] = -value
        for other in np.flatnonzero(-value * coefficient[k] > best):
            heapq.heappush(queue, (value * float(min(coefficient[k, other], 1.0)), int(other)))
    return best


def drgep(panel: Panel, whole: Skeleton) -> Skeleton:
    """The smallest skeleton in the order of DRGEP within the limit: species leave one by one until
    a judge refuses."""
    mechanism, found = whole.network.mechanism, whole
    stay = {mechanism.index(name) for name in STAY}
    for k in np.argsort(importance(whole)):
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
    made, mechanism = stamp(__file__, FILE), load_mechanism(FILE)
    network, processes = ReactionNetwork.of(mechanism), Processes(len(os.sched_getaffinity(0)))
    MultipliedSolver(
        mechanism, np.ones(len(network.reactions)), TOLERANCE
    )  # compiled before the clock starts
    begun, of = time.perf_counter(), (RANGES, cases.judged(RANGES))
    judges = make_judges(processes, network, of, Solved(JUDGED, True, ()))
    with opened(processes, network, judges) as panel:
        left = drgep(panel, network.whole())
    rows = {"DRGEP": {"judges": "all", "names": left.names(),
                      "seconds": time.perf_counter() - begun}}  # fmt: skip
    rows |= PEERS
    of = RANGES, cases.held_out(RANGES)
    judges = make_judges(processes, network, of, Solved(HELD_OUT, False, ()))
    with opened(processes, network, judges) as panel:
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
