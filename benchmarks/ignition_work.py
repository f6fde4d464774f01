"""What does the accuracy of an ignition delay cost, beside solvers with generated rates?

    python -m benchmarks.ignition_work [--mechanism FILE --fuel FUEL] [--] [MODEL ...]

Twenty ignitions for each dt, drawn as in benchmarks/ignitions.py, marched in steps of dt by
compiled surrogates, with the solver behind them at the same tolerance, and by the solvers of
benchmarks/work_precision.py, each of which starts anew at every step, as inside a flow. Of each:
the mean and the largest error of the delay, and the processor time of a state and step, on one
core. Surrogates and combred.solver march 128 copies of each case together, the other solvers one
state after the other. Run nothing else on the machine meanwhile. Without arguments, writes
benchmarks/results/ignition_work.json and docs/ignition-work.png; prints a table, then one JSON
line.
"""

import argparse
import json
import time
from pathlib import Path

import cantera as ct
import numpy as np

from benchmarks.command_line import add_gas, gas_of, general_models, is_usual
from benchmarks.ignitions import STEPS, delay_error, marched, references
from benchmarks.kept import stamp
from benchmarks.solvers.build import MissingError
from benchmarks.work_precision import MARKERS, solver
from combred.chemistry.mechanism import Mechanism
from combred.chemistry.stepper import Advance, advance_each
from combred.experiments.ignition.rollout import Rollout
from combred.files.records import write_json
from combred.native.solver.library import Integrator
from combred.processes.machine import machine
from combred.processes.threads import one_thread

RESULTS = Path(__file__).parent / "results" / "ignition_work.json"
FIGURE = Path(__file__).parents[1] / "docs" / "ignition-work.png"
COPIES = 128  # a call of Python costs as much as some tens of states
SEED, CASES = 77, 20  # of the ignitions
TOLERANCES = (0.1, 0.03, 0.01, 3e-3)  # of surrogates
RTOL = {
    "combred.solver": (0.3, 0.1, 0.03, 0.01, 1e-3, 1e-5),
    "Rosenbrock34": (1.0, 0.3, 0.1, 1e-2, 1e-3),
    "seulex": (1.0, 0.1, 1e-2, 1e-3),
    "CVODE, exact Jacobian": (1e-3, 1e-4, 1e-6),
    "CVODE": (1e-4, 1e-6),
}


def march(mechanism: Mechanism, one: Advance, dt: float, todo: list[Rollout], copies: int) -> dict:
    """The mean and the largest error of the delays, relative, and the processor time [s] of a state
    and step. Cases that do not ignite or fail are counted in `failed`."""
    seconds = 0.0

    def step(states: np.ndarray, _live: np.ndarray) -> np.ndarray:
        """One dt later, without mass fractions below zero."""
        nonlocal seconds
        T, p, Y = (np.repeat(x, copies, axis=0) for x in np.split(states, [1, 2], axis=1))
        begun = time.process_time()
        T, Y = advance_each(one, T[:, 0], p[:, 0], Y, dt)
        seconds += time.process_time() - begun
        Y = np.maximum(Y[::copies], 0.0)
        return np.column_stack([T[::copies], states[:, 1], Y / Y.sum(axis=1, keepdims=True)])

    found = zip(todo, marched(step, todo), strict=True)
    errors = [abs(delay_error(mechanism, *both)[1]) for both in found]
    steps = sum(len(r.t) - 1 for r in todo)
    return {
        "mean": float(np.nanmean(errors)), "worst": float(np.nanmax(errors)),
        "failed": int(np.isnan(errors).sum()), "seconds": seconds / (copies * steps),
    }  # fmt: skip


def draw(found: dict, path: Path) -> None:
    """The figure: mean error of the delay over time a state and step, one panel for each dt."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(11, 3.9), layout="constrained")
    panels = figure.subplots(1, len(found), sharey=True)
    for axis, (dt, lines) in zip(panels, found.items(), strict=True):
        for name, rows in lines.items():
            us, percent = [1e6 * r["seconds"] for r in rows], [100 * r["mean"] for r in rows]
            axis.loglog(us, percent, MARKERS.get(name, "o-"), ms=4, label=name)
        axis.set_xlabel("processor time of a state and step [us]")
        axis.set_title(f"dt = {float(dt):g} s")
        axis.grid(alpha=0.3)
    panels[0].set_ylabel("error of the ignition delay, mean [%]")
    figure.legend(*panels[0].get_legend_handles_labels(), loc="outside right", fontsize=8)
    figure.savefig(path, dpi=130)


def show(name: str, tolerance: float, dt: float, row: dict) -> None:
    failed = f"  {row['failed']} failed" if row["failed"] else ""
    print(
        f"{name:22}{tolerance:8.0e}{dt:8.0e}{row['mean']:10.3%}{row['worst']:9.3%}"
        f"{1e6 * row['seconds']:9.2f} us{failed}",
        flush=True,
    )


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    add_gas(parser)
    given = parser.parse_args()
    ct.suppress_thermo_warnings()
    mechanism, of = gas_of(given)
    shipped = is_usual(given)
    todo = {dt: references(mechanism, of, dt, SEED, CASES) for dt in STEPS}
    chosen = given.models or (general_models() if shipped else [])
    made = stamp(__file__, given.mechanism, *chosen) if shipped and not given.models else {}
    found: dict = {}
    print(f"{'':22}{'rtol':>8}{'dt':>8}{'mean':>10}{'worst':>9}{'a state':>12}")
    with one_thread():
        for name in (*chosen, *RTOL):
            for tolerance in RTOL.get(name, TOLERANCES):
                try:
                    one = solver(name, mechanism, tolerance)
                except MissingError as error:
                    print(f"{name}: left out, {error}")
                    break
                copies = COPIES if isinstance(one, Integrator) else 1
                for dt, rollouts in todo.items():
                    row = march(mechanism, one, dt, rollouts, copies)
                    rows = found.setdefault(f"{dt:g}", {}).setdefault(name, [])
                    rows.append({"tolerance": tolerance, **row})
                    show(name, tolerance, dt, row)
    result = {"machine": machine(), "cores": 1, "copies": COPIES, "dt": found} | made
    if shipped and not given.models:
        write_json(RESULTS, result)
        draw(found, FIGURE)
    print(json.dumps(result))


if __name__ == "__main__":
    main()
