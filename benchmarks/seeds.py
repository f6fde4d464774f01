"""How much do the results of a run vary with the seed? Collects finished runs in one table.

    for k in 0 1 2; do
        python -m combred.pipeline stage=2 start=scratch seed=$k run=seed$k
    done
    python -m benchmarks.seeds runs/seed0 runs/seed1 runs/seed2 > benchmarks/results/seeds.txt

Prints a table (errors of the ignition delay against CVODE, time per state), then one JSON line.
"""

import json
import sys
from pathlib import Path

import numpy as np

from benchmarks.command_line import words


def read(folder: Path) -> dict:
    """The numbers of one run: widths, weights, errors and time of each stage, and those of
    CVODE."""
    validation = json.loads((folder / "validation.json").read_text())
    settings = json.loads((folder / "settings.json").read_text())
    times = validation["timing"]["times"]
    cvode = {name: t["median"] for name, t in times.items() if name.startswith("CVODE")}
    stages = []
    for name, r in validation["stages"].items():
        took = times[name.replace("stage", "stage ")]["median"]
        stages.append({
            "stage": name, "widths": r["widths"], "weights": r["weights"],
            "all_ignite": r["all_ignite"], "delay_median": r["delay_error"]["median"],
            "delay_mean": r["delay_error"]["mean"], "delay_worst": r["delay_error"]["worst"],
            "worst_case": r["worst_case"], "burnt_T_worst": r["burnt_T_error"]["worst"],
            "seconds_per_state": took,
            "faster_than": {name: value / took for name, value in cvode.items()},
        })  # fmt: skip
    return {
        "run": folder.name, "seed": settings["seed"], "profile": settings["profile"],
        "cases": len(validation["stages"]["stage0"]["cases"]),
        "machine": validation["timing"]["machine"], "cores": validation["timing"]["cores"],
        "cvode_seconds_per_state": cvode, "stages": stages,
    }  # fmt: skip


def main(folders: list[str]) -> None:
    if not folders:
        sys.exit(__doc__.strip())
    runs = [read(Path(folder)) for folder in folders]
    print(f"{runs[0]['machine']}; {runs[0]['cores']} core for times; {runs[0]['cases']} cases")
    print(f"{'run':16} {'widths':24} {'weights':>8} {'median':>8} {'worst':>8}  {'worst case':26}"
          f"{'burnt T':>8} {'us/state':>9}")  # fmt: skip
    for run in runs:
        for s in run["stages"]:
            print(f"{run['run']:16} {'-'.join(map(str, s['widths'])):24} {s['weights']:8,} "
                  f"{100 * s['delay_median']:7.2f}% {100 * s['delay_worst']:7.2f}%  "
                  f"{s['worst_case']:26}{s['burnt_T_worst']:6.1f} K "
                  f"{1e6 * s['seconds_per_state']:9.2f}")  # fmt: skip
    for i, stage in enumerate(runs[0]["stages"]):
        for key in ("delay_median", "delay_worst"):
            values = [100 * run["stages"][i][key] for run in runs]
            print(f"{stage['stage']} {key}: {min(values):.2f} to {max(values):.2f} %, "
                  f"mean {np.mean(values):.2f} % over {len(values)} seeds")  # fmt: skip
    print(json.dumps(runs))


if __name__ == "__main__":
    main(words(__doc__))
