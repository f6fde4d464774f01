"""Time per state of CVODE, of the generated solver and of surrogates, on the same states and one
core, in one run.

Takes solvers (any `Advance`) and states; gives seconds per state.
"""

import time
from collections.abc import Callable, Sequence

import numpy as np

from combred.chemistry.agreement import spread
from combred.chemistry.mechanism import Mechanism
from combred.chemistry.reactor import CVODE, REFERENCE, Tolerances
from combred.chemistry.stepper import Advance, Stepper, advance_each
from combred.experiments.accuracy import ALONE, BEHIND, named
from combred.experiments.ignition.rollout import Rollout
from combred.native.solver import Solver
from combred.processes.machine import machine
from combred.processes.threads import one_thread
from combred.surrogates.library.behind import with_solver
from combred.surrogates.library.choice import fastest
from combred.surrogates.model.surrogate import Surrogate

CFD_TOLERANCE = Tolerances(rtol=1e-6, atol=1e-10)  # typical of a CFD run
WARM_UP = 3  # rounds that are not counted: TorchScript compiles in its first two calls
SOLVER = "solver"  # its name
REPEATS = 7  # of each measurement
IGNITION_STATES = 4096  # of the share that is left to the solver
CVODE_STATES = 256  # CVODE is timed on fewer states: it is slow and has no batches


def compare_times(
    mechanism: Mechanism,
    surrogates: dict[int, Surrogate],
    states: np.ndarray,
    dt: float,
    on_progress: Callable[[int, int], None] = lambda *_: None,
) -> dict:
    """Time per state [s] on one core, `REPEATS` times: of CVODE at the tolerances `REFERENCE`
    and `CFD_TOLERANCE`, of the generated solver at the tolerance of surrogates, and of the
    network of each stage, alone and with the solver behind it.

    surrogates: stage -> surrogate; states (n, 2 + n_species): those that are advanced, over dt [s].
    Returns the times by name (see `time_per_state`), the shares of these states that a network
    leaves to the solver behind it, by stage, and the conditions of the measurement.
    """
    solvers: dict[str, tuple[Advance, int]] = {}
    for tolerance in (REFERENCE, CFD_TOLERANCE):
        name = f"CVODE rtol {tolerance.rtol:g} atol {tolerance.atol:g}"
        cvode = CVODE(mechanism, *tolerance)
        solvers[name] = cvode, CVODE_STATES
    own = Solver(mechanism, Surrogate.TOLERANCE)  # which both have then
    solvers[f"{SOLVER}, tolerance {own.tolerance:g}"] = own, len(states)
    behind = {stage: with_solver(surrogate) for stage, surrogate in surrogates.items()}
    for stage, surrogate in surrogates.items():
        alone = fastest(surrogate, alone=True)
        solvers[named(stage, ALONE)] = alone, len(states)
        solvers[named(stage, BEHIND)] = behind[stage], len(states)
    with one_thread():
        times = time_per_state(solvers, states, dt, REPEATS, on_progress)
    return {
        "machine": machine(),
        "dt": dt,
        "batch": len(states),
        "times": times,
        "solved": {
            f"stage {stage}": share_solved(one, states, dt) for stage, one in behind.items()
        },
        "states": "unperturbed states of states.h5",
    }


def time_per_state(
    solvers: dict[str, tuple[Advance, int]],
    states: np.ndarray,
    dt: float,
    repeats: int,
    on_progress: Callable[[int, int], None] = lambda *_: None,
) -> dict[str, dict[str, float]]:
    """Median and spread of the time per state [s] of each `Advance` over the time step dt [s].

    solvers: name -> (solver, number of `states` (n, 2 + n_species) that it advances in one call).
    These are evenly spaced, since neighbours in a state file are similar. The repeats of the
    solvers are interleaved, so that a slow phase of the machine affects all of them.
    """
    seconds: dict[str, list[float]] = {name: [] for name in solvers}
    for repeat in range(WARM_UP + repeats):
        for name, (solver, n) in solvers.items():
            part = spread(states, n)
            T, p, Y = part[:, 0].copy(), part[:, 1].copy(), part[:, 2:].copy()
            started = time.perf_counter()
            advance_each(solver, T, p, Y, dt)
            if repeat >= WARM_UP:
                seconds[name].append((time.perf_counter() - started) / len(part))
        on_progress(repeat + 1, WARM_UP + repeats)
    return {
        name: {
            "median": float(np.median(values)),
            "fastest": min(values),
            "slowest": max(values),
            "repeats": repeats,
        }
        for name, values in seconds.items()
    }


def share_solved(one: Stepper, states: np.ndarray, dt: float) -> float:
    """The share of states (n, 2 + n_species) that a network leaves to the solver behind it, over dt
    [s]."""
    found = one.attempt(states[:, 0], states[:, 1], states[:, 2:], dt)
    return float((found.steps > 0).mean())


def share_in_ignitions(one: Stepper, references: Sequence[Rollout], errors: dict) -> float:
    """As `share_solved`, along ignitions up to twice their delay; errors: of any `Advance` in these
    references (`Ignitions.compare`). The burnt gas after it is left out: it has no part in a
    delay."""
    paths = []
    for run, row in zip(references, errors["cases"], strict=True):
        shown = run.t <= 2.0 * row["reference_delay"]
        p = np.full(shown.sum(), run.case.p)
        paths.append(np.column_stack([run.T[shown], p, run.Y[shown]]))
    states = spread(np.concatenate(paths), IGNITION_STATES)
    return share_solved(one, states, float(references[0].t[1]))
