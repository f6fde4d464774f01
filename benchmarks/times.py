"""How much time does a state take with CVODE and with each shipped model?

    python -m benchmarks.times [MODEL ...]

One core, one run: CVODE at the tolerance of the training data and at one that is usual in CFD, and
every shipped model (or those named) as TorchScript, closure included, over 1 us at their default
tolerance. Those that correct QSS steps also compiled to C++, with step size control and without:
one evaluation for each state, whatever its error. The states are 4096, evenly spread over the
ignitions with CVODE of benchmarks/accuracy.py (`grid`); CVODE takes 256 of them. Repeats are
interleaved. Run nothing else on the machine meanwhile. Writes benchmarks/results/times.json; prints
a table, then one JSON line.
"""

import json
from dataclasses import dataclass
from pathlib import Path

import numpy as np

import combred
from benchmarks.accuracy import CHEMISTRY, DT, references
from benchmarks.command_line import words
from combred import native
from combred.chemistry.reactor import CVODE, Advance
from combred.native import NativeSurrogate
from combred.pipeline.console import progress
from combred.records import write_json
from combred.simulation.ignition import Rollout
from combred.threads import one_thread
from combred.validation import timing

RESULTS = Path(__file__).parent / "results" / "times.json"
STATES, REPEATS = 4096, 7
ANY_ERROR = 1e9  # a tolerance that every step reaches


@dataclass(frozen=True)
class WithoutControl:
    """An `Advance` by one evaluation for each state."""

    surrogate: NativeSurrogate

    def advance(
        self, T: np.ndarray, p: np.ndarray, Y: np.ndarray, dt: float | np.ndarray
    ) -> tuple[np.ndarray, np.ndarray]:
        """As `Advance` says; dt [s]."""
        later, *_ = self.surrogate.integrate(np.column_stack([T, p, Y]), dt, ANY_ERROR)
        return later[:, 0], later[:, 2:]


def states_of(rollouts: list[Rollout], count: int) -> np.ndarray:
    """(count, 2 + n_species) states [T, p, Y], evenly spread over all steps of all rollouts."""
    every = [
        np.column_stack([r.T, np.full(len(r.T), r.case.p), np.maximum(r.Y, 0.0)]) for r in rollouts
    ]
    return timing.spread(np.concatenate(every), count)


def main(models: list[str]) -> None:
    mechanism = combred.load_mechanism("drm19.yaml")
    states = states_of(references(("grid",))["grid"], STATES)
    advances: dict[str, tuple[Advance, int]] = {}
    for tolerance in (CHEMISTRY, timing.CFD_TOLERANCE):
        cvode = CVODE(mechanism, tolerance.rtol, tolerance.atol)
        advances[f"CVODE rtol {tolerance.rtol:g}"] = cvode, timing.CVODE_STATES
    for model in models or list(combred.models()):
        surrogate = combred.load(model)
        advances[model] = native.scripted(surrogate), STATES
        if surrogate.corrects_rates:
            compiled = native.compile(surrogate)
            advances[f"{model}, C++"] = compiled, STATES
            advances[f"{model}, C++, without control"] = WithoutControl(compiled), STATES
    with one_thread(), progress("timing") as bar:
        times = timing.time_per_state(advances, states, DT, REPEATS, bar)
    found = {"machine": timing.machine(), "cores": 1, "batch": STATES, "times": times}
    write_json(RESULTS, found)
    slow, usual = (times[name]["median"] for name in list(times)[:2])
    print(f"{'':32}{'us a state':>12}{'fastest':>9}{'slowest':>9}   times faster than CVODE")
    for name, took in times.items():
        of = f"{usual / took['median']:9.1f} {slow / took['median']:9.1f}"
        us = [1e6 * took[key] for key in ("median", "fastest", "slowest")]
        print(f"{name:32}{us[0]:12.1f}{us[1]:9.1f}{us[2]:9.1f}{of}")
    print(json.dumps(found))


if __name__ == "__main__":
    main(words(__doc__))
