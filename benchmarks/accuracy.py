"""How accurate are the models that come with combred in ignitions?

    python -m benchmarks.accuracy [MODEL ...]

MODEL: the name of a shipped model or the path of a stageN.safetensors; without it, all shipped
models. Each model is rolled out from the unburnt mixture of methane and air to the burnt gas in
steps of 1e-6 s and compared with CVODE at the tolerance of the training data:

- grid: T0 1300 to 1800 K, phi 0.5 to 2, p 0.5, 1 and 2 atm, all combinations (90 cases);
- drawn: 48 cases drawn at random from the same range, seed 0; no model was chosen by them;
- long: 27 cases of the grid over 50,000 steps (50 ms); errors along the rollout and at its end (see
  `distances`).

CVODE integrates each case once, without interruption, and its solution is evaluated at the
multiples of dt (`ignition.integrate`). Its rollouts are kept in benchmarks/cache with their inputs.
Writes benchmarks/results/accuracy.json after each shipped model (benchmarks/cache/accuracy.json for
other files); a model is not measured again unless its file, the cases or the code have changed.
Prints a table, then one JSON line.
"""

import json
import os
from functools import cache
from pathlib import Path

import cantera as ct
import numpy as np
from scipy.interpolate import CubicSpline

import combred
from benchmarks.command_line import MECHANISM, words
from benchmarks.kept import CACHE, NETWORKS, is_current, stamp
from combred.chemistry.mechanism import Mechanism
from combred.chemistry.reactor import REFERENCE
from combred.config import ValidationSettings
from combred.experiments.ignition import cases as ignition_cases
from combred.experiments.ignition import errors as ignition_errors
from combred.experiments.ignition import rollout as ignition
from combred.experiments.ignition.rollout import Case, Rollout
from combred.experiments.metrics import summarize
from combred.experiments.storage import read_runs, write_runs
from combred.files.records import digest, digest_of, read_json, strict, write_json
from combred.native import fastest
from combred.pipeline.console import progress
from combred.processes.threads import one_thread
from combred.processes.workers import open_pool
from combred.surrogate.shipped import FOLDER
from combred.validation import timing

RESULTS = Path(__file__).parent / "results" / "accuracy.json"
STORES = RESULTS, CACHE / "accuracy.json"  # for shipped models, for other files
ATM = 101325.0
FUEL, OXIDIZER, DT = "CH4:1", "O2:1, N2:3.76", 1e-6
GRID = ValidationSettings(
    T0=[1300.0, 1400.0, 1500.0, 1600.0, 1700.0, 1800.0],
    phi=[0.5, 0.75, 1.0, 1.5, 2.0],
    p=[0.5 * ATM, ATM, 2 * ATM],
    burnt_time=2e-3,
)
DRAWN, SEED = 48, 0
LONG = ValidationSettings(T0=[1400.0, 1600.0, 1800.0], phi=[0.5, 1.0, 2.0], p=GRID.p)
LONG_STEPS = 50_000
SETS = {
    "1400-1800 K, 1 atm": lambda row: row["T0"] >= 1400.0 and row["p"] == ATM,
    "1400-1800 K": lambda row: row["T0"] >= 1400.0,
    "1300 K": lambda row: row["T0"] == 1300.0,
    "grid": lambda row: True,
}


# -- cases, and their rollouts with CVODE ----------------------------------------------------------


def drawn_cases(count: int = DRAWN, seed: int = SEED) -> list[Case]:
    """Random cases from the range of the grid; p log-uniform."""
    rng = np.random.default_rng(seed)
    T0, phi = rng.uniform(1300, 1800, count), rng.uniform(0.5, 2.0, count)
    p = ATM * np.exp(rng.uniform(np.log(0.5), np.log(2.0), count))
    return [Case(*map(float, values)) for values in zip(T0, p, phi, strict=True)]


def all_cases() -> dict[str, list[Case]]:
    """The cases of each group."""
    return {
        "grid": ignition_cases.cases(GRID),
        "drawn": drawn_cases(),
        "long": ignition_cases.cases(LONG),
    }


def inputs(mechanism: Mechanism, group: str) -> dict:
    """The inputs of the rollouts of a group."""
    return {
        "mechanism_sha256": mechanism.sha256,
        "cantera": ct.__version__,
        "fuel": FUEL,
        "oxidizer": OXIDIZER,
        "dt": DT,
        "chemistry": REFERENCE._asdict(),
        "burnt_time": GRID.burnt_time,
        "steps": LONG_STEPS if group == "long" else None,  # None: to equilibrium
        "cases": [[case.T0, case.p, case.phi] for case in all_cases()[group]],
    }


@cache
def _mechanism() -> Mechanism:
    return combred.load_mechanism(MECHANISM)


def roll(group: str, case: Case) -> Rollout:
    """The rollout of one case of a group with CVODE."""
    mechanism = _mechanism()
    Y0 = mechanism.mixture(FUEL, OXIDIZER, case.phi)
    steps = LONG_STEPS
    if group != "long":
        steps = ignition_cases.steps_to_equilibrium(mechanism, case, Y0, GRID)
    return ignition.integrate(mechanism, case, Y0, DT, steps)


def references(groups: tuple[str, ...] = ("grid", "drawn", "long")) -> dict[str, list[Rollout]]:
    """Rollouts with CVODE by group, from the cache if their inputs have not changed."""
    mechanism, found = _mechanism(), {}
    CACHE.mkdir(exist_ok=True)
    for group in groups:
        path, wanted = CACHE / f"{group}.h5", inputs(mechanism, group)
        stored, theirs = read_runs(path, mechanism, Rollout)
        if theirs != wanted:
            todo = all_cases()[group]
            workers = len(os.sched_getaffinity(0))
            with open_pool(workers, ct.suppress_thermo_warnings) as pool:
                with progress(f"CVODE rollouts, {group}") as bar:
                    rollouts = []
                    for rollout in pool.map(roll, [group] * len(todo), todo):
                        rollouts.append(rollout)
                        bar(len(rollouts), len(todo))
            stored = {"reference": rollouts}
            write_runs(path, stored, mechanism, wanted)
        found[group] = stored["reference"]
    return found


# -- errors ----------------------------------------------------------------------------------------


def summary(rows: list[dict]) -> dict:
    """Errors over some cases (rows of `ignition_errors.compare`): median, mean and worst delay
    error, the worst case, the number of cases that do not ignite, and the worst error of burnt T
    [K]."""
    delays = [row["delay_error"] for row in rows]
    worst = int(np.argmax(np.where(np.isfinite(delays), delays, np.inf)))
    return {
        "cases": len(rows),
        "not_ignited": sum(not row["ignited"] for row in rows),
        **summarize(delays),
        "worst_case": rows[worst]["case"],
        "burnt_T_worst": summarize([row["burnt_T_error"] for row in rows])["worst"],
    }


def half_way(rollout: Rollout, level: float) -> float:
    """Time [s] at which T first exceeds `level` [K], on a cubic spline through eight steps; NaN if
    it never does."""
    above = np.flatnonzero(rollout.T > level)
    if len(above) == 0:
        return np.nan
    i = int(above[0])
    near = slice(max(i - 4, 0), i + 4)
    if not np.isfinite(rollout.T[near]).all():
        return np.nan
    # In units of steps: the times differ in their last digits only.
    steps = np.arange(near.start, near.start + len(rollout.T[near]))
    roots = CubicSpline(steps, rollout.T[near]).solve(level, extrapolate=False)
    here = roots[(roots > i - 1 - 1e-9) & (roots <= i + 1e-9)]
    return float(here[0]) * float(rollout.t[1] - rollout.t[0])


def errors(T: np.ndarray, Y: np.ndarray, ref_T: np.ndarray, ref_Y: np.ndarray) -> dict:
    """Largest relative error of T, and largest absolute error of a mass fraction."""
    if not (len(T) and np.isfinite(T).all() and np.isfinite(Y).all()):
        return {"T": np.inf, "Y": np.inf}
    return {
        "T": float(np.abs(T / ref_T - 1.0).max()),
        "Y": float(np.abs(Y - ref_Y).max()),
    }


def distances(rollout: Rollout, ref: Rollout) -> dict:
    """`errors` of a rollout against the reference at three places.

    end: at the last step, at the same time.
    after: the largest over all steps after 1.1 times the later of the two delays, at the same time.
    aligned: the largest over all steps, with the rollout shifted in time so that both reach the
    temperature halfway between the lowest and the highest of the reference at the same moment. The
    rollout is interpolated by a cubic spline. The shift removes the error of the ignition delay;
    the error of the path itself remains. Resolution: CVODE evaluated 0.37 dt later gives errors of
    4e-7 of T in an ignition at 1500 K and 0.5 atm, and of 3e-3 of T and 1e-3 of Y in one at 1800 K
    and 2 atm, which takes only a few steps.
    """
    dt = float(ref.t[1] - ref.t[0])
    end = errors(rollout.T[-1:], rollout.Y[-1:], ref.T[-1:], ref.Y[-1:])
    level = 0.5 * (ref.T.min() + ref.T.max())
    ours, exact = half_way(rollout, level), half_way(ref, level)
    late = ref.t > 1.1 * max(np.nan_to_num(ours), exact)
    after = errors(rollout.T[late], rollout.Y[late], ref.T[late], ref.Y[late])
    shift = (ours - exact) / dt
    aligned = {"T": np.inf, "Y": np.inf}
    if np.isfinite(shift) and np.isfinite(rollout.T).all():
        steps = np.arange(len(ref.t))
        both = (steps + shift >= 0) & (steps + shift <= steps[-1])
        path = CubicSpline(steps, np.column_stack([rollout.T, rollout.Y]))(steps[both] + shift)
        aligned = errors(path[:, 0], path[:, 1:], ref.T[both], ref.Y[both])
    return {"end": end, "after": after, "aligned": aligned}


def judge(model: str, cases: dict[str, list[Rollout]]) -> dict:
    """Errors of one model in all cases."""
    surrogate, mechanism = combred.load(model), _mechanism()
    takes = surrogate.kinetics or surrogate.dt_range[0] == DT
    if not takes or surrogate.n != 2 + mechanism.n_species:
        raise ValueError(f"{model} is no model of {mechanism.name} that takes dt = {DT} s")
    rolled, solver = {}, fastest(surrogate)
    for group, refs in cases.items():
        with progress(f"{label(model)}, {group}") as bar, one_thread():
            rolled[group] = ignition_cases.follow(solver, DT, refs, bar)
    rows = {
        group: ignition_errors.compare(mechanism, rolled[group], cases[group])["cases"]
        for group in ("grid", "drawn")
    }
    found = {name: summary([r for r in rows["grid"] if chosen(r)]) for name, chosen in SETS.items()}
    far = [distances(*pair) for pair in zip(rolled["long"], cases["long"], strict=True)]
    return {
        "model": label(model),
        "weights": surrogate.network.n_weights,
        "file": digest(path_of(model)),
        "delay": found | {"drawn": summary(rows["drawn"])},
        "long": {
            place: {x: summarize([d[place][x] for d in far]) for x in ("T", "Y")}
            for place in ("end", "after", "aligned")
        },
    }


# -- the script ------------------------------------------------------------------------------------


def path_of(model: str) -> Path:
    """The file of a model, given by name or path."""
    shipped = FOLDER / f"{model}.safetensors"
    return shipped if shipped.is_file() else Path(model)


def label(model: str) -> str:
    """The name of a model in the table: that of a shipped model, or run and stage of a path."""
    path = path_of(model)
    return path.stem if path.parent == FOLDER else f"{path.parent.name}/{path.stem}"


def show(row: dict) -> None:
    """Print the table of one model."""
    print(f"\n{row['model']} ({row['weights']:,} weights)")
    for name, r in row["delay"].items():
        print(f"  {name:18} {r['cases']:3} cases, {r['not_ignited']} not ignited:"
              f" {100 * r['median']:.2f} / {100 * r['mean']:.2f} / {100 * r['worst']:.2f} %"
              f"  ({r['worst_case']}); burnt T {r['burnt_T_worst']:.1f} K")  # fmt: skip
    for place, e in row["long"].items():
        print(f"  {LONG_STEPS:,} steps, {place:8} T {100 * e['T']['median']:.3f} /"
              f" {100 * e['T']['worst']:.3f} %;  Y {e['Y']['median']:.1e} /"
              f" {e['Y']['worst']:.1e}")  # fmt: skip


def finite(value):
    """Numbers as `strict` wrote them, with infinity in place of null."""
    if isinstance(value, dict):
        return {key: finite(item) for key, item in value.items()}
    return np.inf if value is None else value


def measured(store: Path, cases: str) -> dict[str, dict]:
    """The rows of an earlier run with the same cases (their digest), by label; those of other code
    are measured again."""
    stored = read_json(store)
    return {row["model"]: row for row in stored.get("rows", []) if stored.get("cases") == cases}


def main(models: list[str]) -> None:
    mechanism = _mechanism()
    cases = digest_of({group: inputs(mechanism, group) for group in ("grid", "drawn", "long")})
    rolled, shown = None, []
    for model in models or combred.models():
        own = path_of(model).parent == FOLDER
        store = STORES[0] if own else STORES[1]
        rows = measured(store, cases)
        row = rows.get(label(model), {})
        if row.get("file") != digest(path_of(model)) or not is_current(row):
            made = stamp(__file__, *([model] if own else [MECHANISM, NETWORKS]))
            rolled = rolled or references()
            rows[label(model)] = strict(judge(model, rolled)) | made
            kept = [name for name in combred.models() if name in rows] if own else sorted(rows)
            machine = {"machine": timing.machine(), "seed": SEED, "cases": cases}
            write_json(store, {**machine, "rows": [rows[name] for name in kept]})
        shown.append(rows[label(model)])
        if len(shown) == 1:
            print(f"{timing.machine()}; against CVODE; ignition delay: median / mean / worst;"
                  " long rollouts: median / worst")  # fmt: skip
        show(finite(shown[-1]))
    print(json.dumps({"machine": timing.machine(), "rows": shown}))


if __name__ == "__main__":
    main(words(__doc__))
