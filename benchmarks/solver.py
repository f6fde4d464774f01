"""How fast and how accurate is the generated solver, from 10 to 100 species?

    python -m benchmarks.solver [--mechanisms FILE[:PHASE]:FUEL ...] [--states N]

For each mechanism, on one core:

- time to generate and compile, shapes of the matrix, time of a step;
- `combred check`: ignitions, states of flows, stirred reactors and flames beside CVODE;
- N (960) states of flows (combred.check.states) in one batch: time and error at several tolerances
  for dt = 1e-6 and 1e-5 s, beside Cantera's CVODE, dense and with its AdaptivePreconditioner, and
  beside CVODE with the exact Jacobian matrix and seulex, compiled with rates by pyrometheus
  (benchmarks/solvers) where it knows the mechanism, up to 60 species (that of n-dodecane compiles
  for minutes and crashes); these one by one, from a cold start, on every
  eighth of the states. The reference is the solver itself in doubles at 1e-8, which the check
  compares with CVODE;
- batches of 1, 16, 256 and 4096 states, and the levels of x86-64 of a portable library (DRM19);
- one reactor that goes on through an ignition, beside CVODE without restarts (DRM19, GRI-3.0).

The error is that of benchmarks/work_precision.py: of T relative to its change plus 1 K, of Y to the
largest change of a state plus 1e-5, root mean square. Times are of the processor, the solver's the
shortest of five. Run nothing else on the machine meanwhile. Writes
benchmarks/results/solver.json, each of our mechanisms as soon as it is done (unless --states is
given); prints tables, then one JSON line. The pages of the checks are left in
benchmarks/cache/check-*.
"""

import argparse
import ctypes
import json
import os
import tempfile
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path
from unittest.mock import patch

import cantera as ct
import numpy as np

from benchmarks.command_line import MECHANISM
from benchmarks.provenance import CACHE, stamp, stored
from benchmarks.solvers.build import MissingError
from benchmarks.solvers.library import CVODE as GeneratedCVODE
from benchmarks.solvers.library import Implicit
from benchmarks.work_precision import ATOL, States
from combred import native
from combred.check import check_mechanism, find_conditions, ignitions, states
from combred.check.checking import RECORD
from combred.check.states import CVODE_TOLERANCES
from combred.check.verdict import size_of
from combred.chemistry.mechanism import Mechanism, load_mechanism
from combred.chemistry.reactor import CVODE
from combred.chemistry.stepper import Advance, advance_each
from combred.files.records import write_json
from combred.native.builder import build
from combred.native.interface import Options, Report, of_level
from combred.native.library import Library
from combred.native.solver import Solver, generate
from combred.native.solver.generator import TOLERANCE
from combred.native.solver.layout import lay_out, pattern
from combred.processes.machine import machine
from combred.processes.threads import one_thread
from combred.report.check import write_check

RESULTS = Path(__file__).parent / "results" / "solver.json"
ALZUETA = "example_data/ammonia-CO-H2-Alzueta-2023.yaml"
MECHANISMS = (
    "h2o2.yaml:H2", "drm19.yaml:CH4", "gri30.yaml:CH4", f"{ALZUETA}:baseline:NH3",
    f"{ALZUETA}:linear-Burke:NH3", "nDodecane_Reitz.yaml:nDodecane_IG:c12h26",
)  # fmt: skip
STATES = 960
STEPS, TOLERANCES = (1e-6, 1e-5), (0.1, 0.01, 0.001, 1e-5, 1e-6)
REFERENCE = 1e-8  # tolerance of the solver, in doubles
REPEATS = 5
CONTINUED = 64  # states of `continuing`
MOST_COMPILED = 60  # species of a mechanism whose rates pyrometheus writes


def shortest(call: Callable[[], object]) -> float:
    """The shortest processor time [s] of some calls."""
    times = []
    for _ in range(REPEATS):
        begun = time.process_time()
        call()
        times.append(time.process_time() - begun)
    return min(times)


def of_c(
    library: Library, rows: np.ndarray, dt: float, tolerance: float, chooses: bool = False
) -> float:
    """The shortest processor time [s] of one call of the C interface, without Python's checks.
    chooses: the library for all CPUs chooses its code by the number of states."""
    advance = of_level(library.calls, library.path, "")[0] if chooses else library._advance
    n, step, options = len(rows), np.array([dt]), Options(tolerance, 0, 0)
    error, tried = np.empty(n), np.empty(n, dtype=np.int64)
    report = Report(error.ctypes.data, tried.ctypes.data, 0)
    copies = iter([rows.copy() for _ in range(REPEATS)])
    return shortest(
        lambda: advance(
            n,
            next(copies).ctypes.data,
            step.ctypes.data,
            0,
            ctypes.byref(options),
            ctypes.byref(report),
            *library._workspace(),
        )  # fmt: skip
    )


class Preconditioned:
    """Cantera's CVODE with its AdaptivePreconditioner, as an `Advance`."""

    def __init__(self, mechanism: Mechanism, rtol: float):
        self.gas, self.rtol = mechanism.solution(), rtol

    def advance(self, T: np.ndarray, p: np.ndarray, Y: np.ndarray, dt: float):
        """T (n,) [K] and Y (n, n_species) after dt [s]; NaN where it fails."""
        later_T, later_Y = np.full(len(T), np.nan), np.full(Y.shape, np.nan)
        for i in range(len(T)):
            self.gas.TPY = T[i], p[i], Y[i]
            reactor = ct.IdealGasConstPressureMoleReactor(self.gas, clone=False)
            net = ct.ReactorNet([reactor])
            net.rtol, net.atol = self.rtol, 1e-8 * self.rtol
            net.preconditioner = ct.AdaptivePreconditioner()
            try:
                net.advance(dt)
                later_T[i], later_Y[i] = reactor.T, self.gas.Y
            except ct.CanteraError:
                continue
        return later_T, later_Y


# Each with its tolerances.
COMPETITORS: dict[str, tuple[Callable[[Mechanism, float], Advance], tuple[float, ...]]] = {
    # At an absolute tolerance of 1e-10 n-dodecane's states are wrong, after 20 times the time.
    "CVODE": (lambda m, rtol: CVODE(m, rtol, 1e-8 * rtol), (1e-4, 1e-6)),
    "CVODE, AdaptivePreconditioner": (Preconditioned, (1e-6,)),
    "CVODE, exact Jacobian": (
        lambda m, rtol: GeneratedCVODE(m, rtol, ATOL["CVODE, exact Jacobian"] * rtol, tuned=True),
        (1e-4, 1e-6),
    ),
    "seulex": (lambda m, rtol: Implicit(m, "seulex", rtol, ATOL["seulex"] * rtol), (1e-2, 1e-4)),
}

COMPILED = ("CVODE, exact Jacobian", "seulex")


def work_precision(mechanism: Mechanism, solver: Solver, rows: np.ndarray) -> list[dict]:
    """Times and errors at each dt and tolerance, of the solver and of its competitors."""
    T, p, Y = rows[:, 0], rows[:, 1], rows[:, 2:]
    few, found = rows[::8], []
    for dt in STEPS:
        exact = solver.attempt(T, p, Y, dt, REFERENCE, max_steps=100_000)
        truth = States(rows, dt, exact.T, exact.Y)
        of_few = States(few, dt, exact.T[::8], exact.Y[::8])
        for tolerance in TOLERANCES:
            later = solver.attempt(T, p, Y, dt, tolerance)
            found.append({
                "dt": dt, "solver": "combred.solver", "tolerance": tolerance,
                "us": 1e6 * of_c(solver.library, rows, dt, tolerance) / len(rows),
                "steps": float(later.steps.mean()),
                "failed": int((~np.isfinite(later.error)).sum()),
                **means(truth.errors(*later.or_nan())),
            })  # fmt: skip
            show(found[-1])
        for name, (make, tolerances) in COMPETITORS.items():
            if name in COMPILED and mechanism.n_species > MOST_COMPILED:
                continue
            for rtol in tolerances:
                try:
                    one = make(mechanism, rtol)
                except (MissingError, NotImplementedError, AttributeError) as error:
                    # The last two are pyrometheus', for rates or data that it does not know.
                    print(f"  {name} is left out: {' '.join(str(error).split('*'))}")
                    break
                begun = time.process_time()
                later_T, later_Y = advance_each(one, few[:, 0], few[:, 1], few[:, 2:], dt)
                us = 1e6 * (time.process_time() - begun) / len(few)
                found.append({
                    "dt": dt, "solver": name, "tolerance": rtol, "us": us,
                    "failed": int(np.isnan(later_T).sum()),
                    **means(of_few.errors(later_T, later_Y)),
                })  # fmt: skip
                show(found[-1])
    return found


def means(errors: dict) -> dict:
    """The root mean squares of the errors."""
    return {name: errors[name] for name in ("rms", "rms_Y")}


def show(row: dict) -> None:
    steps = f"  {row['steps']:6.2f} steps" if "steps" in row else ""
    failed = f"  FAILED {row['failed']}" if row["failed"] else ""
    print(f"  {row['dt']:g} s  {row['solver']:30}{row['tolerance']:8.0e}{row['us']:10.2f} us  "
          f"T {row['rms']:.1e}  Y {row['rms_Y']:.1e}{steps}{failed}", flush=True)  # fmt: skip


def checked(file: str, phase: str, fuel: str) -> dict:
    """What `combred check` finds, in short; its page is left in benchmarks/cache."""
    folder = CACHE / f"check-{Path(file).stem}-{phase or 'gas'}"
    (folder / RECORD).unlink(missing_ok=True)
    record = check_mechanism(file, phase, fuel, folder=folder, on_progress=tell)
    write_check(folder)
    parts = record["parts"]
    delays = []
    for dt in ignitions.STEPS:
        rows = parts[f"ignitions, dt {dt:g} s"]
        for tolerance in ignitions.TOLERANCES if rows else ():
            errors = [size_of(row["errors"][f"{tolerance:g}"]) for row in rows]
            delays.append({"dt": dt, "tolerance": tolerance, "cases": len(rows),
                           "mean": float(np.mean(errors)), "worst": max(errors)})  # fmt: skip
    return {
        "conditions": record["inputs"]["conditions"],
        "rates": record["about"]["rates"],
        "delays": delays,
        "verdict": record["verdict"],
        "times": record["times"],
        "seconds": sum(record["seconds"].values()),
    }


def tell(done: int, count: int, what: str) -> None:
    print(f"  check: {done} of {count}: {what}", flush=True)


def of_mechanism(text: str, count: int) -> dict:
    """All that is measured of one mechanism, of the text FILE[:PHASE]:FUEL."""
    file, *phase, fuel = text.split(":")
    made = stamp(__file__)
    mechanism = load_mechanism(file, *phase)
    layout = lay_out(mechanism)
    begun = time.perf_counter()
    files = generate(mechanism)
    with tempfile.TemporaryDirectory() as scratch, patch.dict(os.environ, XDG_CACHE_HOME=scratch):
        build(files, Path(scratch))
        compiled = time.perf_counter() - begun
    solver = Solver(mechanism)
    of = find_conditions(mechanism, solver, f"{fuel}:1")
    found = {
        "species": mechanism.n_species, "reactions": len(layout.terms), "phase": mechanism.phase,
        "compile_s": compiled,
        "nonzeros": {kind: len(pattern(layout, exact).places)
                     for kind, exact in (("float", False), ("double", True))},
        "check": checked(file, mechanism.phase, f"{fuel}:1"),
    }  # fmt: skip
    print(f"{file} {mechanism.phase}: {found['species']} species, {compiled:.0f} s", flush=True)
    block = states.draw(mechanism, solver, of, count)
    rows = np.column_stack([block.T, block.p, block.Y])
    found["work_precision"] = work_precision(mechanism, solver, rows)
    advance = partial(solver.integrate, rows[:, 0], rows[:, 1], rows[:, 2:], 1e-5)
    found["step_us"] = {
        kind: 1e6 * of_c(solver.library, rows, 1e-5, t) / float(advance(t).steps.sum())
        for kind, t in (("float", 0.01), ("double", 1e-6))
    }
    print(f"  a step: {found['step_us']}", flush=True)
    return found | made


def batches_and_levels() -> dict:
    """Times [us] a state of DRM19, by the library for all CPUs, in batches of other sizes and by
    the code of each level."""
    mechanism, made = load_mechanism(MECHANISM), stamp(__file__)
    solver = Solver(mechanism)
    block = states.draw(mechanism, solver, find_conditions(mechanism, solver), 4096)
    rows = np.column_stack([block.T, block.p, block.Y])
    found: dict = {"batch": {**made}, "level": {**made}}
    portable = native.build_portable(generate(mechanism))
    for size in (1, 16, 256, 4096):
        parts = [rows[i : i + size] for i in range(0, 4096, size)][:256]
        calls = sum(of_c(Library(portable), part, 1e-6, TOLERANCE, True) for part in parts)
        by_python = sum(of_c(Library(portable), part[:0], 1e-6, TOLERANCE, True) for part in parts)
        found["batch"][size] = 1e6 * (calls - by_python) / sum(map(len, parts))
    best = Library(portable).level.removeprefix("x86-64-")  # of this processor
    for level in filter(best.__ge__, ("v2", "v3", "v4")):
        found["level"][level] = 1e6 * of_c(Library(portable, level), rows, 1e-6, TOLERANCE) / 4096
    print(f"batches and levels: {found}", flush=True)
    return found


def continuing(file: str) -> dict:
    """Times [us] of a step of 1e-6 s of one reactor that goes on: of 64 states of flows over 20
    steps, of an ignition of methane at 1500 K and 1 atm over 1.5 delays, and of that whole ignition
    in one call; by the library for all CPUs, without the time of Python's calls, and by Cantera's
    CVODE in mole numbers, without restarts. Each is the shortest of three."""
    mechanism, solver = load_mechanism(file), Solver(load_mechanism(file))
    library = Library(native.build_portable(generate(mechanism)))
    advance = of_level(library.calls, library.path, "")[0]
    block = states.draw(mechanism, solver, find_conditions(mechanism, solver, "CH4:1"), CONTINUED)
    fresh = np.concatenate([[1500.0, ct.one_atm], mechanism.mixture("CH4:1", "O2:1, N2:3.76", 1.0)])
    (delay,) = solver.time_to(fresh[:1], fresh[1], fresh[None, 2:], 2200.0, 1.0)
    steps = int(1.5 * delay / 1e-6)

    def combred(row: np.ndarray, steps: int, dt: float) -> float:
        step, options = np.array([dt]), Options(TOLERANCE, 0, 0)
        rest = (ctypes.byref(options), None, *library._workspace())
        times = []
        for n in (0, 1):  # no state: what Python takes
            now = row.copy()
            begun = time.process_time()
            for _ in range(steps):
                advance(n, now.ctypes.data, step.ctypes.data, 0, *rest)
            times.append(time.process_time() - begun)
        return times[1] - times[0]

    def cvode(row: np.ndarray, steps: int, dt: float) -> float:
        gas = mechanism.solution(transport=False)
        gas.TPY = row[0], row[1], row[2:]
        net = ct.ReactorNet([ct.IdealGasConstPressureMoleReactor(gas, clone=False)])
        net.rtol, net.atol = CVODE_TOLERANCES
        net.initialize()
        begun = time.process_time()
        for i in range(steps):
            net.advance(dt * (i + 1))
        return time.process_time() - begun

    def us(rows: np.ndarray, steps: int, dt: float) -> dict:
        found = {
            one.__name__: [min(one(row, steps, dt) for _ in range(3)) for row in rows]
            for one in (combred, cvode)
        }
        return {name: 1e6 * float(np.mean(times)) / steps for name, times in found.items()}

    flows = np.column_stack([block.T, block.p, block.Y])
    return {
        "flows": us(flows, 20, 1e-6),
        "ignition": us(fresh[None], steps, 1e-6) | {"steps": steps},
        "whole": us(fresh[None], 1, 1e-6 * steps),
        **stamp(__file__),
    }


def main() -> None:
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.solver",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--mechanisms", nargs="+", default=MECHANISMS, metavar="FILE[:PHASE]:FUEL")
    parser.add_argument("--states", type=int, default=STATES, metavar="N")
    given = parser.parse_args()
    ct.suppress_thermo_warnings()
    # Results of other states or mechanisms are printed alone.
    ours = given.states == STATES and set(given.mechanisms) <= set(MECHANISMS)
    found = stored(RESULTS, ("mechanisms",)) if ours else {"machine": machine(), "mechanisms": {}}
    result, of = found | {"cores": 1}, found["mechanisms"]
    with one_thread():
        for text in given.mechanisms:
            of[text] = of_mechanism(text, given.states)
            result["mechanisms"] = {name: of[name] for name in (*MECHANISMS, *of) if name in of}
            if ours:
                write_json(RESULTS, result)
        result |= batches_and_levels()
        result["continuing"] = {file: continuing(file) for file in (MECHANISM, "gri30.yaml")}
    if ours:
        write_json(RESULTS, result)
    print(json.dumps(result))


if __name__ == "__main__":
    main()
