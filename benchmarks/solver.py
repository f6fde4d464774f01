"""How fast and how accurate is the generated solver, from 10 to 100 species?

    python -m benchmarks.solver [--mechanisms FILE:FUEL:MOLES[:PHASE] ...] [--states N] [--cases N]

For each mechanism, on one core:

- time to generate and compile, shapes of the matrix, time of a step;
- N (960) states of ignitions, burnt and fresh gas just mixed, and the same aged, at 0.5 to 40 atm,
  in one batch: time and error at several tolerances for dt = 1e-6 and 1e-5 s, beside Cantera's
  CVODE, dense, and with its AdaptivePreconditioner (sparse Jacobian in moles), each from a cold
  start, on every eighth of the states. The reference is the solver itself in doubles at 1e-8, whose
  difference from CVODE at rtol 1e-10 is told;
- N (24) ignitions for each dt of 1e-7, 1e-6 and 1e-5 s, 1 to 40 atm, with delays of 60 to 3000 dt,
  marched at tolerances of 0.01 and 0.001: errors of the delay against one integration by CVODE
  (rtol 1e-9, atol 1e-18);
- batches of 1, 16 and 4096 states, and the levels of x86-64 of a portable library (DRM19).

The error is that of benchmarks/work_precision.py: of T relative to its change plus 1 K, of Y to the
largest change of a state plus 1e-5, root mean square. Times are of the processor, the solver's the
shortest of five. Run nothing else on the machine meanwhile. Writes
benchmarks/results/solver.json; prints tables, then one JSON line.
"""

import argparse
import ctypes
import json
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

import cantera as ct
import numpy as np

from benchmarks.ignitions import LONGEST, SHORTEST, Rollout, delay_error, marched
from benchmarks.work_precision import States
from combred import native
from combred.chemistry.mechanism import Mechanism, load_mechanism
from combred.chemistry.reactor import CVODE, IntegrationError, Reactor
from combred.config import ChemistrySettings
from combred.native.builder import build
from combred.native.interface import Library, Options
from combred.native.solver import Solver, generate
from combred.native.solver.layout import lay_out, pattern
from combred.records import write_json
from combred.simulation.ignition import Case, history, integrate
from combred.threads import one_thread
from combred.validation.timing import machine

RESULTS = Path(__file__).parent / "results" / "solver.json"
MECHANISMS = (
    "h2o2.yaml:H2:1", "drm19.yaml:CH4:1", "gri30.yaml:CH4:1",
    "example_data/ammonia-CO-H2-Alzueta-2023.yaml:NH3:1:baseline",
    "nDodecane_Reitz.yaml:c12h26:1:nDodecane_IG",
)  # fmt: skip
STEPS, TOLERANCES = (1e-6, 1e-5), (0.1, 0.01, 0.001, 1e-5, 1e-6)
REFERENCE = 1e-8  # tolerance of the solver, in doubles
DELAY_STEPS, DELAY_TOLERANCES = (1e-7, 1e-6, 1e-5), (0.01, 0.001)
CHEMISTRY = ChemistrySettings(rtol=1e-9, atol=1e-18)
SEED, REPEATS, PATHS, PATH_STEPS = 5, 5, 40, 3000


def names_of(mechanism: Mechanism) -> dict[str, str]:
    """The species of a mechanism by their names in capitals."""
    return {name.upper(): name for name in mechanism.species_names}


def air(mechanism: Mechanism) -> str:
    known = names_of(mechanism)
    return f"{known['O2']}:1, {known['N2']}:3.76"


def draw_states(mechanism: Mechanism, fuel: str, count: int) -> np.ndarray:
    """States (count, 2 + n_species) [T, p, Y]: a third each of ignitions, of mixtures of such a
    state with fresh gas at 300 to 900 K, and of these 0.3 to 300 us later."""
    rng, gas = np.random.default_rng(SEED), mechanism.solution()
    rows: list[np.ndarray] = []
    third = -(-count // 3)
    while len(rows) < third:
        p = ct.one_atm * 80.0 ** rng.random() / 2.0
        gas.TP = rng.uniform(1000.0, 1700.0), p
        gas.set_equivalence_ratio(3.0 ** rng.uniform(-1, 1), fuel, air(mechanism))
        reactor = ct.IdealGasConstPressureReactor(gas, clone=False)
        net, path = ct.ReactorNet([reactor]), []
        while len(path) < PATH_STEPS and net.time < 0.5:
            net.step()
            path.append([reactor.T, p, *np.maximum(gas.Y, 0.0)])
        chosen = rng.integers(len(path), size=-(-third // PATHS))
        rows += list(np.array(path)[chosen])
    burning = np.array(rows[:third])
    gas.TP = 300.0, ct.one_atm
    gas.set_equivalence_ratio(1.0, fuel, air(mechanism))
    share, mixed = rng.random((third, 1)), burning.copy()
    mixed[:, 2:] = share * burning[:, 2:] + (1.0 - share) * gas.Y
    mixed[:, 0] = share[:, 0] * burning[:, 0] + (1.0 - share[:, 0]) * rng.uniform(300, 900, third)
    aged = mixed.copy()
    solver, age = Solver(mechanism), 3e-7 * 1e3 ** rng.random(third)
    found = solver.integrate(aged[:, 0], aged[:, 1], aged[:, 2:], age, 1e-5)
    aged[:, 0], aged[:, 2:] = found.T, found.Y
    states = np.concatenate([burning, mixed, aged])[:count]
    states[:, 2:] /= states[:, 2:].sum(axis=1, keepdims=True)
    return states


def shortest(call: Callable[[], object], repeats: int = REPEATS) -> float:
    """The shortest processor time [s] of some calls."""
    times = []
    for _ in range(repeats):
        begun = time.process_time()
        call()
        times.append(time.process_time() - begun)
    return min(times)


def of_c(library: Library, states: np.ndarray, dt: float, tolerance: float) -> float:
    """The shortest processor time [s] of one call of the C interface, without Python's checks."""
    n, step, options = len(states), np.array([dt]), Options(tolerance, 0, 0)
    error, tried, workspace = np.empty(n), np.empty(n, dtype=np.int64), library._workspace()
    times = []
    for _ in range(REPEATS):
        rows = states.copy()
        begun = time.process_time()
        library._advance(
            n, rows.ctypes.data, step.ctypes.data, 0, ctypes.byref(options), error.ctypes.data,
            tried.ctypes.data, workspace.ctypes.data, workspace.nbytes,
        )  # fmt: skip
        times.append(time.process_time() - begun)
    return min(times)


def preconditioned(mechanism: Mechanism, rtol: float, atol: float) -> Callable:
    """Cantera's CVODE with its AdaptivePreconditioner, as a function of one state and dt."""
    gas = mechanism.solution()

    def advance(state: np.ndarray, dt: float) -> float:
        gas.TPY = state[0], state[1], state[2:]
        reactor = ct.IdealGasConstPressureMoleReactor(gas, clone=False)
        net = ct.ReactorNet([reactor])
        net.rtol, net.atol, net.preconditioner = rtol, atol, ct.AdaptivePreconditioner()
        net.advance(dt)
        return reactor.T

    return advance


def work_precision(mechanism: Mechanism, solver: Solver, states: np.ndarray) -> list[dict]:
    """Times and errors at each dt and tolerance, and those of Cantera's CVODE."""
    T, p, Y = states[:, 0], states[:, 1], states[:, 2:]
    few, rows = states[::8], []
    for dt in STEPS:
        exact = solver.integrate(T, p, Y, dt, REFERENCE, max_steps=100_000)
        truth = States(states, dt, exact.T, exact.Y)
        of_few = States(few, dt, exact.T[::8], exact.Y[::8])
        best = CVODE(mechanism, 1e-10, 1e-20).advance(few[:, 0], few[:, 1], few[:, 2:], dt)
        rows.append({"dt": dt, "solver": "CVODE, 1e-10, against the reference",
                     **of_few.errors(*best)})  # fmt: skip
        for tolerance in TOLERANCES:
            found = solver.integrate(T, p, Y, dt, tolerance)
            failed = int((~np.isfinite(found.error)).sum())
            rows.append({
                "dt": dt, "solver": "combred.solver", "tolerance": tolerance,
                "us": 1e6 * of_c(solver.library, states, dt, tolerance) / len(states),
                "steps": float(found.steps.mean()), "failed": failed,
                **truth.errors(found.T, found.Y),
            })  # fmt: skip
        for rtol in (1e-4, 1e-6, 1e-8):
            cvode = CVODE(mechanism, rtol, 1e-8 * rtol)
            begun = time.process_time()
            later = cvode.advance(few[:, 0], few[:, 1], few[:, 2:], dt)
            us = 1e6 * (time.process_time() - begun) / len(few)
            rows.append({"dt": dt, "solver": "CVODE", "tolerance": rtol, "us": us,
                         "failed": cvode.failed, **of_few.errors(*later)})  # fmt: skip
        advance = preconditioned(mechanism, 1e-6, 1e-14)
        begun, failed = time.process_time(), 0
        for state in few:
            try:
                advance(state, dt)
            except ct.CanteraError:
                failed += 1
        us = 1e6 * (time.process_time() - begun) / len(few)
        rows.append({"dt": dt, "solver": "CVODE, AdaptivePreconditioner", "tolerance": 1e-6,
                     "us": us, "failed": failed})  # fmt: skip
        for row in rows:
            if row["dt"] == dt:
                show(row)
    return rows


def show(row: dict) -> None:
    time_of = f"{row['us']:9.2f} us" if "us" in row else 12 * " "
    steps = f"  {row['steps']:6.2f} steps" if "steps" in row else ""
    errors = f"  T {row['rms']:.1e}  Y {row['rms_Y']:.1e}" if "rms" in row else ""
    failed = f"  FAILED {row['failed']}" if row.get("failed") else ""
    name = f"  {row['dt']:g} s  {row['solver']:36}{row.get('tolerance', 0):8.0e}"
    print(f"{name}{time_of}{errors}{steps}{failed}", flush=True)


def references(mechanism: Mechanism, fuel: str, dt: float, count: int) -> list[Rollout]:
    """CVODE's rollouts of `count` ignitions whose delays are of a length that dt suits."""
    rng, found = np.random.default_rng([SEED, round(1e9 * dt)]), []
    reactor = Reactor(mechanism, CHEMISTRY.rtol, CHEMISTRY.atol)
    for _ in range(200 * count):
        case = Case(rng.uniform(800.0, 2000.0), ct.one_atm * 40.0 ** rng.random(),
                    3.0 ** rng.uniform(-1.0, 1.0))  # fmt: skip
        Y0 = mechanism.mixture(fuel, air(mechanism), case.phi)
        try:
            t, T = history(reactor, case, Y0, LONGEST * dt, 20 * dt)
            delay = float(t[np.argmax(T > 0.5 * (case.T0 + T[-1]))])
            if T[-1] > case.T0 + 400.0 and SHORTEST * dt < delay < LONGEST * dt:
                steps = int(max(1.15 * delay / dt, delay / dt + 60))
                found.append(integrate(mechanism, case, Y0, dt, steps, CHEMISTRY))
        except IntegrationError:
            continue
        if len(found) == count:
            break
    return found


def delays(mechanism: Mechanism, solver: Solver, fuel: str, count: int) -> list[dict]:
    """Mean and largest error of the delay for each dt and tolerance."""
    rows = []
    for dt in DELAY_STEPS:
        todo = references(mechanism, fuel, dt, count)
        for tolerance in DELAY_TOLERANCES if todo else ():

            def step(states: np.ndarray, _live: np.ndarray, dt=dt, tolerance=tolerance):
                later = solver.integrate(states[:, 0], states[:, 1], states[:, 2:], dt, tolerance)
                return np.column_stack([later.T, later.p, later.Y])

            errors = [
                abs(delay_error(mechanism, *pair)[1])
                for pair in zip(todo, marched(step, todo), strict=True)
            ]
            row = {"dt": dt, "tolerance": tolerance, "cases": len(todo),
                   "mean": float(np.mean(errors)), "worst": float(np.max(errors))}  # fmt: skip
            print(f"  delays {dt:g} s, {tolerance:g}: {row['mean']:.4%} / {row['worst']:.4%}",
                  f"({len(todo)} cases)", flush=True)  # fmt: skip
            rows.append(row)
    return rows


def of_mechanism(text: str, count: int, cases: int) -> dict:
    """All that is measured of one mechanism, of the text FILE:FUEL:MOLES[:PHASE]."""
    file, name, moles, *phase = text.split(":")
    mechanism, fuel = load_mechanism(file, *phase), f"{name}:{moles}"
    layout = lay_out(mechanism)
    begun = time.perf_counter()
    files = generate(mechanism)
    generated = time.perf_counter() - begun
    with tempfile.TemporaryDirectory() as scratch:
        begun = time.perf_counter()
        build(files, Path(scratch))
        compiled = time.perf_counter() - begun
    solver = Solver(mechanism)
    found = {
        "species": mechanism.n_species, "reactions": len(layout.terms), "fuel": fuel,
        "phase": mechanism.phase, "generate_s": generated, "compile_s": compiled,
        "nonzeros": {kind: len(pattern(layout, exact).places)
                     for kind, exact in (("float", False), ("double", True))},
    }  # fmt: skip
    print(f"{file} {mechanism.phase}: {found}", flush=True)
    states = draw_states(mechanism, fuel, count)
    found["work_precision"] = work_precision(mechanism, solver, states)
    attempts = {t: solver.integrate(states[:, 0], states[:, 1], states[:, 2:], 1e-5, t).steps.mean()
                for t in (0.01, 1e-6)}  # fmt: skip
    found["step_us"] = {
        kind: 1e6 * of_c(solver.library, states, 1e-5, t) / len(states) / float(attempts[t])
        for kind, t in (("float", 0.01), ("double", 1e-6))
    }
    print(f"  a step: {found['step_us']}", flush=True)
    found["delays"] = delays(mechanism, solver, fuel, cases)
    return found


def batches_and_levels() -> dict:
    """Times [us] a state of DRM19 in batches of other sizes, and by the code of each level."""
    mechanism = load_mechanism("drm19.yaml")
    states = draw_states(mechanism, "CH4:1", 4096)
    library = Solver(mechanism).library
    found: dict = {"batch": {}, "level": {}}
    for size in (1, 16, 4096):
        parts = [states[i : i + size] for i in range(0, 4096, size)][:256]
        seconds = sum(of_c(library, part, 1e-6, 0.01) for part in parts)
        found["batch"][size] = 1e6 * seconds / sum(map(len, parts))
    portable = native.build_portable(generate(mechanism))
    for level in ("v2", "v3", "v4"):
        found["level"][level] = 1e6 * of_c(Library(portable, level), states, 1e-6, 0.01) / 4096
    print(f"batches and levels: {found}", flush=True)
    return found


def main() -> None:
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.solver",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--mechanisms", nargs="+", default=MECHANISMS, metavar="FILE:FUEL:MOLES")
    parser.add_argument("--states", type=int, default=960, metavar="N")
    parser.add_argument("--cases", type=int, default=24, metavar="N")
    given = parser.parse_args()
    ct.suppress_thermo_warnings()
    with one_thread():
        found = {
            Path(text.split(":")[0]).name: of_mechanism(text, given.states, given.cases)
            for text in given.mechanisms
        }
        result = {"machine": machine(), "cores": 1, "mechanisms": found, **batches_and_levels()}
    if tuple(given.mechanisms) == MECHANISMS:
        write_json(RESULTS, result)
    print(json.dumps(result))


if __name__ == "__main__":
    main()
