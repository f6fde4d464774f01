"""Time per state of CVODE, of the generated solver and of surrogates, on the same states and one
core, in one run.

Takes solvers (any `Advance`) and states; gives seconds per state.
"""

import time
from collections.abc import Callable

import numpy as np

from combred.chemistry.agreement import spread
from combred.chemistry.mechanism import Mechanism
from combred.chemistry.reactor import CVODE, REFERENCE, Tolerances
from combred.chemistry.stepper import Advance, advance_each
from combred.native.solver import Solver
from combred.processes.machine import machine
from combred.processes.threads import one_thread
from combred.surrogates.library.choice import fastest
from combred.surrogates.library.compiled import NativeSurrogate
from combred.surrogates.model.surrogate import Surrogate

CFD_TOLERANCE = Tolerances(rtol=1e-6, atol=1e-10)  # typical of a CFD run
WARM_UP = 3  # rounds that are not counted: TorchScript compiles in its first two calls
SOLVER = "solver"  # its name
REPEATS = 7  # of each measurement
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
    surrogate of each stage, compiled (`fastest`).

    surrogates: stage -> surrogate; states (n, 2 + n_species): those that are advanced, over dt [s].
    Returns the times by name (see `time_per_state`), the shares of the states that a surrogate
    leaves to the solver behind it, by name, and the conditions of the measurement.
    """
    solvers: dict[str, tuple[Advance, int]] = {}
    for tolerance in (REFERENCE, CFD_TOLERANCE):
        name = f"CVODE rtol {tolerance.rtol:g} atol {tolerance.atol:g}"
        cvode = CVODE(mechanism, *tolerance)
        solvers[name] = cvode, CVODE_STATES
    own = Solver(mechanism, Surrogate.TOLERANCE)  # which both have then
    solvers[f"{SOLVER}, tolerance {own.tolerance:g}"] = own, len(states)
    for stage, surrogate in surrogates.items():
        solvers[f"stage {stage}"] = fastest(surrogate), len(states)
    with one_thread():
        times = time_per_state(solvers, states, dt, REPEATS, on_progress)
    return {
        "machine": machine(),
        "dt": dt,
        "batch": len(states),
        "times": times,
        "solved": {
            name: share_solved(one, states, dt)
            for name, (one, _) in solvers.items()
            if isinstance(one, NativeSurrogate)
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


def share_solved(one: NativeSurrogate, states: np.ndarray, dt: float) -> float:
    """The share of states (n, 2 + n_species) that a surrogate leaves to the solver behind its
    network, over dt [s]."""
    found = one.attempt(states[:, 0], states[:, 1], states[:, 2:], dt)
    return float((found.steps > 0).mean())
