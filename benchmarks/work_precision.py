"""What does accuracy cost? Error against time of surrogates and of solvers, over their tolerances.

    python -m benchmarks.work_precision --states FILE [MODEL ...]

The states are those of benchmarks/flow_states.py, all kinds together, at dt = 1e-6 and 1e-5 s. All
solvers advance all of them on one core, in this process, each state from a cold start:

    combred.solver         the generated solver, a state in each lane of a vector, in one batch;
                           its tolerance is relative to the change of a state, as a surrogate's
    MODEL                  surrogates as compiled C++ in one batch, with the solver behind them at
                           the same tolerance; "solved": the share of states left to it
    CVODE                  Cantera's reactor at constant pressure
    CVODE, generated rates SUNDIALS' CVODE in C++ with rates by pyrometheus: dense matrices,
                           difference quotients for the Jacobian matrix
    CVODE, exact Jacobian  the same with that matrix, an LU factorisation of fixed size and a looser
                           absolute tolerance
    Rosenbrock34, seulex   the linearly implicit methods that OpenFOAM has, with generated rates and
                           the exact Jacobian matrix; the first step that they try is dt

Tolerances are relative; `ATOL` has the absolute ones. benchmarks/solvers/README.md says what the
solvers in C++ are; where something that they need is not installed, they are left out. Exact is
Cantera's CVODE at a relative tolerance of 1e-12. The error is that of T, relative to the change of
T plus 1 K, and that of Y: the largest of a state, relative to its largest change of a Y plus 1e-5.
Of both, the root mean square and the 99 % quantile over all states. The time is that of the
processor, the shortest of three.

Also the order of convergence: the slope of the error over the length of equal steps, by regression,
for each model as it is, and with random and zero weights in its last layer. Run nothing else on the
machine meanwhile. Writes benchmarks/results/work_precision.json and docs/work-precision.png; prints
tables, then one JSON line.
"""

import copy
import json
import math
import time
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from pathlib import Path

import cantera as ct
import numpy as np
import torch

import combred
from benchmarks.command_line import MECHANISM, general_models, states_and_models
from benchmarks.flow_states import read
from benchmarks.provenance import stamp
from benchmarks.solvers.build import MissingError
from benchmarks.solvers.library import CVODE as GeneratedCVODE
from benchmarks.solvers.library import Counts, Implicit
from combred import native
from combred.chemistry.mechanism import Mechanism, load_mechanism
from combred.chemistry.reactor import CVODE
from combred.chemistry.stepper import Advance, advance_each
from combred.files.records import write_json
from combred.native import NativeSurrogate
from combred.native.solver import Solver
from combred.processes.machine import machine
from combred.processes.threads import one_thread
from combred.surrogates.model.surrogate import Surrogate
from combred.surrogates.timing import share_solved

RESULTS = Path(__file__).parent / "results" / "work_precision.json"
FIGURE = Path(__file__).parents[1] / "docs" / "work-precision.png"
STEPS = (1e-6, 1e-5)  # s
TOLERANCES = (0.3, 0.1, 0.03, 0.01, 3e-3, 1e-3)  # of surrogates
RTOL = {
    "combred.solver": (0.3, 0.1, 0.03, 0.01, 3e-3, 1e-3, 9e-5, 1e-5, 1e-6, 1e-7),
    "CVODE": (1e-3, 1e-4, 1e-6, 1e-8, 1e-10),
    "CVODE, generated rates": (1e-3, 1e-4, 1e-6, 1e-8, 1e-10),
    "CVODE, exact Jacobian": (1e-3, 1e-4, 1e-6, 1e-8, 1e-10),
    "Rosenbrock34": (1.0, 1e-1, 1e-2, 1e-4, 1e-6),
    "seulex": (1.0, 1e-1, 1e-2, 1e-4, 1e-6),
}
# Absolute over relative tolerance, the fastest for T: a looser one costs accuracy, a tighter one
# time.
ATOL = {
    "CVODE": 1e-4,
    "CVODE, generated rates": 1e-4,
    "CVODE, exact Jacobian": 1e-4,
    "Rosenbrock34": 1e-7,
    "seulex": 1e-7,
}
EXACT_RTOL = 1e-12
REPEATS = 3
SUBSTEPS = (4, 8, 16, 32)  # equal steps in 1 us, by which the order is measured


@dataclass(frozen=True)
class States:
    """States before (n, 2 + n_species) [T, p, Y], and T (n,), Y (n, n_species) exactly dt [s]
    later."""

    before: np.ndarray
    dt: float
    T: np.ndarray
    Y: np.ndarray

    @classmethod
    def of(cls, before: np.ndarray, dt: float, mechanism: Mechanism) -> "States":
        """The exact solution, by Cantera's CVODE at `EXACT_RTOL`."""
        exact = CVODE(mechanism, EXACT_RTOL, 1e-8 * EXACT_RTOL)
        return cls(before, dt, *advance_each(exact, before[:, 0], before[:, 1], before[:, 2:], dt))

    def errors(self, T: np.ndarray, Y: np.ndarray) -> dict:
        """Summary of the relative errors of T (n,) [K] and Y (n, n_species), without failed states,
        which are NaN; `failed` in a row counts them."""
        of_T = np.abs(T - self.T) / (np.abs(self.T - self.before[:, 0]) + 1.0)
        change = np.abs(self.Y - self.before[:, 2:]).max(1)
        of_Y = np.abs(Y - self.Y).max(1) / (change + 1e-5)
        found = {}
        for key, e in (("", of_T), ("_Y", of_Y)):
            found[f"rms{key}"] = float(np.sqrt(np.nanmean(e**2)))
            found[f"q99{key}"] = float(np.nanquantile(e, 0.99))
        return found


def timed(solve: Callable[[], tuple]) -> tuple[float, tuple]:
    """The shortest processor time [s] of `REPEATS` calls, and what the call returns."""
    shortest = math.inf
    for _ in range(REPEATS):
        begun = time.process_time()
        found = solve()
        shortest = min(shortest, time.process_time() - begun)
    return shortest, found


def solver(name: str, mechanism: Mechanism, rtol: float) -> Advance:
    """The solver or the surrogate of this name at a relative tolerance. Raises MissingError where
    something that it needs is not installed."""
    if name not in RTOL:
        return NativeSurrogate(native.compile(combred.load(name)).library.path, rtol)
    if name == "combred.solver":
        return Solver(mechanism, tolerance=rtol)
    atol = ATOL[name] * rtol
    if name == "CVODE":
        return CVODE(mechanism, rtol, atol)
    if name.startswith("CVODE"):
        return GeneratedCVODE(mechanism, rtol, atol, tuned=name == "CVODE, exact Jacobian")
    return Implicit(mechanism, name.lower(), rtol, atol)


def measure(name: str, mechanism: Mechanism, states: States) -> list:
    """Error and time a state [s] at each of the tolerances; of a surrogate the share of states that
    its network left to the solver, of the solvers in benchmarks/solvers what they did, by state.
    Raises MissingError as `solver`."""
    T, p, Y = states.before[:, 0], states.before[:, 1], states.before[:, 2:]
    rows = []
    for rtol in RTOL.get(name, TOLERANCES):
        one = solver(name, mechanism, rtol)
        seconds, (T_next, Y_next) = timed(partial(advance_each, one, T, p, Y, states.dt))
        row = {"tolerance": rtol, "seconds": seconds / len(T)}
        if isinstance(one, NativeSurrogate):
            row["solved"] = share_solved(one, states.before, states.dt)
        if isinstance(one, GeneratedCVODE | Implicit):
            row |= {key: getattr(one.counts, key) / len(T) for key, _ in Counts._fields_}
        rows.append(row | states.errors(T_next, Y_next))
    return rows


def order(surrogate: Surrogate, states: States) -> float:
    """The slope of ln(median error of T) over ln(step), for 1 us in 4, 8, 16 and 32 equal steps, of
    the states whose T changes by more than 1 K."""
    before, exact = states.before, states.T
    moving = np.abs(exact - before[:, 0]) > 1.0
    found = []
    for count in SUBSTEPS:
        state = torch.from_numpy(before[moving])
        steps = torch.full((len(state),), 1e-6 / count, dtype=torch.float64)
        with torch.no_grad():
            for _ in range(count):
                state, _ = surrogate.step(state, steps)
        found.append(np.median(np.abs(state[:, 0].numpy() - exact[moving])))
    return float(-np.polyfit(np.log(SUBSTEPS), np.log(found), 1)[0])


def with_last_layer(surrogate: Surrogate, scale: float) -> Surrogate:
    """The surrogate with random weights, times `scale`, in its network's last layer."""
    other = copy.deepcopy(surrogate)
    last, generator = other.network.layers[-1], torch.Generator().manual_seed(0)
    with torch.no_grad():
        last.weight.copy_(scale * torch.randn(last.weight.shape, generator=generator) * 0.1)
        last.bias.zero_()
    return other


MARKERS = {
    "combred.solver": "r*-",
    "CVODE": "k.--",
    "CVODE, generated rates": "k^:",
    "CVODE, exact Jacobian": "ks-",
    "Rosenbrock34": "D-",
    "seulex": "v-",
}


def draw(found: dict, path: Path) -> None:
    """The figure: error over time a state, one panel for each dt."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(10, 4.4), layout="constrained")
    for axis, (dt, lines) in zip(figure.subplots(1, 2, sharey=True), found.items(), strict=True):
        for name, rows in lines.items():
            marker = MARKERS.get(name, "o-")
            us = [1e6 * row["seconds"] for row in rows]
            axis.loglog(us, [row["rms"] for row in rows], marker, ms=4, label=name)
        axis.set_xlabel("processor time of a state [us]")
        axis.set_title(f"dt = {float(dt):g} s")
        axis.grid(alpha=0.3)
    figure.axes[0].set_ylim(top=1.0)  # above, a solver has failed
    figure.axes[0].set_ylabel("relative error of T, rms")
    figure.legend(*figure.axes[0].get_legend_handles_labels(), loc="outside right", fontsize=8)
    figure.savefig(path, dpi=130)


def show(dt: float, name: str, rows: list) -> None:
    """Print the rows of a solver."""
    for row in rows:
        solved = f"solved {row['solved']:.2%}  " if "solved" in row else ""
        print(
            f"{dt:g} s {name:23} tolerance {row['tolerance']:7.0e}  T {row['rms']:8.1e} (99 %: "
            f"{row['q99']:8.1e})  Y {row['rms_Y']:8.1e} ({row['q99_Y']:8.1e})  "
            f"{1e6 * row['seconds']:8.1f} us  {solved}"
            f"failed {row.get('failed', 0):.2%}",
            flush=True,
        )


def main() -> None:
    file, given = states_and_models(__doc__)
    ct.suppress_thermo_warnings()
    models = given or general_models()
    made = stamp(__file__)
    mechanism, kinds = load_mechanism(MECHANISM), read(file).values()
    before = np.concatenate([np.column_stack([k["T"], k["p"], k["Y"]]) for k in kinds])
    lines, orders = {}, {}
    with one_thread():
        for dt in STEPS:
            states = States.of(before, dt, mechanism)
            lines[f"{dt:g}"] = found = {}
            for name in (*RTOL, *models):
                try:
                    found[name] = measure(name, mechanism, states)
                    show(dt, name, found[name])
                except MissingError as error:
                    print(f"{name} is left out: {error}")
            for name in models if dt == 1e-6 else []:
                surrogate = combred.load(name).requires_grad_(False)
                orders[name] = {
                    "trained": order(surrogate, states),
                    "random": order(with_last_layer(surrogate, 1.0), states),
                    "zero": order(with_last_layer(surrogate, 0.0), states),
                }
    print("order of convergence:", orders)
    result = {"machine": machine(), "cores": 1, "lines": lines, "orders": orders} | made
    write_json(RESULTS, result)
    draw(lines, FIGURE)
    print(json.dumps(result))


if __name__ == "__main__":
    main()
