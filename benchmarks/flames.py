"""How accurate are speed, thickness and profiles of freely propagating flames with a network?

    python -m benchmarks.flames grid [CELLS ...]     solver: speed against the number of cells
    python -m benchmarks.flames step [DT ...]        solver: speed against dt [s]
    python -m benchmarks.flames checks               CVODE on 80 cells; Cantera's FreeFlame
    python -m benchmarks.flames models [PHI,T[,ATM] ...]   shipped models against the solver
    python -m benchmarks.flames                      the table of what there is

Methane/air (DRM19); `grid`, `step` and `checks` at phi 1, 300 K, 1 atm. CVODE at rtol 1e-6 and
atol 1e-10, the solver at 1e-6, in doubles: in one more step of each reference it is compared with
CVODE. One core. Every result is written to
benchmarks/results/flames.json at once and not computed again by the same code. Prints a table, then
one JSON line.
"""

import json
import time
from dataclasses import replace
from pathlib import Path

import numpy as np
import torch
from scipy.optimize import least_squares

import combred
from benchmarks.command_line import MECHANISM, words
from benchmarks.provenance import is_current, stamp
from combred.chemistry.agreement import require_small
from combred.chemistry.fuel import Mixture
from combred.chemistry.reactor import CVODE
from combred.experiments.premixed import flame
from combred.experiments.premixed.cantera_flame import COARSE, FINE, solve_free_flame
from combred.experiments.premixed.experiment import PremixedFlames
from combred.experiments.premixed.grid import FlameCase, Profile
from combred.files.records import read_json, strict, write_json
from combred.native import fastest
from combred.native.solver import Solver

RESULTS = Path(__file__).parent / "results" / "flames.json"
FUEL, OXIDIZER, ATMOSPHERE = "CH4:1", "O2:1, N2:3.76", 101325.0
STANDARD = FlameCase(300.0, ATMOSPHERE, 1.0)
TOLERANCES = {"rtol": 1e-6, "atol": 1e-10}
CELLS = (57, 80, 113, 160, 226)
STEPS = (4e-6, 2e-6, 1e-6, 5e-7)
MODEL_CASES = (
    *("1,300", "0.8,300", "1.2,300", "1.4,300", "0.6,500", "1,500", "1,800", "0.6,800"),
    *("1,300,5", "1,300,20"),
)
MODEL_CELLS, REFERENCE = 160, "solver in doubles"
STRICT = flame.FlameMarch(tolerance=5e-4, longest=8.0)


def mechanism() -> combred.Mechanism:
    return combred.load_mechanism(MECHANISM)  # which reads the file once


def stored() -> dict:
    """The results so far, by part."""
    return {"grid": {}, "step": {}, "checks": {}, "models": {}} | read_json(RESULTS)


def keep(part: str, key: str, numbers: dict) -> None:
    """Add one result to the file, which another process may have changed meanwhile."""
    results = stored()
    results[part][key] = numbers
    write_json(RESULTS, strict(results))
    print(part, key, json.dumps(strict(numbers)), flush=True)


def begin(case: FlameCase, cells: int) -> Profile:
    """The initial profile of a flame."""
    return flame.start(mechanism(), case, mechanism().mixture(FUEL, OXIDIZER, case.phi), cells)


def regrid(profile: Profile, cells: int) -> Profile:
    """The profile on another number of cells: a start that is nearly steady takes fewer steps."""
    old = (np.arange(len(profile.T)) + 0.5) / len(profile.T)
    new = (np.arange(cells) + 0.5) / cells
    columns = [np.interp(new, old, column) for column in profile.Y.T]
    return replace(
        profile,
        cell_mass=profile.cell_mass * len(old) / cells,
        T=np.interp(new, old, profile.T),
        Y=np.column_stack(columns),
    )


def burn(profile: Profile, solver, dt: float, how=STRICT) -> tuple[flame.Flame, dict]:
    """The steady flame from a profile with a chemistry solver, and its numbers."""
    began = time.monotonic()
    burnt = flame.burn(mechanism(), solver, dt, profile, how)
    names = ("outcome", "speed", "displacement_speed", "thickness")
    numbers = {name: getattr(burnt, name) for name in names}
    return burnt, numbers | {"steps": len(burnt.t), "seconds": time.monotonic() - began}


def exact() -> Solver:
    """The solver in doubles, whose flames `checks` compares with CVODE's."""
    return Solver(mechanism(), 1e-6)


def run_grid(wanted: list[str]) -> None:
    profile = None
    for cells in [int(w) for w in wanted] or CELLS:
        if is_current(stored()["grid"].get(str(cells))):
            continue
        profile = begin(STANDARD, cells) if profile is None else regrid(profile, cells)
        burnt, numbers = burn(profile, exact(), 1e-6)
        keep("grid", str(cells), numbers | stamp(__file__))
        profile = burnt.profile


def run_step(wanted: list[str]) -> None:
    profile = None
    for dt in [float(w) for w in wanted] or STEPS:
        if is_current(stored()["step"].get(f"{dt:g}")):
            continue
        profile = begin(STANDARD, 80) if profile is None else profile
        burnt, numbers = burn(profile, exact(), dt)
        keep("step", f"{dt:g}", numbers | stamp(__file__))
        profile = burnt.profile


def run_checks(_: list[str]) -> None:
    if not is_current(stored()["checks"].get("CVODE")):
        numbers = burn(begin(STANDARD, 80), CVODE(mechanism(), **TOLERANCES), 1e-6)[1]
        keep("checks", "CVODE", numbers | stamp(__file__))
    if not is_current(stored()["checks"].get("FreeFlame")):
        numbers = free_flame(STANDARD, (0.03, 0.015, 0.0075, 0.004))
        keep("checks", "FreeFlame", numbers | stamp(__file__))


def free_flame(case: FlameCase, slopes: tuple[float, ...]) -> dict:
    """Speed of Cantera's flame on a sequence of refined grids, and its limit. Cantera's convection
    is upwind, of first order: the last two speeds are extrapolated by a + b / points."""
    unburnt = mechanism().mixture(FUEL, OXIDIZER, case.phi)
    found = solve_free_flame(mechanism(), case.T, case.p, unburnt, refinements=(COARSE, FINE))
    points, speeds = [], []
    for slope in slopes:
        found.set_refine_criteria(ratio=2, slope=slope, curve=slope)
        found.solve(loglevel=0)
        points.append(len(found.grid))
        speeds.append(float(found.velocity[0]))
    change = (speeds[-2] - speeds[-1]) / (points[-1] / points[-2] - 1.0)
    return {"points": points, "speeds": speeds, "speed": speeds[-1] - change}


def case_of(name: str) -> FlameCase:
    """The flame of PHI,T or PHI,T,ATM."""
    phi, T, atm = (float(part) for part in f"{name},1".split(",")[:3])
    return FlameCase(T, atm * ATMOSPHERE, phi)


def run_models(wanted: list[str]) -> None:
    every = flames_of(flame.MARCH)
    for name in wanted or MODEL_CASES:
        case = case_of(name)
        row, made = stored()["models"].get(str(case), {}), stamp(__file__)
        current = is_current(row.get(REFERENCE))
        models = [one for one in combred.models() if not (current and is_current(row.get(one)))]
        if not models:
            continue
        reference = every.settle(exact(), begin(case, MODEL_CELLS))
        off, _ = require_small(mechanism(), every.differences_from_cvode([reference]))
        of_reference = {"speed": reference.speed, "thickness": reference.thickness}
        row[REFERENCE] = of_reference | {"difference_from_CVODE": off} | made
        for model in models:
            made, solver = stamp(__file__), fastest(combred.load(model))
            burnt, numbers = burn(reference.profile, solver, 1e-6, flame.MARCH)
            errors = every.compare([burnt], [reference])["cases"][0]
            errors = {key: value for key, value in errors.items() if key.endswith("error")}
            row[model] = numbers | errors | made
            keep("models", str(case), row)


def flames_of(how: flame.FlameMarch) -> PremixedFlames:
    """Flames that are marched so."""
    return PremixedFlames(mechanism(), Mixture(FUEL, OXIDIZER), [], 1e-6, how)


def order(x: list[float], speeds: list[float]) -> tuple[float, float]:
    """Order q and limit S_0 of speed = S_0 + c x^q, by regression over all x."""
    x, speeds = np.array(x) / max(x), np.array(speeds)
    guess = [speeds[np.argmin(x)], speeds[np.argmax(x)] - speeds[np.argmin(x)], 2.0]
    fit = least_squares(lambda v: (v[0] + v[1] * x ** v[2] - speeds) / speeds[0], guess)
    return float(fit.x[2]), float(fit.x[0])


def table(results: dict) -> None:
    for part, spacing in (("grid", lambda key: 1.0 / float(key)), ("step", float)):
        rows = sorted(results[part].items(), key=lambda item: -spacing(item[0]))
        for key, row in rows:
            ended = f"{row['outcome']} after {row['steps']} steps, {row['seconds']:.0f} s"
            width = 1e6 * row["thickness"]
            print(f"{part} {key:>6}: {row['speed']:.5f} m/s, {width:.1f} um, {ended}")
        if len(rows) > 3:
            q, limit = order([spacing(key) for key, _ in rows], [row["speed"] for _, row in rows])
            print(f"{part}: order {q:.2f}, extrapolated {limit:.5f} m/s")
            results["orders"] = results.get("orders", {}) | {part: {"order": q, "speed": limit}}
    for key, row in results["checks"].items():
        print(f"{key}: {row['speed']:.5f} m/s")
    for case, row in results["models"].items():
        exact, width = row[REFERENCE], 1e6 * row[REFERENCE]["thickness"]
        print(f"{case}: {REFERENCE} {exact['speed']:.4f} m/s, {width:.0f} um")
        for model in combred.models():
            if model in row:  # a new model may not have been computed for every flame
                print(f"  {model:11} {errors_in_words(row[model])}")
    print(json.dumps(results))


def errors_in_words(row: dict) -> str:
    if row["speed"] is None:
        return row["outcome"]
    return (
        f"{row['speed']:.4f} m/s: error {100 * row['speed_error']:.2f} %, thickness "
        f"{100 * row['thickness_error']:.2f} %, T {row['profile_T_error']:.0f} K, burnt T "
        f"{row['burnt_T_error']:.1f} K; {row['outcome']}"
    )


def main(arguments: list[str]) -> None:
    torch.set_num_threads(1)
    work = {"grid": run_grid, "step": run_step, "checks": run_checks, "models": run_models}
    if arguments:
        if arguments[0] not in work:
            raise SystemExit(f"{arguments[0]!r} is none of {', '.join(work)}; see --help")
        work[arguments[0]](arguments[1:])
    table(stored())


if __name__ == "__main__":
    main(words(__doc__))
