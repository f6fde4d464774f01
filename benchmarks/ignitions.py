"""How accurate are ignitions at other pressures and time steps than one atmosphere and 1 us?

    python -m benchmarks.ignitions [--mechanism FILE --fuel FUEL] [--cases N] [--seeds SEED ...]
        [--] [MODEL ...]

N (40) ignitions of methane/air, or of another fuel, for each SEED (201, 202, 203: no model was
chosen by them) and each dt of 1e-7, 1e-6 and 5e-6 s, drawn at random: 0.5 to 40 atm (log-uniform),
phi 0.3 to 3 (log-uniform), T0 1000 to 2000 K, with a delay of 60 to 3000 dt (others are drawn
again). The delay (`combred.experiments.ignition.delay`) is the time at half the rise of T, of the
solver and of compiled surrogates (`combred.native`), marched in steps of dt, against one
integration by CVODE (rtol 1e-9, atol 1e-18) read out at the same times. MODEL: a shipped model, a
file or the folder of a run; by default the shipped ones where no gas is named. "Solved": the share
of the steps by the solver.

Without arguments, writes benchmarks/results/ignitions.json. Prints a table, then one JSON line.
"""

import argparse
import json
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import cantera as ct
import numpy as np

import combred
from benchmarks.command_line import add_gas, gas_of, general_models, is_usual
from benchmarks.provenance import stamp
from combred.chemistry.fuel import Mixture
from combred.chemistry.mechanism import Mechanism
from combred.chemistry.reactor import Reactor, Tolerances
from combred.experiments.ignition.delay import ignition_delay
from combred.experiments.ignition.rollout import Case, Rollout, history, integrate
from combred.files.records import write_json
from combred.native import compile
from combred.native.solver import Solver
from combred.native.solver.library import Integrator
from combred.processes.machine import machine

RESULTS = Path(__file__).parent / "results" / "ignitions.json"
RTOL, ATOL = 1e-9, 1e-18
STEPS = (1e-7, 1e-6, 5e-6)  # s
CASES, SEEDS = 40, [201, 202, 203]
SHORTEST, LONGEST = 60, 3000  # dt, of a delay


@dataclass(frozen=True)
class Ranges:
    """Of initial T [K], p [atm] and phi, the last two log-uniform."""

    T: tuple[float, float] = (1000.0, 2000.0)
    p: tuple[float, float] = (0.5, 40.0)
    phi: tuple[float, float] = (0.3, 3.0)


RANGES = Ranges()
AFTER = 60  # dt, marched after 1.15 delays at the least

# The states [T, p, Y] (n, 2 + n_species) one step later, of the cases with the numbers (n,).
Step = Callable[[np.ndarray, np.ndarray], np.ndarray]


def references(
    mechanism: Mechanism, of: Mixture, dt: float, seed: int, cases: int, ranges: Ranges = RANGES
) -> list[Rollout]:
    """CVODE's rollouts of the cases of this dt [s], at random in the ranges; p in atm."""
    rng = np.random.default_rng([seed, round(1e9 * dt)])
    reactor, found = Reactor(mechanism, RTOL, ATOL), []
    while len(found) < cases:
        atm, phi = (low * (high / low) ** rng.random() for low, high in (ranges.p, ranges.phi))
        case = Case(rng.uniform(*ranges.T), ct.one_atm * atm, phi)
        Y0 = mechanism.mixture(of.fuel, of.oxidizer, case.phi)
        t, T = history(reactor, case, Y0, LONGEST * dt, 20 * dt)
        delay = float(t[np.argmax(T > 0.5 * (case.T0 + T[-1]))])
        if T[-1] > case.T0 + 400.0 and SHORTEST * dt < delay < LONGEST * dt:
            steps = int(max(1.15 * delay / dt, delay / dt + AFTER))
            found.append(integrate(mechanism, case, Y0, dt, steps, Tolerances(RTOL, ATOL)))
    return found


def marched(step: Step, todo: list[Rollout]) -> list[Rollout]:
    """The cases of `todo`, marched by `step`, all in one batch; a case that has reached its end
    leaves it."""
    states = np.array([[r.T[0], r.case.p, *r.Y[0]] for r in todo])
    steps = np.array([len(r.t) - 1 for r in todo])
    paths = [[state] for state in states]
    live = np.arange(len(todo))
    for k in range(steps.max()):
        keep = k < steps[live]
        live = live[keep]
        states = step(states[keep], live)
        for row, i in enumerate(live):
            paths[i].append(states[row])
    found = [np.array(path) for path in paths]
    return [
        Rollout(r.case, r.t, path[:, 0], path[:, 2:]) for r, path in zip(todo, found, strict=True)
    ]


def delay_error(mechanism: Mechanism, exact: Rollout, found: Rollout) -> tuple[float, float]:
    """The delay [s] of CVODE's rollout, and the relative error of that of the other."""
    delay = ignition_delay(mechanism, exact, exact.T[-1])
    return delay, ignition_delay(mechanism, found, exact.T[-1]) / delay - 1.0


def march(mechanism: Mechanism, one: Integrator, dt: float, todo: list[Rollout]) -> list[dict]:
    """The errors of the solver or a surrogate in the cases of `todo`, all in one batch: of the
    delay, of the last T [K]; the share of steps by the solver."""
    solved = np.zeros(len(todo))

    def step(states: np.ndarray, live: np.ndarray) -> np.ndarray:
        found = one.attempt(states[:, 0], states[:, 1], states[:, 2:], dt)
        solved[live] += found.steps > 0
        return np.column_stack([found.T, found.p, found.Y])

    rows = []
    for i, (r, found) in enumerate(zip(todo, marched(step, todo), strict=True)):
        delay, error = delay_error(mechanism, r, found)
        rows.append({
            "case": {"T0": r.case.T0, "p": r.case.p, "phi": r.case.phi}, "delay": delay,
            "delay_error": error, "last_T_error": float(found.T[-1]) - float(r.T[-1]),
            "solved": solved[i] / (len(r.t) - 1),
        })  # fmt: skip
    return rows


def main(given: argparse.Namespace) -> None:
    ct.suppress_thermo_warnings()
    mechanism, of = gas_of(given)
    seeds, cases, shipped = given.seeds, given.cases, is_usual(given)
    todo = {
        dt: [r for seed in seeds for r in references(mechanism, of, dt, seed, cases)]
        for dt in STEPS
    }
    usual = shipped and not given.models and (seeds, cases) == (SEEDS, CASES)
    found: dict = {}
    print(f"{'':18}{'dt':>8}{'delay: mean':>13}{'worst':>9}{'last T':>9}{'solved':>10}")
    for model in (*(given.models or (general_models() if shipped else ())), "solver"):
        one = Solver(mechanism) if model == "solver" else compile(combred.load(model))
        found[model] = {}
        made = stamp(__file__) if usual else {}
        for dt, rollouts in todo.items():
            rows = march(mechanism, one, dt, rollouts)
            delay = np.abs([row["delay_error"] for row in rows])
            summary = {
                "mean": float(delay.mean()), "worst": float(delay.max()),
                "last_T_error": float(np.abs([row["last_T_error"] for row in rows]).max()),
                "solved": float(np.mean([row["solved"] for row in rows])),
                "p": [f(row["case"]["p"] for row in rows) for f in (min, max)],
                "delay_errors": [row["delay_error"] for row in rows],
            }  # fmt: skip
            found[model] |= {f"{dt:g}": summary} | made
            print(
                f"{model:18}{dt:8.0e}{summary['mean']:13.3%}{summary['worst']:9.3%}"
                f"{summary['last_T_error']:7.1f} K{summary['solved']:10.1%}",
                flush=True,
            )
    result = {"machine": machine(), "seeds": seeds, "cases": cases, "models": found}
    if usual:
        write_json(RESULTS, result)
    print(json.dumps(result))


if __name__ == "__main__":
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.ignitions",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    add_gas(parser)
    parser.add_argument("--seeds", type=int, nargs="+", default=SEEDS, metavar="SEED")
    parser.add_argument("--cases", type=int, default=CASES, metavar="N")
    main(parser.parse_args())
