"""States of flows: errors and times of the solver beside CVODE.

Takes a `Mechanism` and `Conditions`; gives plain numbers for check.json. The states are those that
a training would draw (`combred.experiments.flow`): ignitions, mixtures of fresh and burnt gas, fuel
and oxidizer, layers and small flames, each with its own dt. Their labels, by the solver in doubles,
are compared with CVODE; the solver at its default tolerance is compared with the labels.
"""

import time

import numpy as np

from combred.check.conditions import Conditions
from combred.chemistry.agreement import (
    difference_from_cvode,
    largest,
    relative_difference,
    spread,
)
from combred.chemistry.mechanism import Mechanism
from combred.chemistry.reactor import CVODE
from combred.config.data import SamplingSettings
from combred.experiments.flow import FlowBlock, FlowStates
from combred.experiments.labelled import Block
from combred.native.solver import Solver
from combred.native.solver.generator import TOLERANCE

DT = 1e-8, 1e-4  # s
BAD = 0.1  # of the change of a state: a larger error is a bad answer
TIMED = 1e-6, 1e-5  # s, time steps whose times are measured
TIMED_STATES, DRAWS, COPIES = 512, 8, 8  # of the times: states, draws of them, copies in a batch
CVODE_TOLERANCES = 1e-6, 1e-12  # rtol and atol
REPEATS = 5
SEED = 302


def draw(mechanism: Mechanism, solver: Solver, of: Conditions, rows: int, index: int = 0) -> Block:
    """`rows` labelled states of flows; index: of the draw."""
    settings = SamplingSettings(
        states=rows, fuel=of.fuel, oxidizer=of.oxidizer, T0=list(of.T0), p=list(of.p), dt=list(DT)
    )
    states = FlowStates(mechanism, settings, solver, SEED)
    return states.block(FlowBlock(index, rows))


def compare(mechanism: Mechanism, solver: Solver, of: Conditions, rows: int) -> dict:
    """Largest difference of the labels from CVODE (over `checked` rows), NaN where it could advance
    none; and of the solver at its default tolerance the quantiles of its error over the rows that
    it could advance, and the numbers of bad rows among these and of the others ("failed"). The rows
    that CVODE advances count twice: in one call of all, and alone, which is other code."""
    block = draw(mechanism, solver, of, rows)
    some = block.rows(spread(np.arange(rows)))
    labels = some.T_next, some.Y_next
    off = difference_from_cvode(mechanism, (some.T, some.p, some.Y), some.dt, labels)
    together = solver.attempt(block.T, block.p, block.Y, block.dt, TOLERANCE).or_nan()
    before, after = (block.T, block.Y), (block.T_next, block.Y_next)
    errors = np.concatenate([
        relative_difference(before, after, together),
        relative_difference((some.T, some.Y), labels, _alone(solver, some)),
    ])  # fmt: skip
    failed = ~np.isfinite(errors)
    good = errors[~failed] if not failed.all() else np.array([np.nan])
    quantiles = {f"{q:g}": float(np.quantile(good, q)) for q in (0.5, 0.99, 1.0)}
    return {
        "rows": rows,
        "checked": int(np.isfinite(off).sum()),
        "labels": largest(off),
        "errors": quantiles,
        "bad": int((good > BAD).sum()),
        "failed": int(failed.sum()),
    }


def _alone(solver: Solver, block: Block) -> tuple[np.ndarray, np.ndarray]:
    """T [K] and Y of each row after its dt, by a call of its own; NaN where it fails."""
    T, Y = np.empty_like(block.T), np.empty_like(block.Y)
    for i in range(len(T)):
        one = block.rows(np.array([i]))
        T[i : i + 1], Y[i : i + 1] = solver.attempt(one.T, one.p, one.Y, one.dt, TOLERANCE).or_nan()
    return T, Y


def times(mechanism: Mechanism, solver: Solver, of: Conditions) -> list[dict]:
    """The times of a state [s] on one core for each of `TIMED`, of the same states: of the solver
    at its default tolerance, in batches, and of Cantera's CVODE at `CVODE_TOLERANCES`, one after
    the other from a cold start, of those that it can advance; and the steps of the solver."""
    found, per_draw = [], TIMED_STATES // DRAWS
    blocks = [draw(mechanism, solver, of, 4 * per_draw, i) for i in range(DRAWS)]
    rows = [np.column_stack([b.T, b.p, b.Y])[:per_draw] for b in blocks]  # in random order
    states = np.concatenate(rows)
    T, p, Y = states[:, 0], states[:, 1], states[:, 2:]
    many = np.tile(states, (COPIES, 1))
    cvode = CVODE(mechanism, *CVODE_TOLERANCES)
    for dt in TIMED:
        seconds = []
        for _ in range(REPEATS):
            begun = time.process_time()
            steps = solver.attempt(many[:, 0], many[:, 1], many[:, 2:], dt, TOLERANCE).steps
            seconds.append(time.process_time() - begun)
        of_cvode = []
        for i in range(len(states)):
            begun = time.process_time()
            later = cvode.attempt(T[i : i + 1], p[i : i + 1], Y[i : i + 1], dt)
            if np.isfinite(later.error[0]):  # a failure takes 20,000 steps
                of_cvode.append(time.process_time() - begun)
        row = {"dt": dt, "seconds": min(seconds) / len(many), "steps": float(steps.mean())}
        found.append(row | {"cvode_seconds": float(np.mean(of_cvode))})
    return found
