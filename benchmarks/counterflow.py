"""Do counterflow diffusion flames burn, and go out, with a surrogate as with CVODE?

    python -m benchmarks.counterflow [MODEL ...]

Methane/air (DRM19) at 1 atm: flames of 300 K streams from 10 to 400 1/s, and of air at 1200 K at
1000 and 2000 1/s, each marched from Cantera's flame for two inverse strain rates on 60 cells, with
transport and chemistry split. CVODE (rtol 1e-6) in the same march is the reference: it differs from
Cantera's flame by the splitting. Then the strain rate rises until the flame goes out. "Solved": the
share of states that the network left to the solver. CVODE's answers are kept in benchmarks/cache:
they take half an hour of one core. Writes benchmarks/results/counterflow.json; prints a table, then
one JSON line.
"""

import json
import time
from pathlib import Path

import cantera as ct
import numpy as np

import combred
from benchmarks.command_line import general_models, words
from benchmarks.extinction import extinguish
from benchmarks.provenance import CACHE, digest, stamp
from combred import native
from combred.chemistry.mechanism import Mechanism, load_mechanism
from combred.chemistry.reactor import CVODE
from combred.chemistry.stepper import Advance
from combred.experiments.counterflow.cantera_flame import CounterflowCase
from combred.experiments.counterflow.experiment import Curve, compare, of_flame
from combred.experiments.counterflow.flame import CounterflowMarch, burn, start
from combred.files.records import read_json, write_json
from combred.processes.machine import machine
from combred.surrogates.model.surrogate import Surrogate

RESULTS = Path(__file__).parent / "results" / "counterflow.json"
REFERENCES = CACHE / "counterflow.npz"
RTOL, ATOL = 1e-6, 1e-14  # of CVODE
CELLS = 60
FUEL, OXIDIZER = "CH4:1", "O2:1, N2:3.76"
# Temperature of the air [K], strain rate of the inlets [1/s], dt [s].
FLAMES = (
    (300.0, 10.0, 2e-5),
    (300.0, 30.0, 1e-5),
    (300.0, 100.0, 1e-5),
    (300.0, 300.0, 5e-6),
    (300.0, 400.0, 5e-6),
    (1200.0, 1000.0, 2e-6),
    (1200.0, 2000.0, 1e-6),
)
# Never steady: a march ends after two inverse strain rates.
MARCH = CounterflowMarch(cells=CELLS, tolerance=1e-12, longest=2.0)
EXTINCTION = 300.0, 380.0, 1e-5  # air [K], first strain rate [1/s], dt [s]
EXTINCTION_MARCH = CounterflowMarch(cells=CELLS, longest=15.0)


class Counted:
    """A compiled surrogate as an `Advance` that counts states, those that its network leaves to the
    solver, and those that cannot be advanced, which stay as they are."""

    def __init__(self, surrogate: Surrogate):
        self.compiled = native.compile(surrogate)
        self.states = self.solved = self.failed = 0

    def advance(
        self, T: np.ndarray, p: np.ndarray, Y: np.ndarray, dt: float | np.ndarray
    ) -> tuple[np.ndarray, np.ndarray]:
        found = self.compiled.attempt(T, p, Y, dt)
        self.states += len(T)
        self.solved += int((found.steps > 0).sum())
        self.failed += int((found.error > 1.0).sum())
        return found.T, found.Y


def marched(mechanism: Mechanism, solver: Advance, i: int) -> tuple[Curve, str, float]:
    """The last profile, the outcome and the seconds of number i of `FLAMES`."""
    air_T, strain, dt = FLAMES[i]
    begin = start(mechanism, CounterflowCase(FUEL, OXIDIZER, oxidizer_T=air_T), strain, CELLS)
    begun = time.perf_counter()
    flame = burn(mechanism, solver, dt, begin, MARCH)
    return of_flame(flame), flame.outcome, time.perf_counter() - begun


def extinction(mechanism: Mechanism, solver: Advance) -> tuple[float, float]:
    """The extinction strain rate [1/s], and the seconds that it took."""
    air_T, strain, dt = EXTINCTION
    begin = start(mechanism, CounterflowCase(FUEL, OXIDIZER, oxidizer_T=air_T), strain, CELLS)
    begun = time.perf_counter()
    found = extinguish(mechanism, solver, dt, begin, EXTINCTION_MARCH, within=0.01)
    return found.strain, time.perf_counter() - begun


def references(mechanism: Mechanism) -> dict[str, np.ndarray]:
    """CVODE's profiles, seconds and extinction strain rate; each is computed once by the same code,
    and kept."""
    cvode = CVODE(mechanism, RTOL, ATOL)
    code = np.array(digest(__file__, "chemistry", "experiments"))
    numbers = {"code": code}
    if REFERENCES.exists():
        with np.load(REFERENCES) as stored:
            if np.array_equal(stored.get("code"), code):
                numbers = dict(stored)
    for i, (air_T, strain, dt) in enumerate(FLAMES):
        case = np.array([air_T, strain, dt, MARCH.longest])
        if np.array_equal(numbers.get(f"case{i}"), case):
            continue
        curve, _, seconds = marched(mechanism, cvode, i)
        numbers |= {f"x{i}": curve.x, f"T{i}": curve.T, f"Y{i}": curve.Y, f"case{i}": case}
        numbers[f"seconds{i}"] = np.array(seconds)
        _keep(numbers)
    if "extinction" not in numbers:
        strain, seconds = extinction(mechanism, cvode)
        numbers |= {"extinction": np.array(strain), "extinction_seconds": np.array(seconds)}
        _keep(numbers)
    return numbers


def _keep(numbers: dict[str, np.ndarray]) -> None:
    CACHE.mkdir(exist_ok=True)
    np.savez_compressed(REFERENCES, **numbers)


def judge(mechanism: Mechanism, surrogate: Surrogate, cvode: dict[str, np.ndarray]) -> dict:
    """The errors of a surrogate in all flames, and of its extinction strain rate."""
    solver, rows = Counted(surrogate), []
    for i, (air_T, strain, dt) in enumerate(FLAMES):
        curve, outcome, seconds = marched(mechanism, solver, i)
        reference = Curve(cvode[f"x{i}"], cvode[f"T{i}"], cvode[f"Y{i}"])
        errors = compare(mechanism, curve, reference)
        del errors["shift"], errors["thickness"]
        rows.append({
            "air_T": air_T, "strain": strain, "dt": dt, "outcome": outcome,
            "seconds": seconds, "cvode_seconds": float(cvode[f"seconds{i}"]), **errors,
        })  # fmt: skip
    strain, seconds = extinction(mechanism, solver)
    return {
        "flames": rows,
        "extinction": strain,
        "extinction_error": strain / float(cvode["extinction"]) - 1.0,
        "extinction_seconds": seconds,
        "solved": solver.solved / solver.states,
        "failed": solver.failed,
    }


def show(model: str, found: dict) -> None:
    """Print the table of a model."""
    for row in found["flames"]:
        peaks = "  ".join(f"{k} {v:.2%}" for k, v in row["peak_errors"].items())
        print(
            f"{model}: air {row['air_T']:.0f} K, {row['strain']:.0f} 1/s: peak T off by "
            f"{row['peak_T_error']:.2f} K, profile {row['profile_T_error']:.2f} K; {peaks}; "
            f"{row['seconds']:.0f} s (CVODE {row['cvode_seconds']:.0f} s)"
        )
    print(
        f"{model}: extinction at {found['extinction']:.1f} 1/s ({found['extinction_error']:+.2%}), "
        f"solved {found['solved']:.3%}, failed {found['failed']}",
        flush=True,
    )


def main() -> None:
    given = words(__doc__)
    ct.suppress_thermo_warnings()
    mechanism = load_mechanism("drm19.yaml")
    cvode = references(mechanism)
    results = read_json(RESULTS) or {"models": {}}
    for model in given or general_models():
        made = stamp(__file__)
        found = judge(mechanism, combred.load(model).requires_grad_(False), cvode) | made
        show(model, found)
        results["models"][model] = found
    results = {"machine": machine(), "models": results["models"]}
    write_json(RESULTS, results)
    print(json.dumps(results))


if __name__ == "__main__":
    main()
