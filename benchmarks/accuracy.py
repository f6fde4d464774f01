"""How accurate are the models that come with combred?

    python -m benchmarks.accuracy [NAME ...]

Rolls every shipped model (or those named) out against CVODE at the labels' tolerance, from the cold
mixture to the burnt gas: on a fixed grid (T0 1300 to 1800 K, phi 0.6, 1, 1.4, 1 atm) and on cases
drawn at random, seed 0, inside the range of training (T0 1300 to 1800 K, phi 0.5 to 1.7, 0.9 to 1.1
atm), which nobody chose a model by. Writes benchmarks/results/accuracy.json; prints a table, then
one JSON line.
"""

import json
import os
import sys
from pathlib import Path

import numpy as np

import combred
from combred import ignition, timing
from combred.config import ChemistrySettings, ValidationSettings
from combred.console import progress
from combred.ignition import Rollout
from combred.records import strict, write_json

RESULTS = Path(__file__).parent / "results" / "accuracy.json"
GRID = ValidationSettings(T0=[1300.0, 1400.0, 1500.0, 1600.0, 1700.0, 1800.0])
DRAWN, SEED, ATM = 24, 0, 101325.0
FUEL, OXIDIZER = "CH4:1", "O2:1, N2:3.76"


def references() -> dict[str, list[Rollout]]:
    """CVODE's rollouts of the grid and of the drawn cases."""
    mechanism = combred.load_mechanism("drm19.yaml")
    rng = np.random.default_rng(SEED)
    drawn = zip(
        rng.uniform(1300, 1800, DRAWN), rng.uniform(0.5, 1.7, DRAWN),
        ATM * rng.uniform(0.9, 1.1, DRAWN), strict=True,
    )  # fmt: skip
    settings = [GRID] + [ValidationSettings(T0=[T], phi=[phi], p=[p]) for T, phi, p in drawn]
    workers = len(os.sched_getaffinity(0))
    chemistry = ChemistrySettings()
    with progress("CVODE rollouts") as bar:
        found = []
        for i, cases in enumerate(settings):
            found.append(
                ignition.reference(mechanism, cases, chemistry, 1e-6, FUEL, OXIDIZER, workers)
            )
            bar(i + 1, len(settings))
    return {"grid": found[0], "drawn": [rollout for group in found[1:] for rollout in group]}


def judge(name: str, cases: dict[str, list[Rollout]]) -> dict:
    """Errors of one model, on the grid, on its part from 1400 K, and on the drawn cases."""
    surrogate = combred.load(name)
    mechanism = combred.load_mechanism("drm19.yaml")
    card = combred.models()[name]
    row = {"model": name, "weights": card["network"]["weights"]}
    with timing.one_thread():
        rolled = {
            key: ignition.follow(timing.scripted(surrogate), surrogate.dt, group)
            for key, group in cases.items()
        }
    sets = {key: (rolled[key], group) for key, group in cases.items()}
    hot = [i for i, reference in enumerate(cases["grid"]) if reference.case.T0 >= 1400.0]
    sets["grid from 1400 K"] = ([rolled["grid"][i] for i in hot], [cases["grid"][i] for i in hot])
    for key, (rollouts, group) in sets.items():
        found = ignition.compare(mechanism, rollouts, group)
        row[key] = {
            "cases": len(group), "unlit": sum(not case["ignited"] for case in found["cases"]),
            **{kind: found["delay_error"][kind] for kind in ("median", "mean", "worst")},
            "worst_case": found["worst_case"], "burnt_T_worst": found["burnt_T_error"]["worst"],
        }  # fmt: skip
    return row


def main(names: list[str]) -> None:
    cases = references()
    rows = [judge(name, cases) for name in names or combred.models()]
    print(f"{timing.machine()}; ignition delay against CVODE, median / mean / worst")
    for row in rows:
        print(f"{row['model']} ({row['weights']:,} weights)")
        for key in ("grid", "grid from 1400 K", "drawn"):
            r = row[key]
            print(f"  {key:18} {r['cases']:3} cases, {r['unlit']} unlit: {100 * r['median']:.2f} /"
                  f" {100 * r['mean']:.2f} / {100 * r['worst']:.2f} %  ({r['worst_case']});"
                  f" burnt T {r['burnt_T_worst']:.1f} K")  # fmt: skip
    numbers = strict({"machine": timing.machine(), "seed": SEED, "rows": rows})
    write_json(RESULTS, numbers)
    print(json.dumps(numbers))


if __name__ == "__main__":
    main(sys.argv[1:])
