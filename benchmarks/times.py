"""How much time does a state take with CVODE and with each shipped model?

    python -m benchmarks.times --states FILE [MODEL ...]

One core, one run: CVODE at the tolerance of the training data and at one that is usual in CFD, the
generated solver at the tolerance of surrogates and at its own, and every shipped model (or those
named) as TorchScript, over 1 us: a step of the network, closure included, whatever its error. Those
that correct QSS steps also compiled to C++, with the solver behind the network at the default
tolerance, and the network alone. "Solved": the share of states that the network left to the solver.
Two kinds of 4096 states:

    grid    evenly spread over the ignitions with CVODE of benchmarks/accuracy.py: most are slow
    busy    the ignitions at 0.5 to 2 atm of FILE, which benchmarks/flow_states.py draws, uniform in
            the steps of CVODE; they are taken again and again

CVODE takes 256 of them. Repeats are interleaved. Run nothing else on the machine meanwhile. Writes
benchmarks/results/times.json; prints two tables, then one JSON line.
"""

import json
from pathlib import Path

import numpy as np

import combred
from benchmarks.accuracy import DT, references
from benchmarks.command_line import MECHANISM, states_and_models
from benchmarks.flow_states import read
from benchmarks.kept import stamp
from combred import native
from combred.chemistry.reactor import CVODE, REFERENCE
from combred.chemistry.stepper import Advance
from combred.experiments.ignition.rollout import Rollout
from combred.files.records import write_json
from combred.native import NativeSurrogate
from combred.native.solver import Solver
from combred.native.solver.generator import TOLERANCE
from combred.pipeline.console import progress
from combred.processes.threads import one_thread
from combred.surrogate.library.choice import ANY_ERROR
from combred.surrogate.surrogate import Surrogate
from combred.validation import timing

RESULTS = Path(__file__).parent / "results" / "times.json"
BUSY = "ignitions at 0.5 to 2 atm"  # of the flow states
STATES, REPEATS = 4096, 7


def states_of(rollouts: list[Rollout], count: int) -> np.ndarray:
    """(count, 2 + n_species) states [T, p, Y], evenly spread over all steps of all rollouts."""
    every = [
        np.column_stack([r.T, np.full(len(r.T), r.case.p), np.maximum(r.Y, 0.0)]) for r in rollouts
    ]
    return timing.spread(np.concatenate(every), count)


def busy_states(file: Path, count: int) -> np.ndarray:
    """(count, 2 + n_species) states [T, p, Y] of `BUSY` in a file of benchmarks/flow_states.py."""
    kind = read(file)[BUSY]
    return np.resize(
        np.column_stack([kind["T"], kind["p"], kind["Y"]]), (count, kind["Y"].shape[1] + 2)
    )


def main(file: Path, models: list[str]) -> None:
    chosen = models or list(combred.models())
    made, mechanism = stamp(__file__, MECHANISM, *chosen), combred.load_mechanism(MECHANISM)
    kinds = {
        "grid": states_of(references(("grid",))["grid"], STATES),
        "busy": busy_states(file, STATES),
    }
    advances: dict[str, tuple[Advance, int]] = {}
    solved: dict[str, dict[str, float]] = {}
    for tolerance in (REFERENCE, timing.CFD_TOLERANCE):
        cvode = CVODE(mechanism, *tolerance)
        advances[f"CVODE rtol {tolerance.rtol:g}"] = cvode, timing.CVODE_STATES
    for tolerance in (Surrogate.TOLERANCE, TOLERANCE):
        advances[f"combred.solver {tolerance:g}"] = Solver(mechanism, tolerance), STATES
    for model in chosen:
        surrogate = combred.load(model)
        advances[model] = native.scripted(surrogate), STATES
        if surrogate.kinetics:
            compiled = native.compile(surrogate)
            advances[f"{model}, C++"] = compiled, STATES
            alone = NativeSurrogate(compiled.library.path, ANY_ERROR)
            advances[f"{model}, C++, network alone"] = alone, STATES
            solved[model] = {
                kind: timing.share_solved(compiled, x, DT) for kind, x in kinds.items()
            }
    found: dict = {"machine": timing.machine(), "cores": 1, "batch": STATES}
    found |= {"solved": solved, "times": {}} | made
    for kind, states in kinds.items():
        with one_thread(), progress(f"timing, {kind}") as bar:
            times = timing.time_per_state(advances, states, DT, REPEATS, bar)
        found["times"][kind] = times
        write_json(RESULTS, found)
        slow, usual = (times[name]["median"] for name in list(times)[:2])
        print(f"{kind:32}{'us a state':>12}{'fastest':>9}{'slowest':>9}   times faster than CVODE")
        for name, took in times.items():
            of = f"{usual / took['median']:9.1f} {slow / took['median']:9.1f}"
            us = [1e6 * took[key] for key in ("median", "fastest", "slowest")]
            print(f"{name:32}{us[0]:12.2f}{us[1]:9.2f}{us[2]:9.2f}{of}")
    print(json.dumps(found))


if __name__ == "__main__":
    main(*states_and_models(__doc__))
